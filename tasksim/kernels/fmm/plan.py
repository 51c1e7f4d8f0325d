"""Plan of a fast multipole method, with the call of each task on its rows of the arrays of cells.

Calls are made by Python, or by entries of the compiled loops: C functions that any thread can call
without Python. An entry takes the addresses of four tables: pointers to arrays of reals, pointers
to arrays of indices, the sizes of all these arrays, and the numbers. Each table is in the order of
the loop's arguments. The import of this module compiles the entries and caches them on disk, like
the loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import carray, cfunc, types  # type: ignore[attr-defined]

from tasksim.base.errors import unknown
from tasksim.graph.octree.morton import decode
from tasksim.kernels.calls import CallTable, NativeFunction, Tells
from tasksim.kernels.fmm.interpolation import add_l2p, add_p2m, l2p, p2m
from tasksim.kernels.fmm.layout import TOP_LEVEL, families, m2l, neighbours
from tasksim.kernels.fmm.p2p import add_one_sided, add_symmetric, one_sided, symmetric
from tasksim.kernels.fmm.translations import add_products, by_octant, by_position, operators

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Bools, Ints
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.fmm.compiled import LoopCall
    from tasksim.kernels.fmm.layout import Data, DatumGroups, Layout
    from tasksim.kernels.fmm.translations import SortedPairs

    Prepare = Callable[[int, int, int], LoopCall]

__all__ = ["arrays_of_handles", "calls", "entry_calls"]

_TWO_GROUP_KERNELS = {"P2P_out", "M2M", "M2L_out", "L2L"}


def calls(
    graph: TaskGraph, layout: Layout, data: Data, groups: DatumGroups, here: Bools
) -> list[LoopCall | None]:
    """Return the call on *data* of each task of *graph*.

    A task has no call if some of its data are not *here*, a mask of handles.

    Raises
    ------
    InputError
        If the graph has other kernels.
    """
    kernels: dict[str, Prepare] = dict(_ParticleTasks(layout, data).kernels)
    if data.multipoles:
        kernels |= _LeafTasks(layout, data).kernels | _CellTasks(layout, data).kernels
    for name in graph.kernels:
        if name not in kernels:
            raise unknown("kernel", name, kernels, f"graph {graph.name}")
    prepare = [kernels[name] for name in graph.kernels]
    callable_here = np.logical_and.reduceat(here[graph.access_handle], graph.access_ptr[:-1])
    kernel, *where = _places(graph, groups)
    rows = zip(
        callable_here.tolist(), kernel.tolist(), *(column.tolist() for column in where), strict=True
    )
    return [prepare[kernel](*places) if can else None for can, kernel, *places in rows]


def arrays_of_handles(
    graph: TaskGraph, layout: Layout, data: Data, groups: DatumGroups, here: Bools
) -> list[tuple[NDArray[np.generic], ...]]:
    """Return, per handle of *graph*, the parts of arrays that belong to its group of cells.

    A handle that is not *here* has none.
    """
    found: list[tuple[NDArray[np.generic], ...]] = []
    for block in graph.handle_blocks:
        name = block.name.partition("[")[0]
        for handle in range(block.first, block.end):
            at = int(groups.level[handle])
            cells = layout.cells(at, int(groups.group[handle]))
            found.append(_arrays_of(name, at, cells, layout, data) if here[handle] else ())
    return found


def _arrays_of(
    name: str, level: int, cells: slice, layout: Layout, data: Data
) -> tuple[NDArray[np.generic], ...]:
    """Return the arrays of the data *name*, such as ``up``, for some *cells* of a level."""
    if name == "symb":
        return (layout.tree.levels[level][cells],)
    if name in ("up", "down"):
        return ((data.multipoles_of if name == "up" else data.locals_of)(level, cells),)
    particles = slice(layout.offsets[cells.start], layout.offsets[cells.stop])
    if name == "part_down":
        return (data.result[:, particles],)
    return layout.positions[:, particles], layout.charges[None, particles]


def _places(graph: TaskGraph, groups: DatumGroups) -> tuple[NDArray[np.integer], ...]:
    """Return, per task, its kernel, the level and group of its first access, and the other group.

    The other group is that of the third access if the kernel has two groups, else the same group.
    """
    level, group = groups.level, groups.group
    two = np.array([name in _TWO_GROUP_KERNELS for name in graph.kernels], dtype=np.bool_)[
        graph.kernel
    ]
    first = graph.access_ptr[:-1]
    one, other = graph.access_handle[first], graph.access_handle[first + 2 * two]
    return graph.kernel, level[one], group[one], group[other]


class _ParticleTasks:
    """Tasks from particles to particles."""

    def __init__(self, layout: Layout, data: Data) -> None:
        self._layout, self._result = layout, data.result
        self._particles = (layout.positions, layout.charges, layout.offsets)
        self._neighbours = neighbours(layout)
        self.kernels: dict[str, Prepare] = {"P2P_in": self._inside, "P2P_out": self._outside}

    def _inside(self, level: int, group: int, _: int) -> LoopCall:
        cells = self._layout.cells(level, group)
        own = np.arange(cells.start, cells.stop)
        target, source = self._neighbours.between(group, group)
        target, source = np.append(target, own), np.append(source, own)
        order = np.argsort(target, kind="stable")
        pairs = target[order], source[order]
        return one_sided(*self._particles, *pairs, self._result)

    def _outside(self, _: int, group: int, other: int) -> LoopCall:
        target, source = self._neighbours.between(group, other)
        return symmetric(*self._particles, target, source, self._result)


class _LeafTasks:
    """Tasks from particles to the expansions of their leaves, and back."""

    def __init__(self, layout: Layout, data: Data) -> None:
        self._layout, self._data = layout, data
        self._particles = (layout.order, layout.relative_positions(), layout.charges)
        self.kernels: dict[str, Prepare] = {"P2M": self._p2m, "L2P": self._l2p}

    def _p2m(self, level: int, group: int, _: int) -> LoopCall:
        cells = self._layout.cells(level, group)
        multipoles = self._data.multipoles_of(level, cells)
        return p2m(*self._particles, self._offsets(cells), multipoles)

    def _l2p(self, level: int, group: int, _: int) -> LoopCall:
        cells = self._layout.cells(level, group)
        expansions = self._data.locals_of(level, cells), self._layout.width(level)
        return l2p(*self._particles, self._offsets(cells), *expansions, self._data.result)

    def _offsets(self, cells: slice) -> Ints:
        return self._layout.offsets[cells.start : cells.stop + 1]


class _CellTasks:
    """Tasks from expansions to expansions."""

    def __init__(self, layout: Layout, data: Data) -> None:
        self._layout, self._data, tree = layout, data, layout.tree
        self._operators = operators(layout.order, tree.dimension)
        levels = range(TOP_LEVEL, tree.height)
        self._m2l_pairs = {level: m2l(layout, level) for level in levels}
        self._families = {level: families(layout, level) for level in levels[:-1]}
        self._coordinates = {level: decode(tree.levels[level], tree.dimension) for level in levels}
        self.kernels: dict[str, Prepare] = {
            "M2M": self._m2m,
            "M2L_in": self._m2l,
            "M2L_out": self._m2l,
            "L2L": self._l2l,
        }

    def _m2m(self, level: int, group: int, other: int) -> LoopCall:
        parents, children = self._families[level].between(group, other)
        up, multipoles = self._data.up, self._data.multipoles
        pairs = self._by_octant(level, children, up[level][parents], up[level + 1][children])
        return self._operators.m2m(pairs, multipoles[level + 1], multipoles[level])

    def _l2l(self, level: int, group: int, other: int) -> LoopCall:
        parents, children = self._families[level].between(group, other)
        down, locals_ = self._data.down, self._data.locals
        pairs = self._by_octant(level, children, down[level + 1][children], down[level][parents])
        return self._operators.l2l(pairs, locals_[level], locals_[level + 1])

    def _m2l(self, level: int, group: int, other: int) -> LoopCall:
        target, source = self._m2l_pairs[level].between(group, other)
        at = self._coordinates[level]
        data = self._data
        rows = data.down[level][target], data.up[level][source]
        pairs = by_position(at[target] - at[source], *rows)
        expansions = data.multipoles[level], data.locals[level]
        return self._operators.m2l(pairs, *expansions, self._layout.width(level))

    def _by_octant(self, level: int, children: Ints, target: Ints, source: Ints) -> SortedPairs:
        dimension = self._layout.tree.dimension
        octant = self._layout.tree.levels[level + 1][children] & ((1 << dimension) - 1)
        return by_octant(octant, target, source, dimension)


ENTRIES: Final[list[tuple[Callable[..., None], Any]]] = []
"""The loops, each with its entry."""

_POINTER: Any = types.CPointer
_REALS, _INDICES = _POINTER(_POINTER(types.float64)), _POINTER(_POINTER(types.int64))
_SIZES, _NUMBERS = _POINTER(types.int64), _POINTER(types.float64)


def entry_of(loop: Callable[..., None]) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that makes a function the entry of *loop*."""

    def made(function: Callable[..., None]) -> Any:
        signature = types.void(_REALS, _INDICES, _SIZES, _NUMBERS)
        compiled = cfunc(signature, cache=True, error_model="numpy")(function)
        ENTRIES.append((loop, compiled))
        return compiled

    return made


