"""The result of a search, and its folder with a plan, priorities, hints and the account."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.arguments import flag, path_of
from tasksim.base.documents.json_document import JsonNode, read_document
from tasksim.base.errors import InputError
from tasksim.base.files import new_folder, read_text, refuse_folder, write_text
from tasksim.base.versions import newer
from tasksim.graph.graph_file import save
from tasksim.schedulers.static.plan import Plan
from tasksim.schedulers.static.schedule_file import match, read_schedule, write_schedule

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.optimization.replayer import Replayer
    from tasksim.optimization.schedule import ReplayedPlan
    from tasksim.scenario.scenario import Scenario

__all__ = ["MARK_FILE", "PRIORITY_SCHEDULERS", "Improvement", "Optimum", "read_earlier"]

MARK_FILE: Final = "optimum.json"
"""File of a result's folder that tells it from other folders."""
FORMAT: Final = "tasksim-optimum"
FILE_VERSION: Final = 1
PRIORITY_SCHEDULERS: Final = ("prio", "dmdas")
"""Schedulers that are asked how much of a schedule survives as priorities alone."""


class Improvement(NamedTuple):
    """A schedule that was better than all before it."""

    source: str
    """The heuristic or the search that found it."""
    step: int
    """Number of candidates before it."""
    time_s: float
    """Time from the start of the search, in seconds."""
    makespan_s: float


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best schedule that a search found, with its proven distance to the optimum.

    Parameters
    ----------
    label : str
        The graph in words.
    platform : str
        The name of the platform.
    graph : TaskGraph
        The tasks.
    workers : tuple of str
        Names of the workers.
    plan : Plan
        The worker, the replayed start and the replayed end of each task.
    makespan_s : float
        The replayed makespan, in seconds.
    bounds : dict of str to float
        Lower bounds on the makespan of any schedule, in seconds.
    heuristics : dict of str to float
        Makespan in seconds of each heuristic that was tried, replayed as it is.
    survives : dict of str to (float, float)
        Makespans in seconds of dynamic schedulers, with the priorities of the graph and with those
        of the plan; empty if there was no time for them.
    improvements : tuple of Improvement
        Improvements of the best plan, with their times.
    seed : int
        Seed of the search.
    steps : int
        Number of candidates, with those of the results that the search resumes.
    searched_s : float
        Duration of the search after the heuristics, in seconds.
    replays_per_s : float
        Replays per second of the search; NaN if it had none.
    compiled : bool
        Whether the compiled core replayed.
    interrupted : bool
        Whether Ctrl-C ended the search.
    notes : tuple of str
        Parts that were left out, and why.

    See Also
    --------
    optimize : Search for one.

    Examples
    --------
    >>> import tasksim
    >>> found = tasksim.optimize("fork-join width=4 duration=1.0", workers=2, steps=10)
    >>> found.makespan_s, found.best_heuristic, found.bounds["area_s"]
    (4.0, 'heft', 3.0)
    """

    label: str
    platform: str
    graph: TaskGraph
    workers: tuple[str, ...]
    plan: Plan
    makespan_s: float
    bounds: dict[str, float]
    heuristics: dict[str, float]
    survives: dict[str, tuple[float, float]]
    improvements: tuple[Improvement, ...]
    seed: int
    steps: int
    searched_s: float
    replays_per_s: float
    compiled: bool
    interrupted: bool
    notes: tuple[str, ...]

    @property
    def bound_s(self) -> float:
        """The best lower bound, in seconds."""
        return max(self.bounds.values(), default=0.0)

    @property
    def gap(self) -> float:
        """The proven distance to the optimum, as a share of the makespan; 0 if it is optimal."""
        return 1.0 - self.bound_s / self.makespan_s if self.makespan_s else 0.0

    @property
    def best_heuristic(self) -> str:
        """The heuristic with the shortest makespan; empty if none was tried."""
        return min(self.heuristics, key=self.heuristics.__getitem__, default="")

    @property
    def prioritised(self) -> TaskGraph:
        """The graph with the order of the plan as priorities, the first task highest."""
        order = np.lexsort((np.arange(len(self.plan)), self.plan.end_s, self.plan.start_s))
        priority = np.empty(len(order), np.int32)
        priority[order] = np.arange(len(order), 0, -1)
        return replace(self.graph, priority=priority)

    def to_json(self) -> dict[str, Any]:
        """Return the account as :data:`MARK_FILE` has it, without the plan."""
        rate = self.replays_per_s
        return {
            "graph": self.label,
            "platform": self.platform,
            "tasks": len(self.plan),
            "workers": len(self.workers),
            "best_heuristic": self.best_heuristic,
            "makespan_s": self.makespan_s,
            "bounds": self.bounds,
            "bound_s": self.bound_s,
            "gap": self.gap,
            "heuristics": self.heuristics,
            "survives": {
                name: {"before_s": before, "after_s": after}
                for name, (before, after) in self.survives.items()
            },
            "improvements": [found._asdict() for found in self.improvements],
            "seed": self.seed,
            "steps": self.steps,
            "searched_s": self.searched_s,
            "replays_per_s": None if np.isnan(rate) else rate,
            "engine": "compiled" if self.compiled else "simpy",
            "interrupted": self.interrupted,
            "notes": list(self.notes),
        }

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the result to a new folder.

        ``plan.csv`` is for ``--scheduler static:file=``, ``graph.npz`` the graph with the order of
        the plan as priorities, ``sched.rec`` the same as hints for StarPU's ``starpu_replay``, and
        ``optimum.json`` the account.

        Parameters
        ----------
        folder : str or Path
            Path of the folder.
        force : bool, default False
            Whether to replace the folder of an earlier result.
        """
        path = path_of(folder, "folder")
        refuse_optimum(path, force=flag(force, "force"))
        account = {"format": FORMAT, "version": FILE_VERSION, **self.to_json()}
        with new_folder(path, force=force) as inside:
            write_schedule(inside / "plan.csv", self.plan, self.workers)
            save(self.prioritised, inside / "graph.npz")
            write_text(inside / "sched.rec", self._hints())
            write_text(inside / MARK_FILE, json.dumps(account, indent=1, ensure_ascii=False) + "\n")

    def _hints(self) -> str:
        """Return the plan as StarPU's starpu_replay reads it: priorities and workers."""
        priority = self.prioritised.priority.tolist()
        rows = zip(priority, self.plan.worker.tolist(), strict=True)
        return "".join(
            f"SubmitOrder: {task}\nPriority: {first}\nSpecificWorker: {worker}\n\n"
            for task, (first, worker) in enumerate(rows)
        )


