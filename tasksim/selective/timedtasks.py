"""Timed tasks, executed one by one with the times just before and after each.

Time that others took is left out, by the processor time of the task's thread. The compiled core
calls the tasks if it is available: then a holder of Python's lock cannot delay the second time.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from math import nan
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.threadclock import preemptions
from tasksim.core import interface
from tasksim.core.library import status
from tasksim.native.cache_state import cache_state
from tasksim.native.called_back import CalledProgram
from tasksim.native.compiled import calls_of, kernel_failure, program_structure
from tasksim.native.processor_time import CoreState, ThreadClock, UsualLoss
from tasksim.native.pulse import relative_pulse
from tasksim.native.this_machine import usable_cores
from tasksim.run.crowding import UNKNOWN_CACHES, crowding_at, crowding_weights
from tasksim.run.disturbance import CLOCK_TICK_S, MAX_OWN_GAP_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tasksim.base.arrays import Floats
    from tasksim.kernels.program import Program
    from tasksim.native.pulse import Idle

__all__ = ["TimedTasks"]


class TimedTasks:
    """Tasks of a program, executed on the threads of their callers.

    Parameters
    ----------
    program : Program
    workers : int
        Number of tasks that may execute at once.
    beside : callable, optional
        Returns the processor time, in seconds, of a thread that shares the workers' cores: it takes
        time from tasks in a full run, too, so this time counts as theirs. NaN if unknown.
    idle : mapping of int to Idle, optional
        Idle state per core, for threads that are pinned to one; by default no pulses are taken.
    """

    def __init__(
        self,
        program: Program,
        workers: int,
        beside: Callable[[], float] | None = None,
        idle: Mapping[int, Idle] | None = None,
    ) -> None:
        self._program, self._beside = program, beside
        self._times = np.zeros((workers, 2))
        self._idle, self._thread = idle or {}, threading.local()
        self._crowding = [1.0] * workers
        """Per worker, the crowding of its task."""
        self._own_s = [0.0] * workers
        self._clock: list[tuple[Callable[[], float], float]] = [
            (ThreadClock().now_s, nan)
        ] * workers
        """Per worker: a clock of its task's processor time, and the reading before the task."""
        self._usual = [UsualLoss() for _ in program.graph.kernels]
        caches = cache_state() if idle else UNKNOWN_CACHES
        self._weights = crowding_weights(program.graph.kernels, caches)
        self._make_safe: Callable[[int], None] | None = getattr(program, "make_safe", None)
        self._core: Any = None
        self._in_core = [False] * len(program.graph)
        if status().available:
            self._connect(workers)

    def _connect(self, workers: int) -> None:
        """Let the core call the tasks that have an address."""
        program = self._program
        core, calls = interface.functions(), calls_of(program)
        assert core is not None
        called, told = CalledProgram(program), ctypes.c_int32()
        structure = program_structure(calls, called)
        self._handle = core.tasksim_timed_new(
            ctypes.byref(structure), len(program.graph), workers, ctypes.byref(told)
        )
        if not self._handle:
            raise RuntimeError(f"the core does not take these calls: status {told.value}")
        self._core, self._kept = core, (calls, called, structure)
        self._in_core = (calls.function >= 0).tolist()
        width = self._times.itemsize * self._times.shape[1]
        self._places = [
            ctypes.cast(self._times.ctypes.data + width * w, ctypes.POINTER(ctypes.c_double))
            for w in range(workers)
        ]
        # Not at the end of the process: threads that were left behind may still run in the core.
        weakref.finalize(self, core.tasksim_timed_free, self._handle).atexit = False

    def expect(self, worker: int) -> None:
        """Note that *worker* is about to execute a task that has not started yet."""
        self._times[worker] = 0.0
        self._own_s[worker] = 0.0

    def elapsed_s(self, worker: int) -> float:
        """Return a lower bound on the time that the task of *worker* ran; at the end, its time."""
        if self._own_s[worker]:
            return self._own_s[worker]
        began = float(self._times[worker, 0])
        if not began:
            return 0.0
        now_s, before_s = self._clock[worker]
        wall_s, cpu_s = perf_counter() - began, now_s() - before_s
        had_s = max(cpu_s, 0.0) if cpu_s < wall_s else wall_s  # NaN: by the wall clock
        return had_s / self._crowding[worker]

    def run(self, task: int, worker: int, *, safe: bool) -> None:
        """Execute *task* as *worker*; *safe*: on data that it cannot fail on.

        Raise :exc:`tasksim.kernels.calls.KernelError` if it fails.
        """
        if safe and self._make_safe is not None:
            self._make_safe(task)
        # A clock of the processor time of a task on this thread.
        own_clock, beside, workers = ThreadClock().now_s, self._beside, len(self._own_s)
        now_s = own_clock if beside is None else lambda: own_clock() + beside() / workers
        kernel, core = int(self._program.graph.kernel[task]), self._core_state()
        usual, weights = self._usual[kernel], self._weights[kernel]
        if core is not None:
            if (begins_s := perf_counter()) >= core.due_s:
                core.read(begins_s)
            self._crowding[worker] = 1.0 if usual.blocks else _crowding_of(core.last, weights)
        preempted = preemptions()
        before_s = now_s()
        self._clock[worker] = now_s, before_s
        self._call(task, worker)
        began, ended = self._times[worker].tolist()
        cpu_s, interrupted = now_s() - before_s, preemptions() > preempted
        if beside is not None:
            # The shared thread also preempts the task, but for shorter than other programs do.
            interrupted &= ended - began - cpu_s > MAX_OWN_GAP_S
        own_s = usual.own_s(ended - began, cpu_s, preempted=interrupted)
        if core is not None and not usual.blocks:
            state = core.last if ended < core.due_s else core.read(ended)
            own_s /= _crowding_of(state, weights)
        self._own_s[worker] = max(own_s, CLOCK_TICK_S)

    def _core_state(self) -> CoreState | None:
        """Return the state of the calling thread's core; None if it is unknown."""
        if not hasattr(self._thread, "core"):
            cores = usable_cores()
            idle = self._idle.get(cores[0]) if len(cores) == 1 else None
            self._thread.core = None if idle is None else CoreState(relative_pulse(idle))
        found: CoreState | None = self._thread.core
        return found

    def _call(self, task: int, worker: int) -> None:
        """Execute *task*, and note its start and end."""
        if not self._in_core[task]:
            self._times[worker, 0] = perf_counter()
            self._program.run(task, worker)
            self._times[worker, 1] = perf_counter()
            return
        told = self._core.tasksim_timed_call(self._handle, task, worker, self._places[worker])
        if told:
            raise kernel_failure(self._program, task, told)


def _crowding_of(state: tuple[float, float], weights: Floats) -> float:
    """Return the crowding of a computing task at a pulse, which has *weights*, and a beat."""
    pulse, beat = np.array(state)
    return float(crowding_at(pulse, beat, weights))
