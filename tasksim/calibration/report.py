"""Report of a calibration, for people and for programs, with the precision it did not reach."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import option
from tasksim.base.shortnames import NAME_LETTERS, distinct
from tasksim.base.units import format_size, format_time
from tasksim.calibration.precision import percent
from tasksim.models.files.coefficients import LOCK_FREE_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from tasksim.calibration.calibration_options import CalibrationOptions, StopReason
    from tasksim.calibration.fit_kernels import Fits, LinearKernels
    from tasksim.calibration.insitu import Observed
    from tasksim.calibration.kernel_samples import KernelSamples, MeasuredConfiguration
    from tasksim.calibration.steering import Steered
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.models.samples import Samples
    from tasksim.platform.description import Overheads

__all__ = [
    "CalibrationReport",
    "KernelSummary",
    "disturbed_runs",
    "far_data",
    "missing_intervals",
    "preempted_tasks",
    "summaries",
    "unknown_kernels",
]

MAX_TABLE_LINES: Final = 40
"""Largest number of configurations for a table with a line for each; a longer table has a line per
kernel."""
MAX_CONFIGURATION_LETTERS: Final = 60
"""Maximum length of a kernel with its parameters in a table."""


@dataclass(frozen=True)
class KernelSummary:
    """Measurements of a kernel, and the quality of its model.

    Attributes
    ----------
    samples
        Number of all samples, with outliers and those of earlier calibrations.
    configurations, within_tolerance
        Number of configurations, and of those whose mean is known within the tolerance.
    total_s
        Total duration of all samples.
    half_width
        Relative half-width of an interval: of the kernel's total time if it has a linear model and
        was measured in runs of graphs, otherwise of the mean of its least precise configuration.
    stopped
        Reason for the end of its measurement.
    model, terms
        Kind of its model, and terms of a linear one; None if no model could be fitted.
    rsquared_adj
        Adjusted R² of a linear model.
    mlogq, cv_mlogq
        Mean of abs(ln(predicted / measured)) over configurations, and, for a linear model, the
        same over configurations left out of the fit.
    """

    kernel: str
    samples: int
    configurations: int
    within_tolerance: int
    total_s: float
    half_width: float
    stopped: StopReason
    model: str | None
    terms: tuple[str, ...] | None
    rsquared_adj: float | None
    mlogq: float | None
    cv_mlogq: float | None


@dataclass
class CalibrationReport:
    """Results of a calibration, and the places of its files."""

    machine: str
    platform_path: Path
    models_folder: Path
    rows: list[MeasuredConfiguration] = field(default_factory=list)
    by_kernel: list[KernelSummary] = field(default_factory=list)
    overheads: Overheads | None = None
    """None if only kernels were measured, outside the runtime."""
    seconds: float = 0.0
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)
    """Remarks on the choice of models, for the reader."""
    steered: Steered | None = None
    """Result of a steered measurement, if a makespan was requested."""

    def table(self) -> str:
        """Return a line per configuration, or, if there are many, per kernel."""
        few = len(self.rows) <= MAX_TABLE_LINES
        lines = _configuration_lines(self.rows) if few else _kernel_lines(self.by_kernel)
        if self.overheads is not None:
            costs = self.overheads
            push = f", release {format_time(costs.push_s)}" if costs.push_s else ""
            lines.append(
                f"runtime: submission {format_time(costs.submission_s)}, task"
                f" {format_time(costs.task_s)}, wake-up {format_time(costs.wakeup_s)}{push}"
            )
        if self.steered is not None:
            lines.append(self.steered.text())
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "schema_version": 1,
            "machine": self.machine,
            "platform": str(self.platform_path),
            "models": str(self.models_folder),
            "kernels": [asdict(row) for row in self.rows],
            "by_kernel": [asdict(summary) for summary in self.by_kernel],
            "overheads": None if self.overheads is None else asdict(self.overheads),
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "notes": self.notes,
            "makespan": None if self.steered is None else self.steered.to_json(),
        }


def summaries(
    collected: KernelSamples,
    rows: Sequence[MeasuredConfiguration],
    models: Mapping[str, KernelModel],
    options: CalibrationOptions,
) -> list[KernelSummary]:
    """Return a summary of each kernel in *rows*, the configurations of *collected*."""
    mine: dict[str, list[MeasuredConfiguration]] = {}
    for row in rows:
        mine.setdefault(row.kernel, []).append(row)
    found = []
    for kernel, own in mine.items():
        half_width = max(row.half_width for row in own)
        if collected.by_total(kernel):
            half_width = collected.total(kernel, options).half_width
        model = models.get(kernel)
        told = {} if model is None else model.report()
        found.append(
            KernelSummary(
                kernel=kernel,
                samples=len(collected.samples[kernel]),
                configurations=len(own),
                within_tolerance=sum(row.stopped == "tolerance" for row in own),
                total_s=float(collected.samples[kernel].durations_s.sum()),
                half_width=half_width,
                stopped="tolerance" if collected.known(kernel, options) else "limit",
                model=None if model is None else model.kind,
                terms=getattr(model, "terms_", None),
                rsquared_adj=told.get("rsquared_adj"),
                mlogq=told.get("mlogq"),
                cv_mlogq=told.get("cv_mlogq"),
            )
        )
    return found


def _configuration_lines(rows: Sequence[MeasuredConfiguration]) -> list[str]:
    """Return a line per configuration: samples, mean, interval, reason to stop."""
    names = distinct([str(row) for row in rows], MAX_CONFIGURATION_LETTERS)
    width = max([44, *map(len, names)])
    return [
        f"{'kernel':{width}} {'samples':>7} {'outliers':>8} {'mean':>10} {'+-':>8}  stopped by",
        *(
            f"{name:{width}} {row.count:7} {row.dropped:8} {format_time(row.mean_s):>10}"
            f" {_width(row.half_width)}  {row.stopped}"
            for name, row in zip(names, rows, strict=True)
        ),
    ]


def _kernel_lines(kernels: Sequence[KernelSummary]) -> list[str]:
    """Return a line per kernel: samples, total, interval, reason to stop, model."""
    names = distinct([one.kernel for one in kernels], NAME_LETTERS)
    width = max([16, *map(len, names)])
    return [
        f"{'kernel':{width}} {'samples':>8} {'configurations':>14} {'known':>6} {'total':>9}"
        f" {'+-':>8}  {'stopped by':10} {'R2 adj.':>7} {'MLogQ':>6}  model",
        *(
            f"{name:{width}} {one.samples:8} {one.configurations:14} {one.within_tolerance:6}"
            f" {format_time(one.total_s):>9} {_width(one.half_width)}  {one.stopped:10}"
            f" {_number(one.rsquared_adj, 7)} {_number(one.cv_mlogq, 6)}  {_model(one)}"
            for name, one in zip(names, kernels, strict=True)
        ),
    ]


def _width(half_width: float) -> str:
    """Return the relative half-width of an interval as text; it needs more than one run."""
    return f"{100 * half_width:6.2f} %" if isfinite(half_width) else f"{'one run':>8}"


def _number(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.3f}"


def _model(summary: KernelSummary) -> str:
    return " + ".join(summary.terms) if summary.terms else summary.model or "-"


MIN_PARAMETER_RATIO: Final = 2.0
"""Smallest ratio of the largest to the smallest value of a parameter that tells terms apart: below
it, every term looks like a line. The direct interactions of one FMM, with a ratio of 1.35, gave a
cubic model, five times too long at 2.5."""
NOTABLE_SHARE = 0.02
"""Share of the time of all runs that others took, from which it is reported."""


def disturbed_runs(observed: Observed) -> list[str]:
    """Return sentences about runs that should have been calm but were not."""
    notes, filled = [], observed.filled
    if dropped := observed.disturbed - sum(filled.values()):
        notes.append(f"{dropped} runs do not count: {observed.worst}")
    notes += [
        f"too few calm runs of {graph}: {'the calmest' if count == 1 else f'the {count} calmest'} "
        f"of the others {'counts' if count == 1 else 'count'}, too ({observed.worst})"
        for graph, count in filled.items()
    ]
    return notes


def preempted_tasks(observed: Observed) -> list[str]:
    """Return a sentence about time that others took from the runs, if it was much."""
    seen = observed.disturbance
    if seen.wall_s <= (1 + NOTABLE_SHARE) * seen.own_s:
        return []
    return [
        f"others used the cores: {seen.preempted} of {seen.tasks} tasks were preempted and count "
        f"with their processor time; by the wall clock, runs took "
        f"{seen.wall_s / seen.own_s:.3g} times as long"
    ]


def far_data(localities: Mapping[str, Locality], counted: Mapping[str, Samples]) -> list[str]:
    """Return a sentence about what far data cost; *counted* are the samples with far bytes."""
    longer = []
    for kernel, known in sorted(localities.items()):
        accessed = counted[kernel].accessed_bytes
        assert accessed is not None  # the costs are fitted to it
        read, written, *_ = np.nanmean(accessed, axis=0).tolist()
        read_s = known.seconds_per_far_byte * read
        written_s = known.seconds_per_far_written_byte * written
        near_s = float(counted[kernel].durations_s.mean())
        near_s -= known.mean_far_share * read_s + known.mean_far_written_share * written_s
        longer.append(f"{kernel} {percent((read_s + written_s) / near_s)}")
    if not longer:
        return []
    reach = format_size(next(iter(localities.values())).reach_bytes)
    return [
        f"with data that have left the cache (reach {reach}), tasks take longer by up to "
        f"{', '.join(longer)}"
    ]


def unknown_kernels(kernels: Sequence[KernelSummary], options: CalibrationOptions) -> list[str]:
    """Return sentences about *kernels* that are not known to the tolerance.

    Examples
    --------
    >>> from tasksim.calibration.calibration_options import CalibrationOptions
    >>> from tasksim.calibration.report import KernelSummary
    >>> rest = (1, 0, 1e-3, 0.131, "limit", "history", None, None, None, None)
    >>> unknown_kernels([KernelSummary("gemm", 20, *rest)], CalibrationOptions(max_seconds=4))
    ['after 4 s not known to 2 %: gemm to 13 %']
    """
    over = [one for one in kernels if one.stopped == "limit"]
    single = [one.kernel for one in over if not isfinite(one.half_width)]
    wide = [
        f"{one.kernel} to {percent(one.half_width)}"
        for one in over
        if options.tolerance < one.half_width and isfinite(one.half_width)
    ]
    few = [one.kernel for one in over if one.half_width <= options.tolerance]
    after = f"after {options.max_seconds:.3g} s"
    notes = []
    if wide:
        notes.append(f"{after} not known to {percent(options.tolerance)}: {', '.join(wide)}")
    if few:
        notes.append(
            f"{after} fewer than {options.min_samples} samples from {options.min_runs} runs: "
            f"{', '.join(few)}"
        )
    if single:
        notes.append(
            f"{after} measured in one run, which does not show how far runs differ: "
            f"{', '.join(single)}"
        )
    return notes


def missing_intervals(reasons: Mapping[str, str]) -> list[str]:
    """Return sentences about kernels whose predictions have no interval, from kernel -> reason.

    Examples
    --------
    >>> missing_intervals({"gemm": "got 3 samples", "trsm": "got 3 samples"})
    ['gemm, trsm: predictions have no interval: got 3 samples']
    """
    return [
        f"{', '.join(names)}: predictions have no interval: {reason}"
        for reason, names in _by_reason(reasons).items()
    ]


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Return reason -> kernels of *reasons*, which is kernel -> reason."""
    found: dict[str, list[str]] = {}
    for kernel, reason in reasons.items():
        found.setdefault(reason, []).append(kernel)
    return found


