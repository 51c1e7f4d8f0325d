"""Recording of the calls that a program gives to ``joblib.Parallel``.

A call is a task, whatever the backend makes of it: joblib puts short calls in batches, and gives
these to pools of its own. A call is pickled on its way to another process, and called as it is in
a thread, which :class:`~tasksim.recording.calls.RecordedCall` knows to tell apart.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

from tasksim.recording.calls import RecordedCall
from tasksim.recording.functions import carried_by, function_and_name
from tasksim.recording.imports import WhenImported
from tasksim.recording.log import JOBLIB
from tasksim.recording.waits import saw_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tasksim.recording.log import Log, RecordedTask
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import Results

__all__ = ["JoblibWatch"]


class JoblibWatch:
    """Recorder of ``joblib.Parallel``, active once the program imports joblib."""

    def __init__(self, log: Log, patches: Patches, results: Results) -> None:
        self._log = log
        self._patches = patches
        self._results = results
        self._import = WhenImported("joblib.parallel", self._begin)

    def start(self) -> None:
        """Wait until the program imports joblib; nothing is imported here."""
        self._import.watch()

    def stop(self) -> None:
        """Watch no longer."""
        self._import.stop()

    def _begin(self) -> None:
        from joblib.parallel import Parallel

        # scikit-learn's Parallel calls it, too.
        self._patches.set(Parallel, "__call__", self._calling(Parallel.__call__))

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return what replaces ``Parallel.__call__``, which gives calls to workers."""

        @functools.wraps(original)
        def call(self_: Any, iterable: Any) -> Any:
            log = self._log
            if not log.is_open:
                return original(self_, iterable)
            calls = _Calls(log, self._results, iterable)
            try:
                output = original(self_, calls if hasattr(iterable, "__len__") else iter(calls))
            except BaseException:
                calls.waited()
                raise
            if not isinstance(output, list):
                in_order = getattr(self_, "return_ordered", True)
                return saw_items(log, self._results, output, calls.tasks, in_order=in_order)
            calls.waited()
            for value, task in zip(output, calls.tasks, strict=False):
                self._results.add(value, task.result)
            return output

        return call


class _Calls:
    """The calls that a program gives to joblib, each of which becomes a task when it is taken."""

    def __init__(self, log: Log, results: Results, iterable: Iterable[Any]) -> None:
        self.tasks: list[RecordedTask] = []
        self._log = log
        self._results = results
        self._iterable = iterable
        self._thread = threading.current_thread()
        self._pool = log.next_pool()
        self._after: list[RecordedTask] = []

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]  # only where the program's has it

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        for function, args, kwargs in self._iterable:
            if not self._log.is_open:
                yield function, args, kwargs
                continue
            task = self._task(function, args, kwargs)
            yield RecordedCall(self._log, task, function), args, kwargs
            if threading.current_thread() is self._thread:
                self._log.submitted()

    def _task(self, function: Any, args: Any, kwargs: Any) -> RecordedTask:
        """Return the task of a call; joblib takes most of them in a thread of its own."""
        reads = self._results.among(*args, *kwargs.values(), *carried_by(function))
        name = function_and_name(function)
        if threading.current_thread() is self._thread:
            task = self._log.submit(name, reads, JOBLIB)
            self._after = task.after
        else:
            task = self._log.submit_later(name, reads, JOBLIB, self._after)
        task.pool = self._pool
        self.tasks.append(task)
        return task

    def waited(self) -> None:
        """Note that the program's thread has seen the ends of the calls."""
        self._log.has_waited()
        self._log.saw(self.tasks)
