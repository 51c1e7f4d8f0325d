"""Learners of scikit-learn, each tuned over a grid: the peers of models_gemm.py.

All see logarithms, of parameters and of durations, standardised. The grids are those of Hutter and
Solomonik's comparison (SC 2023; the scripts of their figure 6), and where these are poor for want
of a parameter, more: support vectors also with larger C and smaller epsilon; Gaussian processes
once as there (one length scale, no noise), and once with a noise and a length scale per parameter.

Settings are chosen by the MLogQ of samples left out: five folds up to 256 samples, else a fifth.
They are chosen once for a kernel and a number of samples, on the first subsample. Above 1024
samples, neural networks choose among the six that were best for fewer, and Gaussian processes
learn their kernels from 1024 of the samples.
"""

from __future__ import annotations

import pickle
import time
import warnings
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Table = NDArray[np.float64]

__all__ = ["Fitted", "Learner", "learners"]

FEW, MANY = 256, 1024
BEST_CANDIDATES = 6
TREE_COUNTS = (4, 8, 16, 32, 64, 128)
DEPTHS = range(6, 14)
WIDTHS = {1: (8, 16, 32, 64, 128, 256, 512, 1024), 2: (8, 16, 32, 64, 128, 256, 512)}
DEEP_WIDTHS = {4: (8, 16, 32, 64, 128, 256), 8: (8, 16, 32, 64, 128)}

warnings.filterwarnings("ignore", category=ConvergenceWarning)


@dataclass
class Learner:
    """A regressor of scikit-learn and the settings to choose from.

    ``ranked`` has, for the number of samples they were chosen for, the settings from best to
    worst, as positions in ``settings``.
    """

    name: str
    settings: list[Any]
    ranked: dict[int, list[int]] = field(default_factory=dict)

    def fit(self, parameters: Table, durations_s: Table, seed: int) -> Fitted:
        """Return the learner with the best settings, fitted."""
        x, y = np.log(parameters), np.log(durations_s)
        if len(y) not in self.ranked:
            self.ranked[len(y)] = self._rank(x, y, seed)
        regressor = clone(self.settings[self.ranked[len(y)][0]])
        begun = time.perf_counter()
        _fit(regressor, x, y, seed)
        return Fitted(regressor, time.perf_counter() - begun)

    def forget(self) -> None:
        """Choose anew: another kernel comes."""
        self.ranked.clear()

    def _rank(self, x: Table, y: Table, seed: int) -> list[int]:
        tried = list(range(len(self.settings)))
        if len(y) > MANY and self.ranked and self.name == "MLP":
            tried = self.ranked[max(self.ranked)][:BEST_CANDIDATES]
        if len(y) > MANY and self.name.startswith("GP"):
            kept = np.random.default_rng(seed).permutation(len(y))[:MANY]
            x, y = x[kept], y[kept]
        errors = {i: _left_out(self.settings[i], x, y, seed) for i in tried}
        return sorted(errors, key=lambda i: errors[i])


@dataclass
class Fitted:
    """A fitted regressor; ``seconds`` is what that took, without the choice of settings."""

    regressor: Any
    seconds: float

    def predict(self, parameters: Table) -> Table:
        """Return durations in seconds."""
        return np.exp(self.regressor.predict(np.log(parameters)))

    @property
    def size_bytes(self) -> int:
        """Size of the pickled model, in bytes."""
        return len(pickle.dumps(self.regressor))


def _left_out(regressor: Any, x: Table, y: Table, seed: int) -> float:
    """Return the MLogQ over what was left out; a setting that fails is as bad as can be."""
    folds = KFold(5, shuffle=True, random_state=seed)
    split = folds if len(y) <= FEW else ShuffleSplit(1, test_size=0.2, random_state=seed)
    errors = []
    for train, test in split.split(x):
        candidate = clone(regressor)
        try:
            _fit(candidate, x[train], y[train], seed)
            errors.append(float(np.abs(candidate.predict(x[test]) - y[test]).mean()))
        except (ValueError, np.linalg.LinAlgError):
            return np.inf
    return float(np.mean(errors))


def _fit(regressor: Any, x: Table, y: Table, seed: int) -> None:
    """Fit; a Gaussian process with many samples takes its kernel from some of them."""
    gaussian = regressor.regressor[-1]
    if len(y) > MANY and isinstance(gaussian, GaussianProcessRegressor):
        kept = np.random.default_rng(seed).permutation(len(y))[:MANY]
        learnt = clone(regressor).fit(x[kept], y[kept]).regressor_[-1].kernel_
        gaussian.set_params(kernel=learnt, optimizer=None)
    regressor.fit(x, y)


def _scaled(regressor: Any) -> Any:
    """Return *regressor* on standardised parameters and durations."""
    return TransformedTargetRegressor(
        regressor=make_pipeline(StandardScaler(), regressor), transformer=StandardScaler()
    )


def _all(make: Callable[..., Any], grid: Iterable[dict[str, Any]]) -> list[Any]:
    return [_scaled(make(**setting)) for setting in grid]


def _trees() -> list[dict[str, int]]:
    return [{"n_estimators": n, "max_depth": d} for n, d in product(TREE_COUNTS, DEPTHS)]


def _layers() -> list[dict[str, tuple[int, ...]]]:
    counts = {**WIDTHS, **DEEP_WIDTHS}
    return [{"hidden_layer_sizes": (w,) * n} for n, widths in counts.items() for w in widths]


def _vectors() -> list[dict[str, Any]]:
    kernels: list[dict[str, Any]] = [{"kernel": "poly", "degree": degree} for degree in (1, 2, 3)]
    kernels.append({"kernel": "rbf"})
    return [
        {**kernel, "C": c, "epsilon": epsilon}
        for kernel, c, epsilon in product(kernels, (1.0, 10.0, 100.0), (0.1, 0.01))
    ]


def learners(parameters: int) -> list[Learner]:
    """Return the learners for so many parameters."""
    plain = [
        ConstantKernel(1.0, constant_value_bounds="fixed") * RBF(1.0, length_scale_bounds="fixed"),
        DotProduct() + WhiteKernel(),
        Matern(),
        RationalQuadratic(),
        DotProduct(),
        RBF(),
    ]
    each = np.ones(parameters)
    noisy = [
        ConstantKernel() * kernel + WhiteKernel()
        for kernel in (RBF(each), Matern(each, nu=1.5), Matern(each, nu=2.5), RationalQuadratic())
    ]
    process = partial(GaussianProcessRegressor, random_state=0)
    forest = partial(ExtraTreesRegressor, random_state=0)
    boosting = partial(GradientBoostingRegressor, random_state=0)
    network = partial(MLPRegressor, random_state=0, max_iter=500)
    nearest = partial(KNeighborsRegressor, weights="distance")
    return [
        Learner("k-NN", _all(nearest, [{"n_neighbors": n} for n in range(1, 7)])),
        Learner("extra trees", _all(forest, _trees())),
        Learner("gradient boosting", _all(boosting, _trees())),
        Learner("SVM", _all(SVR, _vectors())),
        Learner("MLP", _all(network, _layers())),
        Learner("GP, the paper's", _all(process, [{"kernel": kernel} for kernel in plain])),
        Learner("GP, noise and scales", _all(process, [{"kernel": kernel} for kernel in noisy])),
    ]
