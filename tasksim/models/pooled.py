"""Predictions for categories that were not measured, pooled over those that were."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.models.fitted import FittedModel

__all__ = ["pooled_interval", "pooled_mean"]


def pooled_mean(model: FittedModel, table: Floats) -> Floats:
    """Return predictions, for unknown categories the geometric mean over all measured ones.

    *table* has the numbers of categories, ``UNSEEN`` for those that are not known.
    """
    known = model.knows(table)
    result = np.empty(len(table))
    result[known] = model.predict(table[known])
    for row in np.flatnonzero(~known).tolist():
        result[row] = np.exp(np.log(model.predict(_with_measured(model, table[row]))).mean())
    return result


def pooled_interval(model: FittedModel, table: Floats, level: float) -> tuple[Floats, Floats]:
    """Return intervals, for unknown categories from the lowest to the highest bound of all.

    Another category may be as fast as the fastest and as slow as the slowest one.
    """
    known = model.knows(table)
    low, high = np.empty(len(table)), np.empty(len(table))
    low[known], high[known] = model.interval(table[known], level)
    for row in np.flatnonzero(~known).tolist():
        lows, highs = model.interval(_with_measured(model, table[row]), level)
        low[row], high[row] = lows.min(), highs.max()
    return low, high


def _with_measured(model: FittedModel, row: Floats) -> Floats:
    """Return copies of *row* with all measured categories in place of unknown ones."""
    choices = []
    for value, name in zip(row.tolist(), model.names_, strict=True):
        categories, lacking = model.categories_.get(name, ()), model.unmeasured_.get(name, ())
        measured = [float(i) for i, other in enumerate(categories) if other not in lacking]
        choices.append([value] if not categories or value in measured else measured)
    return np.array(list(product(*choices)))