@entry_of(add_one_sided)
def _one_sided(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:  # noqa: ARG001
    add_one_sided(
        carray(reals[0], (sizes[0], sizes[1])),
        carray(reals[1], sizes[2]),
        carray(indices[0], sizes[3]),
        carray(indices[1], sizes[4]),
        carray(indices[2], sizes[5]),
        carray(reals[2], (sizes[6], sizes[7])),
    )


@entry_of(add_symmetric)
def _symmetric(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:  # noqa: ARG001
    add_symmetric(
        carray(reals[0], (sizes[0], sizes[1])),
        carray(reals[1], sizes[2]),
        carray(indices[0], sizes[3]),
        carray(indices[1], sizes[4]),
        carray(indices[2], sizes[5]),
        carray(reals[2], (sizes[6], sizes[7])),
    )


@entry_of(add_p2m)
def _p2m(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:  # noqa: ARG001
    add_p2m(
        carray(reals[0], (sizes[0], sizes[1])),
        carray(reals[1], (sizes[2], sizes[3])),
        carray(reals[2], (sizes[4], sizes[5])),
        carray(reals[3], sizes[6]),
        carray(indices[0], sizes[7]),
        carray(reals[4], (sizes[8], sizes[9])),
    )


@entry_of(add_l2p)
def _l2p(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:
    add_l2p(
        carray(reals[0], (sizes[0], sizes[1])),
        carray(reals[1], (sizes[2], sizes[3])),
        carray(reals[2], (sizes[4], sizes[5])),
        carray(reals[3], sizes[6]),
        carray(indices[0], sizes[7]),
        carray(reals[4], (sizes[8], sizes[9])),
        numbers[0],
        carray(reals[5], (sizes[10], sizes[11])),
    )


@entry_of(add_products)
def _products(reals: Any, indices: Any, sizes: Any, numbers: Any) -> None:
    add_products(
        carray(reals[0], (sizes[0], sizes[1], sizes[2])),
        carray(indices[0], sizes[3]),
        carray(indices[1], sizes[4]),
        carray(indices[2], sizes[5]),
        carray(indices[3], sizes[6]),
        carray(indices[4], (sizes[7], sizes[8])),
        numbers[0],
        numbers[1],
        carray(reals[1], (sizes[9], sizes[10])),
        carray(reals[2], (sizes[11], sizes[12])),
    )


def entry_calls(calls: Sequence[LoopCall | None]) -> Calls:
    """Return *calls*, one per task or None, as calls of the entries of their loops."""
    tables = _Tables()
    nothing = [0] * 4
    rows = np.array(
        [nothing if call is None else tables.row(call) for call in calls], dtype=np.int64
    ).reshape(-1, 4)
    arrays = tables.arrays()
    # Rows have places in the tables, with eight bytes each; make them addresses, now that the
    # tables have theirs.
    rows = 8 * rows + np.array([array.ctypes.data for array in arrays])
    table = CallTable(len(calls))
    loops = [None if call is None else call.loop for call in calls]
    for loop, entry in ENTRIES:
        tasks = np.array([k for k, called in enumerate(loops) if called is loop], dtype=np.int64)
        if len(tasks):
            table.add(NativeFunction(entry.address, Tells.NOTHING), tasks, rows[tasks])
    return table.calls(kept=[calls, arrays, ENTRIES])


class _Tables:
    """The four tables of reals, indices, sizes and numbers that the entries read."""

    def __init__(self) -> None:
        self._reals: list[int] = []
        self._indices: list[int] = []
        self._sizes: list[int] = []
        self._numbers: list[float] = []

    def row(self, call: LoopCall) -> list[int]:
        """Add the arguments of *call*; return their begin in each table."""
        begin = [len(t) for t in (self._reals, self._indices, self._sizes, self._numbers)]
        for argument in call.arguments:
            if isinstance(argument, np.ndarray):
                self._add(argument)
            else:
                self._numbers.append(float(argument))
        return begin

    def arrays(self) -> list[NDArray[Any]]:
        """Return the tables, in the order of an entry's arguments."""
        tables = (self._reals, self._indices, self._sizes)
        return [*(np.array(t, np.int64) for t in tables), np.array(self._numbers, np.float64)]

    def _add(self, array: NDArray[Any]) -> None:
        if not array.flags.c_contiguous or array.dtype not in (np.float64, np.int64):
            raise TypeError(
                f"got an array of {array.dtype}; legal: contiguous arrays of float64 or int64"
            )
        table = self._reals if array.dtype == np.float64 else self._indices
        table.append(array.ctypes.data)
        self._sizes += array.shape
