"""Folds of a cross-validation.

Folds consist of whole configurations (equal rows of parameters), never of repetitions: a model that
has seen other repetitions of a configuration only has to remember it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fold_of_each"]


def fold_of_each(configurations: int, count: int = 5, seed: int = 0) -> NDArray[np.intp]:
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
