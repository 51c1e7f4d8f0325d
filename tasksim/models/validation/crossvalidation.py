"""Cross-validated predictions of a kind of model, for samples left out of its fits.

Kinds that predict only measured configurations, or refuse to extrapolate, are supported, too.

Folds consist of whole configurations (equal rows of parameters), never of repetitions: a model that
has seen other repetitions of a configuration only has to remember it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.base.errors import InputError, OutOfDomainError, TasksimError
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.fitted import columns
from tasksim.models.quantiles import group_means
from tasksim.models.validation.metrics import bias, log_ratio, mape, mlogq

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.models.fitted import FittedModel
    from tasksim.models.samples import Samples

__all__ = [
    "FOLDS",
    "By",
    "Errors",
    "LeftOut",
    "each_left_out",
    "errors_left_out",
    "errors_on",
    "fold_of_each",
    "left_out",
    "own_left_out",
    "predicted_where_possible",
]

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
    tried
        Which samples a fit left out; None: all.
    """

    predicted_s: Floats
    by: By
    tried: Bools | None = None

    @property
    def known(self) -> Bools:
        """Which samples were predicted."""
        return np.isfinite(self.predicted_s)

    def errors(self, samples: Samples) -> Floats:
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


def left_out(
    model: FittedModel,
    samples: Samples,
    *,
    folds: int = FOLDS,
    parts: int | None = None,
    seed: int = 0,
    own: bool = False,
) -> LeftOut:
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
    parts
        Number of folds to leave out, the first ones; None: all of them.
    seed
        The seed of the folds.
    own
        Whether predictions are taken that the fit of *model* to these *samples* made to
        cross-validate itself, if it did.

    Raises
    ------
    TasksimError
        The error of the first fit, if all of them fail.
    """
    if own and (found := own_left_out(model, samples)) is not None:
        return found
    # A configuration at another clock counts as the same configuration.
    rows, group = samples.without([CLOCK_PARAMETER]).configurations()
    if len(rows) > 1:
        fold = fold_of_each(len(rows), folds, seed)[group]
        predicted = _by_folds(model, samples, fold, parts)
        if np.isfinite(predicted).any():
            return LeftOut(predicted, "configuration", None if parts is None else fold < parts)
    # The samples of each configuration are spread over the folds. Counting continues from one to
    # the next: otherwise the first fold would get most of the samples of small groups.
    order = np.random.default_rng(seed).permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    fold = np.empty(len(group), dtype=np.intp)
    fold[order] = np.arange(len(group)) % folds
    predicted = _by_folds(model, samples, fold, parts)
    return LeftOut(predicted, "sample", None if parts is None else fold < parts)


def own_left_out(model: FittedModel, samples: Samples) -> LeftOut | None:
    """Return what the fit of *model* to these *samples* predicted of configurations left out.

    None if it did not cross-validate itself.
    """
    rows, group = samples.configurations()
    found = model._held_out
    if found is None or len(found) != len(rows):
        return None
    return LeftOut(found[group], "configuration", np.isfinite(found)[group])


def _by_folds(model: FittedModel, samples: Samples, fold: Indices, parts: int | None) -> Floats:
    """Return the predictions for each of the first *parts* folds; NaN for others.

    They are NaN, too, where a model fails, unless all fail.
    """
    predicted = np.full(len(samples), np.nan)
    refusal: TasksimError | None = None
    fitted_any = False
    for index in np.unique(fold)[:parts]:
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


def predicted_where_possible(model: FittedModel, table: Floats) -> Floats:
    """Return predictions; NaN for rows outside, if the model refuses them."""
    if model.categories_ and not (known := model.knows(table)).all():
        predicted = np.full(len(table), np.nan)
        if known.any():
            predicted[known] = predicted_where_possible(model, table[known])
        return predicted
    try:
        return model.predict(table)
    except OutOfDomainError:
        predicted = np.full(len(table), np.nan)
        inside = model.inside(table)
        if inside.any():
            predicted[inside] = model.predict(table[inside])
        return predicted


def fold_of_each(configurations: int, count: int = 5, seed: int = 0) -> Indices:
    """Return a random fold for each configuration; all folds have about the same size.

    With fewer configurations than *count*, each has its own fold.
    Raises :exc:`InputError` for fewer than 2 configurations or folds.

    >>> sorted(fold_of_each(7, 3).tolist())
    [0, 0, 0, 1, 1, 2, 2]
    """
    if count < 2:
        raise InputError(f"cross-validation needs at least 2 folds, got {count}")
    if configurations < 2:
        raise InputError(
            "cross-validation needs samples of at least 2 configurations (different parameters), "
            f"got {configurations}; repetitions of one tell nothing about others"
        )
    fold = np.arange(configurations, dtype=np.intp) % min(count, configurations)
    return np.random.default_rng(seed).permutation(fold)


def each_left_out(
    configurations: int, count: int = 5, seed: int = 0, parts: int | None = None
) -> Iterator[Bools]:
    """Yield which configurations each fold leaves out, of the first *parts* folds or of all."""
    fold = fold_of_each(configurations, count, seed)
    for number in range(min(count, configurations))[:parts]:
        yield fold == number


@dataclass(frozen=True)
class Errors:
    """Errors over configurations, each with the mean of its samples.

    ``over`` describes the held-out samples; ``worst`` is the largest abs(ln(predicted /
    measured)); see :mod:`tasksim.models.validation.metrics` for the others.
    """

    over: str
    configurations: int
    mlogq: float
    bias: float
    mape: float
    worst: float


def errors_on(model: FittedModel, samples: Samples, over: str) -> Errors | None:
    """Return the errors of *model* on *samples*; None if it cannot predict any.

    Configurations that the model cannot extrapolate to are not counted.
    """
    rows, group = samples.configurations()
    table = columns(model, samples.names, rows, categories=samples.categories, keep_unseen=True)
    predicted = predicted_where_possible(model, table)
    return _errors(over, predicted, group_means(samples.durations_s, group))


def own_samples(model: FittedModel, samples: Samples) -> Samples:
    """Return *samples* with the parameters of *model* alone, and its numbers of categories."""
    table = columns(model, samples.names, samples.parameters, categories=samples.categories)
    known = {name: of for name, of in model.categories_.items() if name in model.names_}
    return replace(samples, names=model.names_, parameters=table, constants=None, categories=known)


def errors_left_out(model: FittedModel, samples: Samples) -> Errors | None:
    """Return the cross-validated errors on held-out configurations.

    None if the model predicts only configurations it was fitted to, or cannot be fitted to a part
    of the samples.
    """
    if not model.needs_fit:
        return None
    own = own_samples(model, samples)
    try:
        out = left_out(model, own)
    except TasksimError:
        return None
    if out.by != "configuration":
        return None
    group = own.configurations()[1]
    # Whole configurations are left out, so all their samples have one prediction.
    predicted = group_means(out.predicted_s, group)
    return _errors(f"{FOLDS} folds", predicted, group_means(own.durations_s, group))


def _errors(over: str, predicted: Floats, measured: Floats) -> Errors | None:
    known = np.isfinite(predicted) & (predicted > 0)
    if not known.any():
        return None
    p, m = predicted[known], measured[known]
    worst = float(np.abs(log_ratio(p, m)).max())
    return Errors(over, int(known.sum()), mlogq(p, m), bias(p, m), mape(p, m), worst)
