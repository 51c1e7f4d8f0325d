"""Results of a campaign over a domain: options, samples of a configuration, and a summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from tasksim.base.errors import InputError
from tasksim.base.units import format_time
from tasksim.calibration.clock_resolution import RESOLUTIONS
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
    """What to measure, and how long.

    All configurations are gone through *rounds* times. At each visit one is measured until
    Student's interval (95 %) of the mean is within *tolerance* of the mean, *min_repetitions* at
    least and *repetitions* at most.

    With *until*, a model of a *kind* says which configuration is next, and measuring ends when it
    errs by no more than that, in the mean over the domain.
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
    """A configuration and what has been measured of it."""

    sizes: tuple[int, ...]
    durations_s: list[float] = field(default_factory=list)
    """Without what others took."""
    wall_s: list[float] = field(default_factory=list)
    """The same by the clock on the wall."""
    ends: list[int] = field(default_factory=list)
    """How many samples there were at the end of each visit."""
    stopped: Stop | None = None
    """Why the last visit of all ended; None before."""

    @property
    def visit_s(self) -> list[float]:
        """The samples of the visit that has not ended."""
        return self.durations_s[self.ends[-1] if self.ends else 0 :]

    def add(self, times: ExecutionTimes) -> None:
        """Add executions."""
        # An interruption in between leaves no duration without its time by the wall.
        self.wall_s += times.wall_s.tolist()
        self.durations_s += times.own_s.tolist()

    def end_visit(self, why: Stop, rounds: int) -> None:
        """Note that a visit of *rounds* has ended."""
        self.ends.append(len(self.durations_s))
        if len(self.ends) >= rounds:
            self.stopped = why

    def half_width(self) -> float:
        """Return the relative half-width of the interval of the mean.

        Samples of one visit are more alike than those of several: where there were several, it
        is that of the mean of their means.
        """
        if len(self.ends) < 2:
            return relative_half_width(self.durations_s)
        visits = zip([0, *self.ends[:-1]], self.ends, strict=True)
        return relative_half_width([fmean(self.durations_s[a:b]) for a, b in visits])


@dataclass(frozen=True)
class DomainSummary:
    """What has been measured, this time and before.

    Attributes
    ----------
    kernel
        The name of its model, which has the precision.
    wanted, measured
        How many configurations there are; and how many of them have samples.
    samples
        How many samples there are.
    stopped
        Why configurations ended: ``tolerance``, ``repetitions``, ``budget`` -> how many.
    half_width
        The middle one of the relative half-widths of the intervals of the means.
    short
        Of the configurations measured, how many are shorter than 100 resolutions of the clock.
    model
        How far the model errs that steered measuring, and what prevented more; None if none did.
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
            return "not known: most configurations have one sample"
        return f"+- {100 * self.half_width:.2g} % (median, 95 % of the mean)"

    @property
    def warnings(self) -> list[str]:
        """What the reader of the samples should know."""
        if not self.short:
            return []
        limit = format_time(RESOLUTIONS * self.resolution_s)
        return [
            f"{self.short} of {self.measured} configurations take less than {limit}, "
            f"{RESOLUTIONS} resolutions of the clock: calling them and reading the clock is a good "
            "part of their durations"
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        model = self.model and self.model.to_json()
        return {**data, "output": str(self.output), "warnings": self.warnings, "model": model}
