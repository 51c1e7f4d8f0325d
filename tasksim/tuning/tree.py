"""Decision trees that minimise the loss of their choices.

A leaf has the choice with the highest mean share of the best performance (MSOP) over its examples;
a split minimises the loss of the leaves' choices. Classification trees count right answers instead,
although several choices may be equally good, and a wrong one may cost half of the performance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.base.arrays import Floats, Indices, Ints
    from tasksim.tuning.table import PerformanceTable

__all__ = [
    "MAX_DEPTH",
    "DecisionTree",
    "Leaf",
    "Split",
    "StoppingCriteria",
    "TreeNode",
    "best_split",
    "grow",
]

UNITS_PER_SHARE: Final = 2**30
"""Units per share, about a billion: sums of whole numbers are exact in any order, so that ties are
the same on all machines."""
MAX_DEPTH: Final = 60
"""Maximum depth of a tree: deeper trees would have more leaves than examples, and the code still
compiles (C promises 127 levels of blocks)."""


@dataclass(frozen=True)
class Leaf:
    """End of a path, with the index of a choice and its MSOP over the examples here."""

    choice: int
    msop: float
    examples: int


@dataclass(frozen=True)
class Split:
    """Split of examples by a threshold.

    Examples whose feature is at most the threshold go to *low*, the others to *high*.
    """

    feature: int
    threshold: float
    low: TreeNode
    high: TreeNode


TreeNode = Leaf | Split


@dataclass(frozen=True)
class StoppingCriteria:
    """Stopping criteria of the growth of a tree.

    Attributes
    ----------
    threshold : float
        A node whose choice has this MSOP over its examples is a leaf.
    depth : int
        Maximum number of questions on a path.
    min_samples : int
        A node with at most this number of examples is a leaf.

    Raises
    ------
    InputError
        If one is out of range.
    """

    threshold: float = 0.99
    depth: int = 10
    min_samples: int = 1

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("threshold", self.threshold, 0.0, 1.0),
            ("depth", self.depth, 0, MAX_DEPTH),
            ("min_samples", self.min_samples, 1, None),
        ):
            if not (value >= low and (high is None or value <= high)):
                limits = f"from {low:g}" + ("" if high is None else f" to {high:g}")
                raise InputError(f"{name}: got {value}; legal: a number {limits}")


@dataclass(frozen=True)
class DecisionTree:
    """A decision tree, with its features, its choices and its first node."""

    features: tuple[str, ...]
    choices: tuple[str, ...]
    root: TreeNode

    def choose(self, values: Floats) -> Indices:
        """Return the index of the choice for each row of *values*, examples by features."""
        chosen = np.empty(len(values), np.intp)
        _descend(self.root, values, np.arange(len(values)), chosen)
        return chosen

    def nodes(self) -> Iterator[TreeNode]:
        """Yield the nodes, each before those below it."""
        todo = [self.root]
        while todo:
            node = todo.pop()
            yield node
            if isinstance(node, Split):
                todo += [node.high, node.low]

    def __len__(self) -> int:
        """Return the number of nodes, including leaves."""
        return sum(1 for _ in self.nodes())

    @property
    def depth(self) -> int:
        """The largest number of questions on a path."""
        return _depth(self.root)


def grow(table: PerformanceTable, growth: StoppingCriteria | None = None) -> DecisionTree:
    """Return the tree grown from a performance table.

    In a tie, a leaf has the first choice of the table, and a split the first feature and its lowest
    threshold. A split must gain something.

    Examples
    --------
    >>> from tasksim.tuning.table import PerformanceTable
    >>> table = PerformanceTable.of({"n": [1, 2, 3]}, {"a": [4, 4, 1], "b": [2, 1, 3]})
    >>> tree = grow(table)
    >>> tree.root.threshold, tree.root.low.choice, tree.root.high.choice
    (2.5, 0, 1)
    """
    units = np.rint(table.shares * UNITS_PER_SHARE).astype(np.int64)
    root = _grown(units, table.values, growth or StoppingCriteria(), 0)
    return DecisionTree(table.features, table.choices, root)


def best_split(units: Ints, values: Floats) -> tuple[int, float, int] | None:
    """Return feature, threshold and score of the best split; None if there is none.

    Parameters
    ----------
    units : array
        Examples by choices: shares of the best performance, as whole numbers.
    values : array
        Examples by features.

    Notes
    -----
    The score is the sum over both sides of the units of the best choice. All thresholds of a
    feature are compared at once: prefix sums of the sorted examples are the left sides, and the
    remainders the right sides.
    """
    found: tuple[int, float, int] | None = None
    for feature in range(values.shape[1]):
        order = np.argsort(values[:, feature], kind="stable")
        sorted_values = values[order, feature]
        ends = np.flatnonzero(sorted_values[1:] > sorted_values[:-1])
        if not len(ends):
            continue
        sums = units[order].cumsum(axis=0)
        left = sums[ends]
        scores = left.max(axis=1) + (sums[-1] - left).max(axis=1)
        best = int(scores.argmax())
        if found is None or scores[best] > found[2]:
            end = ends[best]
            threshold = _between(sorted_values[end], sorted_values[end + 1])
            found = feature, threshold, int(scores[best])
    return found


def _between(low: float, high: float) -> float:
    """Return a number from *low* to below *high*, the middle if possible."""
    middle = low / 2 + high / 2
    return float(middle) if low <= middle < high else float(low)


def _grown(units: Ints, values: Floats, growth: StoppingCriteria, depth: int) -> TreeNode:
    sums = units.sum(axis=0)
    choice = int(sums.argmax())
    msop = int(sums[choice]) / (UNITS_PER_SHARE * len(units))
    leaf = Leaf(choice, msop, len(units))
    if msop >= growth.threshold or depth >= growth.depth or len(units) <= growth.min_samples:
        return leaf
    split = best_split(units, values)
    if split is None or split[2] <= sums[choice]:
        return leaf
    feature, threshold, _ = split
    low = values[:, feature] <= threshold
    return Split(
        feature,
        threshold,
        _grown(units[low], values[low], growth, depth + 1),
        _grown(units[~low], values[~low], growth, depth + 1),
    )


def _descend(node: TreeNode, values: Floats, rows: Indices, chosen: Indices) -> None:
    if isinstance(node, Leaf):
        chosen[rows] = node.choice
        return
    low = values[rows, node.feature] <= node.threshold
    _descend(node.low, values, rows[low], chosen)
    _descend(node.high, values, rows[~low], chosen)


def _depth(node: TreeNode) -> int:
    return 0 if isinstance(node, Leaf) else 1 + max(_depth(node.low), _depth(node.high))
