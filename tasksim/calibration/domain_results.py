"""Results of a campaign over a domain: options, samples of a configuration, and a summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from tasksim.base.errors import InputError
from tasksim.base.units import format_time
from tasksim.calibration.clock_resolution import MIN_RESOLUTIONS
from tasksim.calibration.student_interval import relative_half_width

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.calibration.domain import Design
    from tasksim.calibration.domain_steered import Reached
    from tasksim.calibration.timed_executions import ExecutionTimes

__all__ = ["DomainSummary", "MeasureOptions", "Stop", "VisitedConfiguration"]

Stop = Literal["tolerance", "repetitions", "budget"]


@dataclass(frozen=True)
class MeasureOptions:
    """What to measure, and when to stop.

    All configurations are visited *rounds* times. A visit ends when Student's interval (95 %) of
    the mean is within *tolerance* of the mean, after *min_repetitions* at least and *repetitions*
    at most.

    With *until*, a model of a *kind* chooses the next configuration, and the campaign ends when the
    model's mean error over the domain is at most *until*.
    """

    samples: int = 4096
    budget_s: float | None = None
    repetitions: int = 20
    min_repetitions: int = 5
    tolerance: float = 0.05
    rounds: int = 1
    design: Design = "lhs"
    seed: int = 0
    dtype: str | None = None
    until: float | None = None
    kind: str = "auto"

    def __post_init__(self) -> None:
        for name in ("samples", "repetitions", "min_repetitions", "rounds"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)}; legal: at least 1")
        if self.budget_s is not None and not self.budget_s > 0:
            raise InputError(f"budget_s={self.budget_s}; legal: more than 0")
        if not self.tolerance >= 0:
            raise InputError(f"tolerance={self.tolerance}; legal: 0 or more")
        self._check_until()

    def _check_until(self) -> None:
        until: object = self.until
        if until is None:
            return
        if isinstance(until, bool) or not isinstance(until, int | float) or not 0 < until < 1:
            raise InputError(f"until: got {until!r}; legal: above 0 and below 1, as 0.05")
        if self.rounds > 1:
            raise InputError("until: each configuration is visited once; legal: rounds=1")


@dataclass
class VisitedConfiguration:
    """A configuration and its samples."""

    sizes: tuple[int, ...]
    durations_s: list[float] = field(default_factory=list)
    """Durations without time that others took."""
    wall_s: list[float] = field(default_factory=list)
    """Durations by the wall clock."""
    ends: list[int] = field(default_factory=list)
    """Number of samples at the end of each visit."""
    stopped: Stop | None = None
    """Reason for the end of the last visit; None before."""

    @property
    def visit_s(self) -> list[float]:
        """Samples of the current visit."""
        return self.durations_s[self.ends[-1] if self.ends else 0 :]

    def add(self, times: ExecutionTimes) -> None:
        """Add executions."""
        # In this order, an interruption in between leaves no duration without its wall time.
        self.wall_s += times.wall_s.tolist()
        self.durations_s += times.own_s.tolist()

    def end_visit(self, why: Stop, rounds: int) -> None:
        """Note the end of one of *rounds* visits."""
        self.ends.append(len(self.durations_s))
        if len(self.ends) >= rounds:
            self.stopped = why

    def half_width(self) -> float:
        """Return the relative half-width of the mean's interval.

        Samples of one visit resemble each other more than those of several visits: with several
        visits, the interval is over the means of the visits.
        """
        if len(self.ends) < 2:
            return relative_half_width(self.durations_s)
        visits = zip([0, *self.ends[:-1]], self.ends, strict=True)
        return relative_half_width([fmean(self.durations_s[a:b]) for a, b in visits])


@dataclass(frozen=True)
class DomainSummary:
    """Results of a campaign, including earlier runs of it.

    Attributes
    ----------
    kernel
        Name of the kernel's model, which includes the precision.
    wanted, measured
        Number of configurations, and of those with samples.
    samples
        Number of samples.
    stopped
        Reason to stop (``tolerance``, ``repetitions``, ``budget``) -> number of configurations.
    half_width
        Median of the relative half-widths of the means' intervals.
    short
        Number of measured configurations that are shorter than 100 resolutions of the clock.
    model
        Error of the model that steered the campaign, and why it is not smaller; None if none did.
    """

    kernel: str
    output: Path
    wanted: int
    measured: int
    samples: int
    stopped: dict[str, int]
    half_width: float
    resolution_s: float
    short: int
    seconds: float
    interrupted: bool
    model: Reached | None = None

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {why}" for why, count in self.stopped.items() if count)
        model = [] if self.model is None else [f"model           {self.model}"]
        return "\n".join(
            [
                f"kernel          {self.kernel}",
                f"configurations  {self.measured} of {self.wanted} ({ends or 'none'})",
                f"samples         {self.samples}",
                f"precision       {self._precision()}",
                *model,
                f"clock           {format_time(self.resolution_s)} resolution",
                f"time            {format_time(self.seconds)}",
            ]
        )

    def _precision(self) -> str:
        if not isfinite(self.half_width):
            return "unknown: most configurations have one sample"
        return f"+- {100 * self.half_width:.2g} % (median, 95 % of the mean)"

    @property
    def warnings(self) -> list[str]:
        """Warnings for the reader of the samples."""
        if not self.short:
            return []
        limit = format_time(MIN_RESOLUTIONS * self.resolution_s)
        return [
            f"{self.short} of {self.measured} configurations take less than {limit}, "
            f"{MIN_RESOLUTIONS} resolutions of the clock: the call and the clock are a good part "
            "of their durations"
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        model = self.model and self.model.to_json()
        return {**data, "output": str(self.output), "warnings": self.warnings, "model": model}
