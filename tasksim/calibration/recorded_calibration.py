"""Kernel models of recorded runs, written to a library like those of a calibration.

Nothing is measured: the samples are the tasks of the runs, with the parameters of their graphs.
"""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import flag, one_of, path_of
from tasksim.base.errors import InputError, listed, option, short
from tasksim.base.lockfile import locked
from tasksim.base.shortnames import NAME_LETTERS, distinct
from tasksim.base.units import format_time
from tasksim.calibration.fit_kernels import (
    TERM_SEARCHES,
    Fits,
    LinearKernels,
    TermSearch,
    check_terms,
    choose_linear,
    predicted_graphs,
)
from tasksim.calibration.fit_locality import (
    DEFAULT_REACHES_BYTES,
    FarTable,
    Reaches,
    fit_locality,
    without_far_data,
)
from tasksim.calibration.recorded_samples import (
    is_known,
    is_told,
    is_trace,
    refuse_other_names,
    samples_of,
    unused_parameters,
)
from tasksim.calibration.report import far_data, kept_terms, missing_intervals, model_choices
from tasksim.calibration.write_library import (
    Destination,
    earlier_entry,
    earlier_terms,
    write_recorded_platform,
)
from tasksim.formats.traces.recutils import FOOTPRINT_PARAMETER, ITERATION_PARAMETER
from tasksim.models.files.coefficients import PROCESSOR, WALL
from tasksim.models.files.store import (
    Entry,
    Machine,
    Measured,
    kernel_path,
    read_samples,
    samples_path,
    save_kernel,
)
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.rows import DURATION_PARAMETER
from tasksim.models.samples import Samples
from tasksim.models.terms.search import MIN_CONFIGURATIONS
from tasksim.models.uncertainty.runeffects import run_effects
from tasksim.native.this_machine import named_machine
from tasksim.run.disturbance import CLOCK_TICK_S, has_processor_times
from tasksim.run.foldernames import RUN_JSON
from tasksim.run.record import Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.recorded_samples import Name, SamplesByName
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.platform.description import Platform
    from tasksim.run.samples import RecordedRun

__all__ = ["FittedKernel", "RecordedCalibration", "calibrate_from"]

MIN_SAMPLES: Final = 10
"""Number of samples of a configuration below which its mean is reported as uncertain: as many as a
calibration wants, and as StarPU does."""


@dataclass(frozen=True)
class FittedKernel:
    """Model of one kernel on one architecture, and its samples.

    Attributes
    ----------
    samples, configurations
        Number of samples, with those of earlier calibrations, and of different parameters.
    fewest
        Number of samples of the configuration that has the fewest.
    total_s
        Total duration of the samples.
    model, terms
        Kind of the model, and terms of a linear one.
    mlogq, cv_mlogq
        Mean of abs(ln(predicted / measured)) over configurations, and, for a linear model, the
        same over configurations left out of the fit.
    """

    kernel: str
    architecture: str
    parameters: tuple[str, ...]
    samples: int
    configurations: int
    fewest: int
    total_s: float
    model: str
    terms: tuple[str, ...] | None
    mlogq: float | None
    cv_mlogq: float | None


