"""Drawn models, equivalent to fits to other, equally plausible samples of the same kernel.

A draw shifts the logarithms of predictions by their uncertainty, and stretches the noise of
tasks by the uncertainty of the noise: few samples determine neither well. Means of n samples follow
Student's t, coefficients a multivariate t, and other models vary as much as those fitted to
resampled configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, ModelError
from tasksim.models.fitted import row_text
from tasksim.models.quantiles import checked_generator
from tasksim.models.rows import distinct_rows
from tasksim.models.uncertainty.doubt import (
    PRIOR_SAMPLES,
    Counts,
    Shifter,
    relative_spread,
    student_stretch,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Floats, Indices
    from tasksim.models.fitted import FittedModel
    from tasksim.models.uncertainty.intervals import Uncertainty

__all__ = ["Drawer", "Drawn", "drawer_of", "draws"]

MAX_SHIFT: Final = float(np.log(10.0))
"""Largest log shift of a draw, a factor of 10: two samples allow for anything, and the furthest
draw would dominate the mean over draws."""


class Drawn(NamedTuple):
    """A drawn model at given rows.

    Parameters
    ----------
    shift : ndarray
        Added to the logarithms of predictions.
    stretch : ndarray
        Factor on the logarithms of noise.
    """

    shift: Floats
    stretch: Floats


@dataclass(frozen=True)
class Drawer:
    """A sampler of models at fixed rows.

    Parameters
    ----------
    shifter : Shifter
        Draws shifts, at distinct rows.
    index : ndarray
        Index of the distinct row of each row.
    noise_freedom : ndarray
        Degrees of freedom of the noise at each distinct row.
    variance : ndarray
        Variance of the logarithms of the samples, if the model is their mean; 0 otherwise.
    """

    shifter: Shifter
    index: Indices
    noise_freedom: Floats
    variance: Floats

    def __call__(self, rng: np.random.Generator, stretch: float | None = None) -> Drawn:
        """Draw a model; *stretch* turns normal into Student's variates (default: one per row).

        A common stretch serves sums over several kernels, whose uncertainty is less than that of
        each kernel.

        Durations are skewed: if the drawn noise is larger than that of the samples, long durations
        were missing among them, and the mean is longer, too, since that of log-normal numbers is
        exp(mean + variance/2) (K. Krishnamoorthy and T. Mathew, "Inferences on the means of
        lognormal distributions using generalized p-values and generalized confidence intervals",
        J. Statistical Planning and Inference 115, 2003).
        """
        shift = self.shifter.normal(rng)
        freedom = self.shifter.freedom
        own = student_stretch(freedom, rng) if stretch is None else np.full(len(shift), stretch)
        of_noise = student_stretch(self.noise_freedom, rng)
        # One drawn spread affects both: the error of the mean, and the missing long durations.
        shift = shift * own + (own**2 - 1) * self.variance / 2
        of_noise = np.broadcast_to(of_noise, len(shift))
        return Drawn(np.clip(shift, -MAX_SHIFT, MAX_SHIFT)[self.index], of_noise[self.index])

    def normal(self, rng: np.random.Generator) -> Floats:
        """Return normal shifts for each row, as if their variance were known."""
        return self.shifter.normal(rng)[self.index]

    @property
    def freedom(self) -> Floats:
        """The degrees of freedom of the shift of each row."""
        return self.shifter.freedom[self.index]


def draws(
    model: FittedModel, known: Uncertainty | None, parameters: ArrayLike, rng: object, size: object
) -> Floats:
    """Return predictions of *size* models drawn by the *known* uncertainty, shape (size, rows).

    Raises
    ------
    InputError, NotFittedError
        If arguments are illegal, or the model is not fitted.
    ModelError
        If the uncertainty of the model is unknown; the message says what to do.
    """
    model._check_fitted("draw")
    table, generator = model._table(parameters), checked_generator(rng)
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise InputError(f"size: got {size!r}; legal: a whole number, at least 0")
    predicted, drawer = model.predict(table), drawer_of(model, known, table)
    if drawer is None:
        return np.tile(predicted, (int(size), 1))
    shifts = [drawer(generator).shift for _ in range(int(size))]
    return np.asarray(predicted * np.exp(np.reshape(shifts, (int(size), len(predicted)))))


def drawer_of(model: FittedModel, known: Uncertainty | None, table: Floats) -> Drawer | None:
    """Return a sampler of *model* at the rows of *table*; None if its durations are given.

    *known* is the uncertainty of the model, for models that are more than means.

    Raises
    ------
    ModelError
        If the uncertainty of the model is unknown; the message says what to do.
    """
    if not model.needs_fit:
        return None
    if _has_counts(model):
        return _of_counts(model, table)
    if known is not None:
        return _of_doubt(model, known, table)
    raise ModelError(
        f"{model.label or model.kind}: the file has no uncertainty of the {model.kind} model: "
        "fit or calibrate it again, or ask for the uncertainty of runs and tasks only"
    )


def _has_counts(model: FittedModel) -> bool:
    if model.means() is None:
        return False
    try:
        model._repetitions(np.empty((0, len(model.names_))))
    except NotImplementedError:
        return False
    return True


def _of_counts(model: FittedModel, table: Floats) -> Drawer:
    """Return a sampler of means: Student's t, independent between configurations."""
    rows, index = distinct_rows(table)
    _, spread, freedom = relative_spread(model, rows)
    if (freedom < 1).any():
        row = rows[np.argmax(freedom < 1)]
        raise ModelError(
            f"{model.label or model.kind}: measured only once, with "
            f"({row_text(model, row)}): its deviation from the mean is "
            "unknown; measure it again (tasksim calibrate), or ask for another uncertainty"
        )
    shifter = Counts(PRIOR_SAMPLES).shifter(model, rows)
    return Drawer(shifter, index, freedom, np.log1p(spread**2))


def _of_doubt(model: FittedModel, known: Uncertainty, table: Floats) -> Drawer:
    """Return a sampler by calibrated doubt, and by the drift outside the domain.

    The drift shifts all rows outside in the same direction.
    """
    rows, index = distinct_rows(table)
    shifter = known.doubt.shifter(model, rows)
    drift = np.zeros(len(rows))
    if known.drift is not None:
        drift = known.drift.deviation(model.domain_, rows)
    of_noise = np.full(1, max(known.count - 1.0, 1.0))  # all rows share one estimate of noise
    normal = Shifter(
        lambda rng: shifter.normal(rng) + drift * rng.standard_normal(), shifter.freedom
    )
    return Drawer(normal, index, of_noise, np.zeros(len(rows)))
