"""Residuals: what a fitted model leaves of the samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.columns import columns
from tasksim.models.groups import group_means
from tasksim.models.outliers import inliers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["Residuals", "normal_points", "residuals", "spread_by_fitted"]

MAD_TO_SD: Final = 1.4826
"""The standard deviation of a normal distribution, over its median absolute deviation."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """What a model leaves of the samples that it could have used.

    Attributes
    ----------
    samples
        The samples without outliers, with all their columns, also those the model ignores.
    dropped
        How many outliers there were.
    predicted_s
        float64 [samples].
    absolute
        Whether errors are relative to the mean duration: those of a model that was fitted to
        absolute errors. Else they are relative to what is predicted.
    rows, group
        The distinct configurations over all columns, and which one each sample has.
    """

    samples: Samples
    dropped: int
    predicted_s: NDArray[np.float64]
    absolute: bool
    rows: NDArray[np.float64]
    group: NDArray[np.intp]

    @cached_property
    def scale_s(self) -> NDArray[np.float64]:
        """What the error of each sample is relative to, in seconds."""
        if self.absolute:
            return np.full(len(self.samples), self.samples.durations_s.mean())
        return self.predicted_s

    @cached_property
    def relative(self) -> NDArray[np.float64]:
        """The error of each sample, (measured - predicted) / scale."""
        error: NDArray[np.float64] = (self.samples.durations_s - self.predicted_s) / self.scale_s
        return error

    @cached_property
    def shape(self) -> NDArray[np.float64]:
        """The errors whose distribution is looked at: ln(measured / predicted), or relative."""
        if self.absolute:
            return self.relative
        ratio: NDArray[np.float64] = np.log(self.samples.durations_s / self.predicted_s)
        return ratio

    @property
    def repeated(self) -> bool:
        """Whether half of the samples, or more, are of configurations measured repeatedly."""
        count = np.bincount(self.group)[self.group]
        return bool((count > 1).sum() >= len(count) / 2)

    @cached_property
    def noise(self) -> NDArray[np.float64]:
        """What of the shape is left within configurations that were measured repeatedly.

        Scaled for the mean that was taken away; of all samples where too few are repeated, and
        then it is noise and what the model does not know together (:attr:`repeated`).
        """
        if not self.repeated:
            return self.shape
        count = np.bincount(self.group)[self.group]
        centred = self.shape - group_means(self.shape, self.group)[self.group]
        return np.where(count > 1, centred * np.sqrt(count / np.maximum(count - 1, 1)), np.nan)


def residuals(model: KernelModel, samples: Samples) -> Residuals:
    """Return the residuals of *model* on *samples*, which may have more columns than it needs.

    Outliers are left out as the model's own fit leaves them out.

    Raises
    ------
    NotFittedError, InputError, OutOfDomainError
        As :func:`~tasksim.models.columns.columns` and ``predict``.
    """
    kept = inliers(samples, samples.configurations()[1], model.fence)
    used = samples.select(kept)
    rows, group = used.configurations()
    predicted = model.predict(columns(model, used.names, rows))[group]
    dropped = len(samples) - len(used)
    return Residuals(used, dropped, predicted, model.absolute_errors, rows, group)


def normal_points(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the normal quantiles and the standardised, ordered *values* of a Q-Q plot.

    Standardised by mean and standard deviation; the quantiles are at (i - 3/8) / (n + 1/4)
    (Blom, Statistical Estimates and Transformed Beta-Variables, 1958).

    >>> [a.round(2).tolist() for a in normal_points(np.array([3.0, 1.0, 2.0]))]
    [[-0.87, 0.0, 0.87], [-1.22, 0.0, 1.22]]
    """
    from scipy.special import ndtri

    ordered = np.sort(values)
    places = (np.arange(1, len(values) + 1) - 0.375) / (len(values) + 0.25)
    spread = float(ordered.std()) or 1.0
    return ndtri(places), (ordered - ordered.mean()) / spread


def spread_by_fitted(
    res: Residuals, parts: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Return per part, by predicted duration, the mean of it, the noise, and the samples.

    The noise is the standard deviation within configurations. Each part has about as many
    samples as the others; samples of equal prediction are in one part.
    """
    known = np.isfinite(res.noise)
    predicted, noise = res.predicted_s[known], res.noise[known]
    edges = np.quantile(predicted, np.linspace(0, 1, parts + 1)[1:-1])
    _, part = np.unique(np.searchsorted(edges, predicted, side="right"), return_inverse=True)
    variance = group_means(noise**2, part) - group_means(noise, part) ** 2
    spread = np.sqrt(np.maximum(variance, 0.0))
    return group_means(predicted, part), spread, np.bincount(part)
