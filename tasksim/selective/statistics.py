"""Statistics of kernels, with measured durations per signature and the precision of means.

A signature is a kernel with its exact parameters; other sizes are other kernels. Model cells
(:func:`estimate_from_sizes`) go beyond the paper: a kernel's duration is modelled as a power of its
number of operations, fitted to the measured sizes, and the scatter of the sizes about that line
gives the interval for one more size.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, expm1, inf, log, prod, sqrt
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.base.errors import InputError
from tasksim.graph.flop import flop, flop_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats
    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "CONFIDENCE_LEVEL",
    "INTERVALS",
    "Intervals",
    "Signature",
    "SignatureSummary",
    "SizeEstimate",
    "Statistics",
    "estimate_from_sizes",
    "quantile",
    "quantiles",
    "signatures",
]


Intervals = Literal["student", "normal"]
INTERVALS: Final = ("student", "normal")
CONFIDENCE_LEVEL: Final = 0.95
"""Default confidence level, that of the paper."""


class Signature(NamedTuple):
    """A kernel, its exact parameters, and the data type of its computation.

    *touches* marks tasks that are the first to access some of their data; they take longer.
    """

    kernel: str
    parameters: tuple[tuple[str, float], ...]
    dtype: str = ""
    touches: bool = False

    def __str__(self) -> str:
        given = " ".join(f"{name}={value:g}" for name, value in self.parameters)
        return f"{self.kernel} {given}".strip() + (", first touch" if self.touches else "")


class SignatureSummary:
    """Durations of a signature, in the order of their measurement, with their mean and scatter."""

    __slots__ = ("_squares", "mean_s", "samples_s")

    def __init__(self) -> None:
        self.samples_s: list[float] = []
        self.mean_s = 0.0
        self._squares = 0.0

    def add(self, seconds: float) -> None:
        """Add a duration (Welford's recurrence)."""
        self.samples_s.append(seconds)
        shift = seconds - self.mean_s
        self.mean_s += shift / self.count
        self._squares += shift * (seconds - self.mean_s)

    @property
    def count(self) -> int:
        """Number of durations."""
        return len(self.samples_s)

    @property
    def deviation_s(self) -> float:
        """Standard deviation of the sample; 0 for a single duration."""
        return sqrt(self._squares / (self.count - 1)) if self.count > 1 else 0.0


class Statistics:
    """Statistics of signatures, shared by all workers of a node.

    Parameters
    ----------
    intervals : {"student", "normal"}
        Kind of quantile: Student's for the number of samples, or normal, as in the paper.
    level : float, default 0.95
        Confidence level of the interval of a mean.
    cells : bool, default False
        Whether other sizes of a kernel may make one known (:mod:`tasksim.selective.statistics`).

    Examples
    --------
    >>> known, gemm = Statistics(), Signature("gemm", (("n", 4.0),))
    >>> for seconds in (9.0, 10.0, 11.0):
    ...     known.add(gemm, seconds)
    >>> known.mean_s(gemm), round(known.half_width(gemm), 3)
    (10.0, 0.248)
    """

    def __init__(
        self,
        intervals: Intervals = "student",
        level: float = CONFIDENCE_LEVEL,
        *,
        cells: bool = False,
    ) -> None:
        one_of(intervals, INTERVALS, "intervals")
        if not 0 < level < 1:
            raise InputError(f"confidence={level}; legal: more than 0, less than 1")
        self.intervals = intervals
        self.level = level
        self.cells = cells
        _quantile(1, level)  # import SciPy now: that takes longer than a run
        self.summaries: dict[Signature, SignatureSummary] = {}

    def add(self, signature: Signature, seconds: float) -> None:
        """Add a duration of a signature."""
        self.summaries.setdefault(signature, SignatureSummary()).add(seconds)

    def count(self, signature: Signature) -> int:
        """Return the number of durations of a signature."""
        found = self.summaries.get(signature)
        return 0 if found is None else found.count

    def mean_s(self, signature: Signature) -> float:
        """Return the mean duration of a measured signature."""
        return self.summaries[signature].mean_s

    def samples_s(self, signature: Signature) -> Sequence[float]:
        """Return the durations of a signature, in the order of their measurement."""
        found = self.summaries.get(signature)
        return () if found is None else found.samples_s

    def half_width(self, signature: Signature) -> float:
        """Return the half-width of the interval relative to the mean; infinite for one sample."""
        found = self.summaries.get(signature)
        if found is None or found.count < 2:
            return inf
        error_s = quantile(self, found.count - 1) * found.deviation_s / sqrt(found.count)
        return error_s / found.mean_s if found.mean_s > 0 else (inf if error_s > 0 else 0.0)

    def reset(self) -> None:
        """Forget everything."""
        self.summaries.clear()


MAX_DEGREES: Final = 1000
"""Maximum number of degrees of freedom with a quantile of its own: from there on, Student's is
within 0.2 % of the normal one."""


def quantile(statistics: Statistics, degrees: int) -> float:
    """Return the quantile for *degrees* degrees of freedom."""
    known = min(degrees, MAX_DEGREES)
    return _quantile(known if statistics.intervals == "student" else 0, statistics.level)


def quantiles(statistics: Statistics) -> Floats:
    """Return the quantiles by degrees of freedom; the one for 0 degrees is infinite."""
    return _quantiles(statistics.intervals, statistics.level)


@lru_cache(maxsize=16)
def _quantiles(intervals: Intervals, level: float) -> Floats:
    from scipy.special import ndtri, stdtrit

    degrees = np.arange(MAX_DEGREES + 1)
    found: Floats
    if intervals == "normal":
        found = np.full(len(degrees), float(ndtri(0.5 + level / 2)))
    else:
        found = np.asarray(stdtrit(np.maximum(degrees, 1), 0.5 + level / 2), dtype=np.float64)
    found[0] = inf
    return found


@lru_cache(maxsize=4096)
def _quantile(degrees: int, level: float) -> float:
    """Return the quantile of Student's distribution; with 0 degrees, of the normal one."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(degrees, 0.5 + level / 2) if degrees else ndtri(0.5 + level / 2))


def signatures(graph: TaskGraph, *, apart: bool = False) -> tuple[list[Signature], list[int]]:
    """Return the signatures of a graph, and the index of each task's signature.

    With *apart*, tasks that are the first to touch some data have signatures of their own.
    """
    dtype = str(graph.arguments.get("dtype", ""))
    rows = [len(table) for table in graph.parameters]
    first = np.concatenate(([0], np.cumsum(rows)))
    found = [
        _signature(graph, kernel, values, dtype)
        for kernel, table in enumerate(graph.parameters)
        for values in table.tolist()
    ]
    places = first[graph.kernel] + graph.row
    if not apart:
        return found, places.tolist()
    # A task touches data if it is the first, as submitted, to access some of them.
    first_access = np.unique(graph.access_handle, return_index=True)[1]
    touches = np.zeros(len(graph), dtype=np.bool_)
    touches[np.searchsorted(graph.access_ptr, first_access, side="right") - 1] = True
    both = [*found, *(signature._replace(touches=True) for signature in found)]
    used, of_task = np.unique(places + len(found) * touches, return_inverse=True)
    return [both[place] for place in used.tolist()], of_task.ravel().tolist()


def _signature(graph: TaskGraph, kernel: int, values: Sequence[float], dtype: str) -> Signature:
    """Return the signature of a configuration; categories are part of the kernel's name.

    Sizes of one category tell nothing about another.
    """
    categories = graph.categories.get(graph.kernels[kernel], {})
    name, sizes = graph.model_names[kernel], []
    for parameter, value in zip(graph.parameter_names[kernel], values, strict=True):
        if parameter in categories:
            name += f" {parameter}={categories[parameter][int(value)]}"
        else:
            sizes.append((parameter, float(value)))
    return Signature(name, tuple(sizes), dtype)


MIN_SIZES: Final = 3
"""Minimum number of sizes: two define the line, the third shows the scatter about it."""
MIN_SAMPLES: Final = 2
"""Minimum number of samples of a size: a single one may be an outlier."""


class SizeEstimate(NamedTuple):
    """Estimate from other sizes, with the mean and the relative half-width of its interval."""

    mean_s: float
    half_width: float


NO_ESTIMATE: Final = SizeEstimate(0.0, inf)


def estimate_from_sizes(statistics: Statistics, signature: Signature) -> SizeEstimate:
    """Return the estimate for *signature* from other sizes of its kernel; infinite width: none.

    Examples
    --------
    >>> from tasksim.selective.statistics import Signature, Statistics
    >>> known = Statistics()
    >>> for n in (10, 20, 40, 80):
    ...     for seconds in (0.99e-9 * n**3, 1.01e-9 * n**3):
    ...         known.add(Signature("potrf", (("n", n),)), seconds)
    >>> told = estimate_from_sizes(known, Signature("potrf", (("n", 30),)))
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
    return SizeEstimate(exp(float(y.mean()) + slope * away), width)


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
