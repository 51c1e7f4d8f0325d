"""Recording of the apps that a program calls with Parsl.

A call of an app is a task, on whatever executor: a thread calls it as it is, and pickled on its way
to another process it is a timed call there, as :class:`~tasksim.recording.calls.RecordedCall` does
it. Futures among its arguments are what it waits for.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from tasksim.recording.calls import RecordedCall, SubmissionMoment
from tasksim.recording.functions import function_and_name
from tasksim.recording.log import PARSL
from tasksim.recording.results import mark

if TYPE_CHECKING:
    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import TaskResults

__all__ = ["record_parsl"]


def record_parsl(log: RecordingLog, patches: Patches, results: TaskResults) -> None:
    """Record the calls of Parsl's apps in *log*, until *patches* are undone."""

    def begin() -> None:
        from parsl.dataflow.dflow import DataFlowKernel
        from parsl.dataflow.memoization import id_for_memo

        # What is cached is found by the app's own function.
        id_for_memo.register(_NamedCall)(
            lambda call, output_ref=False: id_for_memo(call.__wrapped__, output_ref)
        )
        original = DataFlowKernel.submit

        def note_exception(task: RecordedTask, future: Any) -> None:  # Parsl brings it as a result
            task.raised = future.exception() is not None

        @functools.wraps(original)
        def submit(self_: Any, func: Any, app_args: Any, **kwargs: Any) -> Any:
            if not log.is_open:
                return original(self_, func, app_args, **kwargs)
            named = kwargs.get("app_kwargs") or {}
            reads = results.among(*app_args, *named.values())
            task = log.submit(_named(func), reads, PARSL)
            with SubmissionMoment(log, task):
                future = original(self_, _NamedCall(log, task, func), app_args, **kwargs)
            mark(future, task)
            future.add_done_callback(lambda done: note_exception(task, done))
            return future

        patches.set(DataFlowKernel, "submit", submit)

    patches.when_imported("parsl.dataflow.dflow", begin)


def _named(function: Any) -> tuple[str, str]:
    """Return the name of an app; one that runs a command carries the function that writes it."""
    inner = inspect.unwrap(function)
    if isinstance(inner, functools.partial) and inner.args and callable(inner.args[0]):
        inner = inner.args[0]
    return function_and_name(inner)


class _NamedCall(RecordedCall):
    """A recorded call with the name of its function, by which Parsl calls it."""

    def __init__(self, log: RecordingLog, task: RecordedTask, function: Any) -> None:
        super().__init__(log, task, function)
        functools.update_wrapper(self, function)
