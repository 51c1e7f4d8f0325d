"""Calibration of this machine: measures kernels, fits models, writes platform and coefficients."""

from __future__ import annotations

import dataclasses
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tasksim.base.arguments import flag, one_of, path_of, whole_number
from tasksim.base.errors import InputError, option
from tasksim.base.interruption import Interrupts
from tasksim.base.lockfile import check_lock, locked
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.earlier_calibrations import earlier_samples, earlier_terms
from tasksim.calibration.fit_kernels import LinearKernels, Search, choose_linear
from tasksim.calibration.fit_runs import fit_locality, measured_overheads
from tasksim.calibration.insitu import Observed, measure_in_situ
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.kernels_under_load import KernelCall, measure_under_load
from tasksim.calibration.machine import machine_name
from tasksim.calibration.preconditions import check_preconditions, check_schedulers, named_items
from tasksim.calibration.report import (
    CalibrationReport,
    disturbed_runs,
    missing_intervals,
    preempted_tasks,
    summaries,
    unknown_kernels,
)
from tasksim.calibration.steering import Steered, check_steerable, measure_steered
from tasksim.calibration.write_library import (
    Destination,
    Written,
    write_kernels,
    write_platform,
    write_samples_of,
    write_slowdowns_of,
)
from tasksim.graph.taskgraph import TaskGraph
from tasksim.models.files.coefficients import HELD_BELOW
from tasksim.native.cores import usable_cores
from tasksim.platform.description import MAX_WORKERS, Platform

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples
    from tasksim.platform.description import Overheads

__all__ = ["CalibrationReport", "calibrate"]

SAVE_INTERVAL_S = 5.0
"""Interval between saves, in seconds: the measurements that a kill -9 may lose."""
MIN_SAVE_INTERVAL_RATIO = 10
"""Smallest ratio of the interval between saves to the duration of a save."""
MIN_PARAMETER_RATIO: Final = 2.0
"""Smallest ratio of the largest to the smallest value of a parameter that tells terms apart: below
it, every term looks like a line. The direct interactions of one FMM, with a ratio of 1.35, gave a
cubic model, five times too long at 2.5."""

Progress = Callable[[str, float], None]


def calibrate(
    items: Sequence[str | TaskGraph | KernelCall],
    library: str | Path,
    *,
    workers: int | None = None,
    machine: str | None = None,
    options: CalibrationOptions | None = None,
    terms: Mapping[str, str] | None = None,
    search: Search = "irregular",
    replace: bool = False,
    progress: Progress | None = None,
) -> CalibrationReport:
    """Measure kernels on this machine; write models and platform to *library*.

    Parameters
    ----------
    items : sequence of str, TaskGraph or KernelCall
        Graphs, or generators of graphs (``"cholesky tiles=6"``), are run in turn, and their
        kernels measured inside them; kernels are measured alone, with all workers busy.
    library : str or Path
        Folder that receives ``models/<machine>/<kernel>.json``, samples beside the models, and
        ``platforms/<machine>.yaml``.
    workers : int, optional
        Number of cores that work at once [default: all usable ones]. Predictions are for as many.
    machine : str, optional
        Name of the machine [default: its host name].
    options : CalibrationOptions, optional
        When to stop measuring.
    terms : mapping, optional
        Kernel -> terms of a linear model (``"m*n*k + m*n"``). All configurations of such a
        kernel must be measured before it can be fitted. Terms given to an earlier calibration
        stay valid, except with *replace* or without a search.
    search : {"irregular", "all", "none"}
        Other kernels that get a linear model with searched terms: those of graphs whose tasks
        hardly repeat (:func:`~tasksim.calibration.fit_kernels.irregular`), all, or none. The
        rest, and kernels with too few configurations for a search, get histories. Known terms
        (:mod:`tasksim.calibration.fit_kernels`) are used unless others predict better.
    replace : bool, optional
        Whether to discard earlier measurements of these kernels instead of adding to them.
    progress : callable, optional
        Called with the current activity and the used share of the time.

    Notes
    -----
    Samples are saved every few seconds, with history models; linear models are fitted at the end,
    as a fit may take seconds. An interrupted calibration (KeyboardInterrupt) writes the results so
    far, and the report says so.

    Raises
    ------
    InputError
        Before the measurement: if there are no items, *terms* or a scheduler are wrong, or files
        of an earlier calibration are damaged. After it: if the samples do not suffice for *terms*;
        the samples are written all the same.
    OutputError
        If files cannot be written.

    See Also
    --------
    load_platform : Loads the platform file.
    ModelLibrary : Finds the models.

    Examples
    --------
    Two rounds of a graph of four tasks, on one core:

    >>> from tasksim.calibration.calibration_options import CalibrationOptions
    >>> import tempfile
    >>> few = CalibrationOptions(max_seconds=1.0)
    >>> with tempfile.TemporaryDirectory() as lib:
    ...     report = calibrate(["cholesky tiles=2 tile_size=32"], lib, workers=1, options=few)
    ...     (report.models_folder / "potrf.json").is_file(), report.platform_path.parent.name
    (True, 'platforms')
    """
    begun = time.monotonic()
    options, terms = options or CalibrationOptions(), dict(terms or {})
    workers = len(usable_cores()) if workers is None else workers
    destination = Destination(
        path_of(library, "library"),
        machine or machine_name(),
        whole_number(workers, "workers", 1, MAX_WORKERS),
        LinearKernels(terms),
    )
    one_of(search, ("irregular", "all", "none"), "search")
    flag(replace, "replace")
    items = named_items(items)
    check_schedulers(options.schedulers)
    check_preconditions(items, destination)
    if options.makespan is not None:
        _check_steerable(items)
    folder = destination.models_folder
    # Only one calibration of a machine at a time: two would measure each other's load, and the
    # second would overwrite the samples of the first.
    with Interrupts() as interrupts, locked(folder, tell=warnings.warn):
        earlier = {} if replace else earlier_samples(folder)
        kept = {} if replace or search == "none" else earlier_terms(folder, _kernels(items))
        choice = choose_linear(items, {**kept, **terms}, search, earlier)
        destination = dataclasses.replace(destination, choice=choice)
        check_preconditions(items, destination)
        session = _Session(destination, options, earlier, progress)
        interrupted = False
        try:
            session.measure(items, destination.workers)
            interrupts.hold()
        except KeyboardInterrupt:
            interrupted = True
        interrupts.hold()  # from here on, further interrupts must not lose the measurements
        report, written = session.finish(interrupts)
        report.interrupted = interrupted or report.interrupted or interrupts.noted
    if written.refused is not None and not report.interrupted:
        raise written.refused
    report.notes += _notes_on_earlier(kept.keys() - terms.keys(), choice)
    report.seconds = time.monotonic() - begun
    return report


