"""Model cells: estimates of a kernel's duration for one size from other sizes of the kernel.

This goes beyond the paper, where kernels of other sizes are other kernels. A kernel's duration is
modelled as a power of its number of operations, fitted to the measured sizes. The scatter of the
sizes about that line gives the interval for one more size.
"""

from __future__ import annotations

from math import exp, expm1, inf, log, prod, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.graph.flop import flop, flop_kernels
from tasksim.native.selective.statistics import quantile

if TYPE_CHECKING:
    from tasksim.native.selective.statistics import Signature, Statistics

__all__ = ["Told", "told_by_others"]

MIN_SIZES: Final = 3
"""Smallest number of sizes: two define the line, the third shows the scatter about it."""
MIN_SAMPLES: Final = 2
"""Smallest number of samples of a size: a single one may be an outlier."""


class Told(NamedTuple):
    """Estimate from other sizes: the mean, and the relative half-width of its interval."""

    mean_s: float
    half_width: float


NO_ESTIMATE: Final = Told(0.0, inf)


def told_by_others(statistics: Statistics, signature: Signature) -> Told:
    """Return the estimate for *signature* from other sizes of its kernel; infinite width: none.

    Examples
    --------
    >>> from tasksim.native.selective.statistics import Signature, Statistics
    >>> known = Statistics()
    >>> for n in (10, 20, 40, 80):
    ...     for seconds in (0.99e-9 * n**3, 1.01e-9 * n**3):
    ...         known.add(Signature("potrf", (("n", n),)), seconds)
    >>> told = told_by_others(known, Signature("potrf", (("n", 30),)))
    >>> round(told.mean_s * 1e6, 6), told.half_width < 1e-9
    (27.0, True)
    """
    others = [
        (_work(other), summary.mean_s)
        for other, summary in statistics.summaries.items()
        if _alike(other, signature) and summary.count >= MIN_SAMPLES and summary.mean_s > 0
    ]
    at = _work(signature)
    if len({work for work, _ in others}) < MIN_SIZES or min(at, *(w for w, _ in others)) <= 0:
        return NO_ESTIMATE
    x, y = np.log(np.array(others)).T
    shift = x - x.mean()
    slope = float(shift @ y / (shift @ shift))
    rest = y - y.mean() - slope * shift
    degrees = len(x) - 2
    away = log(at) - float(x.mean())
    # Prediction interval, not the line's confidence interval: the scatter of one more size counts.
    error = sqrt(float(rest @ rest) / degrees * (1 + 1 / len(x) + away**2 / float(shift @ shift)))
    # The bound keeps the exponential finite.
    width = expm1(min(50.0, quantile(statistics, degrees) * error))
    return Told(exp(float(y.mean()) + slope * away), width)


def _alike(one: Signature, other: Signature) -> bool:
    """Return whether two signatures are different sizes of one kernel."""
    names = [tuple(name for name, _ in s.parameters) for s in (one, other)]
    same = (one.kernel, one.dtype) == (other.kernel, other.dtype)
    return same and names[0] == names[1] and one != other


def _work(signature: Signature) -> float:
    """Return the operations of a kernel; if unknown, the product of its sizes."""
    sizes = dict(signature.parameters)
    if signature.kernel in flop_kernels():
        return float(flop(signature.kernel, **sizes))
    return float(prod(sizes.values())) if sizes else 0.0
