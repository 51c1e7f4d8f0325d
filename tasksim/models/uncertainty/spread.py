"""Spread of samples around the means of their configurations; Student, for few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel

__all__ = ["PRIOR", "relative_spread", "student_stretch"]

PRIOR: Final = 20.0
"""So many samples weighs what is known of all configurations against the spread of one. Of
generated histories with three samples each, 90 % intervals cover 86 % with 2, 90 % with 5, 92 %
with 20 and 93 % with 100: rather too wide."""
LEAST_SPREAD: Final = 1e-9
"""Clocks have nine digits: what is less comes from rounding means."""
LEAST_CHI: Final = 1e-9
"""Below this a chi-square number counts as this: nothing is divided by 0."""


def student_stretch(freedom: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return what a normal number is multiplied by to be Student's, for each of some freedoms."""
    return np.asarray(np.sqrt(freedom / np.maximum(rng.chisquare(freedom), LEAST_CHI)))


def relative_spread(
    model: KernelModel, table: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return samples, relative deviation and degrees of freedom per row, of means of samples.

    The variance of a configuration is drawn towards that of all, which counts for up to 20
    samples, as in :class:`~tasksim.models.uncertainty.doubt.Counts`.
    """
    form = model.means()
    assert form is not None
    count, own = model._repetitions(table)
    freedom = np.maximum(form.count - 1, 0).astype(np.float64)
    # Deviations of a form are about the mean of n, not of n - 1.
    squares = (form.deviation_s / form.mean_s) ** 2 * np.maximum(form.count, 1)
    pooled = squares[freedom > 0].sum() / max(freedom.sum(), 1.0)
    mine = np.maximum(count - 1, 0)
    weight = np.minimum(PRIOR, np.maximum(freedom.sum() - mine, 0.0))
    known = mine + weight
    variance = (weight * pooled + mine * own**2) / np.maximum(known, 1.0)
    spread = np.sqrt(variance)
    spread[spread < LEAST_SPREAD] = 0.0
    return count.astype(np.float64), spread, known
