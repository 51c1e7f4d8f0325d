"""Options of a calibration: how long to measure, under which schedulers, in which moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tasksim.base.arguments import positive_number, whole_number
from tasksim.base.errors import InputError, option

__all__ = ["SCHEDULERS", "CalibrationOptions", "Stop"]

SCHEDULERS: Final = ("lws", "eager")
"""One that keeps data near and one that does not: what far data cost shows between them."""

Stop = Literal["tolerance", "total", "limit"]
"""The mean is known; the total time of the kernel is, whose model is linear; the time was over."""


@dataclass(frozen=True)
class CalibrationOptions:
    """How long to measure.

    A configuration (a kernel with exact parameters) is known well enough when Student's
    interval of its mean is within *tolerance* of the mean, and it has *min_samples* samples from
    *min_runs* runs. The interval is that of the means of the runs: samples of one run are
    alike, and would make the mean look better known than it is.

    Where every task is another configuration, that would never be. A kernel whose model is
    linear is known well enough, when it is measured in runs of graphs, as soon as the total time
    of its tasks is: Student's interval of its mean over runs is within *tolerance*, of *min_runs*
    runs, two at least of each graph (:func:`~tasksim.calibration.total_time.total_time`). That says
    how sure the level of the model's predictions is, not that its terms are right. As in Critter,
    what counts is not each duration but what is predicted from all (E. Hutter and E. Solomonik,
    "Accelerating distributed-memory autotuning via statistical analysis of execution paths",
    IPDPS 2021); the intervals are Student's, over runs, where Critter's are normal, over samples.
    """

    tolerance: float = 0.02
    confidence: float = 0.95
    min_samples: int = 10
    min_runs: int = 5
    max_seconds: float = 60.0
    schedulers: tuple[str, ...] = SCHEDULERS
    """Under which graphs are run, in turn. Where a prediction is for one, that one alone is
    better: a stencil's sweeps took 12 to 25 % longer under lws than under eager."""
    seed: int = 0
    pin: bool = True
    calm: bool = False
    """Whether runs of graphs count only if they were made in calm moments: when nobody else used
    the cores (:mod:`tasksim.native.calm_moments`)."""

    makespan: float | None = None
    """How well to know the mean makespan of the graph, relative: then its kernels are measured by
    themselves, each time the one that it needs most (:mod:`tasksim.calibration.steering`)."""

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
