"""The ``libgomp`` scheduler, the queue that threads of GCC's OpenMP runtime share."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar

from tasksim.base.arguments import whole_number
from tasksim.graph.taskgraph import Binding
from tasksim.schedulers.base import Scheduler, View, option_of
from tasksim.schedulers.openmp_threads import MAX_OPTION, NO_TASK, Lives, Threads

if TYPE_CHECKING:
    import random

    from tasksim.graph.csr import Int64

__all__ = ["LibGomp"]


class LibGomp(Scheduler):
    """One queue for all threads, and a list of each task's children, as in GCC's OpenMP runtime.

    At a barrier a thread takes the oldest task of the queue. A thread that waits for children
    within a task takes the newest of these, and nothing else. A created task is executed at once
    while there are more than *throttle* tasks per thread, queued and running ones. This is
    ``task.c`` of libgomp.

    Parameters
    ----------
    throttle : int, default 64
        Number of tasks per thread above which a thread executes the tasks that it creates.
    max_priority : int, default 0
        Largest priority that counts, as ``OMP_MAX_TASK_PRIORITY``; more urgent tasks come first.
    """

    name: ClassVar[str] = "libgomp"
    core: ClassVar[str] = "libgomp"

    def __init__(self, throttle: int = 64, max_priority: int = 0) -> None:
        self.throttle = whole_number(throttle, option_of(self, "throttle"), 1, MAX_OPTION)
        what = option_of(self, "max_priority")
        self.max_priority = whole_number(max_priority, what, 0, MAX_OPTION)

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        self._threads = Threads(view)
        self._most = self.throttle * len(view.workers)
        self._queued: set[int] = set()
        self._all = _Queue(view, self._queued)
        self._children: dict[int, _Queue] = {}
        """Queued tasks by the task that created them."""
        self._counted: set[int] = set()
        """The tasks that are queued, or were queued and have not ended."""

    def push(self, task: int) -> None:
        """Queue *task* for all workers, and for the one that waits in the task that created it."""
        view, threads = self.view, self._threads
        if threads.receive(task):
            return
        if len(self._counted) > self._most and threads.is_created(task):
            assert view.pusher is not None
            threads.run_at_once(task, view.pusher)
            return
        priority = max(0, min(view.priority[task], self.max_priority))
        self._queued.add(task)
        self._all.append(task, priority)
        if (log := view.decisions) is not None:
            log.queued(task, log.shared(), -priority)
        if not threads.known:
            view.wake_any(task)
            return
        self._counted.add(task)
        parent = threads.lives.parent[task]
        if parent != NO_TASK:
            if parent not in self._children:
                self._children[parent] = _Queue(view, self._queued)
            self._children[parent].append(task, priority)
        view.wake_all(task)

    def pop(self, worker: int) -> int | None:
        """Return the piece that *worker* continues, or the next queued task."""
        task = self._threads.next(worker)
        if task == NO_TASK:
            task = self._next_queued(worker)
        if task == NO_TASK and not self._threads.executed:
            task = self._threads.last_resort(worker)
            if task == NO_TASK:
                self._threads.alarm(queued=bool(self._queued))
        if task == NO_TASK:
            return None
        self._threads.begin(task, worker)
        return task

    def finished(self, task: int, worker: int) -> None:
        """Note that *worker* releases other tasks now, or waits within *task*."""
        threads = self._threads
        threads.end(task, worker)
        if threads.known and threads.lives.next[task] == NO_TASK:
            whole = threads.lives.whole[task]
            self._counted.discard(whole)
            self._children.pop(whole, None)

    def core_options(self) -> dict[str, float]:
        """Return the options by name."""
        return {"throttle": self.throttle, "max_priority": self.max_priority}

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return the tasks whose pieces are the tasks of the graph."""
        return Lives(view.graph).tables()

    def _next_queued(self, worker: int) -> int:
        """Take a queued task for *worker*; return NONE if there is none for it."""
        whole, wait = self._threads.wait_of(worker)
        task = NO_TASK
        if wait == Binding.FREE:
            task = self._all.oldest(worker)
        else:
            if whole in self._children:
                task = self._children[whole].newest(worker)
            if task == NO_TASK and wait == Binding.GROUP:
                task = self._all.oldest(worker, within=whole, threads=self._threads)
        self._queued.discard(task)
        return task


class _Queue:
    """Tasks by priority, in push order; tasks that are not in *queued* have been taken."""

    def __init__(self, view: View, queued: set[int]) -> None:
        self._view = view
        self._queued = queued
        self._lanes: dict[tuple[int, int], deque[tuple[int, int]]] = {}
        """By priority, negated, and by the classes that can run them: numbers and tasks."""
        self._pushed = 0

    def append(self, task: int, priority: int) -> None:
        """Append *task*."""
        lane = self._lanes.setdefault((-priority, self._view.able[task]), deque())
        lane.append((self._pushed, task))
        self._pushed += 1

    def oldest(self, worker: int, within: int = NO_TASK, threads: Threads | None = None) -> int:
        """Return the oldest task of the highest priority that *worker* can run, or NONE.

        With *threads*, only descendants of the task *within* count.
        """
        found: list[tuple[int, int, int]] = []
        for (level, able), lane in self._lanes.items():
            while lane and lane[0][1] not in self._queued:
                lane.popleft()
            if able >> self._view.class_of[worker] & 1:
                for number, task in lane:
                    if threads is None or (task in self._queued and threads.descends(task, within)):
                        found.append((level, number, task))
                        break
        return min(found)[2] if found else NO_TASK

    def newest(self, worker: int) -> int:
        """Return the newest task of the highest priority that *worker* can run, or NONE."""
        found: list[tuple[int, int, int]] = []
        for (level, able), lane in self._lanes.items():
            while lane and lane[-1][1] not in self._queued:
                lane.pop()
            if lane and able >> self._view.class_of[worker] & 1:
                number, task = lane[-1]
                found.append((level, -number, task))
        return min(found)[2] if found else NO_TASK
