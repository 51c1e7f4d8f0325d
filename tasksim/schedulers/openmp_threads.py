"""Threads of an OpenMP runtime as workers, with their begun tasks and the next pieces of these.

A recorded OpenMP program has its tasks in pieces (:attr:`TaskGraph.continues`). A thread that
reaches a wait runs other tasks meanwhile, on top of the waiting one, and continues the waiting one
only after these have ended. In other graphs, each task is a single piece.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.graph.taskgraph import Binding

if TYPE_CHECKING:
    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.schedulers.base import View

__all__ = ["MAX_OPTION", "NO_TASK", "Lives", "Threads"]

NO_TASK: Final = -1
"""No task."""
MAX_OPTION: Final = 2**31 - 1
"""Largest value of an option, as priorities have 32 bits."""


class Lives:
    """The tasks whose pieces are the tasks of a graph; lists are empty if there are no pieces.

    A task of several pieces has the number of its first one.

    Attributes
    ----------
    whole : list of int
        Per piece, its task.
    next : list of int
        Per piece, the piece that continues it, or NONE.
    parent : list of int
        Per piece, the task that created its task, or NONE.
    depth : list of int
        Per piece, the number of its task's ancestors.
    binding : list of int
        Per piece, its :class:`Binding`.
    creator : list of int
        Per piece that begins a task, the piece that created the task, or NONE.
    """

    def __init__(self, graph: TaskGraph) -> None:
        before: list[int] = graph.continues.tolist()
        creator: list[int] = graph.creator.tolist()
        self.creator = creator
        self.whole = list(range(len(before)))
        self.next = [NO_TASK] * len(before)
        self.parent = [NO_TASK] * len(before)
        self.depth = [0] * len(before)
        self.binding: list[int] = graph.binding.tolist()
        whole, parent, depth = self.whole, self.parent, self.depth
        for piece, last in enumerate(before):
            if last != NO_TASK:
                self.next[last] = piece
                whole[piece], parent[piece], depth[piece] = whole[last], parent[last], depth[last]
            elif creator[piece] != NO_TASK:
                parent[piece] = whole[creator[piece]]
                depth[piece] = depth[creator[piece]] + 1

    def tables(self) -> dict[str, Int64]:
        """Return the attributes as tables for the compiled core."""
        columns = {
            "whole": self.whole, "next": self.next, "parent": self.parent,
            "depth": self.depth, "binding": self.binding, "creator": self.creator,
        }  # fmt: skip
        return {name: np.array(column, np.int64) for name, column in columns.items()}


class Threads:
    """The tasks that each worker has begun, and the pieces that it runs before it uses a queue."""

    def __init__(self, view: View) -> None:
        workers = len(view.workers)
        self._view = view
        self.lives = Lives(view.graph)
        self.known = bool(self.lives.whole)
        """Whether the graph has tasks in pieces."""
        self._within: list[list[int]] = [[] for _ in range(workers)]
        """Per worker, the tasks begun and not ended, each within the one before it."""
        self._home: dict[int, int] = {}
        """The worker of each task that has begun and not ended."""
        self._waiting: dict[int, int] = {}
        """The next piece of each begun task that is not being executed."""
        self._ready: dict[int, int] = {}
        """The next piece of each begun task that can continue."""
        self._at_once: list[list[tuple[int, int]]] = [[] for _ in range(workers)]
        """Per worker, the tasks to run first, each with the number of begun tasks at that time."""
        self._held: list[deque[int]] = [deque() for _ in range(workers)]
        self._spread = [0] * workers
        """Per worker, the number of implicit tasks that the end of its last task has released."""
        self.executed = 0
        """The number of tasks being executed."""
        self._alarmed = False
        """Whether all workers have been woken since the last task began."""
        self._ended = [NO_TASK] * workers
        """Per worker, the task that it ended last."""

    def receive(self, task: int) -> bool:
        """Take the pushed *task* if it is bound to a worker, and wake the worker."""
        if not self.known:
            return False
        lives, pusher = self.lives, self._view.pusher
        whole = lives.whole[task]
        if whole != task and self._view.can_run(task, self._home[whole]):
            self._ready[whole] = task
            self._view.wake(self._home[whole])
            return True
        if whole != task:
            self._within[self._home[whole]].remove(whole)
            owner = self.able_from(task, self._home.pop(whole))
        elif lives.binding[task] != Binding.HELD:
            return False
        elif lives.parent[task] != NO_TASK and lives.parent[task] in self._home:
            owner = self.able_from(task, self._home[lives.parent[task]])
        else:
            first = 0 if pusher is None else pusher
            owner = self.able_from(task, (first + self._spread[first]) % len(self._within))
            self._spread[first] += 1
        self._held[owner].append(task)
        self._view.wake(owner)
        return True

    def is_created(self, task: int) -> bool:
        """Return whether *task* is pushed because its creation has just ended."""
        pusher = self._view.pusher
        return (
            self.known
            and pusher is not None
            and self.lives.creator[task] == self._ended[pusher] != NO_TASK
        )

    def run_at_once(self, task: int, worker: int) -> None:
        """Let *worker* run *task*, which no queue takes, before anything else."""
        self._at_once[worker].append((task, len(self._within[worker])))
        self._view.wake(worker)

    def able_from(self, task: int, first: int) -> int:
        """Return the first worker that can run *task*, from *first* on, wrapping round."""
        count = len(self._within)
        for worker in range(first, first + count):
            if self._view.can_run(task, worker % count):
                return worker % count
        return first  # the engine has refused such tasks

    def next(self, worker: int) -> int:
        """Return the piece that *worker* runs before it uses a queue; NONE if there is none."""
        for place, (task, within) in enumerate(self._at_once[worker]):
            if within >= len(self._within[worker]):
                del self._at_once[worker][place]
                return task
        if not self.known:
            return NO_TASK
        for whole in reversed(self._within[worker]):
            if whole in self._ready:
                return self._ready.pop(whole)
            if self.lives.parent[whole] != NO_TASK:
                break  # those below go on when this one has ended; implicit tasks take turns
        if self._held[worker]:
            return self._held[worker].popleft()
        return NO_TASK

    def last_resort(self, worker: int) -> int:
        """Return a piece that *worker* continues although it is within another task, or NONE.

        Nothing is executed, and threads would wait for ever: fewer workers than recorded threads
        share the work of these.
        """
        if self._ready:
            for whole in reversed(self._within[worker]):
                if whole in self._ready:
                    return self._ready.pop(whole)
        return NO_TASK

    def alarm(self, *, queued: bool) -> None:
        """Wake all sleeping workers to look for a last resort, if any task is *queued* or ready."""
        if self._alarmed or not (queued or self._ready):
            return
        self._alarmed = True
        for worker in range(len(self._within)):
            if self._view.sleeping(worker):
                self._view.wake(worker)

    def begin(self, task: int, worker: int) -> None:
        """Note that *worker* runs *task* now."""
        self.executed += 1
        self._alarmed = False
        if not self.known or self.lives.next[task] == NO_TASK:
            return
        whole = self.lives.whole[task]
        if whole not in self._home:
            self._home[whole] = worker
            self._within[worker].append(whole)
        self._waiting.pop(whole, None)

    def end(self, task: int, worker: int) -> None:
        """Note that *worker* has ended *task*, before its successors are pushed."""
        self.executed -= 1
        self._spread[worker] = 0
        self._ended[worker] = task
        if not self.known:
            return
        whole = self.lives.whole[task]
        if self.lives.next[task] != NO_TASK:
            self._waiting[whole] = self.lives.next[task]
        elif whole in self._home:
            within = self._within[self._home.pop(whole)]
            del within[len(within) - 1 - within[::-1].index(whole)]

    def wait_of(self, worker: int) -> tuple[int, int]:
        """Return the task within which *worker* waits, and its binding; NONE and FREE without."""
        for whole in reversed(self._within[worker]):
            if whole in self._waiting:  # otherwise a device runs it, and its worker asks for more
                return whole, self.lives.binding[self._waiting[whole]]
        return NO_TASK, Binding.FREE

    def tied_to(self, worker: int) -> int:
        """Return the task whose descendants alone *worker* may begin now; NONE: any task."""
        binding = self.lives.binding
        for whole in reversed(self._within[worker]):
            following = self._waiting.get(whole, NO_TASK)
            if following != NO_TASK and binding[following] == Binding.FREE:
                return NO_TASK
            if binding[whole] != Binding.FREE:
                return whole
        return NO_TASK

    def may_begin(self, task: int, tied: int) -> bool:
        """Return whether a worker that is tied to the task *tied* may begin *task*."""
        if tied == NO_TASK or self.lives.binding[task] == Binding.FREE:
            return True
        return self.descends(task, tied)

    def descends(self, task: int, ancestor: int) -> bool:
        """Return whether *task* was created within the task *ancestor*, or within one in it."""
        parent, depth = self.lives.parent, self.lives.depth
        level = depth[ancestor]
        whole = parent[task]
        while whole not in (NO_TASK, ancestor) and depth[whole] > level:
            whole = parent[whole]
        return whole == ancestor
