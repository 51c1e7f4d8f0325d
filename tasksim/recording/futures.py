"""Recording of the tasks that a program submits to pools of ``concurrent.futures``.

The ends that the program sees are recorded, too. A task's kernel is the name of the submitted
function.
"""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tasksim.recording.results import Results, mark, size_of, task_of
from tasksim.recording.timed_call import AWAITED, TimedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tasksim.recording.log import Log, RecordedTask
    from tasksim.recording.patches import Patches

__all__ = [
    "record_futures",
]


_NUMBERS = itertools.count(1)
"""Counter for the numbers of calls in other processes. No number is used again, so late results are
ignored."""


def record_futures(log: Log, patches: Patches) -> None:
    """Have *log* told of all that is submitted to pools, until *patches* are undone."""
    watch = _Watch(log)
    for method in ("result", "exception", "done"):
        patches.set(Future, method, watch.seeing(method))
    patches.set(ThreadPoolExecutor, "submit", watch.thread_submit(ThreadPoolExecutor.submit))
    patches.set(ThreadPoolExecutor, "shutdown", watch.shutdown(ThreadPoolExecutor.shutdown))
    processes = _process_pools()
    if processes is not None:
        patches.set(processes, "submit", watch.process_submit(processes.submit))
        patches.set(processes, "shutdown", watch.shutdown(processes.shutdown))
    wait, as_completed = concurrent.futures.wait, concurrent.futures.as_completed
    patches.set_everywhere(wait, watch.waiting(wait))
    patches.set_everywhere(as_completed, watch.completing(as_completed))


def _process_pools() -> Any:
    """Return the class of pools of processes; None where the system has none."""
    try:
        from concurrent.futures import ProcessPoolExecutor
    except ImportError:
        return None
    return ProcessPoolExecutor


