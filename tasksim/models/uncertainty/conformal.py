"""Calibration of predictive intervals: conformal, by samples that were left out of fits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.uncertainty.byduration import ByDuration
from tasksim.models.uncertainty.doubt import doubt_kind
from tasksim.models.uncertainty.drift import Drift
from tasksim.models.uncertainty.intervals import LEVELS, Uncertainty
from tasksim.models.uncertainty.noise import Noise
from tasksim.models.validation.crossvalidation import left_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples
    from tasksim.models.validation.crossvalidation import LeftOut

    Table = NDArray[np.float64]

__all__ = ["calibrate"]

FEWEST: Final = 5
"""Samples left out of fits, without which quantiles mean nothing: of five the outermost are at 1/6
and 5/6."""
LEAST_BOUND: Final = 0.5
"""A 90 % interval reaches at least so many deviations to either side, 1.64 if they are normal:
where nearly all residuals have one sign, the other side is not known."""


def calibrate(
    model: KernelModel,
    samples: Samples,
    out: LeftOut | None = None,
    *,
    seed: int = 0,
    resamples: int = 10,
) -> Uncertainty:
    """Return the uncertainty of *model*, fitted to *samples*; set ``model.uncertainty_`` to it.

    Parameters
    ----------
    out
        What cross-validation predicted, if that is known already.
    seed
        Of folds and of resampling.
    resamples
        How many models are fitted to resampled configurations, for kinds without coefficients.

    Raises
    ------
    InputError
        If too few samples can be left out of fits; no matter, predictions do without.
    """
    model.uncertainty_ = None
    out = left_out(model, samples, seed=seed) if out is None else out
    known = out.known
    if known.sum() < FEWEST:
        raise InputError(
            f"intervals need at least {FEWEST} samples that the others predict, "
            f"got {known.sum()}: measure more sizes, or each more often"
        )
    measured, predicted = samples.durations_s[known], out.predicted_s[known]
    residual = np.log(measured / predicted)
    noise = Noise.of(residual, predicted)
    table = samples.parameters[known]
    doubt = doubt_kind(model).of(model, samples, seed=seed, resamples=resamples)
    deviation = np.sqrt(doubt.variance(model, table, noise(predicted)))
    # Positions of (n + 1)·level: the correction that makes conformal intervals valid for small n.
    quantiles = np.quantile(residual / deviation, LEVELS, method="weibull")
    found = Uncertainty(
        noise, doubt, quantiles, int(known.sum()), by_duration=ByDuration.of(residual, predicted)
    )
    if model.extrapolates:
        found = replace(found, drift=Drift.of(model, samples, partial(_needed, found, model), seed))
    model.uncertainty_ = found
    return found


def _needed(
    found: Uncertainty, model: KernelModel, measured_s: Table, predicted_s: Table, table: Table
) -> Table:
    """Return the further deviation with which each measurement is in its 90 % interval."""
    residual = np.log(measured_s / predicted_s)
    low, high = np.interp((0.05, 0.95), LEVELS, found.quantiles)
    bound = np.where(residual < 0, -min(low, -LEAST_BOUND), max(high, LEAST_BOUND))
    inside = found.doubt.variance(model, table, found.noise(predicted_s))
    return np.asarray(np.sqrt(np.maximum((residual / bound) ** 2 - inside, 0.0)))
