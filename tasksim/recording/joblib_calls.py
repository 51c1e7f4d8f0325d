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
from tasksim.recording.log import JOBLIB
from tasksim.recording.waits import saw_items

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import TaskResults

__all__ = ["record_joblib"]


def record_joblib(log: RecordingLog, patches: Patches, results: TaskResults) -> None:
    """Record the calls given to ``joblib.Parallel`` in *log*, until *patches* are undone."""

    def begin() -> None:
        from joblib.parallel import Parallel

        original = Parallel.__call__  # scikit-learn's Parallel calls it, too

        @functools.wraps(original)
        def call(self_: Any, iterable: Any) -> Any:
            if not log.is_open:
                return original(self_, iterable)
            calls = _Calls(log, results, iterable)
            try:
                output = original(self_, calls if hasattr(iterable, "__len__") else iter(calls))
            except BaseException:
                calls.waited()
                raise
            if not isinstance(output, list):
                in_order = getattr(self_, "return_ordered", True)
                return saw_items(log, results, output, calls.tasks, in_order=in_order)
            calls.waited()
            for value, task in zip(output, calls.tasks, strict=False):
                results.add(value, task.result)
            return output

        patches.set(Parallel, "__call__", call)

    patches.when_imported("joblib.parallel", begin)


class _Calls:
    """The calls that a program gives to joblib, each of which becomes a task when it is taken."""

    def __init__(self, log: RecordingLog, results: TaskResults, iterable: Iterable[Any]) -> None:
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
            reads = self._results.among(*args, *kwargs.values(), *carried_by(function))
            # Most calls are taken in a thread of joblib's own.
            after = None if threading.current_thread() is self._thread else self._after
            task = self._log.submit(function_and_name(function), reads, JOBLIB, after)
            self._after = task.after
            task.pool = self._pool
            self.tasks.append(task)
            yield RecordedCall(self._log, task, function), args, kwargs
            if threading.current_thread() is self._thread:
                self._log.submitted()

    def waited(self) -> None:
        """Note that the program's thread has seen the ends of the calls."""
        self._log.has_waited()
        self._log.saw(self.tasks)
