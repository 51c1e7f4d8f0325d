"""Programs, task graphs that are bound to data and ready to execute, and their executors.

An executor is a class or function, ``executor(graph, workers, seed)``, that returns the graph
bound to data, a :class:`Program`. It is registered under the name of the generator whose graphs it
runs. Another package registers its executors as entry points of the group ``tasksim.programs``. An
application is an executor of its own graphs.

A program whose result is checked by several processes together has an attribute ``together``, by
default :data:`ALONE`. With another value, all processes call ``check()`` and ``errors()`` together:
each works with its own data, and sums are taken over all processes, without gathering the result.
The result is the value that the first process returns.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from threading import TIMEOUT_MAX, Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from tasksim.base.errors import InputError, expect, unknown
from tasksim.base.registry import Registry
from tasksim.graph.apps.registry import GENERATORS
from tasksim.graph.taskgraph import TaskGraph, task_parameter
from tasksim.kernels.calls import CallTable, KernelError, NativeFunction, Tells, address_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tasksim.kernels.calls import Calls

    Executor = Callable[[TaskGraph, int, int], "Program"]
    T = TypeVar("T")
    Fetch = Callable[[int], Any]

__all__ = [
    "ALONE",
    "EXECUTORS",
    "Alone",
    "FunctionProgram",
    "Program",
    "Residual",
    "Together",
    "WaitingProgram",
    "bind",
]


@dataclass(frozen=True)
class Residual:
    """The error of a result, and its tolerance.

    Attributes
    ----------
    value, tolerance
        The error, and its largest value for a correct result.
    what
        A description of the value.
    """

    value: float
    tolerance: float
    what: str

    @property
    def ok(self) -> bool:
        """Whether the result is correct; a NaN is not."""
        return self.value <= self.tolerance


class Program(Protocol):
    """A task graph that is bound to data and ready to execute.

    Different tasks may run at the same time on different workers; the caller keeps the order of
    dependent tasks. A program may have further methods and attributes:

    - ``interrupt()`` ends its running tasks early and is called from another thread;
      :meth:`reset` undoes it.
    - ``calls(core)`` returns the addresses of its tasks, a :class:`~tasksim.kernels.calls.Calls`,
      for execution without Python; *core* is the compiled core as loaded by ctypes.
    - ``failure(task, told)`` returns the error of a task whose function reported a failure.
    - ``warm_ups(threads)`` returns, per thread, a function that executes each kernel on data of its
      own; nothing if this process has executed these kernels before. All are called at once before
      the clock of a run starts, as first executions take longer.
    - ``kernels_by_clock``, a set of kernel names: their tasks end at a time of the clock, because
      they wait or spin until then, so others on the same processor do not make them longer.
    - ``make_safe(task)`` restores data of a task whose kernel fails, or takes longer, on data that
      were never computed; selective execution calls it.
    """

    graph: TaskGraph

    def run(self, task: int, worker: int) -> None:
        """Execute *task* with the workspace of *worker*; raise :exc:`KernelError` if it fails."""

    def reset(self) -> None:
        """Restore the initial data."""

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
    """Return *graph* bound to data from *seed*, ready to execute.

    Parameters
    ----------
    graph
        A graph of a generator with an executor (``tasksim list executors``), such as ``cholesky``,
        whose tasks compute. If all kernels have a parameter ``duration_s``, each task waits that
        long instead.
    workers
        The number of workers that run tasks at the same time.
    seed
        The seed of the matrix. For fmm, whose particles have the seed of the graph, the seed of the
        sample of particles that are checked.
    functions
        Map from kernel name to a function, which is called with the number of a task. These
        functions replace the executor for any graph. Python functions share the GIL as usual.
    held
        The data that are needed, by default all. Executors with ``holds_parts`` allocate only
        these; the others allocate all data.

    Raises
    ------
    InputError
        If the graph has no executor, or a function is missing or superfluous.
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
    """Return the executor of *graph*, by its name or from its application."""
    if graph.name in EXECUTORS:
        return EXECUTORS.find(graph.name)
    generator = GENERATORS.known(graph.name)
    if generator is not None and generator.executor is not None:
        return generator.executor
    raise InputError(
        f"graph {graph.name}: no kernels to execute; legal: graphs of "
        f"{', '.join(EXECUTORS)}, applications (tasksim run MODULE:APPLICATION), and graphs "
        "whose tasks have duration_s; in Python, bind(functions=...) takes your own kernels"
    )


