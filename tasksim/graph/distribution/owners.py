"""Owners of a graph's data, by named distributions over the nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.registry import Registry
from tasksim.graph.csr import owner_of_each
from tasksim.graph.dependencies import MODE_WRITES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "OWNERS",
    "NodeGrid",
    "Placement",
    "by_parameter",
    "column_major",
    "diamond",
    "grid_or_square",
    "morton",
    "nearly_square",
    "owners_of",
    "placement_of",
    "round_robin",
    "row_major",
]


class NodeGrid(NamedTuple):
    """A grid of nodes; 2 x 3 has six."""

    rows: int
    columns: int

    @classmethod
    def parse(cls, text: str) -> NodeGrid | None:
        """Return the grid in *text*, ``2x3``; None if it has none."""
        found = re.fullmatch(r"([1-9]\d{0,6})[x×]([1-9]\d{0,6})", text.strip())
        return None if found is None else cls(int(found[1]), int(found[2]))

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.rows * self.columns


class Placement(NamedTuple):
    """The node of each datum, and of each task whose *executor* is not -1."""

    owners: Any
    executor: Any = None


Owners: TypeAlias = "Callable[[TaskGraph, NodeGrid], Any]"
"""Function that returns the owner of each datum on a grid of nodes, or a :class:`Placement`."""


def row_major(graph: TaskGraph, grid: NodeGrid) -> Int64:
    """Return owners on a 2-D block-cyclic grid whose nodes are numbered row by row.

    Tile (m, n) is on node ``(m mod P) Q + n mod Q``, as in Chameleon and StarPU's Cholesky. Items
    of vectors go round all nodes; ``1xQ`` and ``Px1`` are distributions by column and by row.
    """
    row, column, flat = _coordinates(graph)
    owner = row % grid.rows * grid.columns + column % grid.columns
    return np.where(flat, row % grid.nodes, owner)


def column_major(graph: TaskGraph, grid: NodeGrid) -> Int64:
    """Return owners on a 2-D block-cyclic grid whose nodes are numbered column by column.

    Tile (m, n) is on node ``(n mod Q) P + m mod P``, as in ScaLAPACK, SLATE, and StarPU's LU.
    """
    row, column, flat = _coordinates(graph)
    owner = column % grid.columns * grid.rows + row % grid.rows
    return np.where(flat, row % grid.nodes, owner)


def diamond(graph: TaskGraph, grid: NodeGrid) -> Int64:
    """Return owners by diagonals: tile (m, n) is on node ``(m + n) mod N``.

    Neighbours in a row or a column are on different nodes.
    """
    row, column, flat = _coordinates(graph)
    return np.where(flat, row, row + column) % grid.nodes


def round_robin(graph: TaskGraph, grid: NodeGrid) -> Placement:
    """Return owners by number: datum *i* is on node ``i mod N``.

    Tasks without data are distributed in the same way.
    """
    tasks = np.arange(len(graph))
    without_data = np.diff(graph.access_ptr) == 0
    executor = np.where(without_data, tasks % grid.nodes, -1)
    return Placement(np.arange(graph.handles) % grid.nodes, executor)


def by_parameter(graph: TaskGraph, grid: NodeGrid) -> Placement:
    """Return the nodes by the tasks' parameter ``node``, where each is executed.

    A datum is on the node of its first writer, or else of its first reader.

    Raises :exc:`InputError` if a task has no such parameter, or a node that is none.
    """
    executor = np.empty(len(graph), np.int64)
    for number, names in enumerate(graph.parameter_names):
        if "node" not in names:
            told = f"tasks of kernel {graph.kernels[number]} have no parameter node"
            raise InputError(f"owner parameter: {told}")
        tasks = graph.kernel == number
        said = graph.parameters[number][:, names.index("node")][graph.row[tasks]]
        if np.any((said != np.floor(said)) | (said < 0) | (said >= grid.nodes)):
            legal = f"a whole number from 0 to {grid.nodes - 1}"
            raise InputError(f"owner parameter: node of kernel {graph.kernels[number]}: {legal}")
        executor[tasks] = said
    owners = np.zeros(graph.handles, np.int64)
    task = owner_of_each(graph.access_ptr)
    for chosen in (np.ones(len(task), np.bool_), MODE_WRITES[graph.access_mode]):
        found, first = np.unique(graph.access_handle[chosen], return_index=True)
        owners[found] = executor[task[chosen][first]]
    return Placement(owners, executor)


def morton(graph: TaskGraph, grid: NodeGrid) -> Int64:
    """Return owners of contiguous, equal pieces of each vector and each row of a matrix.

    The groups of a fast multipole method are in Morton order, so each node has a region of space.
    """
    owner = np.arange(graph.handles) % grid.nodes
    for block in graph.handle_blocks:
        places, length = np.arange(block.end - block.first), max(block.columns or block.rows, 1)
        owner[block.first : block.end] = places % length * grid.nodes // length
    return owner


def _adopted(name: str, found: Any) -> Owners:
    if not callable(found):
        raise InputError(f"owner {name}: got {found!r:.60}; legal: a function of graph and grid")
    return found  # type: ignore[no-any-return]


OWNERS: Final[Registry[Owners]] = Registry(
    "owner",
    "tasksim.owners",
    {
        "row": f"{__name__}:row_major",
        "column": f"{__name__}:column_major",
        "diamond": f"{__name__}:diamond",
        "round-robin": f"{__name__}:round_robin",
        "morton": f"{__name__}:morton",
        "partitioned": "tasksim.graph.distribution.partition:partitioned",
        "metis": "tasksim.graph.distribution.partition:by_metis",
        "parameter": f"{__name__}:by_parameter",
    },
    _adopted,
)
"""Distributions by name."""


def owners_of(graph: TaskGraph, grid: NodeGrid, owner: str = "row") -> Any:
    """Return the owner of each datum of *graph* on *grid*.

    Parameters
    ----------
    graph : TaskGraph
        Graph with the data.
    grid : NodeGrid
        The nodes.
    owner : str, default "row"
        A name, or ``MODULE:NAME`` of a function of graph and grid.

    Raises
    ------
    InputError
        If there is no such distribution.

    Examples
    --------
    >>> from tasksim import generate
    >>> owners_of(generate("cholesky", tiles=3), NodeGrid(1, 2)).tolist()
    [0, 1, 0, 0, 1, 0, 0, 1, 0]
    """
    return placement_of(graph, grid, owner).owners


def placement_of(graph: TaskGraph, grid: NodeGrid, owner: str = "row") -> Placement:
    """Return the owners of data, and the nodes of tasks that do not follow them.

    Parameters and errors are those of :func:`owners_of`.
    """
    place = OWNERS.resolve(owner)
    try:
        found = place(graph, grid)
    except TasksimError:
        raise
    except Exception as error:  # a user's function
        raise InputError(f"owner {owner}: {type(error).__name__}: {error}") from error
    return found if isinstance(found, Placement) else Placement(found)


def nearly_square(nodes: int) -> NodeGrid:
    """Return the nearly square grid of *nodes*: its rows are the largest divisor up to the root.

    >>> nearly_square(8)
    NodeGrid(rows=2, columns=4)
    """
    rows = next(rows for rows in range(int(nodes**0.5), 0, -1) if nodes % rows == 0)
    return NodeGrid(rows, nodes // rows)


def grid_or_square(grid: NodeGrid | None, nodes: int) -> NodeGrid:
    """Return *grid*, or a nearly square one; raise :exc:`InputError` for a wrong number."""
    if grid is None:
        return nearly_square(nodes)
    if grid.nodes != nodes:
        got = f"grid {grid.rows}x{grid.columns} has {grid.nodes} nodes"
        raise InputError(f"{got}, the cluster {nodes}")
    return grid


def _coordinates(graph: TaskGraph) -> tuple[Int64, Int64, Any]:
    """Return row and column of each datum in its block, and which are not in a matrix."""
    row, column = np.arange(graph.handles), np.zeros(graph.handles, np.int64)
    flat = np.ones(graph.handles, np.bool_)
    for block in graph.handle_blocks:
        here = slice(block.first, block.end)
        places = np.arange(block.end - block.first)
        row[here], column[here] = np.divmod(places, block.columns) if block.columns else (places, 0)
        flat[here] = not block.columns
    return row, column, flat
