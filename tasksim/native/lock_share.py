"""Share of a kernel's time in which Python's lock is free, measured.

A kernel that holds the lock cannot run beside another that needs it, on however many cores. A
function does not show whether it holds the lock: NumPy releases it in some of its loops, for large
arrays. So a second thread asks for the lock again and again while a kernel runs, and its waiting
times give the share. No thread is forced to release the lock meanwhile: only the time that the
kernel itself gives counts.
"""

from __future__ import annotations

import ctypes
import threading
import time
from dataclasses import dataclass
from functools import cache
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.extras import needed_for
from tasksim.kernels.threads import single_threaded_blas
from tasksim.models.files.coefficients import LOCK_FREE_THRESHOLD
from tasksim.native.threads import switch_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from tasksim.kernels.program import Program

__all__ = ["Lock", "free_shares", "locks", "unknown_kernels"]

NAP_S: Final = 20e-6
"""Pause between two attempts of the second thread, in seconds: as short as the system can wake a
thread, and long enough not to slow the kernel down."""
REPEATED_MEASUREMENTS: Final = 2
"""Number of repeated measurements of a kernel that seems to hold the lock: other programs on the
cores can make a free lock look held, but not a held lock look free."""
SAMPLE_PARTS: Final = 7
"""Number of parts into which the executions of a kernel are split: the median of the parts ignores
a few disturbed ones."""
MEASURED_TIME_S: Final = 0.1
"""Kernel time to measure, in seconds: some hundred attempts, enough for a share to within a tenth.
"""
FREE_LOCK_WAIT_S: Final = 10e-6
"""Wait below which the lock was free, in seconds: a free lock takes one or two microseconds, a held
one takes a hundred to wake the thread."""
LONG_SWITCH_INTERVAL_S: Final = 1e3
"""Interval after which Python would force a thread to release the lock, in seconds."""


@dataclass(frozen=True)
class Lock:
    """Lock behaviour of a kernel.

    Attributes
    ----------
    held : bool
        Whether two tasks of the kernel cannot run side by side.
    free : float or None
        Measured share of its time in which the lock is free, or None.
    """

    held: bool
    free: float | None = None

    def __str__(self) -> str:
        does = "holds Python's lock: one such task at a time" if self.held else "lets others work"
        if self.free is None:
            return does
        return f"{does} (the lock is free for {100 * self.free:.0f} % of its time)"


def locks(program: Program) -> dict[str, Lock]:
    """Return the lock behaviour of each kernel of *program*; measure it where it is unknown."""
    shares = free_shares(program, unknown_kernels(program))
    known: dict[str, str] = getattr(program, "locks", dict)()
    found = {name: Lock(known.get(name) == "held") for name in program.graph.kernels}
    measured = {name: Lock(share < LOCK_FREE_THRESHOLD, share) for name, share in shares.items()}
    return {**found, **measured}


def unknown_kernels(program: Program) -> set[str]:
    """Return the kernels of *program* whose lock behaviour is not declared."""
    known: dict[str, str] = getattr(program, "locks", dict)()
    return {name for name, lock in known.items() if lock == "unknown"}


def free_shares(program: Program, kernels: Collection[str]) -> dict[str, float]:
    """Return the share of each kernel's time in which Python's lock is free.

    Parameters
    ----------
    program : Program
        Its tasks run in order until the samples suffice; then its data are reset.
    kernels : collection of str
        Kernels to measure.

    Returns
    -------
    dict
        Share per kernel with tasks, from 0 (it always holds the lock) to 1.
    """
    shares = _measured(program, kernels)
    for _ in range(REPEATED_MEASUREMENTS):
        doubtful = {kernel for kernel, share in shares.items() if share < LOCK_FREE_THRESHOLD}
        for kernel, share in _measured(program, doubtful).items():
            # Disturbances only make a lock look held, so the larger share is the better one.
            shares[kernel] = max(share, shares[kernel])
    return shares


