"""Errors over a domain: the error of a model at unseen configurations, without noise."""

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
"""Mean absolute value of a normal variable with standard deviation 1."""
MAX_NOISE_SHARE: Final = 0.75
"""Largest share of the squared errors that is subtracted for noise: the noise is an estimate, too,
and a small one does not make a model exact."""


class Errors(NamedTuple):
    """Errors of a model, as means of abs(ln(predicted / measured)).

    Parameters
    ----------
    mean : float
        Error at configurations left out of the fit, without the error of their measured means.
    luck : float
        Standard error of *mean*, due to the choice of configurations.
    of_means : float
        Mean error of the measured means.
    noise : float
        Variance of measurements about predictions.
    """

    mean: float
    luck: float
    of_means: float
    noise: float

    @property
    def at_most(self) -> float:
        """The error plus one standard error, as a few configurations may flatter a model."""
        return self.mean + self.luck


def errors_of(samples: Samples, out: LeftOut, places: Array) -> Errors:
    """Return the errors of left-out predictions *out* at the rows *places*.

    Errors of means and errors of the model add as squares, and are subtracted as such.
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
    # Where noise dominates, a small change of the total is a large one of the rest.
    luck = _without(whole + float(error.std(ddof=1) / np.sqrt(len(error))), unsure) - own
    return Errors(own, luck, unsure, max(float((error**2).mean()), 1e-12))


def _without(whole: float, unsure: float) -> float:
    squares = whole**2 - min(unsure**2, MAX_NOISE_SHARE * whole**2)
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
