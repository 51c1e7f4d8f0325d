"""Draws of durations: what draws one for each of some rows of parameters, again and again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tasksim.base.errors import InputError
from tasksim.models.quantiles import draw, mean_of_quantiles

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tasksim.models.kernelmodel import KernelModel

__all__ = ["Draw", "checked_generator", "sampler_of", "scattered"]

Draw: TypeAlias = Callable[[np.random.Generator], NDArray[np.float64]]
"""What draws a duration for each row, in seconds."""


def sampler_of(model: KernelModel, parameters: ArrayLike) -> Draw:
    """Return ``model.sample`` for these *parameters*, settled as far as no chance is in it.

    Kinds that have much to do before they draw have ``_sampler(table)``. One that is derived from
    such a kind may draw by itself: the class that comes last says how.
    """
    model._check_fitted("sample")
    table = model._table(parameters)
    if model.uncertainty_ is not None:
        return model.uncertainty_.sampler(model, table)
    for kind in type(model).__mro__:
        if "_sampler" in vars(kind):
            sampler: Draw = model._sampler(table)  # type: ignore[attr-defined]
            return sampler
        if "_sample" in vars(kind):
            break
    return partial(model._sample, table)


def scattered(predicted_s: NDArray[np.float64], ratios: NDArray[np.float64]) -> Draw:
    """Return what draws around predictions, by quantiles of the *ratios* of durations to them."""
    quantiles, only = ratios[None, :], np.zeros(len(predicted_s), dtype=np.intp)
    mean = mean_of_quantiles(quantiles)
    return lambda rng: predicted_s * (draw(quantiles, only, rng) / mean)


def checked_generator(rng: object) -> np.random.Generator:
    """Return what draws random numbers, which must be NumPy's."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
    return rng