def _measured(program: Program, kernels: Collection[str]) -> dict[str, float]:
    """Return one measurement of *kernels*."""
    if not kernels:
        return {}
    with single_threaded_blas(), switch_interval(LONG_SWITCH_INTERVAL_S):
        program.reset()
        watcher = _Watcher()
        try:
            spans = list(_spans(program, kernels))
        finally:
            waits = watcher.stop()
        program.reset()
    shares: dict[str, float] = {}
    for kernel in dict.fromkeys(name for name, *_ in spans):
        own = [span for name, *span in spans if name == kernel]
        # A thread that the system preempts while it has the lock seems to hold it for long. This
        # is rare, and happens where other programs want the cores: the median ignores it.
        parts = [own[part::SAMPLE_PARTS] for part in range(min(SAMPLE_PARTS, len(own)))]
        shares[kernel] = median(waits.free_share(part) for part in parts)
    return shares


def _spans(program: Program, kernels: Collection[str]) -> Iterator[tuple[str, float, float]]:
    """Execute tasks; yield start and end of those of *kernels* until the samples suffice."""
    graph = program.graph
    left_s = {kernel: MEASURED_TIME_S for kernel in kernels if kernel in graph.kernels}
    for task in range(len(graph)):
        if not left_s:
            return
        kernel, begun = graph.kernel_of(task), perf_counter()
        program.run(task, 0)
        ended = perf_counter()
        sleep(NAP_S)  # lets the second thread have the lock if it waits
        if kernel in left_s:
            yield kernel, begun, ended
            left_s[kernel] -= ended - begun
            if left_s[kernel] < 0:
                del left_s[kernel]


class _Waits:
    """Times at which the second thread requested the lock and got it."""

    def __init__(self, asked: list[float], got: list[float]) -> None:
        self._asked, self._got = np.array(asked), np.array(got)
        naps = self._asked[1:] - self._got[:-1]
        self._nap_s = float(np.median(naps)) if len(naps) else NAP_S

    def free_share(self, spans: list[list[float]]) -> float:
        """Return the share of *spans* in which the lock was free.

        The thread asks again one pause after it found the lock free, or right after a wait. So an
        attempt that finds it free stands for a pause, one that waits for the waiting time.
        """
        begun, ended = np.array(spans).T
        place = np.searchsorted(begun, self._asked, side="right") - 1
        inside = (place >= 0) & (self._asked < ended[place])
        asked, got, end = self._asked[inside], self._got[inside], ended[place[inside]]
        waited = got - asked > FREE_LOCK_WAIT_S
        held_s = float((np.minimum(got, end) - asked)[waited].sum())
        free_s = self._nap_s * int((~waited).sum())
        return free_s / (free_s + held_s) if free_s + held_s else 0.0


class _Watcher:
    """A thread that asks for Python's lock again and again."""

    def __init__(self) -> None:
        self._nap = _nap_function()
        self._asked: list[float] = []
        self._got: list[float] = []
        self._over = False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._watched = threading.Event()
        self._thread.start()
        self._watched.wait()

    def stop(self) -> _Waits:
        """End the thread; return its observations."""
        self._over = True
        self._thread.join()
        return _Waits(self._asked, self._got)

    def _watch(self) -> None:
        ended = np.zeros(2, dtype=np.int64)  # seconds and nanoseconds, as in C's timespec
        address, nap = ended.ctypes.data, self._nap
        while not self._over:
            nap(address)
            got = perf_counter()
            self._asked.append(ended[0] + 1e-9 * ended[1])
            self._got.append(got)
            self._watched.set()


@cache
def _nap_function() -> Callable[[int], None]:
    """Return a function that sleeps without the lock and notes the time at which it asks for it.

    It is compiled: Python code could not read the clock without the lock.
    """
    with needed_for("the measurement of Python's lock"):
        import numba

    libc = ctypes.CDLL(None)
    sleep_us, clock = libc.usleep, libc.clock_gettime
    sleep_us.restype, sleep_us.argtypes = ctypes.c_int, [ctypes.c_uint]
    clock.restype, clock.argtypes = ctypes.c_int, [ctypes.c_int, ctypes.c_void_p]
    monotonic, nap_us = time.CLOCK_MONOTONIC, round(1e6 * NAP_S)

    @numba.njit(nogil=True)
    def nap(ended: int) -> None:
        sleep_us(nap_us)
        clock(monotonic, ended)

    nap(np.zeros(2, dtype=np.int64).ctypes.data)
    compiled: Callable[[int], None] = nap
    return compiled
