"""Learners of scikit-learn, of the kinds PreTO and PosTO.

PreTO optimises, then learns: a classifier of each example's best choice. PosTO learns, then
optimises: a regression of the logarithm of the performance on features and choice, whose best
prediction is chosen. Both need the extra ``tune``.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.extras import is_installed, require
from tasksim.tuning.methods import Method, chosen_shares
from tasksim.tuning.tree import MAX_DEPTH, DecisionTree, Leaf, Split

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Indices
    from tasksim.tuning.table import PerformanceTable
    from tasksim.tuning.tree import TreeNode

__all__ = [
    "POSTO_REGRESSIONS",
    "PRETO_CLASSIFIERS",
    "available",
    "posto",
    "posto_tree",
    "preto",
    "preto_tree",
]

PRETO_CLASSIFIERS: Final = ("tree", "logistic", "neural")
"""Classifiers of PreTO."""
POSTO_REGRESSIONS: Final = ("tree", "linear", "neural")
"""Regressions of PosTO."""
NETWORK_OPTIONS: Final[dict[str, Any]] = {
    "hidden_layer_sizes": (32, 16),
    "solver": "lbfgs",
    "max_iter": 500,
}
"""Options of small neural networks: some hundred examples determine a few hundred weights."""
FAILED_LOG_SHARE: Final = -20.0
"""Logarithm of the performance share of a failed choice, below that of any working choice."""


def available() -> bool:
    """Return whether scikit-learn is installed."""
    return is_installed("sklearn")


def preto(kind: str, seed: int) -> Method:
    """Return the method that learns best choices with a classifier of :data:`PRETO_CLASSIFIERS`."""
    _require()
    return lambda table: _taught_preto(table, kind, seed)


def posto(kind: str, seed: int) -> Method:
    """Return the method that learns performance with a regression of :data:`POSTO_REGRESSIONS`."""
    _require()
    return lambda table: _taught_posto(table, kind, seed)


def preto_tree(table: PerformanceTable, seed: int) -> DecisionTree:
    """Return the tree of PreTO as one of ours, which can be stored, drawn and written as code.

    scikit-learn compares features as 32-bit numbers, which may differ very near a threshold.
    """
    _require()
    grown = _taught_preto(table, "tree", seed).model
    found = grown.tree_

    def node(number: int, rows: Indices) -> TreeNode:
        if found.children_left[number] < 0:
            choice = int(grown.classes_[found.value[number].argmax()])
            return Leaf(choice, float(table.shares[rows, choice].mean()), len(rows))
        feature, threshold = int(found.feature[number]), float(found.threshold[number])
        low = table.values[rows, feature].astype(np.float32) <= threshold
        return Split(
            feature,
            threshold,
            node(found.children_left[number], rows[low]),
            node(found.children_right[number], rows[~low]),
        )

    return DecisionTree(table.features, table.choices, node(0, np.arange(len(table))))


MAX_LEAVES: Final = 50_000
"""Largest number of leaves of a tree made of a regression: compilers still take the megabytes of
its code.
"""


def posto_tree(table: PerformanceTable, seed: int) -> DecisionTree:
    """Return the choices of PosTO's regression tree as one of ours.

    A regression tree asks for features and for the choice. For given features each choice ends in a
    leaf of its own, and the choice with the best leaf wins. So this tree asks only the questions
    that distinguish these leaves; a choice is dropped as soon as its best leaf is worse than
    another's worst. If an example allows less than the tree chooses, the largest allowed choice
    counts. Features are compared as in :func:`preto_tree`.

    Raises
    ------
    InputError
        If the tree has too many leaves, or asks too many questions on a path.
    """
    _require()
    return _BestLeaves(table, _taught_posto(table, "tree", seed).model).tree()


class _BestLeaves:
    """The tree of the best leaves of a regression tree over features and choices."""

    def __init__(self, table: PerformanceTable, model: Any) -> None:
        self._table, found = table, model.tree_
        self._left, self._right = found.children_left.tolist(), found.children_right.tolist()
        self._feature, self._threshold = found.feature.tolist(), found.threshold.tolist()
        self._least = found.value[:, 0, 0].tolist()
        """Smallest and largest prediction in the leaves below each node."""
        self._most = list(self._least)
        for node in reversed(range(found.node_count)):  # children have larger numbers
            if self._left[node] >= 0:
                below = self._left[node], self._right[node]
                self._least[node] = min(self._least[child] for child in below)
                self._most[node] = max(self._most[child] for child in below)
        numbers = table.numbers
        count = len(table.choices)
        columns = np.eye(count) if numbers is None else numbers[:, None]
        self._columns = columns.astype(np.float32).tolist()
        self._leaves = 0

    def tree(self) -> DecisionTree:
        """Return the tree."""
        table = self._table
        rows, anywhere = np.arange(len(table)), [(-np.inf, np.inf)] * len(table.features)
        root = self._node(dict.fromkeys(range(len(table.choices)), 0), anywhere, rows, 0)
        return DecisionTree(table.features, table.choices, root)

    def _node(
        self, at: dict[int, int], region: list[tuple[float, float]], rows: Indices, depth: int
    ) -> TreeNode:
        """Return the node for examples in a *region* of the features; *at* is choice -> node."""
        at = {choice: self._followed(node, choice, region) for choice, node in at.items()}
        worst = max(self._least[node] for node in at.values())
        at = {choice: node for choice, node in at.items() if self._most[node] >= worst}
        asked = Counter(
            (self._feature[node], self._threshold[node])
            for node in at.values()
            if self._left[node] >= 0
        )
        if len(at) == 1 or not asked:
            return self._leaf(max(at, key=lambda choice: (self._least[at[choice]], -choice)), rows)
        if depth == MAX_DEPTH:
            raise InputError(f"PosTO's tree is deeper than {MAX_DEPTH} questions; {SIZE_ADVICE}")
        feature, threshold = max(asked, key=lambda question: (asked[question], question))
        low, high = list(region), list(region)
        low[feature], high[feature] = (
            (region[feature][0], threshold), (threshold, region[feature][1])
        )  # fmt: skip
        below = self._table.values[rows, feature].astype(np.float32) <= threshold
        nodes = [
            self._node(at, part, rows[mask], depth + 1)
            for part, mask in ((low, below), (high, ~below))
        ]
        first, other = nodes
        if isinstance(first, Leaf) and isinstance(other, Leaf) and first.choice == other.choice:
            return self._leaf(first.choice, rows)
        return Split(feature, threshold, first, other)

    def _followed(self, node: int, choice: int, region: list[tuple[float, float]]) -> int:
        """Return the first node whose question *choice* and *region* do not answer."""
        while self._left[node] >= 0:
            feature, threshold = self._feature[node], self._threshold[node]
            if feature >= len(region):
                above = self._columns[choice][feature - len(region)] > threshold
            elif region[feature][1] <= threshold:
                above = False
            elif region[feature][0] >= threshold:
                above = True
            else:
                break
            node = (self._right if above else self._left)[node]
        return node

    def _leaf(self, choice: int, rows: Indices) -> Leaf:
        self._leaves += 1
        if self._leaves > MAX_LEAVES:
            raise InputError(f"PosTO's tree has more than {MAX_LEAVES} leaves; {SIZE_ADVICE}")
        shares = self._table.shares[:, choice]
        # A region without examples gets the choice's share over all examples.
        return Leaf(choice, float((shares[rows] if len(rows) else shares).mean()), len(rows))


SIZE_ADVICE: Final = "legal: fewer features or choices, or the tree of another method (--tree-of)"


def _require() -> None:
    require("sklearn", "this method")


@dataclass(frozen=True, eq=False)
class _PreTO:
    model: Any
    nodes: int | None

    def shares(self, table: PerformanceTable) -> Floats:
        return chosen_shares(table, np.asarray(self.model.predict(table.values), np.intp))


def _taught_preto(table: PerformanceTable, kind: str, seed: int) -> _PreTO:
    best = np.where(table.allowed, table.performance, -np.inf).argmax(axis=1)
    if len(np.unique(best)) == 1:
        kind = "tree"  # other classifiers refuse a constant choice
    model = _quietly_fitted(_classifier(kind, seed), table.values, best)
    return _PreTO(model, _nodes(model))


@dataclass(frozen=True, eq=False)
class _PosTO:
    model: Any
    nodes: int | None

    def shares(self, table: PerformanceTable) -> Floats:
        rows, _ = _long(table)
        predicted = np.asarray(self.model.predict(rows)).reshape(table.performance.shape)
        return chosen_shares(table, np.where(table.allowed, predicted, -np.inf).argmax(axis=1))


def _taught_posto(table: PerformanceTable, kind: str, seed: int) -> _PosTO:
    rows, logarithms = _long(table)
    known = table.allowed.ravel()
    model = _quietly_fitted(_regression(kind, seed), rows[known], logarithms[known])
    return _PosTO(model, _nodes(model))


def _long(table: PerformanceTable) -> tuple[Floats, Floats]:
    """Return a row per example and choice, and the logarithms of the performance.

    A choice is its number, or a column of its own if it is a name.
    """
    count = len(table.choices)
    numbers = table.numbers
    columns = np.eye(count) if numbers is None else numbers[:, None]
    rows = np.hstack([np.repeat(table.values, count, axis=0), np.tile(columns, (len(table), 1))])
    best = table.performance.max(axis=1, keepdims=True)
    worst = best * np.exp(FAILED_LOG_SHARE)
    return rows, np.log(np.maximum(table.performance, worst)).ravel()


def _quietly_fitted(model: Any, rows: Floats, answers: NDArray[Any]) -> Any:
    """Return the fitted model, without warnings about iterations that did not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, answers)


def _nodes(model: Any) -> int | None:
    tree = getattr(model, "tree_", None)
    return None if tree is None else int(tree.node_count)


def _classifier(kind: str, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    if kind == "tree":
        return DecisionTreeClassifier(random_state=seed)
    if kind == "logistic":
        return _scaled(LogisticRegression(max_iter=1000))
    return _scaled(MLPClassifier(random_state=seed, **NETWORK_OPTIONS))


def _regression(kind: str, seed: int) -> Any:
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import PolynomialFeatures
    from sklearn.tree import DecisionTreeRegressor

    if kind == "tree":
        return DecisionTreeRegressor(random_state=seed)
    if kind == "linear":
        # Without products of features and choice, one choice would be best everywhere.
        return _scaled(PolynomialFeatures(2), LinearRegression())
    return _scaled(MLPRegressor(random_state=seed, **NETWORK_OPTIONS))


def _scaled(*steps: Any) -> Any:
    """Return the steps after a scaling of columns, as sizes and counts span decades."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    # arcsinh is like the logarithm for large numbers of either sign, and hardly changes small ones.
    return make_pipeline(FunctionTransformer(np.arcsinh), StandardScaler(), *steps)