def refuse_optimum(path: Path, *, force: bool) -> None:
    """Raise :exc:`InputError` if *path* must not be replaced by the folder of a result."""
    refuse_folder(path, force=force, what="the folder of a result of optimize", mark=MARK_FILE)


def read_earlier(folder: str | Path, replayer: Replayer) -> tuple[Plan, int]:
    """Return the plan of the result in *folder*, and its number of candidates.

    The result must be for the graph and the workers of *replayer*.

    Raises
    ------
    InputError
        If it is no folder of a result, or its plan is for another graph or other workers.
    """
    path = path_of(folder, "resume")
    mark = path / MARK_FILE
    if not mark.is_file():
        raise InputError(
            f"{path} has no {MARK_FILE}; legal: a folder that 'tasksim optimize -o' wrote"
        )
    steps = read_document(read_text(mark), str(mark), _steps)
    file = path / "plan.csv"
    names = [worker.name for worker in replayer.platform.workers]
    schedule = match(read_schedule(file), file, replayer.graph, names)
    for worker, tasks in enumerate(schedule.lists):
        for task in tasks:
            if not replayer.able[task, worker]:
                raise schedule.rows[task].error(
                    f"worker '{names[worker]}' cannot run {replayer.graph.label(task)}"
                )
    from tasksim.schedulers.static.plan_from_file import timed

    return timed(replayer.problem, schedule), steps


def _steps(root: JsonNode) -> int:
    root["format"].exactly(FORMAT)
    version = root["version"]
    if (why := newer(version.value, FILE_VERSION)) is not None:
        raise version.error(why)
    version.exactly(FILE_VERSION)
    return root["steps"].integer()


def optimum_of(
    scenario: Scenario,
    replayer: Replayer,
    best: ReplayedPlan,
    *,
    replays: int,
    searched_s: float,
    survivals: bool,
    **account: Any,
) -> Optimum:
    """Return the result of a search that ended with the schedule *best*.

    With *survivals* it says what the dynamic schedulers make of the order of the plan.
    """
    replayer.makespan_s(best.worker, best.order)
    table = replayer.table()
    plan = Plan(best.worker.astype(np.int32), table.start_s, table.end_s)
    made = Optimum(
        label=scenario.graph_label,
        platform=replayer.platform.name,
        graph=replayer.graph,
        workers=tuple(worker.name for worker in replayer.platform.workers),
        plan=plan,
        makespan_s=best.makespan_s,
        survives={},
        searched_s=searched_s,
        replays_per_s=replays / searched_s if searched_s else float("nan"),
        compiled=replayer.compiled,
        **account,
    )
    if not survivals:
        return made
    from tasksim.scenario.resolved import resolve

    resolved, prioritised = resolve(scenario), made.prioritised
    survives = {}
    for name in PRIORITY_SCHEDULERS:
        asked = scenario.vary(scheduler=name, noise="none")
        simulation = resolved.simulation(asked)
        other = simulation._replace(graph=prioritised)
        survives[name] = simulation.run().makespan_s, other.run().makespan_s
    return replace(made, survives=survives)
