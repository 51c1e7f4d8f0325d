"""Repeated draws of random durations for the same rows of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tasksim.base.errors import InputError
from tasksim.models.quantiles import draw, mean_of_quantiles

__all__ = ["Draw", "checked_generator", "scattered"]

Draw: TypeAlias = Callable[[np.random.Generator], NDArray[np.float64]]
"""A function that draws a duration for each row, in seconds."""


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
