"""Cross-validation: what a kind of model predicts for samples left out of its fits.

Also for kinds that know nothing but what was measured, and for those that refuse to extrapolate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.base.errors import OutOfDomainError, TasksimError
from tasksim.models.counters.clocks import without_clock
from tasksim.models.groups import group_means
from tasksim.models.validation.folds import fold_of_each
from tasksim.models.validation.metrics import log_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["FOLDS", "By", "LeftOut", "left_out", "predicted_where_possible"]

By = Literal["configuration", "sample"]

FOLDS: Final = 5
"""Breiman and Spector (1992) found 5 and 10 as good, and 10 take twice as long."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions for samples by models that had not seen them.

    Attributes
    ----------
    predicted_s
        float64 [samples]; NaN where no model could predict.
    by
        What was left out together: whole configurations, or samples of configurations of which
        others were kept.
    """

    predicted_s: NDArray[np.float64]
    by: By

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which samples were predicted."""
        return np.isfinite(self.predicted_s)

    def errors(self, samples: Samples) -> NDArray[np.float64]:
        """Return abs(ln(predicted / measured)) per configuration, NaN where it is not known.

        Of configurations left out as a whole, the mean of the samples is what was measured; else
        it is the mean over the samples.
        """
        known = self.known
        rows, group = samples.configurations()
        measured = samples.durations_s
        if self.by == "configuration":
            measured = group_means(measured, group)[group]
        found = np.full(len(rows), np.nan)
        if known.any():
            error = np.abs(log_ratio(self.predicted_s[known], measured[known]))
            count = np.bincount(group[known], minlength=len(rows))
            total = np.bincount(group[known], weights=error, minlength=len(rows))
            found[count > 0] = total[count > 0] / count[count > 0]
        return found


def left_out(model: KernelModel, samples: Samples, *, folds: int = FOLDS, seed: int = 0) -> LeftOut:
    """Return what models with the options of *model* predict for samples left out of their fit.

    Configurations are left out as a whole, since repetitions of one are alike: a model that has
    seen some of them knows the others. Kinds that know nothing but what was measured (history)
    are judged by leaving out samples.

    Parameters
    ----------
    model
        Gives kind and options; it is not changed.
    folds
        How many models are fitted; fewer if there are not as many configurations.
    seed
        Of the folds.

    Raises
    ------
    TasksimError
        What the fits raise, if none of them succeeds.
    """
    # A configuration at another clock is no other configuration.
    rows, group = without_clock(samples).configurations()
    if len(rows) > 1:
        predicted = _by_folds(model, samples, fold_of_each(len(rows), folds, seed)[group])
        if np.isfinite(predicted).any():
            return LeftOut(predicted, "configuration")
    return LeftOut(_by_folds(model, samples, _fold_of_samples(group, folds, seed)), "sample")


def _fold_of_samples(group: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """Return folds over which the samples of each group are spread."""
    order = np.random.default_rng(seed).permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    # Counted on from group to group: with few samples in each, the first fold would get most.
    fold = np.empty(len(group), dtype=np.intp)
    fold[order] = np.arange(len(group)) % folds
    return fold


def _by_folds(model: KernelModel, samples: Samples, fold: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the predictions for each fold; NaN where its model refuses, unless all do."""
    predicted = np.full(len(samples), np.nan)
    refusal: TasksimError | None = None
    fitted_any = False
    for index in np.unique(fold):
        out = fold == index
        if out.all():
            continue
        try:
            fitted = model.refitted(samples.select(~out))
        except TasksimError as error:
            refusal = refusal or error
            continue
        fitted_any = True
        predicted[out] = predicted_where_possible(fitted, samples.parameters[out])
    if refusal is not None and not fitted_any:
        raise refusal
    return predicted


def predicted_where_possible(model: KernelModel, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return predictions; NaN for rows outside, if the model refuses those."""
    try:
        return model.predict(table)
    except OutOfDomainError:
        predicted = np.full(len(table), np.nan)
        inside = model.inside(table)
        if inside.any():
            predicted[inside] = model.predict(table[inside])
        return predicted
