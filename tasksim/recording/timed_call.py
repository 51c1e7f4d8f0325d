"""Timed calls in other processes, whose results carry their times.

Only this module is imported in the processes of a pool, and the clock of threads.
"""

from __future__ import annotations

import contextlib
import os
import time
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

from tasksim.base.threadclock import preemptions

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "AWAITED",
    "ProcessRun",
    "TimedCall",
    "WorkerStart",
    "call_with",
    "call_with_all",
    "clocks",
    "clocks_since",
]

AWAITED: dict[int, Callable[..., None]] = {}
"""Number of a call -> function that receives its result, whether it raised, its start, its end, its
processor time, its preemptions, its process, and when that process was there as a worker. Calls
that nobody waits for are absent."""


def clocks() -> tuple[float, float, int]:
    """Return the time, and the processor time and the preemptions of this thread so far."""
    preempted, cpu_s = preemptions(), time.thread_time()
    return time.perf_counter(), cpu_s, preempted


def clocks_since(begun: tuple[float, float, int]) -> tuple[float, float, int]:
    """Return the time, and the thread's processor time and preemptions since it was *begun*."""
    end_s = time.perf_counter()
    return end_s, time.thread_time() - begun[1], preemptions() - begun[2]


class TimedCall:
    """A function to call in another process, and the number under which its times arrive."""

    def __init__(self, function: Callable[..., Any], number: int) -> None:
        self.function = function
        self.number = number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; the returned message unpickles to its result."""
        begun = clocks()
        try:
            result = self.function(*args, **kwargs)
        except BaseException as error:
            # The dictionary of an exception is sent home with it.
            vars(error)["_tasksim_times"] = self._message(None, True, begun)
            raise
        return self._message(result, False, begun)

    def _message(self, result: Any, raised: bool, begun: tuple[float, float, int]) -> _Message:
        times = begun[0], *clocks_since(begun), os.getpid(), WorkerStart.ready_s
        return _Message(self.number, result, raised, *times)


class WorkerStart:
    """The initializer of a pool's worker, which notes when that worker can take tasks."""

    ready_s: ClassVar[float] = nan
    """Time at which this process was there as a worker; NaN: unknown, or it is none."""

    def __init__(self, initializer: Callable[..., Any] | None) -> None:
        self._initializer = initializer

    def __call__(self, *arguments: Any) -> None:
        """Initialise the worker as the pool would."""
        if self._initializer is not None:
            self._initializer(*arguments)
        WorkerStart.ready_s = time.perf_counter()


def call_with(pair: tuple[Callable[..., Any], Any]) -> Any:
    """Return the result of a call with one argument, as a pool maps it: a pair of both."""
    call, argument = pair
    return call(argument)


def call_with_all(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call with several arguments, as a pool maps it with a star."""
    return call(*arguments)


class ProcessRun:
    """The ``run`` of a process that was started by hand, which sends its times when it ends."""

    def __init__(self, process: Any, home: Any) -> None:
        self._process = process
        self._home = home

    def __call__(self) -> None:
        """Run the process as it would have run, and send the times home."""
        raised, begun = True, clocks()
        try:
            type(self._process).run(self._process)
            raised = False
        except SystemExit as end:
            raised = end.code not in (None, 0)
            raise
        finally:
            times = begun[0], *clocks_since(begun)
            with contextlib.suppress(OSError):  # the parent may have ended
                self._home.send((None, raised, *times, os.getpid()))
                self._home.close()


class _Message:
    """A result and its times, which unpickles to the result alone."""

    def __init__(self, *told: Any) -> None:
        self.told = told

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, self.told


def _arrived(number: int, result: Any, *times: Any) -> Any:
    """Pass the times of a call to the function that awaits them; return its result."""
    told = AWAITED.pop(number, None)
    if told is not None:
        told(result, *times)
    return result
