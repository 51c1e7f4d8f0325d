"""Random factors between equal tasks around a drawn model.

Residuals are drawn in logarithms, from the quantiles of measured ones. Few measurements lie
closer together than the distribution they come from, so they are stretched to the estimated
deviation; a drawn model stretches them further by the uncertainty of that deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from tasksim.base.arrays import Floats
from tasksim.models.quantiles import QUANTILE_LEVELS
from tasksim.models.rows import distinct_rows
from tasksim.models.uncertainty.doubt import relative_spread
from tasksim.models.uncertainty.intervals import LEVELS as FINER
from tasksim.models.uncertainty.intervals import mean_of_exp

if TYPE_CHECKING:
    from tasksim.base.arrays import Indices
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["TaskNoise", "noise_of"]

TaskNoise: TypeAlias = Callable[[np.random.Generator, Floats], Floats]
"""A function that draws a noise factor for each of some fixed rows, given the stretch of each."""

NORMAL_QUANTILES: Final = np.array(
    [-2.9, -2.3263, -1.6449, -1.2816, -0.6745, 0.0, 0.6745, 1.2816, 1.6449, 2.3263, 2.9]
)
"""Quantiles of a normal distribution at the stored levels, with the extremes of 500 samples: the
shape of noise if only its deviation is known."""
MAX_STRETCH: Final = 20.0
"""Largest stretch of noise: two samples hardly determine their spread, but a task is not exp(20)
deviations off."""


def noise_of(model: KernelModel, table: Floats) -> TaskNoise:
    """Return a sampler of the noise of *model* at the rows of *table*; factors have a mean of 1."""
    if not model.needs_fit:
        return lambda rng, stretch: np.ones(len(table))  # noqa: ARG005
    rows, index = distinct_rows(table)
    quantiles = model._measured_quantiles(rows)
    if quantiles is not None:
        _, spread, _ = relative_spread(model, rows)
        return partial(_drawn, np.asarray(QUANTILE_LEVELS), _exponents(quantiles, spread), index)
    known = model.uncertainty_
    if known is not None:
        expected = model.predict(rows)
        if known.by_duration is not None:
            exponents = known.by_duration(expected)
        else:
            exponents = known.noise(expected)[:, None] * known.quantiles
        return partial(_drawn, np.asarray(FINER), exponents, index)
    predicted, draw = model.predict(table), model.sampler(table)

    def factors(rng: np.random.Generator, stretch: Floats) -> Floats:
        del stretch  # draws of other kinds cannot be stretched
        return np.asarray(draw(rng) / predicted)

    return factors


def _exponents(quantiles: Floats, spread: Floats) -> Floats:
    """Return logarithms of measured *quantiles*, stretched to the relative *spread* of each row."""
    shapes = np.log(quantiles)
    shapes = shapes - shapes[:, QUANTILE_LEVELS.index(0.5), None]
    flat = np.ptp(shapes, axis=1) == 0
    shapes[flat] = NORMAL_QUANTILES
    levels = np.asarray(QUANTILE_LEVELS)
    square = mean_of_exp(2 * shapes, levels) / mean_of_exp(shapes, levels) ** 2
    variation = np.sqrt(np.maximum(square - 1, 0.0))
    # Scale as between log-normal numbers of two spreads. If a few tasks lose their core, logarithms
    # vary little compared with durations, and must not be stretched for that.
    wanted, have = np.log1p(spread**2), np.log1p(variation**2)
    scale = np.sqrt(np.divide(wanted, have, out=np.zeros(len(spread)), where=wanted > 0))
    return np.asarray(shapes * scale[:, None])


def _drawn(
    levels: Floats, exponents: Floats, index: Indices, rng: np.random.Generator, stretch: Floats
) -> Floats:
    """Return a factor for each row in *index*, from *exponents* at *levels*.

    Rows of one kind have one stretch, that of any of them.
    """
    of_kind = np.ones(len(exponents))
    of_kind[index] = np.minimum(stretch, MAX_STRETCH)
    stretched = exponents * of_kind[:, None]
    steps, widths = stretched[:, 1:] - stretched[:, :-1], levels[1:] - levels[:-1]
    uniform = rng.random(len(index))
    segment = levels.searchsorted(uniform, side="right") - 1
    share = (uniform - levels[segment]) / widths[segment]
    drawn = np.exp(stretched[index, segment] + share * steps[index, segment])
    return np.asarray(drawn / mean_of_exp(stretched, levels)[index])
