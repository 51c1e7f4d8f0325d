"""Partial dependence: predictions over one parameter, in the median over the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.fitted import columns
from tasksim.models.rows import is_logarithmic
from tasksim.models.validation.crossvalidation import predicted_where_possible

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["PartialDependence", "partial_dependence"]

MAX_CONFIGURATIONS: Final = 200
"""Largest number of configurations whose predictions are taken: quartiles of so many vary by a
few percent of their range."""
CURVE_VALUES: Final = 25
"""Number of values over the range of a parameter: enough for a small axis."""
MIN_PREDICTED_SHARE: Final = 0.5
"""Share of the configurations that must be predicted at a value: the median over fewer is of
others than at its neighbours."""


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """Predictions over the *values* of a parameter, the others as in measured configurations.

    Attributes
    ----------
    values
        Over the measured range, or those measured if they are few; numbers of categories for a
        parameter with *categories*.
    median_s, low_s, high_s
        Median and quartiles over configurations, in seconds; NaN where the model refuses.
    """

    parameter: str
    values: Floats
    median_s: Floats
    low_s: Floats
    high_s: Floats
    categories: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether there is a prediction at two values or more."""
        return int(np.isfinite(self.median_s).sum()) >= 2


def partial_dependence(
    model: KernelModel, samples: Samples, parameter: str, *, seed: int = 0
) -> PartialDependence:
    """Return the predictions of *model* while *parameter* runs over its measured range.

    They are for up to 200 configurations of *samples*.
    The median is of J. Friedman's partial dependence ("Greedy function approximation", 2001) with
    the mean replaced: of durations over orders of magnitude, a mean is that of the longest.
    """
    rows, _ = samples.configurations()
    rows = columns(model, samples.names, rows, categories=samples.categories)
    column = model.names_.index(parameter)
    measured = np.unique(rows[:, column])
    if len(rows) > MAX_CONFIGURATIONS:
        chosen = np.random.default_rng(seed).choice(len(rows), MAX_CONFIGURATIONS, replace=False)
        rows = rows[np.sort(chosen)]
    categories = tuple(model.categories_.get(parameter, ()))
    values = np.arange(float(len(categories))) if categories else _values(measured)
    table = np.repeat(rows, len(values), axis=0)
    table[:, column] = np.tile(values, len(rows))
    found = predicted_where_possible(model, table).reshape(len(rows), len(values))
    median, low, high = (np.full(len(values), np.nan) for _ in range(3))
    enough = np.isfinite(found).mean(axis=0) >= MIN_PREDICTED_SHARE
    if enough.any():
        quartiles = np.nanquantile(found[:, enough], (0.25, 0.5, 0.75), axis=0)
        low[enough], median[enough], high[enough] = quartiles
    return PartialDependence(parameter, values, median, low, high, categories)


def _values(measured: Floats) -> Floats:
    """Return the ascending values *measured* if they are few, else some over their range."""
    if len(measured) <= CURVE_VALUES:
        return measured
    low, high = float(measured[0]), float(measured[-1])
    even = np.geomspace if is_logarithmic(low, high) else np.linspace
    # The ends of a geometric sequence may be rounded to outside the range.
    return np.asarray(np.clip(even(low, high, CURVE_VALUES), low, high))
