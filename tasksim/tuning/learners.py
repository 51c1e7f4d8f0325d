"""Learners of scikit-learn, of the kinds PreTO and PosTO.

PreTO optimises, then learns: a classifier of each example's best choice. PosTO learns, then
optimises: a regression of the logarithm of the performance on features and choice, whose best
prediction is chosen. Both need the extra ``tune``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.tuning.methods import Method, chosen_shares
from tasksim.tuning.tree import Leaf, Split, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.tuning.table import PerformanceTable
    from tasksim.tuning.tree import Node

__all__ = ["MISSING", "POSTO", "PRETO", "available", "posto", "preto", "preto_tree"]

PRETO: Final = ("tree", "logistic", "neural")
"""Classifiers of PreTO."""
POSTO: Final = ("tree", "linear", "neural")
"""Regressions of PosTO."""
MISSING: Final = "needs scikit-learn: pip install 'tasksim[tune]'"
NETWORK: Final[dict[str, Any]] = {
    "hidden_layer_sizes": (32, 16),
    "solver": "lbfgs",
    "max_iter": 500,
}
"""Options of small neural networks: some hundred examples determine a few hundred weights."""
FAILED: Final = -20.0
"""Logarithm of the performance share of a failed choice: no working choice has as little."""


def available() -> bool:
    """Return whether scikit-learn is there."""
    return find_spec("sklearn") is not None


def preto(kind: str, seed: int) -> Method:
    """Return the method that learns best choices with a classifier of :data:`PRETO`."""
    _require()
    return lambda table: _taught_preto(table, kind, seed)


def posto(kind: str, seed: int) -> Method:
    """Return the method that learns performance with a regression of :data:`POSTO`."""
    _require()
    return lambda table: _taught_posto(table, kind, seed)


def preto_tree(table: PerformanceTable, seed: int) -> Tree:
    """Return the tree of PreTO as one of ours, which can be kept, drawn and written as code.

    scikit-learn compares features as 32-bit numbers, which differs for one that is nearer to a
    threshold than these tell.
    """
    _require()
    grown = _taught_preto(table, "tree", seed).model
    found = grown.tree_

    def node(number: int, rows: NDArray[np.intp]) -> Node:
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

    return Tree(table.features, table.choices, node(0, np.arange(len(table))))


def _require() -> None:
    if not available():
        raise InputError(f"this {MISSING}")


@dataclass(frozen=True, eq=False)
class _PreTO:
    model: Any
    nodes: int | None

    def shares(self, table: PerformanceTable) -> NDArray[np.float64]:
        return chosen_shares(table, np.asarray(self.model.predict(table.values), np.intp))


def _taught_preto(table: PerformanceTable, kind: str, seed: int) -> _PreTO:
    best = np.where(table.allowed, table.performance, -np.inf).argmax(axis=1)
    if len(np.unique(best)) == 1:
        kind = "tree"  # others refuse to learn what is always the same
    model = _quietly_fitted(_classifier(kind, seed), table.values, best)
    return _PreTO(model, _nodes(model))


@dataclass(frozen=True, eq=False)
class _PosTO:
    model: Any
    nodes: int | None

    def shares(self, table: PerformanceTable) -> NDArray[np.float64]:
        rows, _ = _long(table)
        predicted = np.asarray(self.model.predict(rows)).reshape(table.performance.shape)
        return chosen_shares(table, np.where(table.allowed, predicted, -np.inf).argmax(axis=1))


def _taught_posto(table: PerformanceTable, kind: str, seed: int) -> _PosTO:
    rows, logarithms = _long(table)
    known = table.allowed.ravel()
    model = _quietly_fitted(_regression(kind, seed), rows[known], logarithms[known])
    return _PosTO(model, _nodes(model))


def _long(table: PerformanceTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a row per example and choice, and the logarithms of the performance.

    A choice is its number, or a column of its own where it is a name.
    """
    count = len(table.choices)
    numbers = table.numbers
    columns = np.eye(count) if numbers is None else numbers[:, None]
    rows = np.hstack([np.repeat(table.values, count, axis=0), np.tile(columns, (len(table), 1))])
    best = table.performance.max(axis=1, keepdims=True)
    worst = best * np.exp(FAILED)
    return rows, np.log(np.maximum(table.performance, worst)).ravel()


def _quietly_fitted(model: Any, rows: NDArray[np.float64], answers: NDArray[Any]) -> Any:
    """Return the model, fitted; that an iteration has not converged in time is no news."""
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
    return _scaled(MLPClassifier(random_state=seed, **NETWORK))


def _regression(kind: str, seed: int) -> Any:
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import PolynomialFeatures
    from sklearn.tree import DecisionTreeRegressor

    if kind == "tree":
        return DecisionTreeRegressor(random_state=seed)
    if kind == "linear":
        # Without products of feature and choice the same choice would be best everywhere.
        return _scaled(PolynomialFeatures(2), LinearRegression())
    return _scaled(MLPRegressor(random_state=seed, **NETWORK))


def _scaled(*steps: Any) -> Any:
    """Return the steps behind columns of similar size: sizes and counts span decades."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    return make_pipeline(FunctionTransformer(_log_like), StandardScaler(), *steps)


def _log_like(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of large numbers of either sign, and small ones hardly changed."""
    return np.asarray(np.arcsinh(values))
