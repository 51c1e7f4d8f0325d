"""Ledger of a run, with the life of every task from its submission to its end.

Both replays and native runs keep the same ledger: the state of each task, and the worker and the
time of each legal move between states. It has flat columns with one entry per task, so that any
clock can write it.
"""

from __future__ import annotations

from array import array
from math import nan
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.platform.description import class_of
from tasksim.runtime.rules import (
    DONE,
    READY,
    TAKEN,
    WAITING,
    illegal_move,
    illegal_pop,
    integer_or_none,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.record import TaskTable
    from tasksim.schedulers.base import Scheduler

__all__ = ["Ledger", "able_classes", "nobody_can_run"]


class Ledger:
    """The state, the worker and the times of every task of *graph* in one run.

    Each move is a method, which checks that the move is legal. The clock writes all other times
    into the columns. Times count from the start of the submission: in the clock's unit during the
    run, in seconds after :meth:`close`.

    Parameters
    ----------
    graph, platform : TaskGraph, Platform
        The tasks of the run, and the machine that executes them.
    able : sequence of int
        Per task, a bit mask of the classes of workers that can run it.

    See Also
    --------
    tasksim.runtime.release.Release : The tasks that the end of a task releases.
    """

    def __init__(self, graph: TaskGraph, platform: Platform, able: Sequence[int]) -> None:
        tasks = len(graph)
        self._graph = graph
        self._platform = platform
        self._able = able
        self._class_of = class_of(platform)
        self.all_submitted = False
        """Whether the clock has submitted all tasks."""
        self.state = [WAITING] * tasks
        self.taken: set[int] = set()
        """The tasks that are taken and not done."""
        self.worker = [-1] * tasks
        """Per task, the worker that took it; -1 before that."""
        self.released_by = [-1] * tasks
        """Per task, the task whose end released it; -1 if its submission did."""
        # Arrays, not lists: with a million tasks, five million live float objects would cost more
        # than the rest of a replay.
        self.submitted = array("d", bytes(8 * tasks))
        self.ready = array("d", bytes(8 * tasks))
        self.popped = array("d", [nan]) * tasks
        """Per task, the time at which it was taken; NaN if it was not recorded."""
        self.start = array("d", bytes(8 * tasks))
        self.end = array("d", bytes(8 * tasks))

    # The moves

    def release(self, task: int, now: float, released_by: int) -> None:
        """Note that the end of *released_by* releases *task*, which is about to be pushed."""
        state = self.state
        if state[task]:
            raise illegal_move("release", self._graph, state, task)
        state[task] = READY
        self.ready[task] = now
        self.released_by[task] = released_by

    def take(self, popped: Any, worker: int, scheduler: Scheduler) -> int:
        """Note that *worker* takes the task *popped* from *scheduler*; return its number.

        This is the only check of a pop. It raises :exc:`SchedulerError` if *popped* is not a task,
        not ready, or not a task that *worker* can run.
        """
        number = popped if popped.__class__ is int else integer_or_none(popped)
        task = -1 if number is None else number
        state = self.state
        try:
            legal = (
                state[task] == READY
                and self._able[task] >> self._class_of[worker] & 1
                and task >= 0  # last: a negative index is rare, and reads another task's state
            )
        except IndexError:
            legal = False
        if not legal:
            name = self._platform.workers[worker].name
            raise illegal_pop(scheduler, self._graph, state, popped, name)
        state[task] = TAKEN
        self.taken.add(task)
        self.worker[task] = worker
        return task

    def hand_over(self, task: int) -> None:
        """Note that *task*, which is ready, runs without a worker: it is a communication."""
        if self.state[task] != READY:
            raise illegal_move("hand over", self._graph, self.state, task)
        self.state[task] = TAKEN
        self.taken.add(task)

    def finish(self, task: int) -> None:
        """Note that *task* is finished; its successors are released after this."""
        try:
            self.taken.remove(task)
        except KeyError:
            raise illegal_move("finish", self._graph, self.state, task) from None
        self.state[task] = DONE

    # Properties of all tasks together

    def finished(self) -> int:
        """Return the number of tasks that are done."""
        return self.state.count(DONE)

    def over(self) -> bool:
        """Return whether all tasks are done."""
        return self.finished() == len(self.state)

    def idle(self) -> bool:
        """Return whether no task is executed and none will be submitted."""
        return self.all_submitted and not self.taken

    def moves(self) -> int:
        """Return the number of moves so far, which shows whether the run makes progress."""
        return sum(self.state)

    def close(self, units_per_s: float = 1.0) -> None:
        """Convert all times to seconds; a second has *units_per_s* units of the clock."""
        import numpy as np

        if units_per_s != 1.0:
            for column in (self.submitted, self.ready, self.popped, self.start, self.end):
                # Division, not multiplication by the inverse: 1000 ns become exactly 1e-6.
                np.frombuffer(column)[:] /= units_per_s

    def makespan_s(self) -> float:
        """Return the end of the last task in seconds; call :meth:`close` first."""
        return max(self.end, default=0.0)

    def table(self) -> TaskTable:
        """Return the columns as the table of a run."""
        import numpy as np

        from tasksim.run.record import TaskTable

        graph = self._graph
        return TaskTable(
            task=np.arange(len(graph), dtype=np.int32),
            kernel=graph.kernel.astype(np.int16),
            worker=np.array(self.worker, dtype=np.int32),
            priority=graph.priority.astype(np.int32),
            submitted_s=np.array(self.submitted),
            ready_s=np.array(self.ready),
            popped_s=np.array(self.popped),
            start_s=np.array(self.start),
            end_s=np.array(self.end),
            released_by=np.array(self.released_by, dtype=np.int32),
        )


def nobody_can_run(graph: TaskGraph, task: int) -> InputError:
    """Return the error for a *task* that no worker can run."""
    return InputError(f"no worker of the platform can run {graph.label(task)}")


def able_classes(graph: TaskGraph, costs: Sequence[Sequence[float]]) -> list[int]:
    """Return, per task, a bit mask of the classes in which its cost is finite.

    Raises :exc:`InputError` for the first task that no class can run.
    """
    import numpy as np

    words = max(1, -(-len(costs) // 64))
    finite = np.zeros((64 * words, len(graph)), dtype=bool)
    for index, row in enumerate(costs):
        finite[index] = np.isfinite(np.asarray(row))
    nowhere = np.flatnonzero(~finite.any(axis=0))
    if len(nowhere):
        raise nobody_can_run(graph, int(nowhere[0]))
    octets = np.ascontiguousarray(np.packbits(finite, axis=0, bitorder="little").T)
    masks: list[int] = [0] * len(graph)
    for place, word in enumerate(octets.view("<u8").T.tolist()):
        masks = [mask | part << 64 * place for mask, part in zip(masks, word, strict=True)]
    return masks
