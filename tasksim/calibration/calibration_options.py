"""Options of a calibration, such as measuring time, precision and schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tasksim.base.arguments import positive_number, whole_number
from tasksim.base.errors import InputError, option

__all__ = ["CALIBRATION_SCHEDULERS", "CalibrationOptions", "StopReason"]

CALIBRATION_SCHEDULERS: Final = ("lws", "eager")
"""Schedulers for runs of graphs: one keeps data near and one does not, so that their difference
shows the cost of far data."""

StopReason = Literal["tolerance", "total", "limit"]
"""Reason to stop: the mean is known; the kernel's total time is known, for a linear model; the time
limit."""


@dataclass(frozen=True)
class CalibrationOptions:
    """Stopping criteria and other options of a calibration.

    A configuration (a kernel with exact parameters) is known well enough when Student's interval of
    its mean is within *tolerance* of the mean, and it has *min_samples* samples from *min_runs*
    runs. The interval is over the means of the runs: samples of one run resemble each other, and
    would make the mean look more precise than it is.

    Where tasks hardly repeat a configuration, this would never happen. A kernel with a linear
    model, measured in runs of graphs, is known well enough as soon as the total time of its tasks
    is: Student's interval of its mean over runs is within *tolerance*, from *min_runs* runs, at
    least two per graph (:func:`~tasksim.calibration.precision.total_time`). This bounds the error
    of the level of the model's predictions, not of its terms. As in Critter, the quantity that
    counts is the prediction from all durations, not each duration (E. Hutter and E. Solomonik,
    "Accelerating distributed-memory autotuning via statistical analysis of execution paths",
    IPDPS 2021); the intervals are Student's, over runs, where Critter's are normal, over samples.

    Parameters
    ----------
    tolerance : float, default 0.02
        Largest half width of the interval of a mean, relative to the mean.
    confidence : float, default 0.95
        Level of the interval.
    min_samples : int, default 10
        Fewest samples of a configuration.
    min_runs : int, default 5
        Fewest runs that they come from.
    max_seconds : float, default 60.0
        Longest time of measuring, in seconds.
    schedulers : tuple of str, default ("lws", "eager")
    seed : int, default 0
        Seed of the data, and of the schedulers' random choices.
    pin : bool, default True
        Pin each thread to a core.
    calm : bool, default False
    makespan : float, optional

    Raises
    ------
    InputError
        If one is out of its limits.

    See Also
    --------
    calibrate : Calibrate with these options.

    Examples
    --------
    >>> CalibrationOptions(max_seconds=2.0, schedulers=("prio",)).tolerance
    0.02
    """

    tolerance: float = 0.02
    confidence: float = 0.95
    min_samples: int = 10
    min_runs: int = 5
    max_seconds: float = 60.0
    schedulers: tuple[str, ...] = CALIBRATION_SCHEDULERS
    """Schedulers for runs of graphs, in turn. For predictions under one scheduler, use it alone: a
    stencil's sweeps took 12 to 25 % longer under lws than under eager."""
    seed: int = 0
    pin: bool = True
    calm: bool = False
    """Whether runs of graphs count only if they were made in calm moments, when no other program
    used the cores (:mod:`tasksim.native.calm_moments`)."""

    makespan: float | None = None
    """Relative precision of the graph's mean makespan to reach: its kernels are then measured
    alone, each time the one that the makespan depends on most
    (:mod:`tasksim.calibration.steering`)."""

    def __post_init__(self) -> None:
        until: object = self.makespan
        legal = isinstance(until, int | float) and 0 < until < 1  # True is 1
        if until is not None and not legal:
            raise InputError(f"makespan: got {until!r}; legal: above 0 and below 1, as 0.02")
        # An interval of width 0 is never reached: samples of a clock always differ.
        positive_number(self.tolerance, option("tolerance"), "2% or 0.02")
        positive_number(self.max_seconds, "max_seconds", "60.0")
        whole_number(self.min_samples, "min_samples", 1)
        whole_number(self.min_runs, "min_runs", 1)
        given: object = self.schedulers
        if not (isinstance(given, tuple) and given and all(isinstance(n, str) for n in given)):
            raise InputError(
                f"schedulers: got {given!r}; legal: names in a tuple, as ('lws', 'eager')"
            )
