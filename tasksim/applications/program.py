"""Program of an application, its graph bound to its data and kernels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.flow import COMBINE_KERNEL
from tasksim.applications.foreign import ForeignFunction
from tasksim.applications.store import DataStore, Results
from tasksim.base.errors import InputError, short
from tasksim.base.registry import raised_text
from tasksim.graph.builder import Reduce, Scratch
from tasksim.kernels.calls import CallTable, KernelError
from tasksim.kernels.program import ALONE, Residual

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.applications.flow import Call, TaskFlow
    from tasksim.applications.jitted import EntryPoint
    from tasksim.applications.kernel import Lock
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.program import Together

__all__ = ["FlowProgram"]


class FlowProgram:
    """The tasks of a flow with their functions and data.

    Parameters
    ----------
    graph : TaskGraph
        The graph of *flow*, perhaps with other priorities and names of models.
    flow : TaskFlow
        The calls of the tasks, and the descriptions of the data.
    workers, seed : int
        Number of workers with scratch memory; seed of random data.
    held : array of int, optional
        The data to make, by default all; tasks on others cannot be executed.

    Attributes
    ----------
    store : DataStore
        The data.
    together : Together
        All processes with parts of the data, which judge the result.

    Raises
    ------
    InputError
        If the data do not fit into memory, or cannot be made as described.
    """

    def __init__(
        self,
        graph: TaskGraph,
        flow: TaskFlow,
        workers: int,
        seed: int,
        held: NDArray[np.integer] | None = None,
    ) -> None:
        self.graph = graph
        self.flow = flow
        self.together: Together = ALONE
        self._forms = {
            handle: form
            for block in flow.blocks
            for handle, form in zip(block.handles, block.forms, strict=True)
        }
        self.store = DataStore(graph, flow.blocks, workers, seed, held)
        self._calls_here = [
            (task, call)
            for task, call in enumerate(flow.calls)
            if all(handle is None or self.store.is_held(handle) for handle in call.handles)
        ]
        addresses = self._addresses()
        self._bound = [self._of(call, addresses) for call in flow.calls]
        self._with_objects = [
            task
            for task, call in self._calls_here
            if not self.store.made_anew.isdisjoint(call.handles)
        ]
        self._prepare()

    def run(self, task: int, worker: int) -> None:
        """Execute *task*; an exception of its function becomes a :exc:`KernelError`."""
        try:
            returned = self._bound[task](worker)
        except Exception as error:
            raise self._error(task, error) from error
        if returned is not None:
            raise self._told(task, returned)

    def reset(self) -> None:
        """Restore the initial data."""
        self.store.reset()
        addresses = self._addresses() if self._with_objects else []
        for task in self._with_objects:  # objects are new ones now; arrays are in place
            self._bound[task] = self._of(self.flow.calls[task], addresses)

    def check(self) -> Residual | None:
        """Return the result of the application's own check."""
        judged = self.flow.judged
        if judged is None:
            return None
        try:
            value = self.together.asked(
                lambda fetch: float(judged.function(Results(self.store, fetch))),
                lambda handle: self.store.data[handle],
            )
        except Exception as error:
            text = f"graph {self.graph.name}: its check failed: {raised_text(error)}"
            raise InputError(text) from error
        return None if value is None else Residual(value, judged.tolerance, judged.what)

    def locks(self) -> dict[str, Lock]:
        """Return kernel -> its known use of Python's lock."""
        return {call.kernel.name: call.kernel.lock for call in self.flow.calls}

    @property
    def kernels_by_clock(self) -> frozenset[str]:
        """Kernels whose tasks end at a time of the clock."""
        return frozenset(call.kernel.name for call in self.flow.calls if call.kernel.by_clock)

    def datum(self, handle: int) -> NDArray[Any] | None:
        """Return the array of *handle*; None if it is not an array, or no task needs it."""
        found = self.store.data[handle]
        return found if isinstance(found, np.ndarray) else None

    def pieces(self, handle: int) -> list[NDArray[Any]]:
        """Return the array of *handle*; raise :exc:`InputError` for a Python object."""
        found = self.store.data[handle]
        if found is None or isinstance(found, np.ndarray):
            return [] if found is None else [found]
        raise InputError(
            f"graph {self.graph.name}: {self.graph.handle_name(handle)} is a Python object"
            f" ({type(found).__name__}), which cannot be sent to another rank; legal: arrays"
        )

    def calls(self, core: ctypes.CDLL) -> Calls:  # noqa: ARG002
        """Return the calls of tasks without Python: C and Numba functions."""
        from tasksim.applications.jitted import JittedCalls

        table, jitted = CallTable(len(self.graph)), JittedCalls()
        rows: dict[ForeignFunction, tuple[list[int], list[list[int]]]] = {}
        kept: list[object] = [self.store]
        for task, call in self._calls_here:
            function = call.kernel.function
            if (
                isinstance(function, ForeignFunction)
                and function.without_python
                and not self._has_own(call)
            ):
                bound = self._bound[task]
                assert isinstance(bound, partial)
                passed = bound.args[1]
                kept.append(passed)
                tasks, arguments = rows.setdefault(function, ([], []))
                tasks.append(task)
                arguments.append(function.row(passed))
            elif (entry := self._entry(call)) is not None:
                jitted.add(task, entry, self._arguments(call))
        kept += jitted.put_in(table)
        for function, (tasks, arguments) in rows.items():
            table.add(function.function, np.array(tasks), np.array(arguments, dtype=np.int64))
        return table.calls(kept)

    def failure(self, task: int, told: int) -> KernelError:
        """Return the error of *task*, whose function reported a failure."""
        call = self.flow.calls[task]
        if isinstance(call.kernel.function, ForeignFunction):
            return self._told(task, told)
        # A Numba function raised an exception, which the core does not know: Python calls the
        # function again, on copies.
        arguments = [
            argument.copy() if isinstance(argument, np.ndarray) else argument
            for argument in self._arguments(call)
        ]
        try:
            call.kernel.function(*arguments)
        except Exception as error:
            return self._error(task, error)
        return KernelError(self.graph.kernel_of(task), "it raised an exception")

    def _error(self, task: int, error: Exception) -> KernelError:
        return KernelError(self.graph.kernel_of(task), raised_text(error))

    def _prepare(self) -> None:
        """Load and compile functions before the first task."""
        seen = set()
        for _, call in self._calls_here:
            function: Any = call.kernel.function
            if isinstance(function, ForeignFunction):
                function.load()
            elif hasattr(function, "py_func"):
                import numba

                types = tuple(map(numba.typeof, self._arguments(call)))
                if (function, types) not in seen:
                    seen.add((function, types))
                    function.compile(types)

    def _entry(self, call: Call) -> EntryPoint | None:
        """Return the core's entry point of the function of *call*, if that is Numba's."""
        if not hasattr(call.kernel.function, "py_func") or self._has_own(call):
            return None
        if not self.store.made_anew.isdisjoint(call.handles):
            return None  # objects: the next reset replaces them
        import numba

        from tasksim.applications.jitted import entry_of

        arguments = self._arguments(call)
        types = tuple(map(numba.typeof, arguments))
        entries = call.kernel.entries
        if types not in entries:
            entries[types] = entry_of(call.kernel.function, arguments)
        return entries[types]

    def _arguments(self, call: Call) -> list[Any]:
        """Return the arguments of the function, by place."""
        data = (None if handle is None else self.store.data[handle] for handle in call.handles)
        return [*data, *call.values.values()]

    def _of(self, call: Call, addresses: list[int]) -> Callable[[int], object]:
        """Return the function of a task, called with the number of a worker."""
        function, store = call.kernel.function, self.store
        if call.kernel.name == COMBINE_KERNEL:
            (handle,) = call.handles
            assert handle is not None
            return lambda _: store.combine(handle)
        if self._has_own(call):
            pairs = [(o.access, handle) for o, handle in call.kernel.arranged(call.handles)]
            return partial(self._with_own, function, call, pairs)
        if isinstance(function, ForeignFunction):
            given = [0 if handle is None else addresses[handle] for handle in call.handles]
            given += [0] * (len(function.operands) - len(given))
            passed = function.passed(given, self._numbers(function, call))
            return partial(_foreign, function, passed)
        data = [None if handle is None else store.data[handle] for handle in call.handles]
        return lambda _: function(*data, **call.values)

    def _with_own(
        self,
        function: Any,
        call: Call,
        pairs: Sequence[tuple[Callable[[Any], int], int | None]],
        worker: int,
    ) -> object:
        """Call a *function* with memory of its worker among its operands."""
        data = [self._datum(access, handle, worker) for access, handle in pairs]
        if isinstance(function, ForeignFunction):
            addresses = [0 if array is None else array.ctypes.data for array in data]
            return function.call(function.passed(addresses, self._numbers(function, call))) or None
        return function(*data, **call.values)

    def _datum(self, access: Callable[[Any], int], handle: int | None, worker: int) -> Any:
        if handle is None:
            return None
        if access is Reduce:
            return self.store.contributes(handle, worker)
        return (
            self.store.of_worker(handle, worker) if access is Scratch else self.store.data[handle]
        )

    def _has_own(self, call: Call) -> bool:
        """Return whether memory of the worker is among the operands."""
        owned = (Reduce, Scratch)
        return any(operand.access in owned for operand, _ in call.kernel.arranged(call.handles))

    def _numbers(self, function: ForeignFunction, call: Call) -> dict[str, Any]:
        """Return all numbers that a *function* may take: values, parameters, sizes."""
        forms = {
            operand.name: None if handle is None else self._forms[handle]
            for operand, handle in call.kernel.arranged(call.handles)
        }
        values = {name: value for name, value in call.values.items() if value is not None}
        return {**call.parameters, **values, **function.sizes(forms)}

    def _addresses(self) -> list[int]:
        return [data.ctypes.data if isinstance(data, np.ndarray) else 0 for data in self.store.data]

    def _told(self, task: int, returned: object) -> KernelError:
        if isinstance(self.flow.calls[task].kernel.function, ForeignFunction):
            return KernelError(self.graph.kernel_of(task), f"it returned {returned}, not 0")
        return KernelError(
            self.graph.kernel_of(task),
            f"it returned {short(returned)}; a kernel writes its results into its operands, and"
            " returns nothing",
        )


def _foreign(function: ForeignFunction, passed: list[Any], _: int) -> object:
    return function.call(passed) or None
