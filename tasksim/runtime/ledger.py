"""Ledger: the life of every task of a run, from its submission to its end.

The same in both replays and natively: the states, the moves between them that are legal, who made
them and when. Flat columns with an entry per task, so that a clock of any make can keep it.
"""

from __future__ import annotations

import operator
from array import array
from math import nan
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.platform.description import class_of
from tasksim.runtime.rules import illegal_move, illegal_pop
from tasksim.runtime.states import DONE, MOVES, READY, TAKEN, WAITING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.record import TaskTable
    from tasksim.schedulers.base import Scheduler

__all__ = [
    "DONE",
    "MOVES",
    "READY",
    "TAKEN",
    "WAITING",
    "Ledger",
    "able_classes",
    "nobody_can_run",
]


class Ledger:
    """The states of all tasks of *graph* in one run, and what is known of each.

    Moves are methods and are checked. Times that are no moves are written into the columns by the
    clock that knows them. Times count from the start of the submission: in the clock's unit while
    it runs, in seconds when :meth:`close` has been called.

    Parameters
    ----------
    graph, platform : TaskGraph, Platform
        What runs where.
    able : sequence of int
        Per task, a bit mask of the classes of workers that can run it.

    See Also
    --------
    tasksim.runtime.release.Release : Which tasks the end of one releases.
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
        """The tasks that are taken, and not done."""
        self.worker = [-1] * tasks
        """Who took it; -1: nobody yet."""
        self.released_by = [-1] * tasks
        """The task whose end released it; -1: none, it waited for its submission."""
        # Arrays, not lists: for a million tasks, five million float objects that stay alive cost
        # more than all the rest of a replay.
        self.submitted = array("d", bytes(8 * tasks))
        self.ready = array("d", bytes(8 * tasks))
        self.popped = array("d", [nan]) * tasks
        """When it was taken; NaN where that is not noted."""
        self.start = array("d", bytes(8 * tasks))
        self.end = array("d", bytes(8 * tasks))

    # The moves

    def release(self, task: int, now: float, released_by: int) -> None:
        """Note that *task* is about to be pushed, as the task *released_by* has ended."""
        state = self.state
        if state[task]:
            raise illegal_move("release", self._graph, state, task)
        state[task] = READY
        self.ready[task] = now
        self.released_by[task] = released_by

    def take(self, popped: Any, worker: int, scheduler: Scheduler) -> int:
        """Note that *worker* takes what *scheduler* gave it; return the task.

        This is the only check of a pop: :exc:`SchedulerError` if it is no task, not ready, or not
        one that *worker* can run.
        """
        task = popped if popped.__class__ is int else self._number(popped, worker, scheduler)
        state = self.state
        try:
            legal = (
                state[task] == READY
                and self._able[task] >> self._class_of[worker] & 1
                and task >= 0
            )
        except IndexError:
            legal = False
        if not legal:
            raise self._illegal_pop(popped, worker, scheduler)
        state[task] = TAKEN
        self.taken.add(task)
        self.worker[task] = worker
        return task

    def hand_over(self, task: int) -> None:
        """Note that *task*, which was released, is not a worker's: a communication goes on."""
        if self.state[task] != READY:
            raise illegal_move("hand over", self._graph, self.state, task)
        self.state[task] = TAKEN
        self.taken.add(task)

    def finish(self, task: int) -> None:
        """Note that *task* is finished; what it releases comes next."""
        try:
            self.taken.remove(task)
        except KeyError:
            raise illegal_move("finish", self._graph, self.state, task) from None
        self.state[task] = DONE

    # What is known of all together

    def over(self) -> bool:
        """Return whether all tasks are done."""
        return self.state.count(DONE) == len(self.state)

    def idle(self) -> bool:
        """Return whether no task is executed and none will be submitted."""
        return self.all_submitted and not self.taken

    def moves(self) -> int:
        """Return how many moves there were: with each, something has happened."""
        return sum(self.state)

    def close(self, units_per_s: float = 1.0) -> None:
        """Turn all times into seconds, of which each has so many units of the clock."""
        import numpy as np

        if units_per_s != 1.0:
            for column in (self.submitted, self.ready, self.popped, self.start, self.end):
                # Divided, not multiplied: then 1000 ns are 1e-6 to the last bit.
                np.frombuffer(column)[:] /= units_per_s

    def makespan_s(self) -> float:
        """Return when the last task ended, in seconds; after :meth:`close`."""
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

    def _number(self, popped: Any, worker: int, scheduler: Scheduler) -> int:
        """Return the number that *popped* is, NumPy's integers among them, but not True."""
        try:
            if isinstance(popped, bool):
                raise TypeError
            return operator.index(popped)
        except TypeError:
            raise self._illegal_pop(popped, worker, scheduler) from None

    def _illegal_pop(self, popped: Any, worker: int, scheduler: Scheduler) -> Exception:
        name = self._platform.workers[worker].name
        return illegal_pop(scheduler, self._graph, self.state, popped, name)


def nobody_can_run(graph: TaskGraph, task: int) -> InputError:
    """Return the error for a *task* that has no worker."""
    return InputError(f"no worker of the platform can run {graph.label(task)}")


def able_classes(graph: TaskGraph, costs: Sequence[Sequence[float]]) -> list[int]:
    """Return per task a bit mask of the classes where its cost is finite.

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
