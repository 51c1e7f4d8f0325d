"""Non-negative least squares, which end: solutions of problems whose columns are nearly alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["non_negative"]


def non_negative(design: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of least squares that are not negative.

    Columns that are all but sums of each other can go in and out of the solution for ever; then
    the best that bounded least squares have found is taken. They should be of about the same size.

    >>> non_negative(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0])).tolist()
    [1.5, 0.0]
    """
    from scipy.optimize import lsq_linear, nnls

    try:
        return np.asarray(nnls(design, values)[0])
    except RuntimeError:
        found = lsq_linear(design, values, bounds=(0.0, np.inf), method="bvls")
        return np.maximum(found.x, 0.0)
