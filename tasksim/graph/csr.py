"""Adjacency lists in compressed sparse row form: a pointer array and an index array.

The neighbours of node ``i`` are ``indices[pointers[i]:pointers[i + 1]]``.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Int32", "Int64", "from_pairs", "owner", "transpose"]

Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]


def from_pairs(sources: Int64, targets: Int64, nodes: int) -> tuple[Int64, Int32]:
    """Return pointers and indices of the edges *sources[i]* -> *targets[i]*.

    Neighbours are ascending and without duplicates.
    """
    # One 64-bit key per edge: NumPy sorts those several times faster than pairs.
    keys = np.sort((sources << 32) | targets)
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    keys = keys[first]
    return _pointers(keys >> 32, nodes), (keys & 0xFFFFFFFF).astype(np.int32)


def transpose(pointers: Int64, indices: Int32, nodes: int) -> tuple[Int64, Int32]:
    """Return the lists of the reversed edges, ascending."""
    sources = np.repeat(np.arange(len(pointers) - 1, dtype=np.int64), np.diff(pointers))
    return from_pairs(indices.astype(np.int64), sources, nodes)


def owner(pointers: Int64, position: int) -> int:
    """Return the node whose list holds the index at *position*."""
    return int(np.searchsorted(pointers, position, side="right")) - 1


def _pointers(sources: Int64, nodes: int) -> Int64:
    pointers = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(sources, minlength=nodes), out=pointers[1:])
    return pointers
