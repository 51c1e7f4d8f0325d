"""Drawn models: what a model would predict, had other samples of the same kernel been measured.

A draw shifts the logarithms of predictions by what is not known of them, and stretches the noise of
tasks by what is not known of that: few samples tell neither well. Means of n samples are Student's,
coefficients multivariate t, models without either as far apart as those that were fitted to
resampled configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, ModelError
from tasksim.models.draws import checked_generator
from tasksim.models.rows import describe_row, distinct_rows
from tasksim.models.uncertainty.doubt import Shifter
from tasksim.models.uncertainty.spread import relative_spread, student_stretch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.uncertainty.intervals import Uncertainty

__all__ = ["Drawer", "Drawn", "drawer_of", "draws"]

FURTHEST: Final = float(np.log(10.0))
"""No draw is further from its model than this, a factor of 10: two samples allow for anything, and
a mean over draws would be that of the furthest alone."""


class Drawn(NamedTuple):
    """A model that was drawn, at the rows that it was asked for.

    Parameters
    ----------
    shift : ndarray
        What is added to the logarithms of predictions.
    stretch : ndarray
        What the logarithms of noise are multiplied by.
    """

    shift: NDArray[np.float64]
    stretch: NDArray[np.float64]


@dataclass(frozen=True)
class Drawer:
    """What draws a model, at rows that are settled.

    Parameters
    ----------
    shifter : Shifter
        Draws shifts, at distinct rows.
    index : ndarray
        Which of these each row is.
    noise_freedom : ndarray
        From how many degrees of freedom the noise of each of these is known.
    variance : ndarray
        Of the logarithms of samples whose mean the model is; 0 where it is no mean of few samples.
    """

    shifter: Shifter
    index: NDArray[np.intp]
    noise_freedom: NDArray[np.float64]
    variance: NDArray[np.float64]

    def __call__(self, rng: np.random.Generator, stretch: float | None = None) -> Drawn:
        """Return a model; *stretch* makes its normal numbers Student's, by default each its own.

        Where several kernels make up a sum, theirs together is less than each of them by itself.

        Durations are skewed: where noise is drawn larger than that of the samples, the long ones
        were missing among them, and the mean is longer, too, as that of log-normal numbers is
        exp(mean + variance/2) (K. Krishnamoorthy and T. Mathew, "Inferences on the means of
        lognormal distributions using generalized p-values and generalized confidence intervals",
        J. Statistical Planning and Inference 115, 2003).
        """
        shift = self.shifter.normal(rng)
        freedom = self.shifter.freedom
        own = student_stretch(freedom, rng) if stretch is None else np.full(len(shift), stretch)
        of_noise = student_stretch(self.noise_freedom, rng)
        # Of one spread that is drawn, both: means that are off by it, and the long ones.
        shift = shift * own + (own**2 - 1) * self.variance / 2
        of_noise = np.broadcast_to(of_noise, len(shift))
        return Drawn(np.clip(shift, -FURTHEST, FURTHEST)[self.index], of_noise[self.index])

    def normal(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return by how much samples of this noise would shift it, as if that were known."""
        return self.shifter.normal(rng)[self.index]

    @property
    def freedom(self) -> NDArray[np.float64]:
        """From how many degrees of freedom it is known, for each row."""
        return self.shifter.freedom[self.index]


def draws(
    model: KernelModel, parameters: ArrayLike, rng: object, size: object
) -> NDArray[np.float64]:
    """Return what *size* drawn models predict, shape (size, rows).

    Raises
    ------
    InputError, NotFittedError
        If arguments are illegal, or the model is not fitted.
    ModelError
        If it says nothing of how well it is known; with what to do.
    """
    model._check_fitted("draw")
    table, generator = model._table(parameters), checked_generator(rng)
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise InputError(f"size: got {size!r}; legal: a whole number, at least 0")
    predicted, drawer = model.predict(table), drawer_of(model, table)
    if drawer is None:
        return np.tile(predicted, (int(size), 1))
    shifts = [drawer(generator).shift for _ in range(int(size))]
    return np.asarray(predicted * np.exp(np.reshape(shifts, (int(size), len(predicted)))))


def drawer_of(model: KernelModel, table: NDArray[np.float64]) -> Drawer | None:
    """Return what draws *model* at the rows of *table*; None if it was given and is known.

    Raises
    ------
    ModelError
        If it says nothing of how well it is known; with what to do.
    """
    if not model.needs_fit:
        return None
    if _has_counts(model):
        return _of_counts(model, table)
    if model.uncertainty_ is not None:
        return _of_doubt(model, model.uncertainty_, table)
    raise ModelError(
        f"{model.label or model.kind}: its file does not say how well the {model.kind} model is "
        "known: fit or calibrate it again, or ask for the uncertainty of runs and tasks only"
    )


def _has_counts(model: KernelModel) -> bool:
    if model.means() is None:
        return False
    try:
        model._repetitions(np.empty((0, len(model.names_))))
    except NotImplementedError:
        return False
    return True


def _of_counts(model: KernelModel, table: NDArray[np.float64]) -> Drawer:
    """Return what draws means of samples: Student's, each configuration by itself."""
    rows, index = distinct_rows(table)
    count, spread, freedom = relative_spread(model, rows)
    if (freedom < 1).any():
        row = rows[np.argmax(freedom < 1)]
        raise ModelError(
            f"{model.label or model.kind}: measured once, with "
            f"({describe_row(model.names_, row)}): "
            "how far that is from the mean nobody knows; measure it again (tasksim calibrate), or "
            "ask for another uncertainty"
        )
    deviation = spread / np.sqrt(count)
    shifter = Shifter(lambda rng: deviation * rng.standard_normal(len(rows)), freedom)
    return Drawer(shifter, index, freedom, np.log1p(spread**2))


def _of_doubt(model: KernelModel, known: Uncertainty, table: NDArray[np.float64]) -> Drawer:
    """Return what draws by calibrated doubt, and by the drift where it is outside the domain.

    Outside, a law is off in one direction for all.
    """
    rows, index = distinct_rows(table)
    shifter = known.doubt.shifter(model, rows)
    drift = np.zeros(len(rows))
    if known.drift is not None:
        drift = known.drift.deviation(model.domain_, rows)
    of_noise = np.full(1, max(known.count - 1.0, 1.0))  # the noise of all rows is one
    normal = Shifter(
        lambda rng: shifter.normal(rng) + drift * rng.standard_normal(), shifter.freedom
    )
    return Drawer(normal, index, of_noise, np.zeros(len(rows)))
