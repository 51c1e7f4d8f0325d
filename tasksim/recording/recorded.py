"""Result of a recording, with the run, its graph and the costs of the program's runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.units import duration_text
from tasksim.graph.taskgraph import MAIN_THREAD
from tasksim.recording.log import ASYNCIO, DASK_CLUSTER
from tasksim.recording.replayable import Replayable, costs
from tasksim.recording.tables import CPU, ended, graph_of, run_of
from tasksim.recording.worker_starts import starts_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.run.record import Run

__all__ = ["Recorded"]

MIN_BUSY_SHARE: Final = 0.7
"""Share of the workers' time in tasks from which the tasks themselves are examined: with a smaller
share, the program does not keep the workers busy."""
STARTING_S: Final = 0.1
"""Shortest start of processes that is noted, in seconds: a fork takes a tenth."""
MIN_STARTING_SHARE: Final = 0.1
"""The same as a share of the makespan: less is within the error of replays."""
LOCKED_CORES: Final = (0.3, 1.25)
"""Range of the cores that a program uses if its tasks hold Python's lock: one, and up to a fifth
more if they release it for moments; a third of one if others use the machine. With less, tasks
wait."""


class Recorded:
    """The run, the graph and the costs of a closed log."""

    def __init__(self, log: RecordingLog, name: str, wall_s: float) -> None:
        work_and_main = ended(log)
        starts = starts_of(log, work_and_main)
        # In order of submission, starts before the tasks of their pools.
        tasks = sorted([*starts, *work_and_main], key=lambda task: task.place)
        for task in tasks:
            if isinstance(task.worker, int):
                task.worker = log.replaced.get(task.worker, task.worker)
        work = [task for task in tasks if task.kernel[0] != MAIN_THREAD]
        origin = {
            "of": sorted({task.source for task in work}),
            "submission_s": log.submission_s,
            "dask_loop_s": log.dask_loop_s,
        }
        self.graph: TaskGraph = graph_of(tasks, name)
        self.run: Run = run_of(tasks, self.graph, {"recorded": origin}, wall_s)
        self.notes = [
            *log.left_out(),
            *log.notes,
            *log.caveats(),
            *_of_the_lock(log, work, self.run),
            *_of_starting(tasks, {start.worker for start in starts}),
        ]
        serial_s = log.submission_s + log.dask_loop_s
        self.replayable = Replayable(self.run, costs(self.run, serial_s / max(1, len(work))))


def _of_the_lock(log: RecordingLog, work: list[RecordedTask], run: Run) -> list[str]:
    """Return a note if several tasks ran at once, but used no more than one core together.

    The processor time of the whole program counts, as libraries have threads of their own.
    """
    workers = sum(worker.architecture == CPU for worker in run.workers)
    span_s = max(task.end_s for task in work) - min(task.start_s for task in work)
    busy = sum(task.end_s - task.start_s for task in work) / max(span_s, 1e-12)
    cores = log.cpu_s / max(span_s, 1e-12)
    # Tasks of asyncio wait most of the time; their places are no cores.
    elsewhere = any(
        isinstance(task.worker, int) or task.source in (ASYNCIO, DASK_CLUSTER) for task in work
    )
    if (
        workers < 2
        or elsewhere
        or busy < MIN_BUSY_SHARE * workers
        or not LOCKED_CORES[0] <= cores <= LOCKED_CORES[1]
    ):
        return []
    return [
        f"{workers} workers had tasks {100 * busy / workers:.0f} % of the time, but the program "
        f"used {cores:.2f} cores: its tasks hold Python's lock, or others used the machine; where "
        "it is the lock, more workers will not help as is simulated: they had cores for "
        f"{duration_text(sum(task.cpu_s for task in work))} in all, one after another"
    ]


def _of_starting(tasks: list[RecordedTask], started: set[Hashable]) -> list[str]:
    """Return a note if processes took long to start, and the program did not start them itself.

    *started* has the workers whose starts are tasks.
    """
    pools: dict[int, list[RecordedTask]] = {}
    for task in tasks:
        if isinstance(task.worker, int):
            pools.setdefault(task.pool, []).append(task)
    starting_s = sum(
        min(task.start_s for task in pool) - min(task.submitted_s for task in pool)
        for pool in pools.values()
        if started.isdisjoint(task.worker for task in pool)
    )
    whole_s = max(task.end_s for task in tasks) - min(task.submitted_s for task in tasks)
    if starting_s < STARTING_S or starting_s < MIN_STARTING_SHARE * whole_s:
        return []
    return [
        f"processes took {duration_text(starting_s)} to start, which is in the costs per task: let "
        "the pool work before the recording begins"
    ]
