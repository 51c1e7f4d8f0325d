"""Adjacency lists in compressed sparse row form, as a pointer array and an index array.

The neighbours of node ``i`` are ``indices[pointers[i]:pointers[i + 1]]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Int32",
    "Int64",
    "Integers",
    "cycle_text",
    "find_cycle",
    "from_edges",
    "from_pairs",
    "owner",
    "owner_of_each",
    "pointers_of_counts",
    "spans",
    "topological_order",
    "transpose",
]

Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
Integers: TypeAlias = NDArray[np.integer[Any]]


def from_edges(edges: Int64, nodes: int) -> tuple[Int64, Int32]:
    """Return pointers and indices of sorted *edges*, each ``source << 32 | target``.

    Neighbours are ascending and without duplicates.
    """
    # One 64-bit key per edge, which NumPy sorts several times faster than pairs.
    edges.sort()
    first = np.ones(len(edges), dtype=bool)
    np.not_equal(edges[1:], edges[:-1], out=first[1:])
    if not first.all():
        edges = edges[first]
    counts = np.bincount(edges >> 32, minlength=nodes)
    return pointers_of_counts(counts), edges.astype(np.int32)  # this keeps the lower half


def from_pairs(sources: Int64, targets: Int64, nodes: int) -> tuple[Int64, Int32]:
    """Return pointers and indices of the edges *sources[i]* -> *targets[i]*, as `from_edges`."""
    return from_edges((sources << 32) | targets, nodes)


def transpose(pointers: Int64, indices: Int32, nodes: int) -> tuple[Int64, Int32]:
    """Return the lists of the reversed edges, ascending."""
    sources = owner_of_each(pointers)
    return from_pairs(indices.astype(np.int64), sources, nodes)


def owner(pointers: Int64, position: int) -> int:
    """Return the node whose list holds the index at *position*."""
    return int(np.searchsorted(pointers, position, side="right")) - 1


@overload
def owner_of_each(pointers: Int64) -> Int64: ...


@overload
def owner_of_each(pointers: Int64, dtype: type[np.int32]) -> Int32: ...


def owner_of_each(pointers: Int64, dtype: type[np.integer[Any]] = np.int64) -> Integers:
    """Return, for each index of the lists, the node whose list holds it.

    >>> owner_of_each(np.array([0, 2, 2, 5])).tolist()
    [0, 0, 2, 2, 2]
    """
    return np.repeat(np.arange(len(pointers) - 1, dtype=dtype), np.diff(pointers))


def pointers_of_counts(counts: Integers) -> Int64:
    """Return the beginnings of lists of these lengths, and the end of the last one.

    >>> pointers_of_counts(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    pointers = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=pointers[1:])
    return pointers


def spans(begins: Int64, counts: Int64) -> Int64:
    """Return the positions in lists that begin at *begins*, one list after the other.

    >>> spans(np.array([7, 0, 4]), np.array([2, 0, 3])).tolist()
    [7, 8, 4, 5, 6]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(begins - ends + counts, counts)


def topological_order(
    count: int, edges: Iterable[tuple[int, int]], place: Sequence[int] | None = None
) -> tuple[list[int], list[int]]:
    """Return a topological order of tasks, and the number of others that each still waits for.

    Among possible tasks, the one with the smallest *place* comes next; by default the smallest
    number. Tasks in a cycle, or after one, are not in the order.

    >>> topological_order(3, [(2, 0)])
    ([1, 2, 0], [0, 0, 0])
    """
    import heapq  # not needed by a plain simulation

    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for one, other in edges:
        after[one].append(other)
        waiting[other] += 1
    places = range(count) if place is None else place
    ready = [(places[task], task) for task in range(count) if not waiting[task]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, task = heapq.heappop(ready)
        order.append(task)
        for other in after[task]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, (places[other], other))
    return order, waiting


def find_cycle(edges: Iterable[tuple[int, int]], waiting: Sequence[int]) -> list[int]:
    """Return the tasks of a cycle in the order of its edges, the smallest number first.

    *waiting* are the numbers that :func:`topological_order` returned for these *edges*, not all 0.

    >>> edges = [(0, 2), (2, 1), (1, 2)]
    >>> find_cycle(edges, topological_order(3, edges)[1])
    [1, 2]
    """
    # Each task that waits has a predecessor that waits: these lead back, around a cycle at last.
    before: dict[int, int] = {}
    for one, other in edges:
        if waiting[one]:
            before.setdefault(other, one)
    task = next(task for task, count in enumerate(waiting) if count)
    walked: dict[int, None] = {}
    while task not in walked:
        walked[task] = None
        task = before[task]
    path = list(walked)
    cycle = path[path.index(task) :][::-1]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


MAX_CYCLE_LABELS: Final = 8
"""Maximum number of a cycle's tasks that a message names."""


def cycle_text(labels: Sequence[str]) -> str:
    """Return the cycle of tasks with these *labels* as the text of a message.

    >>> cycle_text(["a", "b"])
    'a -> b -> a'
    """
    shown = [*labels[:MAX_CYCLE_LABELS]] + ["..."] * (len(labels) > MAX_CYCLE_LABELS)
    return " -> ".join([*shown, labels[0]])
