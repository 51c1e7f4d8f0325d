"""Cross-validation: predictions of a kind of model for samples left out of its fits.

Kinds that predict only measured configurations, or refuse to extrapolate, are supported, too.
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

    from tasksim.models.fitted import FittedModel
    from tasksim.models.samples import Samples

__all__ = ["FOLDS", "By", "LeftOut", "left_out", "predicted_where_possible"]

By = Literal["configuration", "sample"]

FOLDS: Final = 5
"""Number of folds: Breiman and Spector (1992) found 5 and 10 equally good, and 10 take twice as
long."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions for samples by models that were not fitted to them.

    Attributes
    ----------
    predicted_s
        float64 [samples]; NaN if no model could predict.
    by
        The unit left out: whole configurations, or samples of configurations of which
        others were kept.
    """

    predicted_s: NDArray[np.float64]
    by: By

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which samples were predicted."""
        return np.isfinite(self.predicted_s)

    def errors(self, samples: Samples) -> NDArray[np.float64]:
        """Return abs(ln(predicted / measured)) per configuration, NaN if unknown.

        If whole configurations were left out, predictions are compared with the mean of the
        samples; otherwise the errors of the samples are averaged.
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


def left_out(model: FittedModel, samples: Samples, *, folds: int = FOLDS, seed: int = 0) -> LeftOut:
    """Return the predictions of models with the options of *model* for samples left out of fits.

    Whole configurations are left out, since a model that has seen some repetitions of one knows
    the others. Kinds that predict only measured configurations (history)
    are tested by leaving out samples.

    Parameters
    ----------
    model
        Provides kind and options; it is not changed.
    folds
        Number of folds, each with a fit; fewer if there are fewer configurations.
    seed
        The seed of the folds.

    Raises
    ------
    TasksimError
        The error of the first fit, if all of them fail.
    """
    # A configuration at another clock counts as the same configuration.
    rows, group = without_clock(samples).configurations()
    if len(rows) > 1:
        predicted = _by_folds(model, samples, fold_of_each(len(rows), folds, seed)[group])
        if np.isfinite(predicted).any():
            return LeftOut(predicted, "configuration")
    return LeftOut(_by_folds(model, samples, _fold_of_samples(group, folds, seed)), "sample")


def _fold_of_samples(group: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """Return folds such that the samples of each group are spread over them."""
    order = np.random.default_rng(seed).permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    # Counting continues from group to group: otherwise the first fold would get most of the samples
    # of small groups.
    fold = np.empty(len(group), dtype=np.intp)
    fold[order] = np.arange(len(group)) % folds
    return fold


def _by_folds(model: FittedModel, samples: Samples, fold: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the predictions for each fold; NaN if its model fails, unless all fail."""
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


def predicted_where_possible(model: FittedModel, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return predictions; NaN for rows outside, if the model refuses them."""
    try:
        return model.predict(table)
    except OutOfDomainError:
        predicted = np.full(len(table), np.nan)
        inside = model.inside(table)
        if inside.any():
            predicted[inside] = model.predict(table[inside])
        return predicted
