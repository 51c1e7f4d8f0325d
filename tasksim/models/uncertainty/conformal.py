"""Conformal calibration of prediction intervals, with samples left out of fits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.uncertainty.doubt import doubt_kind
from tasksim.models.uncertainty.intervals import (
    LEVELS,
    ByDuration,
    Drift,
    NoiseByDuration,
    Thinness,
    Uncertainty,
)
from tasksim.models.validation.crossvalidation import left_out

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples
    from tasksim.models.validation.crossvalidation import LeftOut


__all__ = ["calibrate"]

MIN_LEFT_OUT: Final = 5
"""Minimum number of samples left out of fits: of five, the outermost are the 1/6 and 5/6
quantiles."""
MIN_DEVIATIONS: Final = 0.5
"""Smallest half-width of a 90 % interval in deviations (1.64 if they are normal): if nearly all
residuals have one sign, the other side is unknown."""


def calibrate(
    model: KernelModel,
    samples: Samples,
    out: LeftOut | None = None,
    *,
    seed: int = 0,
    resamples: int = 10,
) -> Uncertainty:
    """Return the uncertainty of *model*, fitted to *samples*, and store it in ``uncertainty_``.

    Parameters
    ----------
    out
        Predictions of cross-validation, if available.
    seed
        The seed of folds and of resampling.
    resamples
        Number of models fitted to resampled configurations, for kinds without coefficients.

    Raises
    ------
    InputError
        If too few samples can be left out of fits; the model can still predict.
    """
    model.uncertainty_ = None
    out = left_out(model, samples, seed=seed) if out is None else out
    known = out.known
    if known.sum() < MIN_LEFT_OUT:
        raise InputError(
            f"intervals need at least {MIN_LEFT_OUT} samples left out of fits, "
            f"got {known.sum()}: measure more sizes, or each more often"
        )
    measured, predicted = samples.durations_s[known], out.predicted_s[known]
    residual = np.log(measured / predicted)
    noise = NoiseByDuration.of(residual, predicted)
    table = samples.parameters[known]
    doubt = doubt_kind(model).of(model, samples, seed=seed, resamples=resamples)
    deviation = np.sqrt(doubt.variance(model, table, noise(predicted)))
    unknown, thinness = model._unknown_share(table, left_out=True), None
    if unknown is not None:
        thinness = Thinness.of(residual / deviation, unknown)
    if unknown is not None and thinness is not None:
        deviation = deviation * np.sqrt(thinness(unknown))
    # Positions at (n + 1)·level make conformal intervals valid for small n.
    quantiles = np.quantile(residual / deviation, LEVELS, method="weibull")
    found = Uncertainty(
        noise, doubt, quantiles, int(known.sum()),
        by_duration=ByDuration.of(residual, predicted), thinness=thinness,
    )  # fmt: skip
    if model.extrapolates:
        found = replace(found, drift=Drift.of(model, samples, partial(_needed, found, model), seed))
    model.uncertainty_ = found
    return found


def _needed(
    found: Uncertainty, model: KernelModel, measured_s: Floats, predicted_s: Floats, table: Floats
) -> Floats:
    """Return the additional deviation that each measurement needs to lie in its 90 % interval."""
    residual = np.log(measured_s / predicted_s)
    low, high = np.interp((0.05, 0.95), LEVELS, found.quantiles)
    bound = np.where(residual < 0, -min(low, -MIN_DEVIATIONS), max(high, MIN_DEVIATIONS))
    inside = found.doubt.variance(model, table, found.noise(predicted_s))
    return np.asarray(np.sqrt(np.maximum((residual / bound) ** 2 - inside, 0.0)))
