"""Errors of a model on unseen configurations: cross-validation and test samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.models.columns import columns
from tasksim.models.groups import group_means
from tasksim.models.validation.crossvalidation import FOLDS, left_out, predicted_where_possible
from tasksim.models.validation.metrics import bias, log_ratio, mape, mlogq

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["Errors", "errors_left_out", "errors_on"]


@dataclass(frozen=True)
class Errors:
    """Errors over configurations, each with the mean of its samples.

    ``over`` describes the held-out samples; ``worst`` is the largest abs(ln(predicted /
    measured)); see :mod:`tasksim.models.validation.metrics` for the others.
    """

    over: str
    configurations: int
    mlogq: float
    bias: float
    mape: float
    worst: float


def errors_on(model: KernelModel, samples: Samples, over: str) -> Errors | None:
    """Return the errors of *model* on *samples*; None if it cannot predict any.

    Configurations that the model cannot extrapolate to are not counted.
    """
    rows, group = samples.configurations()
    table = columns(model, samples.names, rows)
    predicted = predicted_where_possible(model, table)
    return _errors(over, predicted, group_means(samples.durations_s, group))


def errors_left_out(model: KernelModel, samples: Samples) -> Errors | None:
    """Return the cross-validated errors on held-out configurations.

    None if the model predicts only configurations it was fitted to, or cannot be fitted to a part
    of the samples.
    """
    if not model.needs_fit:
        return None
    table = columns(model, samples.names, samples.parameters)
    own = replace(samples, names=model.names_, parameters=table)
    try:
        out = left_out(model, own)
    except TasksimError:
        return None
    if out.by != "configuration":
        return None
    group = own.configurations()[1]
    # Whole configurations are left out, so all their samples have one prediction.
    predicted = group_means(out.predicted_s, group)
    return _errors(f"{FOLDS} folds", predicted, group_means(own.durations_s, group))


def _errors(
    over: str, predicted: NDArray[np.float64], measured: NDArray[np.float64]
) -> Errors | None:
    known = np.isfinite(predicted) & (predicted > 0)
    if not known.any():
        return None
    p, m = predicted[known], measured[known]
    worst = float(np.abs(log_ratio(p, m)).max())
    return Errors(over, int(known.sum()), mlogq(p, m), bias(p, m), mape(p, m), worst)
