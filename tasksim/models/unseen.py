"""Errors on configurations that a model has not seen: cross-validation, and test samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.models.base import clone, columns
from tasksim.models.metrics import bias, log_ratio, mape, mlogq
from tasksim.models.quality import group_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.base import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["Errors", "cross_validated", "errors"]

FOLDS: Final = 5


@dataclass(frozen=True)
class Errors:
    """Errors over configurations, each with the mean of its samples.

    ``over`` says what was held out, in words; ``worst`` is the largest abs(ln(predicted /
    measured)); see :mod:`tasksim.models.metrics` for the others.
    """

    over: str
    configurations: int
    mlogq: float
    bias: float
    mape: float
    worst: float


def errors(model: KernelModel, samples: Samples, over: str) -> Errors | None:
    """Return the errors of *model* on *samples*; None where it cannot predict any.

    Configurations that the model refuses, since it cannot extrapolate, are not counted.
    """
    rows, group = samples.configurations()
    table = columns(model, samples.names, rows)
    predicted = _predicted(model, table)
    return _errors(over, predicted, group_means(samples.durations_s, group))


def cross_validated(model: KernelModel, samples: Samples, folds: int = FOLDS) -> Errors | None:
    """Return the errors on held-out configurations, of models fitted without them.

    All samples of a configuration are in one of the *folds*, the same ones each time. Where
    the model knows nothing but what it was fitted to, or no fold can be fitted, None.
    """
    table = columns(model, samples.names, samples.parameters)
    own = type(samples)(model.names_, table, samples.durations_s, samples.runs)
    rows, group = own.configurations()
    folds = min(folds, len(rows))
    if folds < 2 or not model.needs_fit:
        return None
    fold = np.empty(len(rows), dtype=np.intp)
    fold[np.random.default_rng(0).permutation(len(rows))] = np.arange(len(rows)) % folds
    predicted = np.full(len(rows), np.nan)
    for number in range(folds):
        held = fold == number
        try:
            fitted = clone(model).fit(own.select(~held[group]))
        except TasksimError:
            continue
        predicted[held] = _predicted(fitted, rows[held])
    return _errors(f"{folds} folds", predicted, group_means(own.durations_s, group))


def _predicted(model: KernelModel, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what *model* predicts, NaN for rows that it refuses."""
    try:
        return model.predict(table)
    except TasksimError:
        inside = model.inside(table)
    result = np.full(len(table), np.nan)
    try:
        result[inside] = model.predict(table[inside])
    except TasksimError:
        return result
    return result


def _errors(
    over: str, predicted: NDArray[np.float64], measured: NDArray[np.float64]
) -> Errors | None:
    known = np.isfinite(predicted) & (predicted > 0)
    if not known.any():
        return None
    p, m = predicted[known], measured[known]
    worst = float(np.abs(log_ratio(p, m)).max())
    return Errors(over, int(known.sum()), mlogq(p, m), bias(p, m), mape(p, m), worst)
