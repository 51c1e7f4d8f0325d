"""Adjacency lists in compressed sparse row form: a pointer array and an index array.

The neighbours of node ``i`` are ``indices[pointers[i]:pointers[i + 1]]``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Int32",
    "Int64",
    "Integers",
    "from_edges",
    "from_pairs",
    "owner",
    "pointers_of_counts",
    "spans",
    "transpose",
]

Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
Integers: TypeAlias = NDArray[np.integer[Any]]


def from_edges(edges: Int64, nodes: int) -> tuple[Int64, Int32]:
    """Return pointers and indices of *edges*, ``source << 32 | target`` each, which are sorted.

    Neighbours are ascending and without duplicates.
    """
    # One 64-bit key per edge: NumPy sorts those several times faster than pairs.
    edges.sort()
    first = np.ones(len(edges), dtype=bool)
    np.not_equal(edges[1:], edges[:-1], out=first[1:])
    if not first.all():
        edges = edges[first]
    counts = np.bincount(edges >> 32, minlength=nodes)
    return pointers_of_counts(counts), edges.astype(np.int32)  # which keeps the lower half


def from_pairs(sources: Int64, targets: Int64, nodes: int) -> tuple[Int64, Int32]:
    """Return pointers and indices of the edges *sources[i]* -> *targets[i]*, see `from_edges`."""
    return from_edges((sources << 32) | targets, nodes)


def transpose(pointers: Int64, indices: Int32, nodes: int) -> tuple[Int64, Int32]:
    """Return the lists of the reversed edges, ascending."""
    sources = np.repeat(np.arange(len(pointers) - 1, dtype=np.int64), np.diff(pointers))
    return from_pairs(indices.astype(np.int64), sources, nodes)


def owner(pointers: Int64, position: int) -> int:
    """Return the node whose list holds the index at *position*."""
    return int(np.searchsorted(pointers, position, side="right")) - 1


def pointers_of_counts(counts: Integers) -> Int64:
    """Return where the lists of so many indices each begin, and where the last one ends.

    >>> pointers_of_counts(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    pointers = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=pointers[1:])
    return pointers


def spans(begins: Int64, counts: Int64) -> Int64:
    """Return the positions of lists that begin at *begins*, one list after the other.

    >>> spans(np.array([7, 0, 4]), np.array([2, 0, 3])).tolist()
    [7, 8, 4, 5, 6]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(begins - ends + counts, counts)
