"""Recording of the tasks that a program submits to pools of ``concurrent.futures``.

The ends that the program sees are recorded, too. A task's kernel is the name of the submitted
function.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tasksim.recording.calls import PoolTasks, SubmissionMoment, await_times
from tasksim.recording.functions import is_of_library
from tasksim.recording.log import FUTURES
from tasksim.recording.results import mark, size_of, task_of
from tasksim.recording.timed_call import AWAITED, TimedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import TaskResults

__all__ = ["record_futures"]


def record_futures(log: RecordingLog, patches: Patches, results: TaskResults) -> None:
    """Record the tasks submitted to pools in *log*, until *patches* are undone."""
    watch = _Watch(log, results)
    for method in ("result", "exception", "done"):
        patches.set(Future, method, watch.seeing(method))
    patches.set(ThreadPoolExecutor, "submit", watch.thread_submit(ThreadPoolExecutor.submit))
    patches.set(ThreadPoolExecutor, "shutdown", watch.shutdown(ThreadPoolExecutor.shutdown))
    with contextlib.suppress(ImportError):  # some systems have no processes
        from concurrent.futures import ProcessPoolExecutor as Processes

        patches.set(Processes, "submit", watch.process_submit(Processes.submit))
        patches.set(Processes, "shutdown", watch.shutdown(Processes.shutdown))
    wait, as_completed = concurrent.futures.wait, concurrent.futures.as_completed
    patches.set_everywhere(wait, watch.waiting(wait))
    patches.set_everywhere(as_completed, watch.completing(as_completed))


class _Watch:
    """Replacements for methods and functions, which call the original and report to a log."""

    def __init__(self, log: RecordingLog, results: TaskResults) -> None:
        self.log = log
        self.results = results
        self._tasks = PoolTasks(log, results, FUTURES)

    # Submitting

    def thread_submit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of a thread pool's ``submit``."""

        @functools.wraps(original)
        def submit(self_: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not self.log.is_open or is_of_library(fn, args) or _is_of_interpreters(self_):
                return original(self_, fn, *args, **kwargs)
            task = self._tasks.submit(self_, fn, (*args, *kwargs.values()), args)
            with SubmissionMoment(self.log, task):
                future = original(self_, self._call, task, fn, args, kwargs)
            mark(future, task)
            return future

        return submit

    def process_submit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of a process pool's ``submit``."""

        @functools.wraps(original)
        def submit(self_: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not self.log.is_open or is_of_library(fn, args):
                return original(self_, fn, *args, **kwargs)
            task = self._tasks.submit(self_, fn, (*args, *kwargs.values()), args)
            number = await_times(self.log, task)
            with SubmissionMoment(self.log, task):
                future = original(self_, TimedCall(fn, number), *args, **kwargs)
            mark(future, task)
            future.add_done_callback(lambda _: AWAITED.pop(number, None))
            return future

        return submit

    def _call(self, task: RecordedTask, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function in a worker of a pool."""
        result = self.log.call(task, function, args, kwargs)
        task.result.size_bytes = size_of(result)
        return result

    # Seeing that tasks have ended

    def seeing(self, method: str) -> Callable[..., Any]:
        """Return the recorded version of a method that shows whether a future is done."""
        original: Any = getattr(Future, method)

        @functools.wraps(original)
        def replaced(self_: Any, *args: Any, **kwargs: Any) -> Any:
            if method != "done" and task_of(self_) is not None:
                self.log.about_to_wait()
            try:
                value = original(self_, *args, **kwargs)
            except BaseException:
                self._saw([self_])
                raise
            self._saw([self_])
            if method == "result" and (task := task_of(self_)) is not None:
                self.results.add(value, task.result)
            return value

        return replaced

    def waiting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of :func:`concurrent.futures.wait`."""

        @functools.wraps(original)
        def wait(*args: Any, **kwargs: Any) -> Any:
            self.log.about_to_wait()
            found = original(*args, **kwargs)
            self._saw(found.done)
            return found

        return wait

    def completing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of :func:`concurrent.futures.as_completed`."""

        @functools.wraps(original)
        def as_completed(*args: Any, **kwargs: Any) -> Iterator[Any]:
            completed = original(*args, **kwargs)
            while True:
                self.log.about_to_wait()
                future = next(completed, None)
                if future is None:
                    return
                self._saw([future])
                yield future

        return as_completed

    def shutdown(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``shutdown``, which waits for all tasks of a pool."""

        @functools.wraps(original)
        def shutdown(self_: Any, wait: bool = True, **kwargs: Any) -> Any:
            if not wait:
                return original(self_, wait, **kwargs)
            return self._tasks.wait_for(self_, lambda: original(self_, wait, **kwargs))

        return shutdown

    def _saw(self, futures: Iterable[Any]) -> None:
        """Note the ends of those *futures* that are done."""
        tasks = [task for future in futures if (task := task_of(future)) is not None]
        if tasks:
            self.log.saw(tasks)


def _is_of_interpreters(pool: Any) -> bool:
    """Return whether a thread pool has an interpreter per thread, which nothing can be told."""
    kind = getattr(concurrent.futures, "InterpreterPoolExecutor", None)
    return kind is not None and isinstance(pool, kind)
