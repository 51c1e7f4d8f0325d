"""Contention as the core reads it: its structure, and the arrays that this points to."""

from __future__ import annotations

import ctypes
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tasksim.core import interface
from tasksim.runtime.flat import Arrays

if TYPE_CHECKING:
    from tasksim.engine.slowing import Slowing
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["FlatContention", "flat_contention"]


class FlatContention:
    """A structure of the core, kept with all that it points to."""

    def __init__(self, given: interface.Contention, column: Arrays) -> None:
        self._given, self._column = given, column

    @property
    def address(self) -> int:
        """Where the structure is."""
        return ctypes.addressof(self._given)


def flat_contention(slowing: Slowing, graph: TaskGraph) -> FlatContention:
    """Return *slowing* for the core, with a kind for each kernel of *graph*.

    Kernels of communication, which no worker runs, come last, and have the first kind.
    """
    column, kinds = Arrays(), slowing.kinds
    own = kinds.of_tasks
    kind_of = np.zeros((len(own), len(graph.kernels)), np.int32)
    kind_of[:, : own.shape[1]] = own
    pairs = list(chain.from_iterable(kinds.beside))
    given = interface.Contention(
        domains=len(slowing.curves),
        kinds=len(kinds),
        domain_of=column(slowing.domain_of, np.int32),
        kind_of=column(kind_of, np.int32),
        curve_ptr=column(np.cumsum([0, *map(len, slowing.curves)]), np.int64),
        curve=column(chain.from_iterable(slowing.curves), np.float64),
        demand=column(kinds.demand, np.float64),
        share=column(kinds.share, np.float64),
        beside_ptr=column(np.cumsum([0, *map(len, pairs)]), np.int64),
        beside=column(chain.from_iterable(pairs), np.float64),
    )
    return FlatContention(given, column)
