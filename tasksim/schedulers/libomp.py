"""The ``libomp`` scheduler, the work stealing of LLVM's OpenMP runtime."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from typing import TYPE_CHECKING, ClassVar

from tasksim.base.arguments import whole_number
from tasksim.graph.taskgraph import Binding
from tasksim.schedulers.base import Scheduler, View, option_of
from tasksim.schedulers.openmp_threads import MAX_OPTION, NO_TASK, Lives, Threads

if TYPE_CHECKING:
    import random

    from tasksim.graph.csr import Int64

__all__ = ["LibOmp"]


class LibOmp(Scheduler):
    """A deque per thread and random victims, as in LLVM's OpenMP runtime.

    A task is pushed on the deque of the thread that created it, or that released it. The owner
    takes the newest task, a thief the oldest: of the thread that it last stole from, else of a
    random one. A thread that waits within a tied task only begins descendants of that. A created
    task that finds *deque* tasks is executed at once. This is ``kmp_tasking.cpp`` of libomp.

    Parameters
    ----------
    deque : int, default 256
        Size of a deque from which on a thread executes the tasks that it creates.
    max_priority : int, default 0
        Largest priority that counts, as ``OMP_MAX_TASK_PRIORITY``; tasks with a priority are
        shared, and come first.
    """

    name: ClassVar[str] = "libomp"
    core: ClassVar[str] = "libomp"

    def __init__(self, deque: int = 256, max_priority: int = 0) -> None:
        self.deque = whole_number(deque, option_of(self, "deque"), 1, MAX_OPTION)
        what = option_of(self, "max_priority")
        self.max_priority = whole_number(max_priority, what, 0, MAX_OPTION)

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty deques."""
        super().attach(view, rng)
        workers = len(view.workers)
        self._threads = Threads(view)
        self._deques: list[deque[int]] = [deque() for _ in range(workers)]
        self._loaded: list[int] = []
        """The workers whose deques have tasks, in order of number."""
        self._released_from = [0] * workers
        """Per worker, the number of tasks in its deque when its last task ended."""
        self._last_victim = [NO_TASK] * workers
        self._levels: dict[int, deque[int]] = {}
        """Tasks with a priority, by priority."""
        self._refused: set[int] = set()
        """The workers that were not allowed to begin a queued task."""
        binding = self._threads.lives.binding
        self._looks_further = Binding.FREE in binding
        """Whether a thief also looks behind a task that it must not begin."""

    def push(self, task: int) -> None:
        """Put *task* on the deque of the worker that created it, or released it."""
        view, threads = self.view, self._threads
        if threads.receive(task):
            return
        priority = min(view.priority[task], self.max_priority)
        if priority > 0:
            self._levels.setdefault(priority, deque()).append(task)
            if (log := view.decisions) is not None:
                log.queued(task, log.shared(), -priority)
            view.wake_all(task)
            return
        pusher = view.pusher
        owner = threads.able_from(task, 0 if pusher is None else pusher)
        tasks = self._deques[owner]
        if (
            len(tasks) >= self.deque
            and owner == pusher
            and (not threads.known or threads.may_begin(task, threads.tied_to(owner)))
        ):
            threads.run_at_once(task, owner)
            return
        place = len(tasks)
        if owner == pusher:  # of those released together, the oldest is taken first
            place = min(self._released_from[owner], place)
        tasks.insert(place, task)
        if (log := view.decisions) is not None:
            log.queued_at(task, owner, place)
        if len(tasks) == 1:
            insort(self._loaded, owner)
        view.wake_all(task)

    def pop(self, worker: int) -> int | None:
        """Return the piece that *worker* continues, its newest own task, or a stolen one."""
        self._refused.discard(worker)
        task = self._threads.next(worker)
        if task == NO_TASK:
            task = self._queued(worker)
        if task == NO_TASK and not self._threads.executed:
            task = self._last_resort(worker)
        if task == NO_TASK:
            return None
        self._threads.begin(task, worker)
        return task

    def finished(self, task: int, worker: int) -> None:
        """Note that *worker* releases other tasks now, or waits within *task*."""
        self._threads.end(task, worker)
        self._released_from[worker] = len(self._deques[worker])

    def core_options(self) -> dict[str, float]:
        """Return the options by name."""
        return {"deque": self.deque, "max_priority": self.max_priority}

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return the tasks whose pieces are the tasks of the graph."""
        return Lives(view.graph).tables()

    def _queued(self, worker: int) -> int:
        """Take a task from a queue for *worker*; return NONE if there is none for it."""
        tied = self._threads.tied_to(worker)
        task = self._with_priority(worker, tied)
        if task == NO_TASK:
            task = self._own(worker, tied)
        return self._stolen(worker, tied) if task == NO_TASK else task

    def _last_resort(self, worker: int) -> int:
        """Return a task for *worker* when all threads would wait for ever; NONE if there is none.

        The task that its own task waits for is behind others, in any queue.
        """
        tied = self._threads.tied_to(worker)
        for priority in sorted(self._levels):
            place = self._first(self._levels[priority], worker, tied)
            if place != NO_TASK:
                return self._take_level(priority, place)
        for owner, tasks in enumerate(self._deques):
            place = self._first(tasks, worker, tied)
            if place != NO_TASK:
                return self._take(owner, place)
        task = self._threads.last_resort(worker)
        if task == NO_TASK:
            self._threads.alarm(queued=bool(self._levels or self._loaded))
        return task

    def _first(self, tasks: deque[int], worker: int, tied: int) -> int:
        """Return the place of the first task that *worker* may begin, whatever is before it."""
        for place, task in enumerate(tasks):
            if self.view.can_run(task, worker) and self._threads.may_begin(task, tied):
                return place
        return NO_TASK

    def _take_level(self, priority: int, place: int) -> int:
        """Remove and return a task with a *priority*."""
        tasks = self._levels[priority]
        task = tasks[place]
        del tasks[place]
        if not tasks:
            del self._levels[priority]
        else:
            self._let_refused_look()
        return task

    def _with_priority(self, worker: int, tied: int) -> int:
        """Take the oldest task of the highest priority."""
        for priority in sorted(self._levels, reverse=True):
            tasks = self._levels[priority]
            place = self._oldest(tasks, worker, tied)
            if place != NO_TASK:
                return self._take_level(priority, place)
        return NO_TASK

    def _own(self, worker: int, tied: int) -> int:
        """Take the newest task of *worker*'s own deque."""
        tasks = self._deques[worker]
        if not tasks or not self._begins(tasks[-1], worker, tied):
            return NO_TASK
        return self._take(worker, len(tasks) - 1)

    def _stolen(self, thief: int, tied: int) -> int:
        """Take the oldest task of the last victim, or of a random one that has tasks."""
        last = self._last_victim[thief]
        if last != NO_TASK:
            place = self._oldest(self._deques[last], thief, tied)
            if place != NO_TASK:
                return self._take(last, place)
        found = []
        for victim in self._loaded:
            if victim not in (thief, last):
                place = self._oldest(self._deques[victim], thief, tied)
                if place != NO_TASK:
                    found.append((victim, place))
        if not found:
            self._last_victim[thief] = NO_TASK
            return NO_TASK
        drawn = int(self.rng.random() * len(found)) if len(found) > 1 else 0
        self._last_victim[thief], place = found[drawn]
        return self._take(*found[drawn])

    def _oldest(self, tasks: deque[int], worker: int, tied: int) -> int:
        """Return the place of the oldest task that *worker* can run, or NONE if it must not."""
        for place, task in enumerate(tasks):
            if self.view.can_run(task, worker):
                if self._begins(task, worker, tied):
                    return place
                if not self._looks_further:
                    break
        return NO_TASK

    def _begins(self, task: int, worker: int, tied: int) -> bool:
        """Return whether *worker*, which is tied to the task *tied*, may begin *task*."""
        if tied == NO_TASK or self._threads.may_begin(task, tied):
            return True
        self._refused.add(worker)
        return False

    def _take(self, owner: int, place: int) -> int:
        """Remove and return a task of *owner*'s deque."""
        tasks = self._deques[owner]
        task = tasks[place]
        del tasks[place]
        if place < self._released_from[owner]:
            self._released_from[owner] -= 1
        if not tasks:
            del self._loaded[bisect_left(self._loaded, owner)]
        else:
            self._let_refused_look()
        return task

    def _let_refused_look(self) -> None:
        """Wake the refused workers: the task at an end of a queue is now another one."""
        for worker in sorted(self._refused):
            self.view.wake(worker)
        self._refused.clear()