class WaitingProgram:
    """A program of tasks that only wait, each for its parameter ``duration_s``.

    A task waits with a timeout for a lock that only an interruption releases. This is as exact and
    as cheap as sleeping.
    """

    def __init__(self, graph: TaskGraph, workers: int = 1, seed: int = 0) -> None:  # noqa: ARG002
        self.graph = graph
        self.kernels_by_clock = frozenset(graph.kernels)
        self._gate, self._interrupted = _closed_gate(), False
        self._core_gate: CoreGate | None = None
        self._seconds = task_parameter(graph, "duration_s")
        self._durations: list[float] = self._seconds.tolist()
        for task, duration in enumerate(self._durations):
            if not 0 <= duration <= TIMEOUT_MAX:
                raise InputError(
                    f"graph {graph.name}: {graph.label(task)}: illegal duration; "
                    f"legal: 0 to {TIMEOUT_MAX:g} s"
                )

    def run(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Wait for the duration of *task* without the GIL."""
        if self._gate.acquire(timeout=self._durations[task]):
            self._gate.release()  # interrupted: let the next task through, too

    def calls(self, core: ctypes.CDLL) -> Calls:
        """Return the calls of all tasks without Python, in which the *core* waits."""
        gate = self._core_gate = self._core_gate or CoreGate(core)
        table = CallTable(len(self.graph))
        seconds = self._seconds.ctypes.data + 8 * np.arange(len(self.graph))
        rows = np.stack([np.full(len(self.graph), gate.handle), seconds], axis=1)
        wait = NativeFunction(address_of(core.tasksim_wait), Tells.NOTHING)
        table.add(wait, np.arange(len(self.graph)), rows)
        return table.calls(kept=[self._seconds, gate])

    def interrupt(self) -> None:
        """End all waiting at once; later tasks do not wait either."""
        if not self._interrupted:
            self._interrupted = True
            self._gate.release()
            if self._core_gate is not None:
                self._core_gate.open()

    def reset(self) -> None:
        """Let tasks wait again after an interruption; there are no data to restore."""
        self._gate, self._interrupted = _closed_gate(), False
        if self._core_gate is not None:
            self._core_gate.close()

    def check(self) -> None:
        """Return None: there is no result."""


class CoreGate:
    """The gate at which tasks of :class:`WaitingProgram` wait in the *core*, initially closed."""

    def __init__(self, core: ctypes.CDLL) -> None:
        new, self._set, free = core.tasksim_gate_new, core.tasksim_gate_set, core.tasksim_gate_free
        new.restype, new.argtypes = ctypes.c_void_p, []
        self._set.restype, self._set.argtypes = None, [ctypes.c_void_p, ctypes.c_int32]
        free.restype, free.argtypes = None, [ctypes.c_void_p]
        self.handle: int = new() or 0
        if not self.handle:
            raise MemoryError
        # Do not free it at the exit of the process: abandoned threads may still wait for it.
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
    """A program with a Python function per kernel, which is called with the number of a task."""

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
        """Call the function of *task*; an exception becomes a :exc:`KernelError`."""
        try:
            self._functions[task](task)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise KernelError(self.graph.kernel_of(task), message) from error

    def reset(self) -> None:
        """Do nothing: the functions own their data."""

    def check(self) -> None:
        """Return None: only the functions can tell a correct result."""


def _adopt(name: str, found: Any) -> Executor:
    if not callable(found):
        raise InputError(f"executor '{name}': {found!r} cannot be called")
    executor: Executor = found
    return executor


EXECUTORS: Registry[Executor] = Registry(
    "executor",
    "tasksim.programs",
    {
        "cholesky": "tasksim.kernels.factorisations:Cholesky",
        "lu": "tasksim.kernels.factorisations:Lu",
        "qr": "tasksim.kernels.factorisations:Qr",
        "fmm": "tasksim.kernels.fmm.program:FmmProgram",
        "cg": "tasksim.kernels.grids.conjugate_gradient:conjugate_gradient",
        "jacobi": "tasksim.kernels.grids.jacobi:jacobi",
        "summa": "tasksim.kernels.summa:summa",
        "chain": "tasksim.kernels.program:WaitingProgram",
        "fork-join": "tasksim.kernels.program:WaitingProgram",
        "random-layered": "tasksim.kernels.program:WaitingProgram",
        "random-graph": "tasksim.kernels.program:WaitingProgram",
    },
    _adopt,
)
"""All executors. A new one is a file, and a line here or an entry point of its package."""


class Together(Protocol):
    """The processes of one run from the point of view of one of them."""

    rank: int
    """The rank of this process."""

    def counts(self, handle: int) -> bool:
        """Return whether this process counts *handle*; exactly one process counts each datum."""

    def executor(self, task: int) -> int:
        """Return the rank of the process that executed *task* and has its results."""

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the *values* of all processes."""

    def pass_on(self, values: NDArray[Any], source: int, target: int) -> None:
        """Copy the *values* of the process *source* to *target*; other processes do nothing."""

    def asked(self, judge: Callable[[Fetch], T], give: Fetch) -> T | None:
        """Return the result of *judge*, which the first process calls with a fetch function.

        The process that counts a datum calls *give* for it on request, one datum at a time. All
        processes except the first return None.
        """


class Alone:
    """A single process with all data."""

    rank = 0

    def counts(self, handle: int) -> bool:  # noqa: ARG002
        """Return True."""
        return True

    def executor(self, task: int) -> int:  # noqa: ARG002
        """Return 0."""
        return 0

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return *values*."""
        return values

    def pass_on(self, values: NDArray[Any], source: int, target: int) -> None:
        """Do nothing."""

    def asked(self, judge: Callable[[Fetch], T], give: Fetch) -> T | None:
        """Return the result of *judge* with *give*."""
        return judge(give)


ALONE = Alone()
"""The default: this process is the only one."""
