"""Compiled execution of a graph, with worker threads that stay in the core.

The core takes the same steps as :mod:`tasksim.native.execution`, without Python between two tasks:
one of its policies decides, and it calls kernels by their addresses. Schedulers and tasks written
in Python are called back.
"""

from __future__ import annotations

import ctypes
import weakref
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import TaskFailed
from tasksim.base.threadclock import has_thread_clock
from tasksim.core import interface
from tasksim.core.interface import CallStatus, Program
from tasksim.kernels.calls import CallTable, KernelError
from tasksim.native.called_back import CalledProgram, CalledScheduler, CompiledView
from tasksim.native.processor_time import ProcessorUses
from tasksim.native.pulse import idle_cores
from tasksim.native.this_machine import usable_cores
from tasksim.native.threads import PATIENCE_S, POLL_INTERVAL_S, conduct
from tasksim.run.recordtables import task_table
from tasksim.runtime.blame import blaming
from tasksim.runtime.flat import Kept, flat_graph, flat_memory, policy_structure, ported
from tasksim.runtime.pathrecords import PathRecord
from tasksim.runtime.rules import dropped, illegal_pop, livelock

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.base.interruption import Interrupts
    from tasksim.base.progress import CountProgress
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.program import Program as BoundProgram
    from tasksim.native.processor_time import ThreadAccount
    from tasksim.native.threads import EndedTask, OutsideTasks
    from tasksim.run.record import TaskTable
    from tasksim.runtime.pathrecords import PathRecords
    from tasksim.runtime.view import Facts

__all__ = [
    "CompiledExecution",
    "broken_rule",
    "calls_of",
    "kernel_failure",
    "program_structure",
    "record_of",
]


COLUMNS: Final = {
    "worker": np.int32,
    "submitted_s": np.float64,
    "ready_s": np.float64,
    "popped_s": np.float64,
    "start_s": np.float64,
    "end_s": np.float64,
    "released_by": np.int32,
    "state": np.int8,
}


