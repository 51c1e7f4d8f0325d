"""Flow of tasks over described data, the argument of an application's function."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from tasksim.applications.data import (
    Block,
    Datum,
    DatumMatrix,
    DatumVector,
    Form,
    ObjectForm,
    bounds_of,
    form_of,
    reduction_of,
)
from tasksim.applications.kernel import Kernel, Operand
from tasksim.base.arguments import whole_number
from tasksim.base.errors import InputError, short
from tasksim.graph.builder import RW, Commute, GraphBuilder, Reduce
from tasksim.graph.commutation import PYTHON_LOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["COMBINE_KERNEL", "Call", "Check", "TaskFlow"]

COMBINE_KERNEL = "combine"
"""Name of the kernel that ends a reduction."""


class Call(NamedTuple):
    """A call of a task, with its function and the number of a datum, or None, per operand."""

    kernel: Kernel
    handles: tuple[int | None, ...]
    values: dict[str, Any]
    parameters: dict[str, float]


@dataclass(frozen=True)
class Check:
    """Check of a result: ``function(results)`` must not exceed ``tolerance``."""

    function: Callable[[Any], float]
    tolerance: float
    what: str


class TaskFlow:
    """Tasks in the application's sequential order, and the data that they access.

    Data are described, not made: a simulation of an application takes no memory for them, and calls
    no kernels.

    Parameters
    ----------
    name : str
        The name of the graph.
    recording : bool, default True
        Whether to keep the call of each task, for execution.

    Attributes
    ----------
    blocks : list of Block
        The data.
    calls : list of Call
        The call of each task, if recorded.
    check : Check or None
        The check of the result.

    See Also
    --------
    application : Register a function that fills a flow.
    GraphBuilder : The same for graphs that are only simulated.

    Examples
    --------
    >>> from tasksim import RW, R, kernel
    >>> @kernel
    ... def axpy(y: RW, x: R): y += x
    >>> g = TaskFlow("sums")
    >>> x, y = g.array("x", 100), g.arrays("y", [100, 100], initial=1.0)
    >>> for part in y:
    ...     task = g.insert(axpy, part, x)
    >>> g.graph()
    <TaskGraph sums: 2 tasks, 0 edges>
    """

    def __init__(self, name: str, *, recording: bool = True) -> None:
        self._builder = GraphBuilder(name)
        self._recording = recording
        self.blocks: list[Block] = []
        self.calls: list[Call] = []
        self.judged: Check | None = None
        self._kernels: dict[str, Kernel] = {COMBINE_KERNEL: _COMBINE}
        self._configurations: dict[tuple[object, ...], dict[str, float]] = {}
        self._data: dict[int, Datum] = {}
        self._contributions: dict[int, int] = {}
        self._lock: int | None = None

    def __len__(self) -> int:
        """Return the number of tasks so far."""
        return len(self._builder)

    def announce(self, tasks: int) -> None:
        """Say how many tasks there will be, so that commands can show the time that is left.

        Parameters
        ----------
        tasks : int
            Number of all tasks. A wrong one changes nothing but the time that is shown.

        See Also
        --------
        insert : Append a task.

        Examples
        --------
        >>> TaskFlow("many").announce(1_000_000)
        """
        self._builder.announce(tasks)

    # Data

    def array(
        self, name: str, shape: int | Sequence[int] = (), dtype: Any = "float64",
        *, initial: Any = None, order: str = "C", reduction: str = "sum", home: int = 0,
    ) -> Datum:  # fmt: skip
        """Describe an array; of shape ``()``, a scalar.

        Parameters
        ----------
        name : str
            Name for messages.
        shape : int or sequence of int, default ()
        dtype : data type, default float64
        initial : array_like or callable, optional
            Initial value: a number, an array, or a function that returns it, called with a random
            generator at execution; by default zeros.
        order : {"C", "F"}
            Whether rows or columns are contiguous.
        reduction : {"sum", "product", "max", "min"}
            Combination of the contributions of tasks that ``Reduce`` it.
        home : int, default 0
            The number of its initial memory.

        Returns
        -------
        Datum

        Raises
        ------
        InputError
            If NumPy does not know the form, or the name is not a text.
        """
        return self._add(name, (), [form_of(shape, dtype, order)], initial, home, reduction)[0]

    def arrays(
        self, name: str, shapes: Iterable[int | Sequence[int]], dtype: Any = "float64",
        *, initial: Any = None, order: str = "C", reduction: str = "sum", home: int = 0,
    ) -> DatumVector:  # fmt: skip
        """Describe a list of arrays of individual shapes; ``initial(rng, i)`` makes one.

        The other parameters are those of :meth:`array`.
        """
        forms = [form_of(shape, dtype, order) for shape in shapes]
        data = self._add(name, (len(forms),), forms, initial, home, reduction)
        return DatumVector(self.blocks[-1], data)

    def tiles(
        self, name: str, rows: int, columns: int, shape: int | Sequence[int],
        dtype: Any = "float64", *, initial: Any = None, order: str = "C", reduction: str = "sum",
        home: int = 0,
    ) -> DatumMatrix:  # fmt: skip
        """Describe *rows* x *columns* arrays of one shape; ``initial(rng, i, j)`` makes one.

        Arrays without accesses are never made. The other parameters are those of :meth:`array`.
        """
        extents = whole_number(rows, "rows", 1), whole_number(columns, "columns", 1)
        forms = [form_of(shape, dtype, order)] * (extents[0] * extents[1])
        data = self._add(name, extents, forms, initial, home, reduction)
        return DatumMatrix(self.blocks[-1], data)

    def cut(
        self, name: str, shape: int | Sequence[int], pieces: int | Sequence[int],
        dtype: Any = "float64", *, initial: Any = None, reduction: str = "sum", home: int = 0,
    ) -> DatumVector:  # fmt: skip
        """Describe one array that is cut along its first axis; ``initial(rng)`` makes the whole.

        Parameters
        ----------
        name, dtype, initial, reduction, home
            As for :meth:`array`.
        shape : int or sequence of int
            Shape of the whole array.
        pieces : int or sequence of int
            Number of pieces, whose lengths differ by at most one; or the beginnings of all pieces
            and the end of the last one.

        Returns
        -------
        DatumVector

        Raises
        ------
        InputError
            If there are more pieces than rows, or bounds do not go from 0 to the end.
        """
        whole = form_of(shape, dtype)
        bounds = bounds_of(name, whole, pieces)
        forms = [
            Form((end - begin, *whole.shape[1:]), whole.dtype) for begin, end in pairwise(bounds)
        ]
        data = self._add(name, (len(forms),), forms, initial, home, reduction, whole=whole)
        return DatumVector(self.blocks[-1], data)

    def opaque(
        self, name: str, make: Callable[[Any], Any], size_bytes: int, home: int = 0
    ) -> Datum:
        """Describe an object that is not an array; ``make(rng)`` returns it at execution.

        Kernels get the object itself, and change it in place. *size_bytes* is the size of a copy to
        another memory.
        """
        if not callable(make):
            raise InputError(f"data {name}: make: got {short(make)}; legal: a function")
        form = ObjectForm(whole_number(size_bytes, f"data {name}: size_bytes", 0))
        return self._add(name, (), [form], make, home, None)[0]

    def scratch(self, name: str, shape: int | Sequence[int], dtype: Any = "float64") -> Datum:
        """Describe private memory of each worker, for ``Scratch`` operands."""
        return self._add(name, (), [form_of(shape, dtype)], None, 0, None, scratch=True)[0]

    def _add(
        self, name: str, extents: tuple[int, ...], forms: list[Any], initial: Any, home: int,
        reduction: str | None, *, whole: Form | None = None, scratch: bool = False,
    ) -> list[Datum]:  # fmt: skip
        if not isinstance(name, str):
            raise InputError(f"data: name: got {short(name)}; legal: text")
        combined = None if reduction is None else reduction_of(reduction)
        builder, sizes = self._builder, [form.nbytes for form in forms]
        if not extents:
            first = builder.handle(name, sizes[0], home)
        elif not sizes:
            raise InputError(f"data {name}: there are none; legal: at least one")
        elif len(extents) == 2:
            first = builder.matrix(name, *extents, sizes[0], home).first
        else:
            first = builder.vector(name, len(sizes), sizes, home).first
        block = Block(name, extents, first, forms, initial, whole, combined, scratch)
        self.blocks.append(block)
        data = [Datum(first + i, form, block) for i, form in enumerate(forms)]
        self._data.update((datum.handle, datum) for datum in data)
        return data

    # Tasks

    def insert(
        self,
        kernel: Kernel,
        /,
        *data: Datum | None,
        priority: int = 0,
        after: Iterable[int] = (),
        **values: Any,
    ) -> int:
        """Append a task and return its number.

        Parameters
        ----------
        kernel : Kernel
            The kernel of the task.
        *data : Datum or None
            Its data, in the order of the kernel's operands; None for an omitted optional operand.
        priority : int, default 0
            Larger is more urgent.
        after : iterable of int, default ()
            Numbers of further earlier tasks that it depends on, beside those implied by its data.
        **values
            Arguments of the function beside its operands.

        Returns
        -------
        int
            Its number; tasks are numbered from 0 in the order of insertion.

        Raises
        ------
        InputError
            If data or values do not fit the kernel; GraphError as by :meth:`GraphBuilder.insert`.
            No task is appended then.

        Examples
        --------
        >>> from tasksim import RW, kernel
        >>> @kernel
        ... def scale(x: RW, factor): x *= factor
        >>> g = TaskFlow("example")
        >>> g.insert(scale, g.array("x", 10), factor=2.0)
        0
        """
        if not isinstance(kernel, Kernel):
            raise InputError(f"insert: got {short(kernel)}; legal: what @tasksim.kernel makes")
        if self._kernels.setdefault(kernel.name, kernel) is not kernel:
            raise InputError(
                f"two kernels are called {kernel.name}; give one of them another name="
            )
        pairs = kernel.arranged(data)
        for operand, datum in pairs:
            if datum is not None:
                self._check(kernel, operand, datum)
        values = kernel.completed(values)
        if self._contributions:  # a reduction ends before an access in another mode
            for operand, datum in pairs:
                if datum is not None and operand.access is not Reduce:
                    self._combine(datum)
        accesses = [operand.access(datum) for operand, datum in pairs if datum is not None]
        if kernel.lock == "held":
            if self._lock is None:
                self._lock = self._builder.handle(PYTHON_LOCK, 0)
            accesses.append(Commute(self._lock))
        parameters = self._parameters(kernel, pairs, values)
        task = self._builder.insert(
            kernel.name, *accesses, priority=priority, after=after, **parameters
        )
        for operand, datum in pairs:
            if operand.access is Reduce and datum is not None:
                self._contributions[datum.handle] = self._contributions.get(datum.handle, 0) + 1
        if self._recording:
            handles = tuple(None if datum is None else datum.handle for _, datum in pairs)
            self.calls.append(Call(kernel, handles, values, parameters))
        return task

    def wont_use(self, datum: Datum) -> None:
        """Declare that no further task uses *datum*; see :meth:`GraphBuilder.wont_use`."""
        self._combine(datum)
        self._builder.wont_use(datum.handle)

    def check(
        self, function: Callable[[Any], float], *, tolerance: float, what: str = "error"
    ) -> None:
        """Set the check of the result: ``function(results)`` must not exceed *tolerance*.

        ``results[x]`` is the final value of the datum, or of the data, *x*; ``results.initial(x)``
        the initial one. *what* describes the number in words.
        """
        if not callable(function):
            raise InputError(f"check: got {short(function)}; legal: a function")
        self.judged = Check(function, float(tolerance), what)

    def graph(self) -> TaskGraph:
        """Return the task graph, with all reductions completed.

        Raises
        ------
        GraphError
            If one task accesses one datum in modes that cannot be combined.
        """
        for handle in list(self._contributions):
            self._combine(self._data[handle])
        return self._builder.build()

    def _check(self, kernel: Kernel, operand: Operand, datum: Any) -> None:
        if not isinstance(datum, Datum) or self._data.get(datum.handle) is not datum:
            legal = "a datum that this flow described, or one element of its data, such as x[0]"
            raise InputError(f"{kernel!r}: {operand.name}: got {short(datum)}; legal: {legal}")
        if operand.access is Reduce and datum.block.reduction is None:
            raise InputError(f"{kernel!r}: {operand.name}: {datum.name} is no array to reduce into")
        if (operand.access.__name__ == "Scratch") != datum.block.scratch:
            which = "is scratch" if datum.block.scratch else "is not from g.scratch(...)"
            raise InputError(
                f"{kernel!r}: {operand.name} is {operand.access.__name__}, and {datum.name} {which}"
            )

    def _parameters(
        self, kernel: Kernel, pairs: Sequence[tuple[Operand, Any]], values: dict[str, Any]
    ) -> dict[str, float]:
        """Return the parameters of a task, computed once for data of the same forms."""
        forms = [(operand, None if datum is None else datum.form) for operand, datum in pairs]
        key = (kernel.name, *(form for _, form in forms), *values.items())
        try:
            found = self._configurations.get(key)
        except TypeError:  # an unhashable value
            return kernel.parameters_of(forms, values)
        if found is None:
            found = self._configurations[key] = kernel.parameters_of(forms, values)
        return found

    def _combine(self, datum: Datum) -> None:
        """Insert the task that ends the reduction of *datum*, if one is under way."""
        parts = self._contributions.pop(datum.handle, 0)
        if not parts:
            return
        size = datum.form.size
        self._builder.insert(COMBINE_KERNEL, RW(datum.handle), n=size, parts=parts)
        if self._recording:
            self.calls.append(Call(_COMBINE, (datum.handle,), {}, {"n": size, "parts": parts}))


def _unreachable(*_: object) -> None:
    raise AssertionError("the store combines")


_COMBINE = Kernel(COMBINE_KERNEL, [Operand("into", RW)], _unreachable)
