"""Errors over a domain: how far a model is off where it was not fitted, and how much is noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.models.groups import group_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.samples import Samples
    from tasksim.models.validation.crossvalidation import LeftOut

    Array = NDArray[np.float64]

__all__ = ["Errors", "errors_of"]

MEAN_OF_NORMAL: Final = (2 / np.pi) ** 0.5
"""The mean distance from zero of normal numbers whose deviation is 1."""
MOST_NOISE: Final = 0.75
"""Of squares of errors at most so much is taken off for noise: what it is, is an estimate, too, and
a model is not exact for that."""


class Errors(NamedTuple):
    """How far a model is off, as means of abs(ln(predicted / measured)).

    Parameters
    ----------
    mean : float
        At configurations that were left out of the fit; what their own means are off left out.
    luck : float
        The standard error of that: others could have been drawn.
    of_means : float
        How far means that were measured are off the truth, in the mean.
    noise : float
        The variance of what was measured about what was predicted.
    """

    mean: float
    luck: float
    of_means: float
    noise: float

    @property
    def at_most(self) -> float:
        """The error with one standard error more, as few configurations may flatter a model."""
        return self.mean + self.luck


def errors_of(samples: Samples, out: LeftOut, places: Array) -> Errors:
    """Return how far predictions of what was left *out* are off at *places*, which are rows.

    The errors of means add to those of a model as squares do, so that they are taken off as such.
    """
    rows, group = samples.configurations()
    asked = np.isin(_keys(rows), _keys(places))
    error = out.errors(samples)
    kept = asked & np.isfinite(error)
    if not kept.any():
        return Errors(float("inf"), float("inf"), 0.0, 1.0)
    of_means = _of_means(samples, group)[kept]
    error = error[kept]
    whole = float(error.mean())
    unsure = MEAN_OF_NORMAL * float(of_means.mean())
    own = _without(whole, unsure)
    if len(error) < 2:
        return Errors(own, float("inf"), unsure, max(whole**2, 1e-12))
    # Where noise is most of it, little more of the whole is much more of what is left.
    luck = _without(whole + float(error.std(ddof=1) / np.sqrt(len(error))), unsure) - own
    return Errors(own, luck, unsure, max(float((error**2).mean()), 1e-12))


def _without(whole: float, unsure: float) -> float:
    squares = whole**2 - min(unsure**2, MOST_NOISE * whole**2)
    return float(squares**0.5)


def _of_means(samples: Samples, group: NDArray[np.intp]) -> Array:
    """Return the relative standard error of the mean of each configuration."""
    mean = group_means(samples.durations_s, group)
    squares = group_means((samples.durations_s / mean[group] - 1) ** 2, group)
    count = np.bincount(group)
    return np.asarray(np.sqrt(squares / np.maximum(count - 1, 1)))


def _keys(rows: Array) -> NDArray[np.bytes_]:
    table = np.ascontiguousarray(rows + 0.0)
    return table.view(f"S{table.itemsize * table.shape[1]}").ravel()