@dataclass
class RecordedCalibration:
    """Models that recorded runs have given, and the places of their files.

    Attributes
    ----------
    platform_path
        The platform file; None if a file cannot describe where the runs were.
    kernels
        The fitted kernels, the longest total first.
    notes
        Remarks for the reader.
    """

    machine: str
    platform_path: Path | None
    models_folder: Path
    runs: tuple[Path, ...]
    kernels: list[FittedKernel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def table(self) -> str:
        """Return a line per kernel and architecture."""
        header = ("kernel", "samples", "configurations", "total", "MLogQ", "model")
        names = distinct([one.kernel for one in self.kernels], NAME_LETTERS)
        rows = [
            (
                f"{name} on {one.architecture}", f"{one.samples}", f"{one.configurations}",
                format_time(one.total_s), _error(one), " + ".join(one.terms or (one.model,)),
            )
            for name, one in zip(names, self.kernels, strict=True)
        ]  # fmt: skip
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        return "\n".join(
            f"{first:<{widths[0]}}  "
            + "  ".join(f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=False))
            + f"  {last}"
            for first, *rest, last in (header, *rows)
        )

    def to_json(self) -> dict[str, Any]:
        """Return this as plain data."""
        return {
            "schema_version": 1,
            "machine": self.machine,
            "platform": None if self.platform_path is None else str(self.platform_path),
            "models": str(self.models_folder),
            "runs": [str(path) for path in self.runs],
            "kernels": [asdict(one) for one in self.kernels],
            "notes": self.notes,
        }


def _error(one: FittedKernel) -> str:
    value = one.mlogq if one.cv_mlogq is None else one.cv_mlogq
    return "-" if value is None else f"{value:.3f}"


def calibrate_from(
    runs: str | Path | Run | Sequence[str | Path | Run],
    library: str | Path,
    *,
    machine: str | None = None,
    terms: Mapping[str, str] | None = None,
    search: TermSearch = "irregular",
    predicted: Sequence[str | TaskGraph] = (),
    replace: bool = False,
    trust: bool = False,
    progress: ShareProgress | None = None,
) -> RecordedCalibration:
    """Fit models of the kernels in recorded runs; write them and a platform to *library*.

    Parameters
    ----------
    runs : str, Path, Run or a sequence of them
        Runs of programs that were recorded, imported traces, native runs: folders, files of other
        tools, or in memory. Several count as runs of the same program on one machine.
    library : str or Path
        Folder that receives ``models/<machine>/<kernel>.json``, samples beside the models, and
        ``platforms/<machine>.yaml``, the platform of the first run with these models. A platform
        file that is there already is kept.
    machine : str, optional
        Name of the machine [default: that of this one].
    terms : mapping, optional
        Kernel -> terms of a linear model (``"bytes"``); all its parameters count.
    search : {"irregular", "all", "none"}
        Other kernels that get a linear model with searched terms, as in :func:`calibrate`. The
        rest get histories.
    predicted : sequence of str or TaskGraph, optional
        Graphs that will be predicted, as in :func:`calibrate`.
    replace : bool, default False
        Whether to discard earlier samples of these kernels instead of adding to them.
    trust : bool, default False
        Whether a generator that a run names as ``MODULE:NAME`` is imported to get its graph.
    progress : callable, optional
        Called with the current activity and the share that is done.

    Returns
    -------
    RecordedCalibration
        A row per kernel and architecture, and notes: on kernels with too few samples, on what has
        no model.

    Raises
    ------
    InputError
        If a run cannot be read, was simulated, or lacks its graph; if kernels have other parameters
        than in another run or an earlier calibration; if samples do not suffice for *terms*.
        Nothing is written then.

    Notes
    -----
    Durations, and the runtime's overheads in the platform file, are without the time that other
    programs took, where processor times were recorded.
    Three runs or more on one cache whose tasks use data again tell what far data cost, as in
    :func:`calibrate`; no run names its caches, so reaches of 1 MiB to 256 MiB are tried. Tasks
    shorter than the clock shows count as a nanosecond.

    See Also
    --------
    calibrate : Measures kernels on this machine.
    simulate : Takes the models by the platform.

    Examples
    --------
    >>> import tempfile
    >>> import tasksim
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = tasksim.execute("cholesky tiles=3 tile_size=16", workers=1)
    ...     found = calibrate_from(run, folder, machine="here")
    ...     platform = tasksim.load_platform(found.platform_path)
    ...     again = tasksim.simulate("cholesky tiles=3 tile_size=16", platform)
    >>> sorted(one.kernel for one in found.kernels), len(again)
    (['gemm', 'potrf', 'syrk', 'trsm'], 10)
    """
    destination = Destination(path_of(library, "library"), named_machine(machine), 1)
    flag(replace, "replace")
    one_of(search, TERM_SEARCHES, "search")
    recorded = _loaded(runs, trust=flag(trust, "trust"))
    graphs = predicted_graphs(predicted)
    found = _Fitting(recorded, destination, dict(terms or {}), search, graphs, replace)
    folder = destination.models_folder
    with locked(folder, wait=True):
        found.gather()
        found.fit(progress)
        found.write()
    return found.report()


