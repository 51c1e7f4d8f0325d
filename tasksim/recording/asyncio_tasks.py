"""Recording of the tasks of asyncio's task groups.

Tasks of one thread take turns, step by step, and overlap. Each is a task from its first step to
its last, on a worker that is a place for one of them: a run has as many as there were at once.
"""

from __future__ import annotations

import collections.abc
import functools
import heapq
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tasksim.recording.calls import SubmissionMoment
from tasksim.recording.functions import function_and_name
from tasksim.recording.log import ASYNCIO
from tasksim.recording.results import size_of
from tasksim.recording.timed_call import clocks, clocks_since

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import TaskResults

__all__ = ["TaskPlace", "record_asyncio"]

_TASKS = "_tasksim_tasks"
"""Attribute of a task group with its tasks."""


class TaskPlace(NamedTuple):
    """A place for one task of asyncio at a time."""

    number: int


def record_asyncio(log: RecordingLog, patches: Patches, results: TaskResults) -> None:
    """Record the tasks of asyncio's task groups in *log*, until *patches* are undone."""
    watch = _Watch(log, results)

    def begin() -> None:
        from asyncio.taskgroups import TaskGroup

        kind: Any = TaskGroup
        patches.set(kind, "create_task", watch.creating(kind.create_task))
        patches.set(kind, "__aexit__", watch.leaving(kind.__aexit__))

    patches.when_imported("asyncio.taskgroups", begin)


class _Watch:
    """Replacements for methods of task groups, which call the original and report to a log."""

    def __init__(self, log: RecordingLog, results: TaskResults) -> None:
        self.log = log
        self._results = results
        self._pool = log.next_pool()
        self._free: list[int] = []
        self._places = 0

    def creating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``TaskGroup.create_task``."""

        @functools.wraps(original)
        def create_task(self_: Any, coro: Any, **named: Any) -> Any:
            if not self.log.is_open or not isinstance(coro, collections.abc.Coroutine):
                return original(self_, coro, **named)
            frame = getattr(coro, "cr_frame", None)
            reads = [] if frame is None else self._results.among(*frame.f_locals.values())
            task = self.log.submit(_name_of(coro), reads, ASYNCIO)
            task.pool = self._pool
            with SubmissionMoment(self.log, task):
                created = original(self_, _Steps(self, task, coro), **named)
            vars(self_).setdefault(_TASKS, []).append(task)
            return created

        return create_task

    def leaving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of the end of a group's block, which waits for its tasks."""

        @functools.wraps(original)
        async def leave(self_: Any, *error: Any) -> Any:
            tasks = vars(self_).get(_TASKS)
            if tasks:
                self.log.about_to_wait()
            try:
                return await original(self_, *error)
            finally:
                if tasks:
                    self.log.saw(tasks)

        return leave

    def take_place(self) -> TaskPlace:
        """Return a place that is free, the one with the lowest number."""
        if self._free:
            return TaskPlace(heapq.heappop(self._free))
        self._places += 1
        return TaskPlace(self._places - 1)

    def ended(self, task: RecordedTask, value: Any) -> None:
        """Note the result of a task, and free its place."""
        if isinstance(task.worker, TaskPlace):
            heapq.heappush(self._free, task.worker.number)
        self._results.add(value, task.result)
        task.result.size_bytes = size_of(value)


class _Steps(collections.abc.Coroutine[Any, Any, Any]):
    """A coroutine whose steps are timed; all other attributes are those of the original."""

    def __init__(self, watch: _Watch, task: RecordedTask, coro: Any) -> None:
        self._watch = watch
        self._task = task
        self._coro = coro

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coro, name)

    def __await__(self) -> Any:
        return self._coro.__await__()

    def send(self, value: Any, /) -> Any:
        """Do the next step."""
        return self._step(self._coro.send, value)

    def throw(self, *error: Any) -> Any:
        """Do the next step, which begins with an error."""
        return self._step(self._coro.throw, *error)

    def close(self) -> None:
        """End the coroutine before it has ended."""
        self._coro.close()

    def _step(self, step: Callable[..., Any], *arguments: Any) -> Any:
        log, task = self._watch.log, self._task
        outer, log.here.task = log.here.task, task
        begun = clocks()
        if task.worker is None:
            task.worker, task.start_s, task.preemptions = self._watch.take_place(), begun[0], 0
        value, has_ended = None, True
        try:
            found = step(*arguments)
            has_ended = False
            return found
        except StopIteration as end:
            value = end.value
            raise
        except BaseException:
            task.raised = True
            raise
        finally:
            _, cpu_s, preempted = clocks_since(begun)
            task.cpu_s += cpu_s
            task.preemptions += preempted
            log.here.task = outer
            if has_ended:
                self._watch.ended(task, value)
                if log.is_open:  # later ends are left out
                    task.end_s = time.perf_counter()


def _name_of(coro: Any) -> tuple[str, str]:
    """Return the name of a coroutine's task: that of its function."""
    name = getattr(coro, "__qualname__", None) or type(coro).__qualname__
    frame = getattr(coro, "cr_frame", None)
    if frame is None:
        return function_and_name(coro)
    short = str(name).rpartition("<locals>.")[2]
    return short, f"{frame.f_globals.get('__name__', '')}.{short}"
