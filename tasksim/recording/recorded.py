"""Result of a recording, with the run, its graph and the costs of the program's runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import flag, path_of
from tasksim.base.units import duration_text, exact_quantity
from tasksim.platform.description import Memory, Overheads, Platform, Worker
from tasksim.recording.log import MAIN_THREAD
from tasksim.recording.tables import CPU, MAIN, ended, graph_of, run_of

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.recording.log import Log, RecordedTask
    from tasksim.run.record import Run

__all__ = ["Recorded", "costs", "main_threads_lost_s", "platform_like", "workers_lost_s"]


BUSY: Final = 0.7
"""Share of the workers' time in tasks from which the tasks themselves are examined: with a smaller
share, the program does not keep the workers busy."""
ALONE: Final = (0.3, 1.25)
"""Range of the cores that a program uses if its tasks hold Python's lock: one, and up to a fifth
more if they release it for moments; a third of one if others use the machine. With less, tasks
wait."""


class Recorded:
    """The run, the graph and the costs of a closed log."""

    def __init__(self, log: Log, name: str, wall_s: float) -> None:
        tasks = ended(log)
        self.graph: TaskGraph = graph_of(tasks, name)
        self.run: Run = run_of(tasks, self.graph, _config(log, tasks), wall_s)
        self.notes = [*log.left_out(), *log.notes, *log.said(), *_of_the_lock(log, tasks, self.run)]
        real = sum(task.kernel[0] != MAIN_THREAD for task in tasks)
        serial_s = log.submission_s + log.dask_loop_s
        self._costs = costs(self.run, serial_s / max(1, real))
        self._scheduler = self.run.scheduler

    def platform(self, workers: int | None = None) -> Platform:
        """Return the platform of the run, with as many *workers* if a number is given."""
        return platform_like(self.run, self._costs, workers)

    def simulate(
        self, workers: int | None = None, scheduler: str | None = None, **scenario: Any
    ) -> Run:
        """Return a simulated run of the graph, each task as long as it was."""
        from tasksim.scenario.public import simulate

        given: dict[str, Any] = {"durations": "measured", **scenario}
        policy = self._scheduler if scheduler is None else scheduler
        return simulate(self.run, self.platform(workers), scheduler=policy, **given)

    def save(self, folder: str | Path, force: bool) -> None:
        """Write the run, its graph and its platform to *folder*."""
        from tasksim.platform.load import dump
        from tasksim.run.foldernames import PLATFORM
        from tasksim.run.runfolder import save

        where = path_of(folder, "folder")
        flag(force, "force")
        save(self.run, where, force)
        dump(self._description(), Path(where, PLATFORM), comment="Written by `tasksim record`.")

    def _description(self) -> dict[str, Any]:
        """Return the fields of a platform file."""
        platform, cost = self.platform(), self._costs
        kinds = {kind: platform.architectures.count(kind) for kind in (CPU, MAIN)}
        counts = {
            kind: sum(worker.architecture == kind for worker in platform.workers) for kind in kinds
        }
        seconds = {
            "submission": cost.submission_s, "task": cost.task_s, "wakeup": cost.wakeup_s,
            "push": cost.push_s,
        }  # fmt: skip
        return {
            "name": platform.name,
            "memories": {"ram": {}},
            "workers": {kind: {"count": count} for kind, count in counts.items() if count},
            "overheads": {k: exact_quantity(s, "time") for k, s in seconds.items() if s},
        }


def _config(log: Log, tasks: list[RecordedTask]) -> dict[str, Any]:
    """Return what the run says of how it came about."""
    by = {"dask": any(task.by_dask for task in tasks)}
    by["concurrent.futures"] = any(
        not task.by_dask and task.kernel[0] != MAIN_THREAD for task in tasks
    )
    return {
        "recorded": {
            "of": [name for name, there in by.items() if there],
            "submission_s": log.submission_s,
            "dask_loop_s": log.dask_loop_s,
        }
    }


def _of_the_lock(log: Log, tasks: list[RecordedTask], run: Run) -> list[str]:
    """Say if the tasks, though several ran at once, had no more than one core together.

    The whole program counts, for libraries have threads of their own.
    """
    work = [task for task in tasks if task.kernel[0] != MAIN_THREAD]
    workers = sum(worker.architecture == CPU for worker in run.workers)
    span_s = max(task.end_s for task in work) - min(task.start_s for task in work)
    busy = sum(task.end_s - task.start_s for task in work) / max(span_s, 1e-12)
    cores = log.cpu_s / max(span_s, 1e-12)
    in_processes = any(isinstance(task.worker, int) for task in work)
    if workers < 2 or in_processes or busy < BUSY * workers:
        return []
    if not ALONE[0] <= cores <= ALONE[1]:
        return []
    return [
        f"{workers} workers had tasks {busy / workers:.0%} of the time, but the program used "
        f"{cores:.2f} cores: its tasks hold Python's lock, or others used the machine; where it is "
        "the lock, more workers will not help as is simulated: they had cores for "
        f"{duration_text(sum(task.cpu_s for task in work))} in all, one after another"
    ]


def costs(run: Run, submission_s: float) -> Overheads:
    """Return what the program's runtime costs between tasks, as its recorded run shows.

    *submission_s* is the time that one submission takes the thread that submits.
    """
    lost_s = workers_lost_s(run) + main_threads_lost_s(run)
    return Overheads(submission_s=submission_s, task_s=lost_s / len(run))


def main_threads_lost_s(run: Run) -> float:
    """Return the time from ends that threads waited for until they went on."""
    tasks = run.tasks
    main = np.array([worker.architecture == MAIN for worker in run.workers])[tasks.worker]
    return float((tasks.start_s - tasks.taken_s)[main].sum())


def workers_lost_s(run: Run) -> float:
    """Return the time that workers of *run* had nothing to do while tasks were ready.

    All workers together; a task that is ready counts for one of them. A pool's tasks are for all
    its workers, so it is this time, and no other between two tasks, that its runtime takes.
    """
    tasks = run.tasks
    kind = np.array([worker.architecture == CPU for worker in run.workers])
    own = kind[tasks.worker]
    ready, start, end = tasks.ready_s[own], tasks.start_s[own], tasks.end_s[own]
    times = np.concatenate([ready, start, end])
    idle = np.repeat([0, -1, 1], len(ready))
    waiting = np.repeat([1, -1, 0], len(ready))
    order = np.argsort(times, kind="stable")
    idle = int(kind.sum()) + np.cumsum(idle[order])[:-1]
    waiting = np.cumsum(waiting[order])[:-1]
    return float(np.minimum(idle, waiting) @ np.diff(times[order]))


def platform_like(run: Run, overheads: Overheads, workers: int | None = None) -> Platform:
    """Return the platform of a recorded *run*, with as many *workers* if a number is given."""
    counts = {kind: sum(w.architecture == kind for w in run.workers) for kind in (CPU, MAIN)}
    if workers is not None:
        counts[CPU] = workers
    names = [(f"{kind}{n}", kind) for kind, count in counts.items() for n in range(count)]
    found = tuple(Worker(n, name, kind, 0) for n, (name, kind) in enumerate(names))
    return Platform(run.platform, found, (Memory(0, "ram"),), overheads=overheads)
