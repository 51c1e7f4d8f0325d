"""How well a fitted model says what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.models.quantiles import group_quantiles
from tasksim.models.rows import plain_number
from tasksim.models.validation.metrics import bias, log_ratio, mape, mlogq

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["group_means", "group_medians", "quality"]


def quality(
    samples: Samples,
    rows: NDArray[np.float64],
    inverse: NDArray[np.intp],
    predicted_s: NDArray[np.float64],
) -> dict[str, Any]:
    """Return the errors of *predicted_s*, one per distinct row of the samples.

    Each configuration counts once, with the mean of its samples: a kernel that was measured
    ten thousand times at one size says nothing about the others.
    """
    measured_s = group_means(samples.durations_s, inverse)
    worst = int(np.argmax(np.abs(log_ratio(predicted_s, measured_s))))
    numbers = map(plain_number, rows[worst].tolist())
    return {
        "configurations": len(rows),
        "mlogq": mlogq(predicted_s, measured_s),
        "bias": bias(predicted_s, measured_s),
        "mape": mape(predicted_s, measured_s),
        "worst": {
            "parameters": dict(zip(samples.names, numbers, strict=True)),
            "measured_s": float(measured_s[worst]),
            "predicted_s": float(predicted_s[worst]),
            "error": float(predicted_s[worst] / measured_s[worst] - 1),
        },
    }


def group_means(values: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean of the *values* of each group; none is empty."""
    means: NDArray[np.float64] = np.bincount(groups, weights=values) / np.bincount(groups)
    return means


def group_medians(values: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the median of the *values* of each group; none is empty."""
    return group_quantiles(values, groups, (0.5,))[:, 0]
