"""Non-negative least squares that terminate, even for nearly collinear columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["non_negative"]


def non_negative(design: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least-squares coefficients under the constraint that none is negative.

    With nearly collinear columns the active-set method can cycle; the best solution of bounded
    least squares is then returned. The columns should be of about the same size.

    >>> non_negative(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0])).tolist()
    [1.5, 0.0]
    """
    from scipy.optimize import lsq_linear, nnls

    try:
        return np.asarray(nnls(design, values)[0])
    # nnls raises this when it exceeds its iterations.
    except RuntimeError:
        found = lsq_linear(design, values, bounds=(0.0, np.inf), method="bvls")
        return np.maximum(found.x, 0.0)
