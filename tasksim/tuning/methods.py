"""Selection methods: a tree, the equal share, the best constant, and a random choice.

Each is trained on a table. For the examples of another table, it then returns the share of the best
performance that its choices reach. Methods of scikit-learn are in :mod:`tasksim.tuning.learners`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tasksim.tuning.tree import DecisionTree, StoppingCriteria, grow

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats, Indices
    from tasksim.tuning.table import PerformanceTable

__all__ = [
    "Constant",
    "EqualShare",
    "Method",
    "RandomChoice",
    "Taught",
    "TreeChoice",
    "best_constant",
    "chosen_shares",
    "tree_method",
]


class Taught(Protocol):
    """A trained method."""

    @property
    def nodes(self) -> int | None:
        """Number of nodes of a tree; None for other methods."""

    def shares(self, table: PerformanceTable) -> Floats:
        """Return the share of the best performance of its choice, for each example."""


Method = Callable[["PerformanceTable"], Taught]
"""Function that trains a method on a table."""


def chosen_shares(table: PerformanceTable, chosen: Indices) -> Floats:
    """Return the shares of the best performance of the *chosen* indices."""
    return np.asarray(table.shares[np.arange(len(table)), chosen])


@dataclass(frozen=True)
class TreeChoice:
    """Choice of a tree."""

    tree: DecisionTree

    @property
    def nodes(self) -> int:
        """The number of the tree's nodes, including leaves."""
        return len(self.tree)

    def shares(self, table: PerformanceTable) -> Floats:
        """Return the shares of the tree's choices."""
        return chosen_shares(table, self.tree.choose(table.values))


def tree_method(growth: StoppingCriteria) -> Method:
    """Return the method that grows trees with *growth*."""
    return lambda table: TreeChoice(grow(table, growth))


@dataclass(frozen=True)
class Constant:
    """The same choice for all examples."""

    choice: int
    nodes: None = None

    def shares(self, table: PerformanceTable) -> Floats:
        """Return the shares of that choice."""
        return np.asarray(table.shares[:, self.choice])


def best_constant(table: PerformanceTable) -> Constant:
    """Return the choice with the smallest loss over the examples; the first in a tie."""
    return Constant(int(table.shares.mean(axis=0).argmax()))


@dataclass(frozen=True)
class RandomChoice:
    """Random allowed choice, each with the same probability.

    Its mean result is exact.
    """

    nodes: None = None

    def shares(self, table: PerformanceTable) -> Floats:
        """Return the mean over the allowed choices."""
        sums = np.where(table.allowed, table.shares, 0.0).sum(axis=1)
        return np.asarray(sums / table.allowed.sum(axis=1))


@dataclass(frozen=True)
class EqualShare:
    """Choice of one chunk per thread.

    The chosen value is the one nearest to the iterations divided by the threads.

    Attributes
    ----------
    threads, iterations : str
        The columns with these numbers.
    """

    threads: str
    iterations: str
    nodes: None = None

    def left_out(self, table: PerformanceTable) -> str | None:
        """Return why this table has no equal share; None if it has one."""
        if table.numbers is None:
            return "the choices are not numbers"
        for name in (self.threads, self.iterations):
            column = table.column(name)
            if column is None:
                return f"no column '{name}' of numbers; name it with --threads or --iterations"
            if (column <= 0).any():
                return f"column '{name}' has numbers that are not larger than 0"
        return None

    def shares(self, table: PerformanceTable) -> Floats:
        """Return the shares of the nearest choice, the smaller one in a tie."""
        iterations, threads = table.column(self.iterations), table.column(self.threads)
        numbers = table.numbers
        assert iterations is not None
        assert threads is not None
        assert numbers is not None
        wanted = np.rint(iterations / threads)
        order = np.argsort(numbers, kind="stable")
        nearest = np.abs(numbers[order][None, :] - wanted[:, None]).argmin(axis=1)
        return chosen_shares(table, order[nearest])
