"""Attribution of errors to the scheduler that raised them.

The traceback is searched after the error, so a successful run pays nothing for it: one ``with``
encloses the whole loop of the clock.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import SchedulerError, TasksimError
from tasksim.schedulers.base import SCHEDULER_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.schedulers.base import Scheduler

__all__ = ["blamed", "blaming"]

TASK_METHODS: Final = frozenset(("push", "choose", "commit", "started", "finished"))
"""Methods of a scheduler whose first argument is a task."""


@contextmanager
def blaming(scheduler: Scheduler, graph: TaskGraph) -> Iterator[None]:
    """Add the scheduler, method, task, file and line to errors that *scheduler* raises here."""
    try:
        yield
    except (Exception, SystemExit) as error:
        told = blamed(error, scheduler, graph)
        if told is error:
            raise
        raise told from told.__cause__


def blamed(error: BaseException, scheduler: Scheduler, graph: TaskGraph) -> BaseException:
    """Return a :exc:`SchedulerError` for an error of *scheduler*, any other *error* unchanged.

    Other errors of tasksim and an interruption by the user stay as they are. A ``SystemExit`` of
    the scheduler does not end the program.
    """
    frame = _call(error.__traceback__, scheduler)
    if frame is None or not isinstance(error, (Exception, SystemExit)):
        return error
    if isinstance(error, TasksimError) and not isinstance(error, SchedulerError):
        return error
    where = f"{_call_name(frame[0], graph)}, {frame[1]}:{frame[2]}"
    if isinstance(error, SchedulerError):
        told = SchedulerError(f"{error} (in {where})")
    else:
        from tasksim.runtime.rules import called

        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        told = SchedulerError(f"scheduler {called(scheduler)} failed in {where}: {what}")
    told.__cause__ = error
    return told


def _call(
    traceback: TracebackType | None, scheduler: Scheduler
) -> tuple[FrameType, str, int] | None:
    """Return the first call of a method of *scheduler*, and the last file and line of the user.

    The error was raised there, or in a library that this line called.
    """
    call: FrameType | None = None
    file, line = "", 0
    while traceback is not None:
        frame = traceback.tb_frame
        code = frame.f_code
        if (
            call is None
            and code.co_name in SCHEDULER_METHODS
            and code.co_argcount
            and frame.f_locals.get(code.co_varnames[0]) is scheduler
        ):
            call = frame
        # The user's files are that of the call and that of the scheduler's class.
        if call is not None and (
            code.co_filename == call.f_code.co_filename
            or frame.f_globals.get("__name__") == type(scheduler).__module__
        ):
            file, line = code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return None if call is None else (call, file, line)


def _call_name(frame: FrameType, graph: TaskGraph) -> str:
    """Return the name of the method with its task, such as ``push of gemm #3``."""
    code = frame.f_code
    name = code.co_name
    if name not in TASK_METHODS or code.co_argcount < 2:
        return name
    task = frame.f_locals.get(code.co_varnames[1])
    if isinstance(task, int) and 0 <= task < len(graph):
        return f"{name} of {graph.label(task)}"
    return name
