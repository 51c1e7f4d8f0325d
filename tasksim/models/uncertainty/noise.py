"""Noise of measurements: how far equal tasks differ, by how long they take."""

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
SURE: Final = 2.0
"""In standard errors: a slope nearer to 0 is none."""
STEEPEST: Final = 1.0
"""Noise of a fixed time, as of interrupts, falls with the duration; nothing is known to be
steeper."""
LEAST: Final = 1e-9
"""No duration is known better: clocks have nine digits. Residuals of exactly 0 have no
logarithm."""


@dataclass(frozen=True)
class Noise:
    """The standard deviation of the logarithm of a measurement, by the duration that is expected.

    deviation·(duration/center)^slope, with the duration held between *low_s* and *high_s*, where
    there were samples.
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
        """Return what residuals ln(measured / expected) say.

        A line through ln abs(residual), which outliers hardly move; flat unless the slope is two
        standard errors from 0.
        """
        size = np.abs(residual)
        log_size = np.log(np.maximum(size, max(1e-3 * float(np.median(size)), LEAST)))
        logs = np.log(expected_s)
        centered = logs - logs.mean()
        squares = float(centered @ centered)
        slope = float(centered @ log_size) / squares if squares > LEAST else 0.0
        if abs(slope) * squares**0.5 < SURE * NORMAL_LOG_DEVIATION:
            slope = 0.0
        slope = float(np.clip(slope, -STEEPEST, STEEPEST))
        scaled = size * np.exp(-slope * centered)
        deviation = max(float(np.median(scaled)) / NORMAL_MEDIAN, LEAST)
        bounds = float(expected_s.min()), float(expected_s.max())
        return cls(deviation, slope, float(np.exp(logs.mean())), *bounds)
