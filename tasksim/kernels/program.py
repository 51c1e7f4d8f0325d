"""Programs: task graphs bound to data, ready to execute."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from threading import TIMEOUT_MAX, Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tasksim.base.errors import InputError, expect, unknown
from tasksim.graph.apps.registry import GENERATORS
from tasksim.graph.taskgraph import TaskGraph
from tasksim.kernels.calls import CallTable, Function, Tells, address_of
from tasksim.kernels.errors import KernelError
from tasksim.kernels.registry import EXECUTORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tasksim.kernels.calls import Calls
    from tasksim.kernels.registry import Executor

__all__ = ["FunctionProgram", "Program", "Residual", "WaitingProgram", "bind"]


@dataclass(frozen=True)
class Residual:
    """How far a result is from what it should be.

    Attributes
    ----------
    value, tolerance
        It is right if the value is not above the tolerance.
    what
        What the value is, in words.
    """

    value: float
    tolerance: float
    what: str

    @property
    def ok(self) -> bool:
        """Whether the result is right; NaN is not."""
        return self.value <= self.tolerance


class Program(Protocol):
    """A task graph bound to data, ready to execute.

    Different tasks may run at once on different workers; the order of tasks is the caller's
    business. A program whose tasks can be ended early may have a method ``interrupt()``, which
    does that and is called from another thread; what it leaves is undone by :meth:`reset`.

    One whose tasks can run without Python may have a method ``calls(core)``, which returns their
    addresses, a :class:`~tasksim.kernels.calls.Calls`; *core* is the compiled core as ctypes loads
    it. If functions tell that they failed, ``failure(task, told)`` returns the error.

    One whose kernels fail, or take longer, on data that were never computed may have a method
    ``make_safe(task)``, which gives the task data that it can be executed on; selective execution
    calls it.
    """

    graph: TaskGraph

    def run(self, task: int, worker: int) -> None:
        """Execute *task* with the workspace of *worker*; :exc:`KernelError` if it fails."""

    def reset(self) -> None:
        """Make the data again what they were at first."""

    def check(self) -> Residual | None:
        """Return the residual of the result of all tasks; None if there is nothing to check."""


def bind(
    graph: TaskGraph,
    workers: int,
    seed: int = 0,
    *,
    functions: Mapping[str, Callable[[int], object]] | None = None,
    held: NDArray[np.integer] | None = None,
) -> Program:
    """Return *graph* bound to data made from *seed*, ready to execute.

    Parameters
    ----------
    graph
        Of a generator that has an executor (``tasksim list executors``), such as ``cholesky``:
        computes for real. One whose kernels all have a parameter ``duration_s``: waits that long
        per task.
    workers
        How many workers will run tasks at once.
    seed
        Of the matrix; for fmm, whose particles have the seed of the graph, of those that are
        checked.
    functions
        Kernel name -> a function that is called with the number of a task: then it is these
        that run, whatever the graph. Python functions share the GIL as they always do.
    held
        The data that are needed, by default all: programs of executors that say ``holds_parts``
        have memory for these alone. Those of others have all data nevertheless.

    Raises
    ------
    InputError
        If nothing is known to execute the graph with, or a function is missing or superfluous.
    """
    expect(graph, TaskGraph, "graph")
    if workers < 1:
        raise InputError(f"workers={workers}: at least 1")
    if not (isinstance(seed, int) and seed >= 0):
        raise InputError(f"seed={seed!r}; legal: an integer from 0")
    if functions is not None:
        return FunctionProgram(graph, functions)
    if all("duration_s" in names for names in graph.parameter_names):
        return WaitingProgram(graph)
    executor = _executor(graph)
    if held is not None and getattr(executor, "holds_parts", False):
        return executor(graph, workers, seed, held=held)  # type: ignore[call-arg]
    return executor(graph, workers, seed)


def _executor(graph: TaskGraph) -> Executor:
    """Return what runs *graph*: an executor of its name, or the application that it is of."""
    if graph.name in EXECUTORS:
        return EXECUTORS.find(graph.name)
    generator = GENERATORS.known(graph.name)
    if generator is not None and generator.executor is not None:
        return generator.executor
    raise InputError(
        f"graph {graph.name}: no kernels to execute; there are those of "
        f"{', '.join(EXECUTORS)}, of applications (tasksim run MODULE:APPLICATION) and of graphs "
        "whose tasks have duration_s; in Python, bind(functions=...) takes your own"
    )


class WaitingProgram:
    """Tasks that only take time: each waits for its parameter ``duration_s``.

    They wait for a lock that nobody gives back, unless they are interrupted: as exact as to sleep,
    and as cheap.
    """

    def __init__(self, graph: TaskGraph, workers: int = 1, seed: int = 0) -> None:  # noqa: ARG002
        self.graph = graph
        self._gate, self._interrupted = _closed_gate(), False
        self._core_gate: CoreGate | None = None
        durations = np.zeros(len(graph))
        for index, names in enumerate(graph.parameter_names):
            tasks = graph.kernel == index
            column = graph.parameters[index][:, names.index("duration_s")]
            durations[tasks] = column[graph.row[tasks]]
        self._seconds = durations
        self._durations: list[float] = durations.tolist()
        for task, duration in enumerate(self._durations):
            if not 0 <= duration <= TIMEOUT_MAX:
                raise InputError(
                    f"graph {graph.name}: {graph.label(task)}: not a time one can wait; "
                    f"legal: 0 to {TIMEOUT_MAX:g} s"
                )

    def run(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Sleep, without the GIL, for the duration of *task*."""
        if self._gate.acquire(timeout=self._durations[task]):
            self._gate.release()  # interrupted: let the next one through, too

    def calls(self, core: ctypes.CDLL) -> Calls:
        """Return what each task calls without Python: the *core* waits."""
        gate = self._core_gate = self._core_gate or CoreGate(core)
        table = CallTable(len(self.graph))
        seconds = self._seconds.ctypes.data + 8 * np.arange(len(self.graph))
        rows = np.stack([np.full(len(self.graph), gate.handle), seconds], axis=1)
        wait = Function(address_of(core.tasksim_wait), Tells.NOTHING)
        table.add(wait, np.arange(len(self.graph)), rows)
        return table.calls(kept=[self._seconds, gate])

    def interrupt(self) -> None:
        """End all waiting at once; what is asked for later does not wait either."""
        if not self._interrupted:
            self._interrupted = True
            self._gate.release()
            if self._core_gate is not None:
                self._core_gate.open()

    def reset(self) -> None:
        """Let tasks wait again, if they were interrupted: there are no data."""
        self._gate, self._interrupted = _closed_gate(), False
        if self._core_gate is not None:
            self._core_gate.close()

    def check(self) -> None:
        """Return None: there is no result."""