def _kernels(items: Sequence[TaskGraph | KernelCall]) -> set[str]:
    """Return the model names of the kernels that *items* measure."""
    graphs = [item for item in items if isinstance(item, TaskGraph)]
    return {
        *(item.name for item in items if not isinstance(item, TaskGraph)),
        *(name for graph in graphs for name in graph.model_names),
    }


def _check_steerable(items: Sequence[TaskGraph | KernelCall]) -> None:
    if len(items) != 1 or not isinstance(items[0], TaskGraph):
        raise InputError(
            f"{option('until')}: a makespan can steer the measurement of one graph only; got "
            f"{len(items)} items"
        )
    check_steerable(items[0])


def _notes_on_earlier(kernels: Collection[str], choice: LinearKernels) -> list[str]:
    """Return notes on *kernels*, which keep the terms of an earlier calibration."""
    return [
        f"{kernel}: a linear model of the terms {choice.terms[kernel]}, as in an earlier "
        f"calibration; {_how_to_ask()}"
        for kernel in sorted(kernels)
    ]


class _Session:
    """A running calibration."""

    def __init__(
        self,
        destination: Destination,
        options: CalibrationOptions,
        earlier: Mapping[str, Samples],
        progress: Progress | None,
    ) -> None:
        self.destination = destination
        self.options = options
        self.progress = progress
        self.collected = KernelSamples(earlier, destination.choice.linear)
        self.observed = Observed()
        self.save_at = time.monotonic() + SAVE_INTERVAL_S
        self.steered = None if options.makespan is None else Steered(options.makespan)

    def measure(self, items: Sequence[TaskGraph | KernelCall], workers: int) -> None:
        if self.steered is not None:
            (graph,) = (item for item in items if isinstance(item, TaskGraph))
            measure_steered(
                graph, workers, self.collected, self.options, self.steered, self.after_round
            )
            return
        graphs = [item for item in items if isinstance(item, TaskGraph)]
        kernels = [item for item in items if isinstance(item, KernelCall)]
        platform = Platform.identical(workers)
        first = len(graphs) / len(items)
        if graphs:
            options, tell = self._part(0.0, first)
            measure_in_situ(graphs, platform, self.collected, options, self.observed, tell)
        if kernels:
            options, tell = self._part(first, 1.0 - first)
            measure_under_load(kernels, workers, self.collected, options, tell)

    def _part(self, begin: float, share: float) -> tuple[CalibrationOptions, Progress]:
        """Return options and progress function for a *share* of the time, from *begin* on."""
        options = dataclasses.replace(self.options, max_seconds=share * self.options.max_seconds)
        return options, lambda what, used: self.after_round(what, begin + share * used)

    def after_round(self, what: str, share: float) -> None:
        if self.progress is not None:
            self.progress(what, share)
        begun = time.monotonic()
        if begun >= self.save_at:
            self.save()
            now = time.monotonic()
            self.save_at = now + max(SAVE_INTERVAL_S, MIN_SAVE_INTERVAL_RATIO * (now - begun))

    def save(self) -> None:
        """Save the measurements; linear models are not fitted yet, only their samples are saved."""
        if self.collected.new:
            self._save()

    def _save(self) -> Written:
        """Write all samples and the history models."""
        check_lock(self.destination.models_folder)
        for kernel in self._linear:
            write_samples_of(self.destination, kernel, self.collected.samples[kernel])
        return self._write(self.collected.new.keys() - self._linear, Written())

    @property
    def _linear(self) -> frozenset[str]:
        """Measured kernels with linear models."""
        return self.destination.choice.linear & self.collected.new.keys()

    def finish(self, interrupts: Interrupts) -> tuple[CalibrationReport, Written]:
        """Write everything; return the report. Only the search for terms can be interrupted."""
        report = CalibrationReport(
            machine=self.destination.machine,
            platform_path=self.destination.platform_path,
            models_folder=self.destination.models_folder,
        )
        report.steered = self.steered
        if not self.collected.new:
            return report, Written()
        report.rows = list(self.collected.configurations(self.options))
        written, linear = self._save(), self._linear
        try:
            interrupts.rearm()
            if self.progress is not None and self.destination.choice.searched & linear:
                self.progress("searching for terms", 1.0)
            self._write(linear, written)
            interrupts.hold()
        except KeyboardInterrupt:
            interrupts.hold()
            report.interrupted = True
            missing = ", ".join(sorted(linear - written.models.keys()))
            report.notes = [f"{missing}: only samples were written, as the fit was interrupted"]
        write_slowdowns_of(self.destination, self.collected, self.observed.slowdowns)
        report.by_kernel = summaries(self.collected, report.rows, written.models, self.options)
        report.overheads = self._overheads()
        report.notes += [*disturbed_runs(self.observed), *_notes(self.destination.choice, written)]
        if self.steered is None and not interrupts.noted:
            report.notes += unknown_kernels(report.by_kernel, self.options)
        report.notes += missing_intervals(written.without_interval)
        report.notes += preempted_tasks(self.observed)
        report.notes += _notes_on_lock(self.observed.lock_free)
        return report, written

    def _write(self, kernels: Collection[str], written: Written) -> Written:
        """Write models and samples of *kernels*, and the platform; record them in *written*."""
        check_lock(self.destination.models_folder)
        rows = list(self.collected.configurations(self.options, kernels))
        locality = fit_locality(self.observed.far)
        write_kernels(
            self.destination,
            self.collected,
            rows,
            locality,
            self.observed.lock_free,
            self.options,
            kernels,
            written,
        )
        write_platform(self.destination, self._overheads())
        return written

    def _overheads(self) -> Overheads | None:
        gaps = self.observed.gaps
        return measured_overheads(gaps) if gaps else None


