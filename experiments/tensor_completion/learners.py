"""Models that are compared: those of tasksim, the paper's grid-based peers, general learners.

The general ones are scikit-learn's; without it, a note says that they are left out.
"""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.tensor_completion.datasets import encoded
from experiments.tensor_completion.sparse_grids import MAX_POINTS, SparseGrid, points_of
from experiments.tensor_completion.splines import Splines
from tasksim import HybridModel, LearnedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from tasksim import Samples

    Floats = NDArray[np.float64]

__all__ = ["FAMILIES", "TASKSIM_KINDS", "Learner", "installed", "learners", "model_bytes"]

TASKSIM_KINDS: Final = ("cp", "hybrid", "learned")
"""Kinds of models of tasksim: the paper's, and two others."""
GRID_LEARNERS: Final = ("MARS", "SGR")
"""The paper's grid-based peers, small ones of our own."""
GENERAL_LEARNERS: Final = ("KNN", "GP", "ET", "NN")
"""General learners of scikit-learn."""
FAMILIES: Final = (*TASKSIM_KINDS, *GRID_LEARNERS, *GENERAL_LEARNERS)

PROCESS_ROWS: Final = 768
"""Most rows that a Gaussian process learns from: its time grows with their cube."""
NETWORK_STEPS: Final = 6000
"""Steps of a neural network, in batches of 64: some seconds."""


@dataclass(frozen=True)
class Learner:
    """A model that can be fitted, by family and setting.

    Attributes
    ----------
    family
        One of :data:`FAMILIES`.
    setting
        As text: "degree 2".
    fit
        From samples to a model with what predicts seconds, and its bytes.
    """

    family: str
    setting: str
    fit: Callable[[Samples], tuple[Callable[[pd.DataFrame], Floats], int]]


def installed() -> bool:
    """Return whether scikit-learn is."""
    return find_spec("sklearn") is not None


def learners(families: tuple[str, ...], samples: Samples) -> Iterator[Learner]:
    """Yield the learners of *families* with all their settings; ``cp`` is apart."""
    modes = len(samples.names)
    for family in families:
        if family == "hybrid":
            yield Learner(family, "as searched", _own(HybridModel))
        elif family == "learned":
            yield Learner(family, "as searched", _own(LearnedModel))
        elif family == "MARS":
            for degree in (1, 2, 3):
                yield Learner(
                    family, f"degree {degree}", _general(partial(Splines, degree), apart=True)
                )
        elif family == "SGR":
            for level in range(2, 9):
                if points_of(modes, level) <= MAX_POINTS:
                    yield Learner(
                        family, f"level {level}", _general(partial(SparseGrid, level), apart=False)
                    )
        elif family in GENERAL_LEARNERS and installed():
            for setting, make in _scikit(family):
                yield Learner(family, setting, _general(make, apart=True, family=family))


def model_bytes(model: Any) -> int:
    """Return the bytes of a model in a file: JSON of tasksim's, pickled others."""
    if hasattr(model, "to_json"):
        return len(json.dumps(model.to_json(), default=_plain, separators=(",", ":")))
    return len(pickle.dumps(model))


def _plain(value: Any) -> Any:
    return value.tolist()


def _own(cls: type) -> Callable[[Samples], tuple[Callable[[pd.DataFrame], Floats], int]]:
    def fit(samples: Samples) -> tuple[Callable[[pd.DataFrame], Floats], int]:
        model = cls().fit(samples)
        return lambda table: model.predict(encoded(table, samples)), model_bytes(model)

    return fit


def _general(
    make: Callable[[], Any], *, apart: bool, family: str = ""
) -> Callable[[Samples], tuple[Callable[[pd.DataFrame], Floats], int]]:
    """Return what fits to logarithms; categories are columns *apart*, or numbers."""

    def fit(samples: Samples) -> tuple[Callable[[pd.DataFrame], Floats], int]:
        features = _Features(samples, apart=apart)
        rows, logs = features.of(samples.parameters), np.log(samples.durations_s)
        if family == "GP":
            rows, logs = rows[:PROCESS_ROWS], logs[:PROCESS_ROWS]
        model = make()
        if family == "NN":
            batches = max(1, len(rows) // 64)
            model.set_params(max_iter=max(20, min(400, NETWORK_STEPS // batches)))
        with warnings.catch_warnings():
            # Learners that stop before they converge are part of the comparison.
            warnings.simplefilter("ignore")
            center = float(logs.mean())
            model.fit(rows, logs - center)

        def predict(table: pd.DataFrame) -> Floats:
            found = model.predict(features.of(encoded(table, samples))) + center
            return np.asarray(np.exp(np.clip(found, -40, 40)))

        return predict, model_bytes(model)

    return fit


class _Features:
    """Columns that learners get: standardised logarithms; categories as numbers or columns."""

    def __init__(self, samples: Samples, *, apart: bool) -> None:
        self._names, self._categories, self._apart = samples.names, samples.categories, apart
        self._logs = samples.parameters.min(axis=0) > 0
        raw = self._columns(samples.parameters)
        self._mean, self._deviation = raw.mean(axis=0), raw.std(axis=0)
        self._deviation[self._deviation == 0] = 1.0

    def of(self, table: Floats) -> Floats:
        """Return the columns for rows of parameters."""
        return np.asarray((self._columns(table) - self._mean) / self._deviation)

    def _columns(self, table: Floats) -> Floats:
        columns = []
        for mode, name in enumerate(self._names):
            column, known = table[:, mode], self._categories.get(name)
            if known is not None and self._apart:
                columns += [(column == number).astype(float) for number in range(len(known))]
            elif known is None and self._logs[mode]:
                columns.append(np.log(np.maximum(column, 1e-12)))
            else:
                columns.append(column)
        return np.column_stack(columns)


def _scikit(family: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.neural_network import MLPRegressor

    if family == "KNN":
        for count in range(1, 7):
            yield f"{count} neighbours", partial(KNeighborsRegressor, count, weights="distance")
    elif family == "GP":
        for name, base in (("RBF", RBF(2.0)), ("Matern", Matern(3.0, nu=1.5))):
            noisy = base + WhiteKernel(1e-3)
            yield name, partial(GaussianProcessRegressor, noisy, normalize_y=True, random_state=0)
    elif family == "ET":
        for depth in (6, 10, 16):
            yield (
                f"depth {depth}",
                partial(ExtraTreesRegressor, 64, max_depth=depth, random_state=0),
            )
    elif family == "NN":
        for width, layers in ((32, 2), (128, 3)):
            yield f"{layers} layers of {width}", partial(
                MLPRegressor, hidden_layer_sizes=(width,) * layers, batch_size=64,
                learning_rate_init=3e-3, random_state=0,
            )  # fmt: skip