class CoreGate:
    """The gate at which tasks of :class:`WaitingProgram` wait in the *core*; closed at first."""

    def __init__(self, core: ctypes.CDLL) -> None:
        new, self._set, free = core.tasksim_gate_new, core.tasksim_gate_set, core.tasksim_gate_free
        new.restype, new.argtypes = ctypes.c_void_p, []
        self._set.restype, self._set.argtypes = None, [ctypes.c_void_p, ctypes.c_int32]
        free.restype, free.argtypes = None, [ctypes.c_void_p]
        self.handle: int = new() or 0
        if not self.handle:
            raise MemoryError
        # Not at the end of the process: threads that were left behind may still wait.
        weakref.finalize(self, free, self.handle).atexit = False

    def open(self) -> None:
        """End all waiting."""
        self._set(self.handle, 1)

    def close(self) -> None:
        """Let tasks wait again."""
        self._set(self.handle, 0)


def _closed_gate() -> Lock:
    gate = Lock()
    gate.acquire()
    return gate


class FunctionProgram:
    """Tasks that call Python functions, one per kernel, with their number."""

    def __init__(self, graph: TaskGraph, functions: Mapping[str, Callable[[int], object]]) -> None:
        self.graph = graph
        for name in functions:
            if name not in graph.kernels:
                raise unknown("kernel", name, graph.kernels, f"functions for graph {graph.name}")
        missing = [name for name in graph.kernels if name not in functions]
        if missing:
            raise InputError(f"graph {graph.name}: no function for kernel {', '.join(missing)}")
        per_kernel = [functions[name] for name in graph.kernels]
        self._functions = [per_kernel[kernel] for kernel in graph.kernel.tolist()]

    def run(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Call the function of *task*; what it raises becomes a :exc:`KernelError`."""
        try:
            self._functions[task](task)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise KernelError(self.graph.kernel_of(task), message) from error

    def reset(self) -> None:
        """Do nothing: the data are the functions' own."""

    def check(self) -> None:
        """Return None: only the functions know what is right."""