def _notes_on_lock(lock_free: Mapping[str, float]) -> list[str]:
    """Return notes on kernels that hold Python's lock."""
    return [
        f"{kernel}: holds Python's lock (it is free for {100 * share:.0f} % of its time), so only "
        "one such task runs at a time, here and in predictions"
        for kernel, share in sorted(lock_free.items())
        if share < HELD_BELOW
    ]


def _how_to_ask() -> str:
    """Return how to ask for other models, in Python or on the command line."""
    terms = option("terms")
    histories = f"{terms} history" if terms.startswith("-") else "search='none'"
    named = f"{terms} KERNEL=TERMS" if terms.startswith("-") else "terms={kernel: terms}"
    return f"{named} sets terms, {histories} requests histories"


def _notes(choice: LinearKernels, written: Written) -> list[str]:
    """Return notes on models that were not requested, or that extrapolate badly."""
    notes = []
    found = {k: m for k, m in written.models.items() if k not in written.histories}
    unasked = sorted(choice.irregular & found.keys())
    if unasked:
        notes.append(
            f"{', '.join(unasked)}: linear models with searched terms, as tasks of the graph "
            "hardly repeat, and a history predicts no other input; " + _how_to_ask()
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
        f"{kernel}: a history, which predicts no other configurations: {why}"
        for kernel, why in written.histories.items()
    ]
    return notes


def _narrow(model: KernelModel) -> str:
    """Return the parameter ranges of *model* if none of its parameters varied much, else ""."""
    words = set(re.findall(r"\w+", " ".join(getattr(model, "terms_", ()))))
    ranges = {name: pair for name, pair in model.domain_.items() if name in words}
    if any(high >= MIN_PARAMETER_RATIO * low for low, high in ranges.values()):
        return ""
    return ", ".join(f"{name} {low:.12g} to {high:.12g}" for name, (low, high) in ranges.items())
