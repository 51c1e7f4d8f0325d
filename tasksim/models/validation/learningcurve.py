"""Learning curves: the error on configurations left out, over the number of those fitted."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.quantiles import group_means
from tasksim.models.validation.crossvalidation import fold_of_each, predicted_where_possible
from tasksim.models.validation.metrics import log_errors

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.base.progress import ShareProgress
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["LearningCurve", "learning_curve"]

DIVISORS: Final = (8, 4, 2)
"""Divisors of the number of configurations: an eighth, a quarter and half of them are fitted."""
MIN_CONFIGURATIONS: Final = 16
"""Smallest number of configurations fitted: models of fewer are of another kind, so to speak."""
MAX_CONFIGURATIONS: Final = 1024
"""Largest number of configurations fitted: fits of learned models to more take seconds. Of more
than twice as many, the parts are those of twice as many."""
MAX_FITS: Final = 3
"""Number of fits to small parts, each to other configurations: their errors vary the most."""
LIMIT_S: Final = 5.0
"""Processor time in seconds after which no other fit is begun."""
STANDARD_ERRORS: Final = 2.0
"""Number of standard errors by which two errors differ significantly."""


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Errors on the same configurations left out, by models of more and more configurations.

    Attributes
    ----------
    configurations
        Numbers of configurations fitted, each twice the one before or nearly so.
    errors
        float64 [numbers, configurations left out]: abs(ln(predicted / measured)).
    reason
        Why there is no curve, or why it ends early; empty if it is whole.
    """

    configurations: tuple[int, ...]
    errors: Floats
    reason: str = ""

    @property
    def mlogq(self) -> Floats:
        """The mean error of each number."""
        return np.asarray(self.errors.mean(axis=1))

    @property
    def standard_errors(self) -> Floats:
        """The standard error of each mean; NaN of a single configuration left out."""
        count = self.errors.shape[1]
        if count < 2:
            return np.full(len(self.errors), np.nan)
        return np.asarray(self.errors.std(axis=1, ddof=1) / np.sqrt(count))

    def gain(self) -> float | None:
        """Return the error after the last doubling relative to before; None if it did not fall.

        It fell if the mean difference on the same configurations is two standard errors or more.
        """
        if len(self.configurations) < 2 or self.errors.shape[1] < 2:
            return None
        fell = self.errors[-2] - self.errors[-1]
        error = float(fell.std(ddof=1)) / np.sqrt(len(fell))
        if not fell.mean() > STANDARD_ERRORS * error:
            return None
        # The last two numbers may be other than a doubling apart, after rounding.
        ratio = float(self.mlogq[-1] / self.mlogq[-2])
        doublings = np.log2(self.configurations[-1] / self.configurations[-2])
        return float(ratio ** (1 / doublings))


def learning_curve(
    model: KernelModel,
    samples: Samples,
    *,
    seed: int = 0,
    limit_s: float = LIMIT_S,
    progress: ShareProgress | None = None,
) -> LearningCurve:
    """Return the learning curve of models with the options of *model*.

    A fifth of the configurations is left out of all fits. An eighth of the configurations, a
    quarter and half of them are fitted, each part where it has 16 or more; errors of up to three
    fits to other configurations are averaged. Configurations that one of them cannot predict do
    not count. Once the limit of processor time is used up, no other fit is begun.
    """
    rows, group = samples.without([CLOCK_PARAMETER]).configurations()
    count = len(rows)
    if model.exact:
        return _none(f"{model.kind} predicts only what was measured")
    if count < DIVISORS[-2] * MIN_CONFIGURATIONS:
        least = DIVISORS[-2] * MIN_CONFIGURATIONS
        return _none(f"it takes {least} configurations or more, got {count}")
    out = fold_of_each(count, seed=seed) == 0
    order = np.random.default_rng(seed).permutation(np.flatnonzero(~out))
    held_out = samples.select(out[group])
    table, of = held_out.configurations()
    measured = group_means(held_out.durations_s, of)
    most = min(count, DIVISORS[-1] * MAX_CONFIGURATIONS)
    sizes = [most // part for part in DIVISORS if most // part >= MIN_CONFIGURATIONS]
    begun, done = time.process_time(), 0
    # The parts of a size are disjoint, and no more than the largest part has.
    plan = [(size, turn) for size in sizes for turn in range(min(MAX_FITS, sizes[-1] // size))]
    found: dict[int, list[Floats]] = {}
    reason = ""
    for size, turn in plan:
        if progress is not None:
            progress(f"learning curve: {size} configurations", done / len(plan))
        done += 1
        if time.process_time() - begun > limit_s:
            reason = f"it ends before {size} configurations: fits took {limit_s:g} s already"
            break
        part = np.isin(group, order[turn * size : (turn + 1) * size])
        try:
            fitted = model.refitted(samples.select(part))
        except TasksimError:
            continue
        predicted = predicted_where_possible(fitted, table)
        found.setdefault(size, []).append(log_errors(predicted, measured, np.nan))
    return _curve(found, reason)


def _curve(found: dict[int, list[Floats]], reason: str) -> LearningCurve:
    """Return the curve of the errors of each fit, by number of configurations."""
    if not found:
        return _none(reason or "no part of the configurations could be fitted")
    errors = np.array([np.mean(each, axis=0) for each in found.values()])
    known = np.isfinite(errors).all(axis=0)
    if not known.any():
        return _none("models of parts of the configurations predict none of those left out")
    return LearningCurve(tuple(found), errors[:, known], reason)


def _none(reason: str) -> LearningCurve:
    return LearningCurve((), np.empty((0, 0)), reason)
