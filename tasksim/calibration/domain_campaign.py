"""Campaign over a domain of one kernel, measured alone on one core."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import groupby
from math import isfinite
from operator import itemgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np

from tasksim.base.arguments import refuse_too_large
from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.base.interruption import unbroken
from tasksim.base.threadclock import no_garbage_collection
from tasksim.base.units import format_time
from tasksim.calibration.campaign import Campaign, shuffled
from tasksim.calibration.domain_steering import steering_of
from tasksim.calibration.precision import relative_half_width
from tasksim.calibration.resumable_file import (
    ResumableFile,
    check_same,
    read_notes,
    refuse_both,
    side_path,
)
from tasksim.calibration.timed_executions import MIN_RESOLUTIONS, TimedExecutions, timer_resolution
from tasksim.kernels.dense import SINGLE_SUFFIX, dense_kernel
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.pulse import idle_core_of_any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.base.arrays import Ints
    from tasksim.base.interruption import Interrupts
    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.domain import Design, Domain
    from tasksim.calibration.domain_steering import DomainSteering, Reached
    from tasksim.calibration.timed_executions import ExecutionTimes
    from tasksim.kernels.standalone import Standalone

__all__ = [
    "CampaignEnd",
    "DomainCampaign",
    "DomainSummary",
    "MeasureOptions",
    "VisitedConfiguration",
    "measure",
]

CampaignEnd = Literal["tolerance", "repetitions", "budget"]


@dataclass(frozen=True)
class MeasureOptions:
    """Stopping criteria and other options of a campaign over a domain.

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
        until: object = self.until
        if until is None:
            return
        if isinstance(until, bool) or not isinstance(until, int | float) or not 0 < until < 1:
            raise InputError(f"until: got {until!r}; legal: above 0 and below 1, as 0.05")
        if self.rounds > 1:
            raise InputError("until: each configuration is visited once; legal: rounds=1")

    def reason_to_stop(self, visit_s: Sequence[float]) -> CampaignEnd | None:
        """Return why a visit with these samples ends, or None if it goes on."""
        if len(visit_s) >= self.fewest:
            if relative_half_width(visit_s) <= self.tolerance:
                return "tolerance"
            if len(visit_s) >= self.repetitions:
                return "repetitions"
        return None

    @property
    def fewest(self) -> int:
        """Smallest number of samples of a visit."""
        return min(self.min_repetitions, self.repetitions)


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
    stopped: CampaignEnd | None = None
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

    def end_visit(self, why: CampaignEnd, rounds: int) -> None:
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
        precision = "unknown: most configurations have one sample"
        if isfinite(self.half_width):
            precision = f"+- {100 * self.half_width:.2g} % (median, 95 % of the mean)"
        model = [] if self.model is None else [f"model           {self.model}"]
        return "\n".join(
            [
                f"kernel          {self.kernel}",
                f"configurations  {self.measured} of {self.wanted} ({ends or 'none'})",
                f"samples         {self.samples}",
                f"precision       {precision}",
                *model,
                f"clock           {format_time(self.resolution_s)} resolution",
                f"time            {format_time(self.seconds)}",
            ]
        )

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


WARM_UP_EXECUTIONS: Final = 3
WARM_UP_S: Final = 0.01
"""Limits on the number and the total time in seconds of the first executions of a configuration,
which are dropped: the second execution of a long kernel is warm already."""
CHECK_GROWTH: Final = 1.25
"""Growth of the number of repetitions between two checks of the precision: every check is a chance
to stop at a lucky moment."""


def measure(
    domain: Domain,
    output: Path,
    options: MeasureOptions | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    progress: ShareProgress | None = None,
) -> DomainSummary:
    """Measure a kernel at configurations drawn from *domain*; write the samples to *output*.

    One thread runs the kernel, with single-threaded BLAS; configurations come in random order, so
    that slow changes of the machine are noise and not a trend. For each configuration, operands are
    allocated and the first executions are dropped; the data that the kernel writes are restored
    before each execution, outside the measured time.

    Parameters
    ----------
    domain, options
        Domain, and when to stop.
    output : Path
        A CSV file with the columns run, repetition, the kernel's parameters, duration_s, and
        wall_s, the duration with time that other programs took. A file ``.meta.json`` beside it
        describes the measurement.
    resume : bool
        Whether to continue the samples in *output*, if there are any, in a new run.
    force : bool
        Whether to replace *output*.
    progress : callable, optional
        Called with the current activity and the share that is done.

    Notes
    -----
    A shared machine is faster in one minute and slower in the next, and consecutive repetitions
    see one minute only. With several rounds, each in another order, configurations are measured at
    several times; each round is a run of its own in the file.

    Samples are written after each configuration, and every second during one. After a
    KeyboardInterrupt the summary is marked as interrupted. The budget counts everything, also
    allocations; an execution is never cut off, and at least one is made.

    Raises
    ------
    InputError
        Before the measurement: if *output* exists, holds other samples, or the largest
        configuration does not fit into memory.
    OutputError
        If a file cannot be written.
    """
    campaign = DomainCampaign(
        domain, output, options or MeasureOptions(), progress, resume=resume, force=force
    )
    campaign.run()
    return campaign.summary()