class CompiledExecution:
    """One native run whose threads execute in the core.

    Parameters
    ----------
    facts : Facts
        Facts of the run. Its scheduler is a policy of the core if there is one for it, otherwise
        called back.
    program : Program
        The graph bound to its data.
    paths : PathRecords, optional
        Receives the record of the task that ended last, at the end of the run.
    outside : OutsideTasks, optional
        Tasks that no worker runs.
    processor_time : bool, default True
        Whether to record the processor time of each task.

    See Also
    --------
    tasksim.native.execution.Execution : The reference implementation in Python.
    """

    def __init__(
        self,
        facts: Facts,
        program: BoundProgram,
        paths: PathRecords | None = None,
        outside: OutsideTasks | None = None,
        processor_time: bool = True,
    ) -> None:
        core = interface.functions()
        assert core is not None  # the caller has checked that there is a core
        self._core = core
        self._facts = facts
        self._program = program
        self._policy = ported(facts.scheduler)
        self._view = CompiledView(self._facts)
        self._tasks = CalledProgram(program)
        self._calls = calls_of(program)
        self._estimates = np.ascontiguousarray(np.array(facts.estimates, dtype=np.float64))
        self._flat = flat_graph(facts.graph), flat_memory(facts.platform)
        self._called: CalledScheduler | None = None
        self._run: int | None = None
        self._outside = outside
        self._paths = paths
        self.accounts: list[ThreadAccount | None] = []
        """Account of each worker's thread, filled in when the thread ends."""
        tasks = len(facts.graph)
        self._uses = ProcessorUses(tasks) if processor_time and has_thread_clock() else None
        self._tasks.uses = self._uses
        self._handed_out = np.empty(tasks, dtype=np.int32)

    def run(
        self, rng: random.Random, *, pin: bool = True, progress: CountProgress | None = None
    ) -> float:
        """Execute the graph; return the makespan in seconds.

        Raise :exc:`TaskFailed` if a kernel fails, :exc:`SchedulerError` if the scheduler breaks a
        rule.
        """
        if pin and self._uses is not None:
            self._tasks.idle = idle_cores(len(self._facts.platform.workers))
        with blaming(self._facts.scheduler, self._facts.graph):
            self._make(rng)
        self.accounts = conduct(
            self, self._facts.platform, self._program, pin=pin, progress=progress
        )
        self._columns = self._read()
        if (error := self._error()) is not None:
            raise error
        if (paths := self._paths) is not None:
            kinds = max(paths.kinds, default=-1) + 1
            paths.longest = record_of(self._core.tasksim_native_path, self._run, kinds)
        return float(self._columns["end_s"].max(initial=0.0))

    def table(self) -> TaskTable:
        """Return the task table of the run."""
        return task_table(self._facts.graph, self._columns)

    # Called by the threads of the run

    def begin(self) -> None:
        """Start the clock once, before any thread proceeds."""
        self._view.origin = perf_counter()
        self._core.tasksim_native_begin(self._run, self._view.origin)
        if self._outside is not None:
            self._outside.begin(self)

    def work(self, worker: int) -> None:
        """Execute tasks as *worker* until the run is over."""
        self._core.tasksim_native_work(self._run, worker)
        self._tasks.finish(worker)

    def submit(self, interrupts: Interrupts) -> None:
        """Submit all tasks in order."""
        called = self._called
        if called is not None:
            called.interrupts = interrupts
        status = CallStatus.MORE
        while status == CallStatus.MORE:
            interrupts.check()
            status = self._core.tasksim_native_submit(self._run, POLL_INTERVAL_S)
        if called is not None and isinstance(called.error, KeyboardInterrupt):
            raise called.error

    def wait(self, timeout_s: float) -> bool:
        """Wait up to *timeout_s* for the end of the run; return whether it is over."""
        status: int = self._core.tasksim_native_wait(self._run, timeout_s)
        return status != CallStatus.MORE

    @property
    def left(self) -> int:
        """Number of tasks that have not ended."""
        left: int = self._core.tasksim_native_left(self._run)
        return left

    def give_up(self) -> None:
        """Keep workers from starting another task."""
        self._core.tasksim_native_stop(self._run)

    def stop(self) -> bool:
        """End the run; return False if a scheduler that does not return holds the lock."""
        status: int = self._core.tasksim_native_finish(self._run, PATIENCE_S)
        return status == CallStatus.DONE

    # Called by the outside thread

    @property
    def origin_s(self) -> float:
        """Start of the run's clock, as a time of :func:`time.perf_counter`."""
        return self._view.origin

    def handed_out(self, busy_s: float, idle_s: float) -> list[int] | None:
        """Return newly released outside tasks, each once; None at the end of the run.

        If there are none, wait up to *idle_s* if a worker sleeps, otherwise up to *busy_s*.
        """
        place = self._handed_out
        count = self._core.tasksim_native_handed_out(self._run, busy_s, idle_s, place.ctypes.data)
        return None if count < 0 else place[:count].tolist()

    def completed(self, ended: Sequence[EndedTask]) -> None:
        """Note that the outside tasks *ended*."""
        tasks = np.array([task for task, _, _ in ended], dtype=np.int32)
        start_s, end_s = (np.array([each[k] for each in ended], dtype=np.float64) for k in (1, 2))
        self._core.tasksim_native_completed(
            self._run, len(ended), tasks.ctypes.data, start_s.ctypes.data, end_s.ctypes.data
        )

    # Set-up and results

    def _make(self, rng: random.Random) -> None:
        """Create the core's run, which validates its input, and attach the scheduler."""
        kept: list[Any] = []
        given = program_structure(self._calls, self._tasks)
        policy = callbacks = None
        if self._policy is not None:
            policy = policy_structure(self._policy, self._view, rng, kept)
        else:
            self._called = CalledScheduler(self._facts, self._view, rng)
            callbacks = self._called.callbacks
        status = ctypes.c_int32()
        graph, platform = self._flat
        # Spinning takes nobody's time if each thread has a core of its own. An outside thread has
        # to run as soon as a worker is idle.
        workers = len(self._facts.platform.workers)
        spins = self._outside is None and workers <= len(usable_cores())
        self._run = self._core.tasksim_native_new(
            graph.handle,
            platform.handle,
            ctypes.byref(given),
            interface.address(self._estimates, np.float64),
            None if policy is None else ctypes.byref(policy),
            None if callbacks is None else ctypes.byref(callbacks),
            spins,
            ctypes.byref(status),
        )
        if self._run is None:
            raise RuntimeError(f"the core does not take this run: status {status.value}")
        self._kept = [given, policy, *kept]
        # Not at the end of the process: threads that were left behind may still be in there.
        weakref.finalize(self, self._core.tasksim_native_free, self._run).atexit = False
        self._view.connect(self._core, self._run)
        if self._outside is not None:
            self._core.tasksim_native_outside(self._run, self._outside.tasks.ctypes.data)
        if self._paths is not None:
            kinds = np.array(self._paths.kinds, dtype=np.int32)
            self._kept.append(kinds)
            count = int(kinds.max(initial=-1)) + 1
            self._core.tasksim_native_keep_paths(self._run, kinds.ctypes.data, count)
        if self._uses is not None:
            idle = self._tasks.idle
            pulses = None if idle is None else np.array(idle)
            self._core.tasksim_native_keep_processor_times(
                self._run, interface.address(pulses, np.float64)
            )
        if self._called is not None:
            self._called.state = lambda: self._read()["state"].tolist()
        attached = self._core.tasksim_native_attach(self._run)
        if self._called is not None and self._called.error is not None:
            raise self._called.error
        if attached != CallStatus.DONE:
            raise RuntimeError(f"the core does not take this scheduler: status {attached}")

    def _read(self) -> dict[str, NDArray[Any]]:
        tasks = len(self._facts.graph)
        columns = {name: np.empty(tasks, dtype) for name, dtype in COLUMNS.items()}
        if self._uses is not None:
            columns |= {"cpu_s": np.empty(tasks), "preemptions": np.empty(tasks, np.int32)}
            columns |= {"pulse": np.empty(tasks), "beat": np.empty(tasks)}
        places = {name: column.ctypes.data for name, column in columns.items()}
        self._core.tasksim_native_tasks(self._run, ctypes.byref(interface.Tasks(**places)))
        if self._uses is not None:
            # their tasks ran in Python, which keeps their account
            called = self._uses.preemptions >= 0
            columns["cpu_s"][called] = self._uses.cpu_s[called]
            columns["preemptions"][called] = self._uses.preemptions[called]
            columns["pulse"][called] = self._uses.pulse[called]
            columns["beat"][called] = self._uses.beat[called]
        return columns

    def _error(self) -> BaseException | None:
        """Return the error of the run, the same as that of the reference, or None."""
        outcome = interface.Outcome()
        status = self._core.tasksim_native_outcome(self._run, ctypes.byref(outcome))
        if status == CallStatus.DONE:
            return None
        if status == CallStatus.CALLBACK and self._called is not None:
            return self._called.error
        if status != CallStatus.KERNEL:
            return broken_rule(self._facts, self._columns["state"].tolist(), status, outcome)
        task, worker, graph = outcome.task, outcome.worker, self._facts.graph
        error: BaseException
        if self._calls.function[task] < 0:
            error = self._tasks.errors[worker]
            # Let KeyboardInterrupt and the like pass unchanged: they are no failures of the task.
            if not isinstance(error, (Exception, SystemExit)):
                return error
        else:
            error = kernel_failure(self._program, task, outcome.number)
        name = self._facts.platform.workers[worker].name
        failed = TaskFailed(
            f"{(self._outside or graph).label(task)} failed on worker {name}: {error}"
        )
        failed.__cause__ = error
        return failed


