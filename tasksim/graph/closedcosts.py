"""Closed costs of graphs in the bulk-synchronous model, by formulas for any number of ranks.

They correspond to the costs along paths that :mod:`tasksim.run.taskcosts` adds up task by task:
synchronisations, words and flop. A graph has them if its generator has a formula here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.errors import expect
from tasksim.graph.taskgraph import TaskGraph

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLOSED_COSTS", "closed_costs"]

CLOSED_COSTS: Final = ("synchronisations", "words", "flop")
"""Names of the costs."""


def closed_costs(graph: TaskGraph) -> dict[str, float] | None:
    """Return the closed costs of *graph* along a path; None if there is no formula for it.

    Parameters
    ----------
    graph : TaskGraph
        A graph of a generator over ranks.

    Returns
    -------
    dict of str to float or None
        ``synchronisations``, ``words`` and ``flop`` along the path.

    See Also
    --------
    longest_path : The path of a run with the largest cost, for any graph.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("recursive-cholesky", n=64, block=32, side=2, base="allgather")
    >>> closed_costs(graph)
    {'synchronisations': 8.0, 'words': 3584.0, 'flop': 40960.0}
    >>> closed_costs(tasksim.generate("cholesky", tiles=4)) is None
    True
    """
    expect(graph, TaskGraph, "graph")
    if graph.name != "recursive-cholesky":
        return None
    return dict(zip(CLOSED_COSTS, _recursive_cholesky(graph.arguments), strict=True))


def _recursive_cholesky(arguments: Mapping[str, str | int | float]) -> tuple[float, ...]:
    """Return the costs of the recursive Cholesky factorisation on a cube of ranks.

    Those of n rows are twice those of n/2, plus those of the products: 3 supersteps each, three
    moved blocks, and the operations of one rank. They are solved from the base case up.
    """
    n, block, side = (int(arguments[name]) for name in ("n", "block", "side"))

    def solved(inverse: bool) -> list[float]:
        whole, back = float(block**2), float((1 + inverse) * block**2)
        moved = {
            "gather": (3.0, whole + back + back / side**2),
            "allgather": (1.0, whole),
            "layer": (2.0, whole + back / side**2),
        }
        return [*moved[str(arguments["base"])], (1 + inverse) * block**3 / 3]

    with_inverse, without = solved(True), solved(False)
    rows = block
    while rows < n:
        local = rows // side
        product = (3.0, 3.0 * local**2, float(local**3))
        without = [a + b + 2 * c for a, b, c in zip(with_inverse, without, product, strict=True)]
        with_inverse = [2 * a + 4 * c for a, c in zip(with_inverse, product, strict=True)]
        rows *= 2
    if side == 1:  # a single rank neither waits nor sends
        return 0.0, 0.0, without[2]
    return tuple(without)
