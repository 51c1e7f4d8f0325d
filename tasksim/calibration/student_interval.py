"""Student's interval of a mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["relative_half_width"]


def relative_half_width(samples: ArrayLike, confidence: float = 0.95) -> float:
    """Return the half-width of Student's interval of the mean, relative to the mean.

    It is infinite for fewer than two samples. The quantile is Student's, not the normal one, so
    that a handful of samples does not look more precise than it is.

    >>> round(relative_half_width([9.0, 10.0, 11.0]), 4)
    0.2484
    """
    from scipy.special import stdtrit

    values = np.asarray(samples, dtype=np.float64)
    count = len(values)
    if count < 2:
        return float("inf")
    quantile = stdtrit(count - 1, 0.5 + confidence / 2)
    return float(quantile * values.std(ddof=1) / np.sqrt(count) / values.mean())