def lock_holders(lock_free: Mapping[str, float]) -> list[str]:
    """Return notes on kernels that hold Python's lock."""
    return [
        f"{kernel}: holds Python's lock (it is free for {100 * share:.0f} % of its time), so only "
        "one such task runs at a time, here and in predictions"
        for kernel, share in sorted(lock_free.items())
        if share < LOCK_FREE_THRESHOLD
    ]


def _how_to_ask() -> str:
    """Return how to ask for other models, in Python or on the command line."""
    terms = option("terms")
    histories = f"{terms} history" if terms.startswith("-") else "search='none'"
    named = f"{terms} KERNEL=TERMS" if terms.startswith("-") else "terms={kernel: terms}"
    return f"{named} sets terms, {histories} requests histories"


def model_choices(choice: LinearKernels, fits: Fits) -> list[str]:
    """Return notes on models that were not requested, or that extrapolate badly."""
    notes = []
    found = {k: m for k, m in fits.models.items() if k not in fits.histories}
    for kernels, why in (
        (choice.irregular, "of the graph hardly repeat, and a history predicts no other input"),
        (choice.unmeasured, "to be predicted have other sizes, which a history does not know"),
    ):
        if unasked := sorted(kernels & found.keys()):
            notes.append(
                f"{', '.join(unasked)}: linear models with searched terms, as tasks {why}; "
                + _how_to_ask()
            )
    notes += [f"{kernel}: {said}" for kernel, said in fits.outside.items()]
    if choice.missing:
        notes.append(
            f"{', '.join(sorted(choice.missing))}: to be predicted, and not measured: calibrate "
            "them, too"
        )
    searched = sorted(choice.searched & found.keys())
    constant = [kernel for kernel in searched if getattr(found[kernel], "terms_", ()) == ("1",)]
    if constant:
        notes.append(
            f"{', '.join(constant)}: a constant model, as no parameter explains the durations; "
            "calibrate other inputs, too, in which the parameters vary more"
        )
    narrow = {kernel: _narrow(found[kernel]) for kernel in searched if kernel not in constant}
    notes += [
        f"{kernel}: fitted to {ranges} only, where other terms would fit nearly as well but differ "
        "outside; to predict other inputs, calibrate inputs in which it varies more, too"
        for kernel, ranges in narrow.items()
        if ranges
    ]
    notes += [
        f"{', '.join(names)}: "
        f"{'a history, which predicts' if len(names) == 1 else 'histories, which predict'} "
        f"no other configurations: {why}"
        for why, names in _by_reason(fits.histories).items()
    ]
    return notes


def _narrow(model: KernelModel) -> str:
    """Return the parameter ranges of *model* if none of its parameters varied much, else ""."""
    words = set(re.findall(r"\w+", " ".join(getattr(model, "terms_", ()))))
    ranges = {name: pair for name, pair in model.domain_.items() if name in words}
    if any(high >= MIN_PARAMETER_RATIO * low for low, high in ranges.values()):
        return ""
    return ", ".join(f"{name} {low:.12g} to {high:.12g}" for name, (low, high) in ranges.items())


def kept_terms(kernels: Collection[str], choice: LinearKernels) -> list[str]:
    """Return notes on *kernels*, which keep the terms of an earlier calibration."""
    return [
        f"{kernel}: a linear model of the terms {choice.terms[kernel]}, as in an earlier "
        f"calibration; {_how_to_ask()}"
        for kernel in sorted(kernels)
    ]
