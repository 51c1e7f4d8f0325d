"""Calls that a library makes for the program, in this process or in another.

A library decides where a call runs. :class:`RecordedCall` is a task if it is called in this
process; pickled on its way to another, it is a timed call there, whose result brings the times.
"""

from __future__ import annotations

import functools
import itertools
from math import nan
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tasksim.recording.functions import carried_by, function_and_name
from tasksim.recording.results import size_of
from tasksim.recording.timed_call import AWAITED, TimedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.recording.results import TaskResults

__all__ = ["PoolTasks", "RecordedCall", "SubmissionMoment", "await_times", "note_times"]

_NUMBERS = itertools.count(1)
"""Counter for the numbers of calls in other processes. No number is used again, so late results are
ignored."""


class RecordedCall:
    """A call of a function that is a task, wherever it runs."""

    def __init__(self, log: RecordingLog, task: RecordedTask, function: Any) -> None:
        self.task = task
        self._log = log
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in this process, as a task of this thread."""
        result = self._log.call(self.task, self._function, args, kwargs)
        self.task.result.size_bytes = size_of(result)
        self._log.goes_on()
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return TimedCall, (self._function, await_times(self._log, self.task))


class SubmissionMoment:
    """The moment of submission of a task; a task whose submission is refused is not recorded."""

    def __init__(self, log: RecordingLog, task: RecordedTask) -> None:
        self._log = log
        self._task = task

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *_: object) -> None:
        self._log.submitted()
        self._task.cancelled = kind is not None


class PoolTasks:
    """The tasks that a program gives to pools of one library, by pool."""

    def __init__(self, log: RecordingLog, results: TaskResults, source: str) -> None:
        self._log, self._results, self._source = log, results, source
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._tasks: WeakKeyDictionary[Any, list[RecordedTask]] = WeakKeyDictionary()

    def submit(
        self,
        pool: Any,
        function: Any,
        values: Iterable[Any],
        arguments: Sequence[Any] = (),
        after: Iterable[RecordedTask] | None = None,
    ) -> RecordedTask:
        """Return a new task of a *pool*: a call of *function* with these *values*.

        *arguments* may hold the program's function, if *function* only carries it; *after* is as
        for :meth:`RecordingLog.submit`.
        """
        if pool not in self._numbers:
            self._numbers[pool] = self._log.next_pool()
        reads = self._results.among(*values, *carried_by(function))
        name = function_and_name(function, arguments)
        task = self._log.submit(name, reads, self._source, after)
        task.pool = self._numbers[pool]
        self._tasks.setdefault(pool, []).append(task)
        return task

    def wait_for(self, pool: Any, wait: Callable[[], Any]) -> Any:
        """Return the result of *wait*, which returns when all tasks of a *pool* have ended."""
        tasks = self._tasks.get(pool)
        if tasks:
            self._log.about_to_wait()
        found = wait()
        if tasks:
            self._log.saw(tasks)
        return found


def await_times(log: RecordingLog, task: RecordedTask) -> int:
    """Return the number under which the times of a task arrive from another process."""
    number = next(_NUMBERS)
    AWAITED[number] = functools.partial(note_times, log, task)
    return number


def note_times(
    log: RecordingLog,
    task: RecordedTask,
    result: Any,
    raised: bool,
    start_s: float,
    end_s: float,
    cpu_s: float,
    preemptions: int,
    process: int,
    ready_s: float = nan,
) -> None:
    """Note how a call in another process went, and when that was there as a worker."""
    if log.is_open:  # later ends are left out
        task.worker, task.raised = process, raised
        task.cpu_s, task.preemptions = cpu_s, preemptions
        task.start_s, task.end_s = start_s, end_s
        log.ready_s[process] = ready_s
        task.result.size_bytes = size_of(result)
