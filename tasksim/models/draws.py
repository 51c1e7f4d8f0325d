"""Repeated draws of random durations for the same rows of parameters."""

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
"""A function that draws a duration for each row, in seconds."""


def sampler_of(model: KernelModel, parameters: ArrayLike) -> Draw:
    """Return ``model.sample`` for these *parameters*, with everything deterministic precomputed.

    Kinds with costly preparations define ``_sampler(table)``. A subclass of such a kind may
    override ``_sample`` instead: the most derived definition wins.
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
    """Return a sampler around predictions, from quantiles of the *ratios* measured / predicted."""
    quantiles, only = ratios[None, :], np.zeros(len(predicted_s), dtype=np.intp)
    # Dividing by the mean keeps the mean of the draws at the prediction.
    mean = mean_of_quantiles(quantiles)
    return lambda rng: predicted_s * (draw(quantiles, only, rng) / mean)


def checked_generator(rng: object) -> np.random.Generator:
    """Return *rng* if it is a NumPy generator; raise :exc:`InputError` otherwise."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
    return rng
