"""Means and medians of groups of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.models.quantiles import group_quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["group_means", "group_medians"]


def group_means(values: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean of the *values* of each group; no group may be empty."""
    means: NDArray[np.float64] = np.bincount(groups, weights=values) / np.bincount(groups)
    return means


def group_medians(values: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the median of the *values* of each group; no group may be empty."""
    return group_quantiles(values, groups, (0.5,))[:, 0]