def _loaded(given: object, *, trust: bool) -> list[RecordedRun]:
    """Return the runs with their graphs."""
    from tasksim.formats.runs import load_run
    from tasksim.run.runchecks import check_records
    from tasksim.scenario.recorded import recorded_runs

    some = [given] if isinstance(given, str | Path | Run) else given
    if not isinstance(some, list | tuple) or not some:
        raise InputError(f"runs: got {short(given)}; legal: one run or more")
    named: list[tuple[Path, Run]] = []
    for one in some:
        if isinstance(one, Run):
            named.append((Path(one.graph_name), one))
            continue
        path = path_of(one, "runs")
        if any(path.resolve() == other.resolve() for other, _ in named):
            raise InputError(f"{path} is given twice: its tasks would count twice")
        named.append((path, load_run(path)))
    for path, run in named:
        check_records(run, path)
        if run.kind != "native":
            raise InputError(
                f"{path}: a {run.kind} run: its durations are those of models; legal: runs that "
                "were recorded, imported or executed"
            )
    return recorded_runs(named, trust=trust)


@dataclass(eq=False)
class _Fitting:
    """Samples of recorded runs on their way to models."""

    runs: Sequence[RecordedRun]
    destination: Destination
    given: dict[str, str]
    search: TermSearch
    predicted: Sequence[TaskGraph]
    forgets: bool
    """Whether earlier samples are discarded."""
    samples: dict[Name, Samples] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    choice: LinearKernels = field(default_factory=LinearKernels)
    labels: dict[Name, str] = field(default_factory=dict)
    """Text of each: the kernel, with its architecture if it has several."""
    fits: Fits = field(default_factory=Fits)
    localities: dict[Name, Locality] = field(default_factory=dict)
    platform_path: Path | None = None

    def gather(self) -> None:
        """Collect the samples of the runs, then those of earlier calibrations."""
        graphs = [one.graph for one in self.runs]
        kernels = dict.fromkeys(name for graph in graphs for name in graph.model_names)
        kept = {}
        if not (self.forgets or self.search == "none"):
            kept = earlier_terms(self.destination.models_folder, self._writable(kernels))
        given = {**kept, **self.given}
        self.choice = choose_linear(graphs, given, self.search, predicted=self.predicted)
        self.notes += kept_terms(kept.keys() - self.given.keys(), self.choice)
        writable = self._writable(kernels)
        parts = [samples_of(one) for one in self.runs]
        self._note_left_out(kernels, writable, parts)
        parts = [{n: s for n, s in part.items() if n[0] in writable} for part in parts]
        refuse_other_names(self.runs, parts)
        chosen = self._with_parameters(parts)
        self._add(chosen)
        count = Counter(kernel for kernel, _ in self.samples)
        self.labels = {n: n[0] if count[n[0]] == 1 else f"{n[0]} on {n[1]}" for n in self.samples}
        names = {kernel: some.names for (kernel, _), some in self.samples.items()}
        check_terms(self.choice.terms, names)

    def _writable(self, kernels: Iterable[str]) -> list[str]:
        """Return the kernels that can have a file."""
        return [kernel for kernel in kernels if _file_problem(self.destination, kernel) is None]

    def _note_left_out(
        self, kernels: Iterable[str], writable: Sequence[str], parts: Sequence[SamplesByName]
    ) -> None:
        """Say which kernels get no model, and which durations the clock did not show."""
        self.notes += [
            f"no model of {_file_problem(self.destination, kernel)}"
            for kernel in kernels
            if kernel not in writable
        ]
        told = {kernel for part in parts for (kernel, _), some in part.items() if is_told(some)}
        if told:
            self.notes.append(
                f"{listed(sorted(told))}: no model, as each task has its own duration "
                f"({DURATION_PARAMETER})"
            )
        short_ones = Counter[str]()
        for one, part in zip(self.runs, parts, strict=True):
            model_of = one.graph.model_names
            for kernel in one.run.tasks.kernel[one.run.tasks.duration_s < CLOCK_TICK_S].tolist():
                short_ones[model_of[kernel]] += 1
            for name in [n for n, some in part.items() if is_told(some)]:
                del part[name]
        for kernel in told:
            del short_ones[kernel]
        if short_ones:
            named = [f"{kernel} ({count})" for kernel, count in short_ones.items()]
            self.notes.append(
                f"tasks that took less than the clock shows count as a nanosecond: {listed(named)}"
            )

    def _with_parameters(self, parts: Sequence[SamplesByName]) -> list[SamplesByName]:
        """Return the samples with the parameters that matter, the same for all runs of a kernel."""
        traced = [is_trace(one.run) for one in self.runs]
        together: dict[str, list[tuple[Samples, bool]]] = {}
        for part, is_traced in zip(parts, traced, strict=True):
            for (kernel, _), some in part.items():
                together.setdefault(kernel, []).append((some, is_traced))
        numbered = [
            kernel
            for kernel, of in together.items()
            if any(is_traced and ITERATION_PARAMETER in some.names for some, is_traced in of)
        ]
        if numbered:
            self.notes.append(
                f"{listed(numbered)}: '{ITERATION_PARAMETER}' numbers the tasks, and is no "
                "parameter"
            )
        dropped = {
            kernel: unused_parameters(
                [some for some, _ in of], kernel in self.choice.linear, any(t for _, t in of)
            )
            for kernel, of in together.items()
        }
        return [
            {name: some.without(dropped[name[0]]) for name, some in part.items()} for part in parts
        ]

    def _add(self, parts: Sequence[SamplesByName]) -> None:
        """Add the samples of each run to those of earlier calibrations; a run counts once."""
        folder = self.destination.models_folder
        earlier = {} if self.forgets else self._earlier(parts)
        # The runs of all kernels here have numbers that are taken.
        taken = [
            some.runs.max(initial=-1)
            for path in sorted(folder.glob("*.samples.csv"))
            for some in read_samples(path).values()
            if some.runs is not None
        ]
        number = int(max(taken, default=-1)) + 1
        self.samples = dict(earlier)
        # No run tells the caches of its machine.
        known = Reaches.as_before(earlier_entry(folder, *name) for name in earlier)
        far = FarTable(known or Reaches(DEFAULT_REACHES_BYTES, None))
        for one, part in zip(self.runs, parts, strict=True):
            if part and is_known(part, earlier):
                self.notes.append(
                    f"{one.path}: its tasks are among the earlier samples; they count once"
                )
                continue
            for name, some in part.items():
                more = replace(some, runs=np.full(len(some), number))
                before = self.samples.get(name)
                self.samples[name] = more if before is None else Samples.concat([before, more])
            if _shares_one_cache(one.run):
                far.add(number, one.run, one.graph)
            number += 1
        self._fit_localities(far)

    def _fit_localities(self, far: FarTable) -> None:
        """Fit what far data cost, and keep with the samples how much of their data was far.

        Kernels on several architectures are left out: the runs that tell have one.
        """
        places = Counter(kernel for kernel, _ in self.samples)
        names = {name[0]: name for name in self.samples if places[name[0]] == 1}
        found, counted = fit_locality({k: self.samples[n] for k, n in names.items()}, far)
        self.samples |= {names[kernel]: some for kernel, some in counted.items()}
        self.localities = {names[kernel]: known for kernel, known in found.items()}
        self.notes += far_data(found, counted)

    def _earlier(self, parts: Iterable[SamplesByName]) -> SamplesByName:
        """Return the samples of earlier calibrations of the kernels in *parts*."""
        found: SamplesByName = {}
        folder = self.destination.models_folder
        for name, some in {n: s for part in parts for n, s in part.items()}.items():
            path = samples_path(folder, name[0])
            known = read_samples(path).get(name[1]) if path.exists() else None
            if known is None:
                # A model without samples, as imported ones are, gives way.
                if (entry := earlier_entry(folder, *name)) is not None:
                    self.notes.append(
                        f"{kernel_path(folder, name[0])}: the model for {name[1]}, "
                        f"{entry.measured.how}, is replaced: it has no samples to add to"
                    )
                continue
            if sorted(known.names) != sorted(some.names):
                raise InputError(
                    f"{path}: samples with the parameters ({', '.join(known.names)}), the runs "
                    f"have ({', '.join(some.names)}); {option('replace')} forgets earlier samples, "
                    "another name of the machine keeps both"
                )
            found[name] = known
        return found

    def fit(self, progress: ShareProgress | None) -> None:
        """Fit a model to each kernel on each architecture.

        Raises
        ------
        InputError
            With all kernels whose samples do not suffice for the given terms.
        """
        refused = []

        def labelled(kernels: frozenset[str]) -> frozenset[str]:
            return frozenset(self.labels[n] for n in self.samples if n[0] in kernels)

        choice = replace(
            self.choice,
            terms={self.labels[n]: t for n in self.samples if (t := self.choice.terms.get(n[0]))},
            searched=labelled(self.choice.searched),
            irregular=labelled(self.choice.irregular),
            unmeasured=labelled(self.choice.unmeasured),
        )
        for place, (name, some) in enumerate(self.samples.items()):
            if progress is not None:
                progress(self.labels[name], place / len(self.samples))
            near = without_far_data(some, self.localities.get(name))
            try:
                self.fits.models[self.labels[name]] = self.fits.fit(
                    self.labels[name], near, choice, called=name[0]
                )
            except InputError as error:
                refused.append(f"kernel {self.labels[name]}: {error}")
        if refused:
            raise InputError("\n".join(refused))
        self.notes += [
            *self._few_samples(),
            *self._could_be_searched(),
            *model_choices(choice, self.fits),
            *missing_intervals(self.fits.without_interval),
        ]

    def _few_samples(self) -> list[str]:
        """Return a note on the kernels with too few samples of a configuration."""
        few = [
            f"{self.labels[name]} ({fewest})"
            for name, some in self.samples.items()
            if self.fits.models[self.labels[name]].kind == HistoryModel.kind
            and (fewest := _fewest(some)) < MIN_SAMPLES
        ]
        if not few:
            return []
        return [
            f"fewer than {MIN_SAMPLES} samples of a configuration, so that its mean is uncertain: "
            f"{listed(few)}; record more runs, and give them all"
        ]

    def _could_be_searched(self) -> list[str]:
        """Return a note on histories with enough configurations for the fit of a formula."""
        if self.search == "none":
            return []
        several = [
            self.labels[name]
            for name, some in self.samples.items()
            if name[0] not in self.choice.linear
            and len(some.configurations()[0]) >= MIN_CONFIGURATIONS
            and FOOTPRINT_PARAMETER not in some.names
        ]
        if not several:
            return []
        on_command_line = option("terms").startswith("-")
        how = option("terms", "auto") if on_command_line else "search='all'"
        return [
            f"{listed(several)}: histories, which predict no other configurations; {how} searches "
            "for formulas that do"
        ]

    def write(self) -> None:
        """Write models, samples and the platform file."""
        platform = self._platform()
        fingerprint = {} if platform is None else platform.fingerprint
        machine = Machine(self.destination.machine, dict(fingerprint))
        near = {
            self.labels[name]: without_far_data(some, self.localities.get(name))
            for name, some in self.samples.items()
        }
        effects = run_effects(near, self.fits.models)
        when = max(_when(one.path) for one in self.runs)
        how = f"tasks of {', '.join(str(one.path) for one in self.runs)}"
        for kernel in dict.fromkeys(kernel for kernel, _ in self.samples):
            entries, samples = {}, {}
            for name, some in self.samples.items():
                if name[0] != kernel:
                    continue
                clock = WALL if some.wall_s is None else PROCESSOR
                entries[name[1]] = Entry(
                    self.fits.models[self.labels[name]],
                    Measured(when, how, clock=clock),
                    self.localities.get(name),
                    runs=effects[self.labels[name]],
                )
                samples[name[1]] = some
            save_kernel(
                self.destination.models_folder, kernel, entries, machine=machine, samples=samples
            )

    def _platform(self) -> Platform | None:
        """Write the platform of the first run, unless there is one; return what it was."""
        from tasksim.formats.platforms import platform_of
        from tasksim.platform.load import load

        path = self.destination.platform_path
        if path.exists():
            self.platform_path = path
            self.notes.append(f"{path}: kept as it was; the runs tell only of kernels")
            return load(path)
        first = self.runs[0]
        try:
            alone = has_processor_times(first.run)
            platform = platform_of(first.run, first.path, alone=alone)
        except InputError as error:
            folder = self.destination.models_folder
            self.notes.append(
                f"no platform file: {error}; {option('models')} {folder} takes the models on any"
            )
            return None
        write_recorded_platform(self.destination, platform, first.path)
        self.platform_path = path
        return platform

    def report(self) -> RecordedCalibration:
        """Return the fitted models, a row for each, with the notes."""
        rows = [
            _row(name, some, self.fits.models[self.labels[name]])
            for name, some in self.samples.items()
        ]
        return RecordedCalibration(
            machine=self.destination.machine,
            platform_path=self.platform_path,
            models_folder=self.destination.models_folder,
            runs=tuple(one.path for one in self.runs),
            kernels=sorted(rows, key=lambda one: (-one.total_s, one.kernel, one.architecture)),
            notes=self.notes,
        )