class DomainCampaign(Campaign):
    """A running measurement of one kernel."""

    save_interval_s: ClassVar[float] = 1.0

    def __init__(
        self,
        domain: Domain,
        output: Path,
        options: MeasureOptions,
        progress: ShareProgress | None = None,
        *,
        resume: bool = False,
        force: bool = False,
    ) -> None:
        super().__init__(output, options.budget_s, progress)
        self.options, self._resume, self._force = options, resume, force
        kernel, precision = dense_kernel(domain.kernel, options.dtype)
        self.kernel, self.dtype = kernel.name, precision.dtype
        self.model_name = kernel.name + SINGLE_SUFFIX * (precision.dtype == "float32")
        self.domain = domain
        self.run_number = 0
        self._has_samples = False
        table = domain.draw(options.samples, options.seed, options.design)
        self.configurations = [VisitedConfiguration(tuple(row)) for row in table.tolist()]
        self._check_memory(table)
        self.steering = (
            None
            if options.until is None
            else steering_of(domain, table, options.until, options.kind, options.seed)
        )
        self.file = ResumableFile(output, domain.names)
        self.resolution_s = timer_resolution()
        self._end = 0
        self._begun: tuple[VisitedConfiguration, int, int, int] | None = None
        """The current configuration, the run, its first repetition in it, and that one's offset in
        the file: a single value, so that an interruption finds all of it or nothing."""

    def open(self) -> None:
        """Create the file, or load the samples of the existing one."""
        path, wanted = self.file.path, self._request()
        resume, force = self._resume, self._force
        refuse_both(resume=resume, force=force)
        if not (resume and path.exists()):
            refuse_existing(path, force=force)
            refuse_existing(side_path(path), force=force or resume)
            self._write_notes()
            self._end = self.file.create(force=force)
            return
        earlier = read_notes(path)
        check_same(path, earlier, wanted)
        found, self._end = self.file.resume()
        for configuration in self.configurations:
            samples = found.pop(configuration.sizes, [])
            self._take_over(configuration, samples)
            self.run_number = max([self.run_number, *(run + 1 for run, *_ in samples)])
        if found:
            pairs = zip(self.domain.names, next(iter(found)), strict=True)
            sizes = ", ".join(f"{name}={size}" for name, size in pairs)
            raise InputError(f"{path}: has samples of {sizes}, which are not in the request")

    def _take_over(
        self, configuration: VisitedConfiguration, samples: list[tuple[int, float, float]]
    ) -> None:
        """Add earlier samples, sorted by run, to *configuration*."""
        for _, run in groupby(samples, key=itemgetter(0)):
            for _, duration_s, wall_s in run:
                configuration.wall_s.append(wall_s)
                configuration.durations_s.append(duration_s)
            self._has_samples = True
            why = self.options.reason_to_stop(configuration.visit_s)
            if why is not None:
                configuration.end_visit(why, self.options.rounds)

    @property
    def has_samples(self) -> bool:
        """Whether anything was measured, now or before."""
        return self._has_samples

    def measure(self) -> None:
        """Measure configurations that are not known well enough, until the budget is used up."""
        with single_threaded_blas():
            if self.steering is None:
                self._measure_in_rounds()
            else:
                self._measure_as_steered(self.steering)

    def _measure_in_rounds(self) -> None:
        """Visit all configurations in each round: first as drawn, then in random order."""
        rounds, begun, done = self.options.rounds, time.monotonic(), 0
        left = sum(max(0, rounds - len(c.ends)) for c in self.configurations)
        for number in range(rounds):
            order = self.configurations
            if number:
                order = [order[i] for i in shuffled(len(order), self.options.seed, number)]
            todo = [c for c in order if len(c.ends) <= number]
            for configuration in todo:
                if self.over:
                    return
                self._visit(configuration)
                done += 1
                self.after_step(*self._progress(done, left, begun))
            self.run_number += bool(todo)

    def _progress(self, done: int, total: int, begun: float) -> tuple[str, float]:
        """Return the progress of a measurement, with an estimate of the remaining time."""
        now = time.monotonic()
        left, share = (now - begun) * (total - done) / done, done / total
        if self.budget_s is not None:
            left = max(0.0, min(left, self.begun + self.budget_s - now))
            share = max(share, (now - self.begun) / self.budget_s)
        return f"{done}/{total} configurations, {format_time(left)} left", share

    def _measure_as_steered(self, steering: DomainSteering) -> None:
        """Visit configurations in the order that a model chooses, until the model is precise."""
        for number, earlier in enumerate(self.configurations):
            if earlier.durations_s:
                steering.add(number, earlier.durations_s, 0.0)
        while not self.over and (place := steering.next()) is not None:
            begun, chosen = time.monotonic(), self.configurations[place]
            self._visit(chosen)
            if chosen.durations_s:
                steering.add(place, chosen.durations_s, time.monotonic() - begun)
            self.after_step(steering.progress(), steering.share())
        steering.end()
        self.run_number += 1

    def save(self) -> None:
        """Write the samples of the current configuration."""
        if self._begun is None:
            return
        configuration, run, first, offset = self._begun
        durations, wall = configuration.durations_s, configuration.wall_s
        self._end = self.file.put(
            offset,
            [
                (run, index, configuration.sizes, durations[index], wall[index])
                for index in range(first, len(durations))
            ],
        )

    def finish(self, interrupts: Interrupts) -> None:  # noqa: ARG002
        """Write the remaining samples and the notes."""
        self.save()
        self._write_notes()

    def summary(self) -> DomainSummary:
        """Return the summary of the campaign so far."""
        interrupted = self.interrupted
        measured = [c for c in self.configurations if c.durations_s]
        widths = [c.half_width() for c in measured]
        ends = [c.stopped or "budget" for c in measured if not (interrupted and c.stopped is None)]
        shortest = MIN_RESOLUTIONS * self.resolution_s
        return DomainSummary(
            kernel=self.model_name,
            output=self.file.path,
            wanted=len(self.configurations),
            measured=len(measured),
            samples=sum(len(c.durations_s) for c in measured),
            stopped={why: ends.count(why) for why in ("tolerance", "repetitions", "budget")},
            half_width=float(np.median(widths)) if widths else float("inf"),
            resolution_s=self.resolution_s,
            short=sum(fmean(c.durations_s) < shortest for c in measured),
            seconds=self.seconds,
            interrupted=interrupted,
            model=None if self.steering is None else self.steering.reached(),
        )

    def _visit(self, configuration: VisitedConfiguration) -> None:
        first = len(configuration.durations_s)
        self._begun = (configuration, self.run_number, first, self._end)
        sizes = dict(zip(self.domain.names, configuration.sizes, strict=True))
        body = standalone(self.kernel, sizes, self.dtype, seed=self.options.seed)
        begun = time.monotonic()
        for _ in range(WARM_UP_EXECUTIONS):
            body.reset()
            body.run()
            if time.monotonic() - begun > WARM_UP_S:
                break
        with no_garbage_collection():
            self._repeat(body, configuration)
        self.save_now()

    def _repeat(self, body: Standalone, configuration: VisitedConfiguration) -> None:
        executions = TimedExecutions(idle_core_of_any(), kernel=body.kernel.name)
        earlier = len(configuration.durations_s)
        first = earlier - len(configuration.visit_s)
        look, why = earlier, None

        def take() -> None:
            known = len(configuration.durations_s) - earlier
            with unbroken():
                configuration.add(executions.times().only(slice(known, None)))

        try:
            while why is None and not self.over:
                body.reset()
                executions.time(body.run)
                self._has_samples = True
                # The check is expensive, and repeated checks favour lucky moments.
                if earlier + len(executions) >= look:
                    take()
                    visit_s = configuration.durations_s[first:]
                    why = self.options.reason_to_stop(visit_s)
                    count = int(CHECK_GROWTH * len(visit_s)) + 1
                    look = first + min(max(count, self.options.fewest), self.options.repetitions)
                if self.save_is_due:
                    take()
                    self.save_now()
        finally:
            take()
        if why is not None:
            configuration.end_visit(why, self.options.rounds)

    def _check_memory(self, table: Ints) -> None:
        """Reject configurations that do not fit into memory, before hours of measurement."""
        kernel, precision = dense_kernel(self.model_name)
        columns = table.T.astype(np.float64)  # products of four sizes would overflow an int64
        sizes = dict(zip(self.domain.names, columns, strict=True))
        # Each operand has a copy to restore it from.
        most = int(np.max(2 * kernel.elements(sizes) + kernel.work_elements(sizes)))
        refuse_too_large(most * precision.size_bytes, f"the largest configuration of {self.kernel}")

    def _request(self) -> dict[str, Any]:
        """Return the part of the request that must be the same to resume."""
        options = self.options
        return {
            "kernel": self.model_name,
            "parameters": self.domain.describe(),
            **({"where": list(map(str, self.domain.conditions))} if self.domain.conditions else {}),
            "samples": options.samples,
            "design": options.design,
            "seed": options.seed,
        }

    def _write_notes(self) -> None:
        import json

        from tasksim.calibration.machine import machine_facts

        ends = [c.stopped for c in self.configurations]
        notes = {
            "schema_version": 1,
            **self._request(),
            "tolerance": self.options.tolerance,
            "repetitions": self.options.repetitions,
            "rounds": self.options.rounds,
            "warm_up": WARM_UP_EXECUTIONS,
            "blas_threads": 1,
            "clock_resolution_s": self.resolution_s,
            "configurations": len(ends),
            "complete": len(ends) - ends.count(None),
            "machine": machine_facts(1),
        }
        write_text(side_path(self.file.path), json.dumps(notes, indent=2) + "\n")
