"""Noise of measurements: the variation of equal tasks, as a function of their duration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Noise"]

NORMAL_MEDIAN: Final = 0.6745
"""The median of abs(z) for a standard normal z."""
NORMAL_LOG_DEVIATION: Final = 1.11
"""The standard deviation of ln abs(z) for a standard normal z."""
MIN_SLOPE_STANDARD_ERRORS: Final = 2.0
"""Standard errors below which a slope counts as 0."""
MAX_SLOPE: Final = 1.0
"""Largest absolute slope: noise of a fixed time, such as interrupts, falls with the duration; no
noise is known to be steeper."""
MIN_DEVIATION: Final = 1e-9
"""Smallest relative deviation: clocks have nine digits, and residuals of exactly 0 have no
logarithm."""


@dataclass(frozen=True)
class Noise:
    """The standard deviation of the logarithm of a measurement, by its expected duration.

    deviation·(duration/center)^slope, with the duration clipped to the range of the samples,
    *low_s* to *high_s*.
    """

    deviation: float
    slope: float
    center_s: float
    low_s: float
    high_s: float

    def __call__(self, expected_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the deviation at each expected duration."""
        held = np.clip(expected_s, self.low_s, self.high_s)
        return np.asarray(self.deviation * (held / self.center_s) ** self.slope)

    @classmethod
    def of(cls, residual: NDArray[np.float64], expected_s: NDArray[np.float64]) -> Self:
        """Estimate the noise from residuals ln(measured / expected).

        A line is fitted to ln abs(residual), which is robust to outliers; it is flat unless
        the slope is at least two standard errors from 0.
        """
        size = np.abs(residual)
        log_size = np.log(np.maximum(size, max(1e-3 * float(np.median(size)), MIN_DEVIATION)))
        logs = np.log(expected_s)
        centered = logs - logs.mean()
        squares = float(centered @ centered)
        slope = float(centered @ log_size) / squares if squares > MIN_DEVIATION else 0.0
        if abs(slope) * squares**0.5 < MIN_SLOPE_STANDARD_ERRORS * NORMAL_LOG_DEVIATION:
            slope = 0.0
        slope = float(np.clip(slope, -MAX_SLOPE, MAX_SLOPE))
        scaled = size * np.exp(-slope * centered)
        deviation = max(float(np.median(scaled)) / NORMAL_MEDIAN, MIN_DEVIATION)
        bounds = float(expected_s.min()), float(expected_s.max())
        return cls(deviation, slope, float(np.exp(logs.mean())), *bounds)
