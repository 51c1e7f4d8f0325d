"""Recorded run with the costs of its runtime, its platform, and replays of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.arguments import flag, path_of
from tasksim.base.units import exact_quantity
from tasksim.graph.taskgraph import WORKER_START
from tasksim.platform.description import Memory, Overheads, Platform, Worker
from tasksim.recording.tables import CPU, EVENT, MAIN

if TYPE_CHECKING:
    from tasksim.run.record import Run

__all__ = ["Replayable", "costs", "main_threads_lost_s", "platform_like", "workers_lost_s"]


class Replayable:
    """A recorded run, and the costs of its runtime.

    Parameters
    ----------
    run : Run
    overheads : Overheads
        Costs of the runtime, as :func:`costs` returns them.
    """

    def __init__(self, run: Run, overheads: Overheads) -> None:
        self._run = run
        self._costs = overheads

    def platform(self, workers: int | None = None) -> Platform:
        """Return the platform of the run, with as many *workers* if a number is given."""
        return platform_like(self._run, self._costs, workers)

    def simulate(
        self, workers: int | None = None, scheduler: str | None = None, **scenario: Any
    ) -> Run:
        """Return a simulated run of the graph, each task as long as it was."""
        from tasksim.scenario.public import simulate

        given: dict[str, Any] = {"durations": "measured", **scenario}
        policy = self._run.scheduler if scheduler is None else scheduler
        return simulate(self._run, self.platform(workers), scheduler=policy, **given)

    def save(self, folder: str | Path, force: bool) -> None:
        """Write the run, its graph and its platform to *folder*."""
        from tasksim.platform.load import dump
        from tasksim.run.foldernames import PLATFORM_FILE
        from tasksim.run.runfolder import save

        where = path_of(folder, "folder")
        flag(force, "force")
        save(self._run, where, force)
        platform, cost = self.platform(), self._costs
        counts = Counter(worker.architecture for worker in platform.workers)
        seconds = {
            "submission": cost.submission_s, "task": cost.task_s, "wakeup": cost.wakeup_s,
            "push": cost.push_s, "start": cost.start_s,
        }  # fmt: skip
        description = {
            "name": platform.name,
            "memories": {"ram": {}},
            "workers": {kind: {"count": count} for kind, count in counts.items()},
            "overheads": {k: exact_quantity(s, "time") for k, s in seconds.items() if s},
        }
        dump(description, Path(where, PLATFORM_FILE), comment="Written by `tasksim record`.")


def costs(run: Run, submission_s: float) -> Overheads:
    """Return the costs of the program's runtime between tasks, from its recorded run.

    *submission_s* is the time that one submission takes the thread that submits. Workers that the
    run did not have start after the median of the recorded starts.
    """
    lost_s = workers_lost_s(run) + main_threads_lost_s(run)
    starts = np.array([name == WORKER_START for name in run.kernel_names])[run.tasks.kernel]
    start_s = float(np.median(run.tasks.duration_s[starts])) if starts.any() else 0.0
    return Overheads(submission_s=submission_s, task_s=lost_s / len(run), start_s=start_s)


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
    """Return the platform of a recorded *run*, with as many *workers* if a number is given.

    Main threads come before workers that start: the first of a platform is there at once.
    """
    kinds = (MAIN, CPU) if WORKER_START in run.kernel_names else (CPU, MAIN, EVENT)
    counts = {kind: sum(w.architecture == kind for w in run.workers) for kind in kinds}
    if workers is not None:
        counts[CPU] = workers
    names = [(f"{kind}{n}", kind) for kind, count in counts.items() for n in range(count)]
    found = tuple(Worker(n, name, kind, 0) for n, (name, kind) in enumerate(names))
    return Platform(run.platform, found, (Memory(0, "ram"),), overheads=overheads)