def program_structure(calls: Calls, called: CalledProgram) -> Program:
    """Return *calls* as a structure of the core; *called* runs the tasks without an address."""
    address = interface.address
    return Program(
        functions=len(calls.address),
        address=address(calls.address, np.int64),
        tells=address(calls.tells, np.int8),
        reals=address(calls.reals, np.int8),
        function=address(calls.function, np.int32),
        argument_ptr=address(calls.argument_ptr, np.int64),
        arguments=address(calls.arguments, np.int64),
        own_ptr=address(calls.own_ptr, np.int64),
        own=address(calls.own, np.int64),
        call_back=called.call_back,
    )


def _calls_of(program: BoundProgram) -> Calls:
    """Return the calls of the tasks of *program*; tasks without addresses are called back."""
    calls = getattr(program, "calls", None)
    if calls is None:
        return CallTable(len(program.graph)).calls(kept=None)
    found: Calls = calls(interface.functions())
    return found


calls_of: Final = Kept(_calls_of)
"""Calls of a program's tasks, kept as long as the program: it may run many times."""


def record_of(write: Callable[..., Any], run: int | None, kinds: int) -> PathRecord:
    """Return the path record of *run*, with *kinds* kinds, filled in by *write* of the core."""
    counts, seconds = np.zeros(kinds, np.int64), np.zeros(kinds)
    ends = np.zeros(2)
    write(run, counts.ctypes.data, seconds.ctypes.data, ends.ctypes.data)
    end_s, waited_s = ends.tolist()
    return PathRecord(end_s, tuple(counts.tolist()), tuple(seconds.tolist()), waited_s)


def kernel_failure(program: BoundProgram, task: int, told: int) -> Exception:
    """Return the error of *task*, whose function returned the error code *told*."""
    failure = getattr(program, "failure", None)
    if failure is None:
        return KernelError(program.graph.kernel_of(task), f"it returned {told}")
    found: Exception = failure(task, told)
    return found


def broken_rule(
    facts: Facts, state: Sequence[int], status: int, outcome: interface.Outcome
) -> BaseException:
    """Return the error for *status* and *outcome* of a run; *state* is the state of each task."""
    graph, scheduler = facts.graph, facts.scheduler
    if status == CallStatus.DROPPED:
        return dropped(scheduler, graph, state, outcome.now_s)
    if status == CallStatus.LIVELOCK:
        return livelock(scheduler, graph, state, outcome.now_s, outcome.number)
    if status == CallStatus.ILLEGAL_POP:
        name = facts.platform.workers[outcome.worker].name
        return illegal_pop(scheduler, graph, state, outcome.task, name)
    if status == CallStatus.NO_MEMORY:
        return MemoryError("there is not enough memory for the core")
    return RuntimeError(f"the core has failed with status {status}")
