"""Types of NumPy arrays, for annotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Indices", "Ints"]

Floats = NDArray[np.float64]
"""Numbers: durations, parameters, coefficients."""
Ints = NDArray[np.int64]
"""Whole numbers: counts, handles, tasks, runs."""
Indices = NDArray[np.intp]
"""Positions in other arrays, such as the group of each sample."""
Bools = NDArray[np.bool_]
"""Masks."""
