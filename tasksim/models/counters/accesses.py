"""Accesses to memory levels as functions of the parameters: hits, or accesses that arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.models.counters.columns import HITS, REACHED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.models.counters.families import By, CounterFunction

__all__ = ["accesses", "hits"]


def accesses(
    counters: Mapping[str, NDArray[np.float64]], levels: Sequence[str], by: By
) -> dict[str, NDArray[np.float64]]:
    """Return the columns to fit: hits of each of the *levels*, or accesses that reach it.

    >>> found = accesses({"l1_hits": np.array([9.0]), "memory_accesses": np.array([1.0])},
    ...                  ["l1", "memory"], "cv")
    >>> {name: column.tolist() for name, column in found.items()}
    {'l1_reached': [10.0], 'memory_accesses': [1.0]}
    """
    if by == "r2":
        return {HITS[level]: counters[HITS[level]] for level in levels}
    found = np.cumsum([counters[HITS[level]] for level in reversed(levels)], axis=0)[::-1]
    return {REACHED[level]: column for level, column in zip(levels, found, strict=True)}


def hits(
    functions: Mapping[str, CounterFunction], levels: Sequence[str], table: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the hits of each level: the accesses that reach it minus those that pass it."""
    found, beyond = {}, np.zeros(len(table))
    for level in reversed(levels):
        if REACHED[level] in functions:
            reached = np.maximum(functions[REACHED[level]](table), beyond)
            found[level], beyond = reached - beyond, reached
        else:
            found[level] = functions[HITS[level]](table)
    return {level: found[level] for level in levels}