class _Watch:
    """Replacements for methods and functions, which call the original and report to a log."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.results = Results()
        self._of_pool: weakref.WeakKeyDictionary[Any, list[RecordedTask]]
        self._of_pool = weakref.WeakKeyDictionary()
        self._pools = itertools.count(1)
        self._number: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    # Submitting

    def thread_submit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return what replaces a thread pool's ``submit``."""

        @functools.wraps(original)
        def submit(self_: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not self.log.is_open or is_of_dask(fn, args) or _is_of_interpreters(self_):
                return original(self_, fn, *args, **kwargs)
            task = self._task(self_, fn, args, kwargs)
            with _Submission(self.log, task):
                future = original(self_, self._call, task, fn, args, kwargs)
            mark(future, task)
            return future

        return submit

    def process_submit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return what replaces a process pool's ``submit``."""

        @functools.wraps(original)
        def submit(self_: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not self.log.is_open or is_of_dask(fn, args):
                return original(self_, fn, *args, **kwargs)
            task, number = self._task(self_, fn, args, kwargs), next(_NUMBERS)
            AWAITED[number] = functools.partial(self._note_times, task)
            with _Submission(self.log, task):
                future = original(self_, TimedCall(fn, number), *args, **kwargs)
            mark(future, task)
            future.add_done_callback(lambda _: AWAITED.pop(number, None))
            return future

        return submit

    def _task(self, pool: Any, function: Any, args: Any, kwargs: Any) -> RecordedTask:
        """Return the task that a call given to *pool* is."""
        if pool not in self._number:
            self._number[pool] = next(self._pools)
        reads = self.results.among(*args, *kwargs.values(), *_carried(function))
        task = self.log.submit(function_and_name(function, args), reads)
        task.pool = self._number[pool]
        self._of_pool.setdefault(pool, []).append(task)
        return task

    def _call(self, task: RecordedTask, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function in a worker of a pool."""
        result = self.log.call(task, function, args, kwargs)
        task.result.size_bytes = size_of(result)
        return result

    def _note_times(
        self,
        task: RecordedTask,
        result: Any,
        raised: bool,
        start_s: float,
        end_s: float,
        cpu_s: float,
        preemptions: int,
        process: int,
    ) -> None:
        """Note how a call in another process went."""
        if self.log.is_open:  # what ends later is left out
            task.worker, task.raised = process, raised
            task.cpu_s, task.preemptions = cpu_s, preemptions
            task.start_s, task.end_s = start_s, end_s
            task.result.size_bytes = size_of(result)

    # Seeing that tasks have ended

    def seeing(self, method: str) -> Callable[..., Any]:
        """Return what replaces a method of futures by which one sees that they are done."""
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
        """Return what replaces :func:`concurrent.futures.wait`."""

        @functools.wraps(original)
        def wait(*args: Any, **kwargs: Any) -> Any:
            self.log.about_to_wait()
            found = original(*args, **kwargs)
            self._saw(found.done)
            return found

        return wait

    def completing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return what replaces :func:`concurrent.futures.as_completed`."""

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
        """Return what replaces a pool's ``shutdown``, which waits for all its tasks."""

        @functools.wraps(original)
        def shutdown(self_: Any, wait: bool = True, **kwargs: Any) -> Any:
            tasks = self._of_pool.get(self_) if wait else None
            if tasks:
                self.log.about_to_wait()
            found = original(self_, wait, **kwargs)
            if tasks:
                self.log.saw(tasks)
            return found

        return shutdown

    def _saw(self, futures: Iterable[Any]) -> None:
        """Note the ends of those *futures* that are done."""
        tasks = [task for future in futures if (task := task_of(future)) is not None]
        if tasks:
            self.log.saw(tasks)


class _Submission:
    """The moment of submission of a task; a task whose submission is refused is not recorded."""

    def __init__(self, log: Log, task: RecordedTask) -> None:
        self._log = log
        self._task = task

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *_: object) -> None:
        self._log.submitted()
        self._task.cancelled = kind is not None


def _is_of_interpreters(pool: Any) -> bool:
    """Return whether a thread pool has an interpreter per thread, which nothing can be told."""
    kind = getattr(concurrent.futures, "InterpreterPoolExecutor", None)
    return kind is not None and isinstance(pool, kind)


def _carried(function: Any) -> tuple[Any, ...]:
    """Return the arguments that a ``functools.partial`` carries."""
    if isinstance(function, functools.partial):
        return (*function.args, *function.keywords.values(), *_carried(function.func))
    return ()


_RUNNERS = frozenset({"_process_chunk"})
"""Functions in which ``Executor.map`` calls the user's function on a chunk of arguments."""


def unwrapped(function: Any, arguments: Sequence[Any] = ()) -> Callable[..., Any]:
    """Return the function that a call is about, without what only carries it there.

    >>> unwrapped(functools.partial(sorted, reverse=True)).__name__
    'sorted'
    """
    while True:
        if isinstance(function, functools.partial):
            function, arguments = function.func, (*function.args, *arguments)
        elif _only_carries(function) and arguments and callable(arguments[0]):
            function, arguments = arguments[0], arguments[1:]
        else:
            return function  # type: ignore[no-any-return]


def function_and_name(function: Any, arguments: Sequence[Any] = ()) -> tuple[str, str]:
    """Return what a call is called: by its function's name, and with its module before it.

    >>> function_and_name(functools.partial(sorted, reverse=True))
    ('sorted', 'builtins.sorted')
    """
    found = unwrapped(function, arguments)
    name = getattr(found, "__qualname__", None) or getattr(found, "__name__", None)
    if not isinstance(name, str):
        found = type(found)
        name = found.__qualname__
    name = name.rpartition("<locals>.")[2]
    module = getattr(found, "__module__", None) or getattr(
        type(getattr(found, "__self__", None)), "__module__", ""
    )
    return name, f"{module}.{name}"


def is_of_dask(function: Any, arguments: Sequence[Any] = ()) -> bool:
    """Return whether a call is what Dask gives to its pool: batches of tasks of its own."""
    return getattr(unwrapped(function, arguments), "__module__", None) == "dask.local"


def _only_carries(function: Any) -> bool:
    """Return whether *function* calls its first argument and does nothing of its own.

    ``Context.run``, by which libraries hand on context variables, is one.
    """
    if getattr(function, "__name__", "") in _RUNNERS:
        return True
    owner = getattr(function, "__self__", None)
    return type(owner).__name__ == "Context" and getattr(function, "__name__", "") == "run"
