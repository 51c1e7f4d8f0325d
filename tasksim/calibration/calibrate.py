"""Calibration of this machine, from measured kernels to its platform and coefficient files."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING

from tasksim.base.arguments import flag, one_of, path_of, whole_number
from tasksim.base.errors import InputError, option
from tasksim.base.lockfile import check_lock
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.campaign import Campaign
from tasksim.calibration.fit_kernels import (
    TERM_SEARCHES,
    Fits,
    LinearKernels,
    TermSearch,
    check_terms,
    choose_linear,
    made_graphs,
    predicted_graphs,
)
from tasksim.calibration.fit_locality import FarTable, Reaches, fit_locality, without_far_data
from tasksim.calibration.fit_runs import measured_overheads
from tasksim.calibration.insitu import Observed, measure_in_situ
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.kernels_under_load import KernelCall, measure_under_load
from tasksim.calibration.machine import machine_facts
from tasksim.calibration.neighbours import BANDWIDTH_SHARE
from tasksim.calibration.report import (
    CalibrationReport,
    disturbed_runs,
    far_data,
    kept_terms,
    lock_holders,
    missing_intervals,
    model_choices,
    preempted_tasks,
    summaries,
    unknown_kernels,
)
from tasksim.calibration.steering import Steered, check_steerable, measure_steered
from tasksim.calibration.write_library import (
    ARCHITECTURE,
    Destination,
    earlier_entry,
    earlier_samples,
    earlier_terms,
    today,
    write_platform,
    write_samples_of,
    write_slowdowns_of,
)
from tasksim.graph.taskgraph import TaskGraph
from tasksim.kernels.dense import dense_kernel
from tasksim.models.files.coefficients import PROCESSOR, WALL
from tasksim.models.files.store import (
    Entry,
    Machine,
    Measured,
    kernel_path,
    load_kernel,
    read_samples,
    samples_path,
    save_kernel,
)
from tasksim.models.uncertainty.runeffects import run_effects
from tasksim.native.execute import refuse_without_estimates
from tasksim.native.this_machine import machine_name, named_machine, usable_cores
from tasksim.platform.description import MAX_WORKERS, Platform
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from tasksim.base.interruption import Interrupts
    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.kernel_samples import MeasuredConfiguration
    from tasksim.calibration.neighbours import Neighbours
    from tasksim.platform.description import Overheads

__all__ = ["CalibrationReport", "KernelCampaign", "calibrate", "named_items"]


def calibrate(
    items: Sequence[str | TaskGraph | KernelCall],
    library: str | Path,
    *,
    workers: int | None = None,
    machine: str | None = None,
    options: CalibrationOptions | None = None,
    terms: Mapping[str, str] | None = None,
    search: TermSearch = "irregular",
    predicted: Sequence[str | TaskGraph] = (),
    replace: bool = False,
    progress: ShareProgress | None = None,
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
    predicted : sequence of str or TaskGraph, optional
        Graphs that will be predicted. Kernels of which they have other sizes than are measured
        get linear models with searched terms, too, and these are also judged by extrapolation.
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
    return KernelCampaign(
        items, library, workers=workers, machine=machine, options=options, terms=terms,
        search=search, predicted=predicted, replace=replace, progress=progress,
    ).reported()  # fmt: skip


class KernelCampaign(Campaign):
    """A running calibration of kernels.

    The parameters are those of :func:`calibrate`; *neighbours* measure in turn with it.

    Attributes
    ----------
    choice
        Kernels with linear models.
    kept
        Kernel -> terms of an earlier calibration, which stay valid.
    fits
        Models of the last save.
    report
        The report, once the campaign has finished.
    """

    report: CalibrationReport

    def __init__(
        self,
        items: Sequence[str | TaskGraph | KernelCall],
        library: str | Path,
        *,
        workers: int | None,
        machine: str | None,
        options: CalibrationOptions | None,
        terms: Mapping[str, str] | None,
        search: TermSearch,
        predicted: Sequence[str | TaskGraph],
        replace: bool,
        progress: ShareProgress | None,
        neighbours: Neighbours | None = None,
    ) -> None:
        self.options = options = options or CalibrationOptions()
        count = len(usable_cores()) if workers is None else workers
        self.destination = Destination(
            path_of(library, "library"),
            machine or machine_name(),
            whole_number(count, "workers", 1, MAX_WORKERS),
        )
        super().__init__(self.destination.models_folder, options.max_seconds, progress)
        one_of(search, TERM_SEARCHES, "search")
        self._search, self._replace = search, flag(replace, "replace")
        self.items = named_items(items)
        for name in options.schedulers:
            refuse_without_estimates(create(name))
        self._terms = dict(terms or {})
        _check_preconditions(self.items, self.destination, self._terms)
        self.steered: Steered | None = None
        if options.makespan is not None:
            if len(self.items) != 1 or not isinstance(self.items[0], TaskGraph):
                raise InputError(
                    f"{option('until')}: a makespan can steer the measurement of one graph only; "
                    f"got {len(self.items)} items"
                )
            check_steerable(self.items[0])
            self.steered = Steered(options.makespan)
        self._predicted = predicted_graphs(predicted)
        self._neighbours = neighbours
        self.choice = LinearKernels()
        self.kept: dict[str, str] = {}
        self.collected = KernelSamples()
        self.observed = Observed()
        self.fits = Fits()

    def reported(self) -> CalibrationReport:
        """Carry out the campaign and return its report.

        Raise :exc:`InputError` if the samples do not suffice for the given terms.
        """
        self.run(wait=True, tell=warnings.warn)
        report, refused = self.report, self.fits.refused
        report.interrupted = report.interrupted or self.interrupted
        if refused is not None and not report.interrupted:
            raise refused
        report.notes += kept_terms(self.kept.keys() - self._terms.keys(), self.choice)
        report.seconds = self.seconds
        return report

    def open(self) -> None:
        """Read earlier samples and terms; choose the kernels with linear models."""
        earlier = {} if self._replace else earlier_samples(self.output)
        if not (self._replace or self._search == "none"):
            self.kept = earlier_terms(self.output, _parameter_names(self.items))
        terms = {**self.kept, **self._terms}
        self.choice = choose_linear(self.items, terms, self._search, earlier, self._predicted)
        _check_preconditions(self.items, self.destination, self.choice.terms)
        self.collected = KernelSamples(earlier, self.choice.linear)
        entries = (earlier_entry(self.output, kernel) for kernel in sorted(earlier))
        if (reaches := Reaches.as_before(entries)) is not None:
            self.observed.far = FarTable(reaches)

    @property
    def has_samples(self) -> bool:
        """Whether anything was measured."""
        return bool(self.collected.new)

    def measure(self) -> None:
        """Measure graphs, then kernels alone; each gets its share of the time."""
        workers = self.destination.workers
        graphs = [item for item in self.items if isinstance(item, TaskGraph)]
        kernels = [item for item in self.items if isinstance(item, KernelCall)]
        if self.steered is not None:
            measure_steered(
                graphs[0], workers, self.collected, self.options, self.steered, self.after_step
            )
            return
        neighbours, begin = self._neighbours, 0.0
        if neighbours is not None:
            neighbours.measure_bandwidth()
            begin = BANDWIDTH_SHARE
        first = (1.0 - begin) * len(graphs) / len(self.items)
        if graphs:
            options, tell = self._part(begin, first)
            platform = Platform.identical(workers)
            measure_in_situ(
                graphs, platform, self.collected, options, self.observed, tell, neighbours
            )
        if kernels:
            options, tell = self._part(begin + first, 1.0 - begin - first)
            if neighbours is None:
                measure_under_load(kernels, workers, self.collected, options, tell)
            else:
                neighbours.measure_kernels(kernels, options.max_seconds, self.collected, tell)

    def save(self) -> None:
        """Save all samples, and history models: a fit of linear models may take seconds."""
        if not self.has_samples:
            return
        for kernel in self._linear:
            write_samples_of(self.destination, kernel, self.collected.samples[kernel])
        self.fits = Fits()
        self._fit_and_write(self.collected.new.keys() - self._linear)

    def finish(self, interrupts: Interrupts) -> None:
        """Write everything and make the report. Only the search for terms can be interrupted."""
        self.report = report = CalibrationReport(
            machine=self.destination.machine,
            platform_path=self.destination.platform_path,
            models_folder=self.output,
        )
        report.steered = self.steered
        if not self.has_samples:
            return
        report.rows = list(self.collected.configurations(self.options))
        self.save()
        linear = self._linear
        try:
            interrupts.rearm()
            if self.progress is not None and self.choice.searched & linear:
                self.progress("searching for terms", 1.0)
            self._fit_and_write(linear)
            interrupts.hold()
        except KeyboardInterrupt:
            interrupts.hold()
            report.interrupted = True
            missing = ", ".join(sorted(linear - self.fits.models.keys()))
            report.notes = [f"{missing}: only samples were written, as the fit was interrupted"]
        write_slowdowns_of(self.destination, self.collected, self.observed.slowdowns)
        report.by_kernel = summaries(self.collected, report.rows, self.fits.models, self.options)
        report.overheads = self._overheads()
        report.notes += [*disturbed_runs(self.observed), *model_choices(self.choice, self.fits)]
        if self.steered is None and not interrupts.noted:
            report.notes += unknown_kernels(report.by_kernel, self.options)
        report.notes += missing_intervals(self.fits.without_interval)
        report.notes += preempted_tasks(self.observed)
        report.notes += lock_holders(self.observed.lock_free)
        report.notes += self.fits.far_data

    def _part(self, begin: float, share: float) -> tuple[CalibrationOptions, ShareProgress]:
        """Return options and progress function for a *share* of the time, from *begin* on."""
        options = dataclasses.replace(self.options, max_seconds=share * self.options.max_seconds)
        return options, lambda what, used: self.after_step(what, begin + share * used)

    @property
    def _linear(self) -> frozenset[str]:
        """Measured kernels with linear models."""
        return self.choice.linear & self.collected.new.keys()

    def _fit_and_write(self, kernels: Collection[str]) -> None:
        """Fit and write each of *kernels* with its samples, then the platform.

        If a model cannot be fitted, only its samples are written. Each kernel is recorded at once,
        so that an interruption does not lose it.
        """
        check_lock(self.output)
        collected, fits, observed = self.collected, self.fits, self.observed
        rows = list(collected.configurations(self.options, kernels))
        locality, counted = fit_locality(collected.samples, observed.far)
        fits.far_data = far_data(locality, counted)
        machine = Machine(self.destination.machine, machine_facts(self.destination.workers))
        near = {kernel: without_far_data(s, locality.get(kernel)) for kernel, s in counted.items()}
        effects = run_effects(near, fits.models)
        for kernel in sorted(kernels):
            samples = counted[kernel]
            try:
                model = fits.fit(kernel, near[kernel], self.choice)
            except InputError as error:
                path = write_samples_of(self.destination, kernel, samples)
                fits.refused = fits.refused or InputError(
                    f"kernel {kernel}: {error} (the samples are in {path})"
                )
                continue
            if not effects[kernel].known:  # no configuration was in two runs: compare by the model
                effects = run_effects(near, {**fits.models, kernel: model})
            earlier = earlier_entry(self.output, kernel) if collected.has_earlier(kernel) else None
            how = self._measured_how(kernel, rows, earlier)
            far, free = locality.get(kernel), observed.lock_free.get(kernel)
            if earlier is not None:
                far = far or earlier.locality
                free = earlier.lock_free if free is None else free
            entry = Entry(model, how, far, free, effects[kernel])
            save_kernel(
                self.output,
                kernel,
                {ARCHITECTURE: entry},
                machine=machine,
                samples={ARCHITECTURE: samples},
            )
            fits.models[kernel] = model
        write_platform(self.destination, self._overheads())

    def _measured_how(
        self, kernel: str, rows: Sequence[MeasuredConfiguration], earlier: Entry | None
    ) -> Measured:
        """Return the methods of measuring *kernel*, now and before, and the reason to stop.

        *rows* are the measured configurations.
        """
        collected, mine = self.collected, [row for row in rows if row.kernel == kernel]
        if collected.by_total(kernel):
            total = collected.total(kernel, self.options)
            why = "tolerance" if collected.known(kernel, self.options) else "limit"
            width = f"+-{100 * total.half_width:.2f} % of the total time"
            stopped = {f"{kernel} ({len(mine)} configurations)": f"{why}: {width}"}
        else:
            stopped = {str(row): f"{row.stopped}: +-{100 * row.half_width:.2f} %" for row in mine}
        workers = self.destination.workers
        now = [f"{manner}, {workers} workers busy" for manner in collected.new[kernel]]
        before = [] if earlier is None else earlier.measured.how.split("; ")
        clock = WALL if collected.samples[kernel].wall_s is None else PROCESSOR
        return Measured(today(), "; ".join(dict.fromkeys([*before, *now])), stopped, clock)

    def _overheads(self) -> Overheads | None:
        gaps = self.observed.gaps
        return measured_overheads(gaps) if gaps else None


def named_items(items: object) -> list[TaskGraph | KernelCall]:
    """Return the items to calibrate, with graphs generated from their names.

    Raises
    ------
    InputError
        If *items* is not a list of names, graphs and kernels.
    """
    legal = "a list of graphs, by name or made, and of kernels"
    return made_graphs(items, (TaskGraph, KernelCall), "items", legal)


def _check_preconditions(
    items: Sequence[TaskGraph | KernelCall], destination: Destination, terms: Mapping[str, str]
) -> None:
    """Raise :exc:`InputError` for errors that would otherwise show only after the measurement.

    These are: no items, unknown kernels, a machine name that is no file name, terms of unmeasured
    kernels or unknown parameters, damaged files of an earlier calibration.
    """
    if not items:
        raise InputError("nothing to calibrate: name a graph or a kernel")
    named_machine(destination.machine)
    kernels = _parameter_names(items)
    check_terms(terms, kernels)
    for kernel in kernels:
        coefficients = kernel_path(destination.models_folder, kernel)
        samples = samples_path(destination.models_folder, kernel)
        if coefficients.exists():
            load_kernel(coefficients)
        if samples.exists():
            read_samples(samples)


def _parameter_names(items: Sequence[TaskGraph | KernelCall]) -> Mapping[str, tuple[str, ...]]:
    """Return the kernels that *items* measure, with the names of their parameters."""
    names: dict[str, tuple[str, ...]] = {}
    for item in items:
        if isinstance(item, KernelCall):
            dense_kernel(item.name)[0].sizes(item.parameters)
            names[item.name] = tuple(item.parameters)
        else:
            names.update(zip(item.model_names, item.parameter_names, strict=True))
    return names
