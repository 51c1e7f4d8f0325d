"""Recording of processes that a program starts itself, ``multiprocessing.Process``.

A process is a task, from the start of its function to the end. It tells its times by a pipe when it
ends; one that is killed tells none, and is left out. A process that a library starts as a worker of
a pool is no task, but its start is recorded.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

from tasksim.recording.calls import SubmissionMoment, note_times
from tasksim.recording.functions import carried_by, function_and_name, unwrapped
from tasksim.recording.log import MULTIPROCESSING
from tasksim.recording.timed_call import ProcessRun, WorkerStart

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.recording.log import RecordedTask, RecordingLog
    from tasksim.recording.patches import Patches
    from tasksim.recording.results import TaskResults

__all__ = ["record_processes"]

POOL_LIBRARIES: Final = frozenset(
    {"billiard", "concurrent", "dask", "distributed", "joblib", "loky", "multiprocessing"}
)
"""Packages whose processes are workers of pools, or serve: their work is recorded elsewhere."""
INITIALIZER_PARAMETER: Final = "initializer"
"""Parameter of the functions that workers of pools run, in all of these libraries."""


def record_processes(log: RecordingLog, patches: Patches, results: TaskResults) -> None:
    """Record the processes that the program starts in *log*, until *patches* are undone."""
    watch = _Watch(log, results)
    log.at_end.append(watch.stop)

    def begin() -> None:
        from multiprocessing import process

        kind: Any = process.BaseProcess
        patches.set(kind, "start", watch.starting(kind.start))
        patches.set(kind, "join", watch.seeing(kind.join, waits=True))
        patches.set(kind, "is_alive", watch.seeing(kind.is_alive, waits=False))

    patches.when_imported("multiprocessing.process", begin)


class _Watch:
    """Replacements for methods of processes, which call the original and report to a log."""

    def __init__(self, log: RecordingLog, results: TaskResults) -> None:
        self._log = log
        self._results = results
        self._running: dict[Any, tuple[RecordedTask, Any]] = {}
        """Process -> its task, and the end of the pipe that its times arrive at."""
        self._workers: dict[int, tuple[Any, list[tuple[int, Any]]]] = {}
        """Identity of a pool's queue -> the queue, and its workers that none has replaced."""

    def stop(self) -> None:
        """Take the times of the processes that have ended."""
        for process in list(self._running):
            self._take(process)
        for _, pipe in self._running.values():
            pipe.close()
        self._running.clear()
        self._workers.clear()

    def starting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the recorded version of ``Process.start``."""

        @functools.wraps(original)
        def start(self_: Any) -> Any:
            if not self._log.is_open:
                return original(self_)
            function = _function_of(self_)
            if function is None:
                return self._start_worker(original, self_)
            from multiprocessing import Pipe

            arguments = (*self_._args, *self_._kwargs.values(), *carried_by(function))
            task = self._log.submit(
                function_and_name(function), self._results.among(*arguments), MULTIPROCESSING
            )
            task.pool = self._log.next_pool()
            ours, theirs = Pipe(duplex=False)
            self_.run = ProcessRun(self_, theirs)
            try:
                with SubmissionMoment(self._log, task):
                    original(self_)
            finally:
                del self_.run
                theirs.close()
            self._log.processes += 1
            self._running[self_] = task, ours
            return None

        return start

    def _start_worker(self, original: Callable[..., Any], process: Any) -> Any:
        """Start a process of a library; if it is a worker of a pool, note when and after what.

        A pool starts a worker in the place of one that has ended (``maxtasksperchild``). Workers of
        one pool take their calls from the same queue, their first argument in all libraries.
        """
        target, arguments = process._target, process._args
        names = [] if target is None else list(signature(target).parameters)[: len(arguments)]
        if INITIALIZER_PARAMETER not in names:
            return original(process)
        place = names.index(INITIALIZER_PARAMETER)
        initializer = WorkerStart(arguments[place])
        process._args = (*arguments[:place], initializer, *arguments[place + 1 :])
        launch = self._log.launching()
        try:
            found = original(process)
        except BaseException:
            process._args = arguments
            raise
        self._log.launched(process.pid, launch)
        _, workers = self._workers.setdefault(id(arguments[0]), (arguments[0], []))
        for old in workers:
            if old[1]._popen is None or old[1]._popen.returncode is not None:
                self._log.replaced[process.pid] = self._log.replaced.get(old[0], old[0])
                workers.remove(old)
                break
        workers.append((process.pid, process))
        return found

    def seeing(self, original: Callable[..., Any], *, waits: bool) -> Callable[..., Any]:
        """Return the recorded version of a method that shows whether a process has ended."""

        @functools.wraps(original)
        def replaced(self_: Any, *args: Any, **kwargs: Any) -> Any:
            known = self._running.get(self_)
            if known is not None and waits:
                self._log.about_to_wait()
            found = original(self_, *args, **kwargs)
            if known is not None and self_._popen.returncode is not None:
                self._take(self_)
                self._log.saw([known[0]])
            return found

        return replaced

    def _take(self, process: Any) -> None:
        """Note the times of a process, if it has told them."""
        task, pipe = self._running[process]
        with suppress(EOFError, OSError):  # it was killed
            if not pipe.poll():
                return
            times = pipe.recv()
            note_times(self._log, task, *times)
            task.result.size_bytes = 0
        pipe.close()
        del self._running[process]


def _function_of(process: Any) -> Any:
    """Return the function that a process is about; None for those of libraries."""
    function = process._target
    if function is None:
        run = type(process).run
        function = None if run.__module__ == "multiprocessing.process" else run
    if function is None:
        return None
    names = (getattr(unwrapped(function), "__module__", ""), type(process).__module__)
    roots = {str(name).partition(".")[0] for name in names[: 1 if process._target else 2]}
    return None if roots & POOL_LIBRARIES else function
