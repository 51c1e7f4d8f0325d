"""Cross-validation: how well a model predicts configurations that it has not seen.

Folds are of whole configurations (equal rows of parameters), never of repetitions: a model that
has seen other repetitions of a configuration only has to remember it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.metrics import log_ratio
from tasksim.models.quality import group_means

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.models.base import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["CrossValidation", "cross_validate", "fold_of_each", "folds"]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What a kind of model predicted for samples that it was not fitted to.

    Attributes
    ----------
    predicted_s
        float64 [samples], in seconds; NaN for samples that no fold holds.
    fold_mlogq
        float64 [folds], the MLogQ of each fold.
    errors
        float64 [configurations], abs(ln(predicted / measured)) of each configuration that a
        fold holds, measured being the mean of its samples; folds in order, and in each of them
        configurations in lexicographic order.
    mlogq
        Their mean.
    standard_error
        Of that mean, the configurations taken as independent (Breiman, Friedman, Olshen and
        Stone, Classification and Regression Trees, 1984); NaN for a single one.
    """

    predicted_s: NDArray[np.float64]
    fold_mlogq: NDArray[np.float64]
    errors: NDArray[np.float64]
    mlogq: float
    standard_error: float


def folds(samples: Samples, count: int = 5, seed: int = 0) -> list[NDArray[np.intp]]:
    """Return, per fold, the indices of the samples that are left out of its fit, ascending.

    Every sample is in one fold, all samples of a configuration are in the same one, and the
    numbers of configurations differ by at most one. Where there are fewer configurations than
    *count*, there are as many folds as configurations. The same samples, in any order, and the
    same *seed* give the same folds.

    Raises
    ------
    InputError
        For fewer than 2 configurations or folds.

    Examples
    --------
    >>> from tasksim.models.samples import Samples
    >>> samples = Samples(("n",), [[1], [2], [1], [3]], [1.0, 2.0, 1.1, 3.0])
    >>> [fold.tolist() for fold in folds(samples, 3)]
    [[1], [3], [0, 2]]
    """
    rows, inverse = samples.configurations()
    of_sample = fold_of_each(len(rows), count, seed)[inverse]
    return [np.flatnonzero(of_sample == fold) for fold in range(of_sample.max() + 1)]


def fold_of_each(configurations: int, count: int = 5, seed: int = 0) -> NDArray[np.intp]:
    """Return the fold of each configuration, at random, all folds of about the same size.

    Raises :exc:`InputError` for fewer than 2 configurations or folds.
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


def cross_validate(
    make: Callable[[], KernelModel], samples: Samples, folds: Sequence[NDArray[np.intp]]
) -> CrossValidation:
    """Return how well models that *make* returns predict the samples left out of their fits.

    Parameters
    ----------
    make
        Returns a model that is not fitted; called once per fold.
    folds
        Per fold, the indices of the samples left out, as :func:`folds` returns them.

    Raises
    ------
    InputError
        If there are no folds, or one leaves nothing to fit or to predict; and what the model
        raises where it cannot be fitted, or cannot predict what it has not seen.
    """
    if not folds:
        raise InputError("cross-validation needs at least one fold, got none")
    predicted = np.full(len(samples), np.nan)
    errors = []
    for index, fold in enumerate(folds):
        held = np.zeros(len(samples), dtype=bool)
        held[fold] = True
        if held.all() or not held.any():
            raise InputError(
                f"fold {index} holds {int(held.sum())} of {len(samples)} samples: "
                "each fold must leave some out and some in"
            )
        model = make().fit(samples.select(~held))
        predicted[fold] = model.predict(samples.parameters[fold])
        errors.append(_errors(samples.select(fold), predicted[fold]))
    return _collected(predicted, errors)


def _errors(samples: Samples, predicted_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the error of each configuration; equal rows have equal predictions."""
    _, inverse = samples.configurations()
    measured_s = group_means(samples.durations_s, inverse)
    errors: NDArray[np.float64] = np.abs(log_ratio(group_means(predicted_s, inverse), measured_s))
    return errors


def _collected(
    predicted_s: NDArray[np.float64], errors: list[NDArray[np.float64]]
) -> CrossValidation:
    joined = np.concatenate(errors)
    count = len(joined)
    return CrossValidation(
        predicted_s=predicted_s,
        fold_mlogq=np.array([fold.mean() for fold in errors]),
        errors=joined,
        mlogq=float(joined.mean()),
        standard_error=float(joined.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan"),
    )
