"""General learners fitted to the suites of model_suites.py: the peers of tasksim's kernel models.

    OMP_NUM_THREADS=1 python benchmarks/model_peers.py FOLDER                  # hours
    python benchmarks/model_peers.py FOLDER --suites qr,fmm --counts 512       # minutes
    python benchmarks/model_peers.py FOLDER --beyond                           # extrapolation
    python benchmarks/model_peers.py FOLDER --measured SAMPLES                 # measured_suites.py

They need the extra `bench` (scikit-learn, XGBoost, LightGBM, CatBoost); those whose package is not
installed are left out, and named. Each result is kept in FOLDER, in a file per suite, number of
samples and seed, so that it is computed once, and again only if the suite has changed.

All see logarithms of positive parameters and of durations. Categories are native where a learner
knows them (boosted trees), else a column each; distances and gradients get standardised columns.
Adaptive splines (MARS) and sparse grids are those of splines.py. Each learner chooses among three
to six settings: by five folds up to 1,024 samples, three up to 4,096, and a fifth left out of more.
Gaussian processes learn from 2,048 samples at most and choose by 512, splines and sparse grids
learn from and choose by 2,048, support vectors learn from 4,096, neural networks choose by 2,048:
more would take hours.
Learners below the domain (`--beyond`) take the settings chosen inside.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
import time
import warnings
import zlib
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

# One thread each, before the libraries start theirs: processor time is then that of one core.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from measured_suites import MeasuredSuite
    from model_suites import Suite
    from numpy.typing import NDArray
    from splines import Mars, SparseGrid

    from tasksim.models.samples import Samples

    Floats = NDArray[np.float64]

__all__ = ["BEYOND_PEERS", "PEERS", "Peer", "cached", "cached_beyond", "listed", "numbers"]

MAX_FIVE_FOLD_SAMPLES: Final = 1024
"""Number of samples up to which settings are chosen by five folds ..."""
MAX_THREE_FOLD_SAMPLES: Final = 4096
"""... and by three folds; of more, a fifth is left out once."""
MAX_PROCESS_SAMPLES: Final = 2048
"""Number of samples that a Gaussian process learns from."""
SCALE_SAMPLES: Final = (512, 1024)
"""Numbers of samples whose likelihood gives the scales of a process: first roughly, then better."""
MAX_VECTOR_SAMPLES: Final = 4096
"""Number of samples that support vectors learn from: the time grows with their square."""
BEYOND_PEERS: Final = (
    "Gaussian process", "neural network", "LightGBM", "law + boosting", "adaptive splines",
    "sparse grid",
)  # fmt: skip
"""Learners whose extrapolation is judged. Trees alone cannot extrapolate; one stands for all."""


@dataclass(frozen=True)
class Columns:
    """Form in which learners get the parameters of a suite."""

    positive: tuple[int, ...]
    """Columns whose logarithms are taken."""
    categories: Mapping[int, int]
    """Categorical column -> the number of its categories."""

    @classmethod
    def of(cls, suite: Suite | MeasuredSuite) -> Columns:
        """Return those of *suite*."""
        positive = suite.positive
        return cls(
            tuple(i for i, name in enumerate(suite.names) if name in positive),
            {suite.names.index(name): len(of) for name, of in suite.categories.items()},
        )

    def numbered(self, rows: Floats) -> Floats:
        """Return logarithms, with categories as numbers."""
        table = np.array(rows, dtype=np.float64)
        table[:, self.positive] = np.log(table[:, self.positive])
        return table

    def hot(self, table: Floats) -> Floats:
        """Return a numbered *table* with a column per category."""
        kept = [i for i in range(table.shape[1]) if i not in self.categories]
        parts = [table[:, kept]]
        for column, count in self.categories.items():
            parts.append((table[:, [column]] == np.arange(count)).astype(np.float64))
        return np.hstack(parts)


@dataclass(frozen=True)
class Peer:
    """A learner and the settings to choose from.

    Parameters
    ----------
    name : str
        Its name in tables.
    package : str
        The package that it needs.
    build : callable
        Takes a setting, the columns and a seed, and returns a regressor of a numbered table.
    settings : tuple of mapping
        The settings to choose from.
    most, tuned_most : int, default=10**9
        How many samples it learns from, and chooses settings by.
    """

    name: str
    package: str
    build: Callable[[Mapping[str, Any], Columns, int], Any]
    settings: tuple[Mapping[str, Any], ...]
    most: int = 10**9
    tuned_most: int = 10**9

    @property
    def installed(self) -> bool:
        """Whether its package is installed."""
        return find_spec(self.package) is not None

    def chosen(self, columns: Columns, samples: Samples, seed: int) -> int:
        """Return the position of the setting with the least error on samples left out."""
        table, logs = _learnt_from(columns, samples, min(self.most, self.tuned_most))
        errors = [
            np.mean(
                [
                    self._error(setting, columns, table, logs, train, test, seed)
                    for train, test in _split(len(logs), seed)
                ]
            )
            for setting in self.settings
        ]
        return int(np.argmin(errors))

    def fitted(self, setting: int, columns: Columns, samples: Samples, seed: int) -> Any:
        """Return the regressor with that setting, fitted."""
        return self.build(self.settings[setting], columns, seed).fit(
            *_learnt_from(columns, samples, self.most)
        )

    def _error(
        self,
        setting: Mapping[str, Any],
        columns: Columns,
        table: Floats,
        logs: Floats,
        train: Floats,
        test: Floats,
        seed: int,
    ) -> float:
        model = self.build(setting, columns, seed).fit(table[train], logs[train])
        return float(np.abs(model.predict(table[test]) - logs[test]).mean())


def _learnt_from(columns: Columns, samples: Samples, most: int) -> tuple[Floats, Floats]:
    """Return the numbered table and the logarithms of durations of the first *most* samples."""
    return columns.numbered(samples.parameters[:most]), np.log(samples.durations_s[:most])


def _split(count: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yield positions of samples to learn from, and of those left out."""
    order = np.random.default_rng(seed).permutation(count)
    folds = 5 if count <= MAX_FIVE_FOLD_SAMPLES else 3
    if count > MAX_THREE_FOLD_SAMPLES:
        yield order[count // 5 :], order[: count // 5]
        return
    for part in range(folds):
        out = np.zeros(count, dtype=bool)
        out[order[part::folds]] = True
        yield np.flatnonzero(~out), np.flatnonzero(out)


# --- the learners --------------------------------------------------------------------------------


class GaussianProcess:
    """A Gaussian process with a length scale per column and noise."""

    def __init__(self, columns: Columns, seed: int, *, nu: float, linear: bool) -> None:
        self._columns, self._seed, self._nu, self._linear = columns, seed, nu, linear

    def fit(self, table: Floats, logs: Floats) -> GaussianProcess:
        """Learn scales from some of the samples, then all of the process."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import (
            ConstantKernel,
            DotProduct,
            Matern,
            WhiteKernel,
        )
        from sklearn.preprocessing import StandardScaler

        hot = self._columns.hot(table)
        self._scaler = StandardScaler().fit(hot)
        x = self._scaler.transform(hot)
        self._mean, self._spread = logs.mean(), logs.std()
        y = (logs - self._mean) / self._spread
        scales = Matern(np.full(x.shape[1], 2.0), (0.05, 1e3), nu=self._nu)
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * scales + WhiteKernel(0.01, (1e-6, 1.0))
        if self._linear:
            kernel = kernel + ConstantKernel(0.1, (1e-4, 1e3)) * DotProduct(1.0, (1e-2, 1e2))
        rng = np.random.default_rng(self._seed)
        for most in SCALE_SAMPLES:
            kept = rng.permutation(len(y))[:most]
            learner = GaussianProcessRegressor(kernel, optimizer=_optimised, random_state=0)
            kernel = learner.fit(x[kept], y[kept]).kernel_
            if len(y) <= most:
                break
        self._process = GaussianProcessRegressor(kernel, optimizer=None).fit(x, y)
        return self

    def predict(self, table: Floats) -> Floats:
        """Return logarithms of durations."""
        x = self._scaler.transform(self._columns.hot(table))
        found: Floats = self._mean + self._spread * self._process.predict(x)
        return found


def _optimised(function: Any, start: Floats, bounds: Any) -> tuple[Floats, float]:
    """Return the scales with the largest likelihood, after 40 steps at most."""
    from scipy.optimize import minimize

    found = minimize(
        function, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 40}
    )
    return found.x, found.fun


class LawAndBoosting:
    """A log-linear law, and boosted trees that learn its residuals."""

    def __init__(self, columns: Columns, seed: int, setting: Mapping[str, Any]) -> None:
        self._columns = columns
        self._trees = _boosting(setting, columns, seed)

    def fit(self, table: Floats, logs: Floats) -> LawAndBoosting:
        """Fit the law, then the trees."""
        from sklearn.linear_model import Ridge

        self._law = Ridge(1e-3).fit(self._columns.hot(table), logs)
        self._trees.fit(table, logs - self._law.predict(self._columns.hot(table)))
        return self

    def predict(self, table: Floats) -> Floats:
        """Return logarithms of durations."""
        found: Floats = self._law.predict(self._columns.hot(table)) + self._trees.predict(table)
        return found


class CatBoost:
    """CatBoost, which wants categories to be texts or integers, not floats."""

    def __init__(self, columns: Columns, seed: int, setting: Mapping[str, Any]) -> None:
        from catboost import CatBoostRegressor

        self._categories = list(columns.categories)
        self._regressor = CatBoostRegressor(
            **setting, iterations=1000, random_seed=seed, thread_count=1, verbose=False,
            allow_writing_files=False, cat_features=self._categories,
        )  # fmt: skip

    def _frame(self, table: Floats) -> Any:
        import pandas as pd

        return pd.DataFrame(table).astype(dict.fromkeys(self._categories, int))

    def fit(self, table: Floats, logs: Floats) -> CatBoost:
        """Fit."""
        self._regressor.fit(self._frame(table), logs)
        return self

    def predict(self, table: Floats) -> Floats:
        """Return logarithms of durations."""
        found: Floats = self._regressor.predict(self._frame(table))
        return found


def _process(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:
    return GaussianProcess(columns, seed, **setting)


def _law_and_boosting(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:
    return LawAndBoosting(columns, seed, setting)


def _splines(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:  # noqa: ARG001
    from splines import Mars

    return _Hot(columns, Mars(**setting))


def _sparse_grid(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:  # noqa: ARG001
    from splines import SparseGrid

    return _Hot(columns, SparseGrid(**setting))


class _Hot:
    """A learner of this folder, on a column per category."""

    def __init__(self, columns: Columns, learner: Mars | SparseGrid) -> None:
        self._columns, self._learner = columns, learner

    def fit(self, table: Floats, logs: Floats) -> _Hot:
        """Fit."""
        self._learner.fit(self._columns.hot(table), logs)
        return self

    def predict(self, table: Floats) -> Floats:
        """Return logarithms of durations."""
        return self._learner.predict(self._columns.hot(table))


def _catboost(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:
    return CatBoost(columns, seed, setting)


def _boosting(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        **setting, max_iter=600, early_stopping=True, n_iter_no_change=20,
        categorical_features=list(columns.categories), random_state=seed,
    )  # fmt: skip


def _xgboost(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:
    from xgboost import XGBRegressor

    return _TypedXGBoost(columns, partial(XGBRegressor, **setting, random_state=seed))


class _TypedXGBoost:
    """XGBoost with the types of columns, which it learns when it sees the table."""

    def __init__(self, columns: Columns, make: Callable[..., Any]) -> None:
        self._columns, self._make = columns, make

    def fit(self, table: Floats, logs: Floats) -> _TypedXGBoost:
        """Fit."""
        types = ["c" if i in self._columns.categories else "q" for i in range(table.shape[1])]
        self._regressor = self._make(
            n_estimators=800, subsample=0.8, tree_method="hist", n_jobs=1,
            enable_categorical=True, feature_types=types,
        )  # fmt: skip
        self._regressor.fit(table, logs)
        return self

    def predict(self, table: Floats) -> Floats:
        """Return logarithms of durations."""
        found: Floats = self._regressor.predict(table)
        return found


def _lightgbm(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        **setting, n_estimators=800, subsample=0.8, subsample_freq=1, random_state=seed, n_jobs=1,
        verbose=-1, categorical_feature=list(columns.categories),
    )  # fmt: skip


def _hot(make: Callable[..., Any]) -> Callable[[Mapping[str, Any], Columns, int], Any]:
    """Return how to build a regressor of scikit-learn on a column per category, standardised."""

    def build(setting: Mapping[str, Any], columns: Columns, seed: int) -> Any:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, StandardScaler

        return TransformedTargetRegressor(
            make_pipeline(FunctionTransformer(columns.hot), StandardScaler(), make(setting, seed)),
            transformer=StandardScaler(),
        )

    return build


def _forest(setting: Mapping[str, Any], seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(300, **setting, random_state=seed, n_jobs=1)


def _extra(setting: Mapping[str, Any], seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(300, **setting, random_state=seed, n_jobs=1)


def _nearest(setting: Mapping[str, Any], seed: int) -> Any:  # noqa: ARG001
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(weights="distance", **setting)


def _network(setting: Mapping[str, Any], seed: int) -> Any:
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(**setting, max_iter=400, n_iter_no_change=20, random_state=seed)


def _vectors(setting: Mapping[str, Any], seed: int) -> Any:  # noqa: ARG001
    from sklearn.svm import SVR

    return SVR(**setting, cache_size=500)


BOOSTING_OPTIONS: Final = (
    {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20},
    {"learning_rate": 0.05, "max_leaf_nodes": 31, "min_samples_leaf": 10},
    {"learning_rate": 0.05, "max_leaf_nodes": 15, "min_samples_leaf": 5},
    {"learning_rate": 0.05, "max_leaf_nodes": 8, "min_samples_leaf": 5},
    {"learning_rate": 0.05, "max_leaf_nodes": 63, "min_samples_leaf": 10},
)
FOREST_OPTIONS: Final = (
    {"max_features": 1.0}, {"max_features": 0.6}, {"max_features": 0.35},
    {"max_features": 0.6, "min_samples_leaf": 2},
)  # fmt: skip

PEERS: Final = {
    peer.name: peer
    for peer in (
        Peer("law + boosting", "sklearn", _law_and_boosting, BOOSTING_OPTIONS),
        Peer("boosting", "sklearn", _boosting, BOOSTING_OPTIONS),
        Peer(
            "LightGBM", "lightgbm", _lightgbm,
            (
                {"learning_rate": 0.05, "num_leaves": 31, "min_child_samples": 10},
                {"learning_rate": 0.05, "num_leaves": 15, "min_child_samples": 5},
                {"learning_rate": 0.05, "num_leaves": 7, "min_child_samples": 5},
                {"learning_rate": 0.05, "num_leaves": 63, "min_child_samples": 10},
                {"learning_rate": 0.05, "num_leaves": 15, "min_child_samples": 20,
                 "linear_tree": True, "linear_lambda": 0.01},
            ),
        ),
        Peer(
            "XGBoost", "xgboost", _xgboost,
            (
                {"learning_rate": 0.05, "max_depth": 3},
                {"learning_rate": 0.05, "max_depth": 4, "min_child_weight": 3},
                {"learning_rate": 0.05, "max_depth": 6, "min_child_weight": 3},
                {"learning_rate": 0.05, "max_depth": 8, "min_child_weight": 5,
                 "colsample_bytree": 0.8},
            ),
        ),
        Peer(
            "CatBoost", "catboost", _catboost,
            (
                {"learning_rate": 0.05, "depth": 6}, {"learning_rate": 0.1, "depth": 4},
                {"learning_rate": 0.1, "depth": 6}, {"learning_rate": 0.1, "depth": 8},
            ),
        ),
        Peer(
            "adaptive splines", "numpy", _splines,
            ({"degree": 1}, {"degree": 2}, {"degree": 3}, {"degree": 2, "penalty": 6.0}),
            MAX_PROCESS_SAMPLES, MAX_PROCESS_SAMPLES,
        ),
        Peer(
            "sparse grid", "numpy", _sparse_grid, tuple({"level": level} for level in (2, 3, 4, 5)),
            MAX_PROCESS_SAMPLES, MAX_PROCESS_SAMPLES,
        ),
        Peer("extra trees", "sklearn", _hot(_extra), FOREST_OPTIONS),
        Peer("random forest", "sklearn", _hot(_forest), FOREST_OPTIONS),
        Peer(
            "nearest neighbours", "sklearn", _hot(_nearest),
            tuple({"n_neighbors": n, "p": p} for n in (3, 5, 8) for p in (1, 2)),
        ),
        Peer(
            "Gaussian process", "sklearn", _process,
            (
                {"nu": 1.5, "linear": False}, {"nu": 1.5, "linear": True},
                {"nu": 2.5, "linear": True},
            ),
            MAX_PROCESS_SAMPLES, SCALE_SAMPLES[0],
        ),
        Peer(
            "support vectors", "sklearn", _hot(_vectors),
            tuple(
                {"C": c, "gamma": gamma, "epsilon": 0.02}
                for c in (10.0, 100.0) for gamma in ("scale", 0.03)
            ),
            MAX_VECTOR_SAMPLES, MAX_PROCESS_SAMPLES,
        ),
        Peer(
            "neural network", "sklearn", _hot(_network),
            (
                {"hidden_layer_sizes": (64, 64), "alpha": 1e-3},
                {"hidden_layer_sizes": (64, 64), "alpha": 0.1},
                {"hidden_layer_sizes": (128, 128), "alpha": 1e-2},
                {"hidden_layer_sizes": (128, 128, 128), "alpha": 1e-3},
            ),
            tuned_most=MAX_PROCESS_SAMPLES,
        ),
    )
}  # fmt: skip
"""The learners by name, the fastest first."""


# --- results, computed once ----------------------------------------------------------------------


@dataclass
class Results:
    """Results of peers on one set of samples, in a file.

    Parameters
    ----------
    path : Path
        The file.
    digest : int
        Checksum of the samples; results of other samples are forgotten.
    """

    path: Path
    digest: int
    by_peer: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            found = json.loads(self.path.read_text())
            if found["digest"] == self.digest:
                self.by_peer = found["peers"]

    def add(self, peer: str, result: dict[str, Any]) -> None:
        """Keep the *result* of *peer*, also in the file."""
        self.by_peer[peer] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        half = self.path.with_suffix(".part")
        half.write_text(json.dumps({"digest": self.digest, "peers": self.by_peer}, indent=1))
        half.replace(self.path)


def _results(folder: Path, name: str, samples: Samples) -> Results:
    """Return the results so far of a file *name*."""
    first = np.column_stack([samples.parameters[:200], samples.durations_s[:200]])
    text = " ".join(f"{value:.6g}" for value in first.ravel())
    return Results(folder / f"{name}.json", zlib.crc32(text.encode()))


def cached(
    folder: Path, suite: Suite | MeasuredSuite, count: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Return the results in *folder*: peer -> ``mlogq``, ``mlogq_measured`` and more."""
    return _results(folder, f"{suite.name}-{count}-{seed}", suite.samples(count, seed)).by_peer


def cached_beyond(
    folder: Path, suite: Suite | MeasuredSuite, parameter: str | None, count: int, seed: int
) -> dict[str, dict[str, float]]:
    """Return the results in *folder* above samples from below: peer -> factor -> MLogQ."""
    samples = suite.below(count, parameter, seed)
    return _results(folder, _beyond_name(suite, parameter, count, seed), samples).by_peer


def _beyond_name(suite: Suite | MeasuredSuite, parameter: str | None, count: int, seed: int) -> str:
    return f"{suite.name}-beyond-{parameter or 'all'}-{count}-{seed}"


def _wanted(peers: Sequence[str], results: Results) -> list[Peer]:
    return [PEERS[name] for name in peers if PEERS[name].installed and name not in results.by_peer]


def compared(
    folder: Path,
    suite: Suite | MeasuredSuite,
    count: int,
    seed: int,
    peers: Sequence[str] = tuple(PEERS),
) -> dict[str, dict[str, Any]]:
    """Return results of *peers*, computed where *folder* lacks them."""
    samples, columns = suite.samples(count, seed), Columns.of(suite)
    results = _results(folder, f"{suite.name}-{count}-{seed}", samples)
    rows, true_s = suite.test(seed)
    measured_s = suite.test(seed, noisy=True)[1]
    for peer in _wanted(peers, results):
        if peer.most < count:
            # The first of these samples are those of the smaller number: so is the result.
            known = cached(folder, suite, peer.most, seed).get(peer.name)
            if known is not None:
                results.add(peer.name, known)
                continue
        begun = time.process_time()
        setting = peer.chosen(columns, samples, seed)
        tuned = time.process_time()
        model = peer.fitted(setting, columns, samples, seed)
        fitted = time.process_time()
        predicted = model.predict(columns.numbered(rows))
        done = time.process_time()
        result = {
            "mlogq": float(np.abs(predicted - np.log(true_s)).mean()),
            "mlogq_measured": float(np.abs(predicted - np.log(measured_s)).mean()),
            "setting": setting,
            "tuning_s": tuned - begun,
            "fit_s": fitted - tuned,
            "per_s": len(rows) / max(done - fitted, 1e-9),
            "size_bytes": len(pickle.dumps(model)),
        }
        results.add(peer.name, result)
        _say(f"{suite.name} {count}", peer.name, result["mlogq"], done - begun)
    return results.by_peer


def compared_beyond(
    folder: Path,
    suite: Suite | MeasuredSuite,
    parameter: str | None,
    count: int,
    seed: int,
    peers: Sequence[str] = BEYOND_PEERS,
) -> dict[str, dict[str, Any]]:
    """Return the errors of *peers* above samples from below: peer -> factor -> MLogQ."""
    from model_suites import EXTRAPOLATION_FACTORS

    samples, columns = suite.below(count, parameter, seed), Columns.of(suite)
    name = _beyond_name(suite, parameter, count, seed)
    results = _results(folder, name, samples)
    settings = cached(folder, suite, count, seed)
    for peer in _wanted(peers, results):
        setting = settings.get(peer.name, {}).get("setting", 0)
        model = peer.fitted(setting, columns, samples, seed)
        errors = {}
        for factor in EXTRAPOLATION_FACTORS:
            rows, true_s = suite.beyond(parameter, factor, seed)
            if not len(rows):
                continue
            predicted = model.predict(columns.numbered(rows))
            errors[str(factor)] = float(np.abs(predicted - np.log(true_s)).mean())
        results.add(peer.name, errors)
        _say(name, peer.name, max(errors.values(), default=float("nan")), 0.0)
    return results.by_peer


def _say(what: str, peer: str, error: float, seconds: float) -> None:
    print(f"{what:24} {peer:20} {error:7.4f} {seconds:8.1f} s", flush=True)


def main() -> None:
    """Compute the results that a folder lacks."""
    from measured_suites import measured_suites
    from model_suites import suites

    from tasksim.base.errors import InputError

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the results")
    parser.add_argument("--suites", help="names of suites, separated by commas [all]")
    parser.add_argument("--counts", default="512,2048,16384", help="numbers of samples")
    parser.add_argument("--seeds", default="0", help="seeds of the samples [0]")
    parser.add_argument("--peers", default=",".join(PEERS), help="names of learners [all]")
    parser.add_argument("--beyond", action="store_true", help="judge extrapolation, too")
    parser.add_argument("--measured", type=Path, help="judge on samples in this folder instead")
    arguments = parser.parse_args()
    known: Mapping[str, Suite | MeasuredSuite] = suites()
    try:
        if arguments.measured is not None:
            known = measured_suites(arguments.measured)
    except InputError as error:
        parser.error(str(error))
    chosen = listed(parser, "--suites", arguments.suites or ",".join(known), known)
    peers = listed(parser, "--peers", arguments.peers, PEERS)
    counts = numbers(parser, "--counts", arguments.counts)
    seeds = numbers(parser, "--seeds", arguments.seeds)
    missing = sorted({PEERS[name].package for name in peers if not PEERS[name].installed})
    if missing:
        print(f"not installed, left out: {', '.join(missing)}", file=sys.stderr)
    warnings.simplefilter("ignore")
    for count, seed, name in product(counts, seeds, chosen):
        suite = known[name]
        try:
            compared(arguments.folder, suite, count, seed, peers)
        except InputError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if arguments.beyond:
            some = [peer for peer in peers if peer in BEYOND_PEERS]
            for parameter in suite.extrapolations:
                compared_beyond(arguments.folder, suite, parameter, count, seed, some)


def listed(
    parser: argparse.ArgumentParser, option: str, text: str, known: Mapping[str, Any]
) -> list[str]:
    """Return the names in *text*, separated by commas; end with an error for an unknown one."""
    names = text.split(",")
    for name in names:
        if name not in known:
            parser.error(f"argument {option}: unknown name '{name}' (known: {', '.join(known)})")
    return names


def numbers(parser: argparse.ArgumentParser, option: str, text: str) -> list[int]:
    """Return the numbers in *text*, separated by commas; end with an error for anything else."""
    words = text.split(",")
    for word in words:
        if not word.isdecimal():
            parser.error(f"argument {option}: '{word}' is not a number (example: 512,2048)")
    return [int(word) for word in words]


if __name__ == "__main__":
    main()