def _row(name: Name, some: Samples, model: KernelModel) -> FittedKernel:
    told = model.report()
    return FittedKernel(
        kernel=name[0],
        architecture=name[1],
        parameters=some.names,
        samples=len(some),
        configurations=len(some.configurations()[0]),
        fewest=_fewest(some),
        total_s=float(some.durations_s.sum()),
        model=model.kind,
        terms=getattr(model, "terms_", None),
        mlogq=told.get("mlogq"),
        cv_mlogq=told.get("cv_mlogq"),
    )


def _shares_one_cache(run: Run) -> bool:
    """Return whether the order of the tasks of *run* tells what its cache held.

    That of several machines, or beside GPUs, does not.
    """
    kinds = {(worker.architecture, worker.node) for worker in run.workers}
    return len(kinds) == 1 and bool((np.diff(run.tasks.task) > 0).all())


def _file_problem(destination: Destination, kernel: str) -> str | None:
    """Return why *kernel* can have no file; None if it can."""
    try:
        kernel_path(destination.models_folder, kernel)
    except InputError as error:
        return str(error)
    return None


def _fewest(some: Samples) -> int:
    return int(np.bincount(some.configurations()[1]).min())


def _when(path: Path) -> str:
    """Return the date of a run: that of its file, today for one in memory."""
    for file in (path / RUN_JSON, path):
        if file.exists():
            when = datetime.datetime.fromtimestamp(file.stat().st_mtime, datetime.UTC)
            return when.date().isoformat()
    return datetime.datetime.now(datetime.UTC).date().isoformat()
