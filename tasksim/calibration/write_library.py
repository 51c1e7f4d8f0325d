"""Files of a library: coefficient files, samples and the platform file of a calibration."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.base.lockfile import locked
from tasksim.base.units import exact_quantity
from tasksim.calibration.fit_kernels import LinearKernels
from tasksim.calibration.machine import fingerprint, memory_bytes, processor
from tasksim.models.files.coefficients import PROCESSOR, WALL
from tasksim.models.files.samplefile import write_samples
from tasksim.models.files.slowdownfile import read_slowdowns, slowdown_path, write_slowdowns
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
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.uncertainty.runeffects import run_effects
from tasksim.models.validation.crossvalidation import left_out
from tasksim.native.cores import usable_cores
from tasksim.platform.description import Overheads
from tasksim.platform.load import dump, load

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.kernel_samples import KernelSamples, MeasuredConfiguration
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.models.samples import Samples
    from tasksim.models.uncertainty.slowdownlaw import SlowdownRow

__all__ = [
    "ARCHITECTURE",
    "Destination",
    "Written",
    "write_kernels",
    "write_platform",
    "write_samples_of",
    "write_slowdowns_of",
]

ARCHITECTURE = "cpu"


@dataclass(frozen=True)
class Destination:
    """Destination of a calibration: library, machine, number of workers."""

    library: Path
    machine: str
    workers: int
    choice: LinearKernels = field(default_factory=LinearKernels)
    """Kernels that get linear models."""

    @property
    def models_folder(self) -> Path:
        """Folder of the machine's coefficient files."""
        return self.library / "models" / self.machine

    @property
    def platform_path(self) -> Path:
        """Platform file of the machine."""
        return self.library / "platforms" / f"{self.machine}.yaml"


@dataclass
class Written:
    """Results of writing kernels.

    Attributes
    ----------
    models
        Kernel -> its fitted model.
    refused
        Error of the first kernel whose samples do not suffice for the given terms; for such
        kernels only the samples were written.
    histories
        Kernel that got a history because its terms could not be searched for -> reason.
    without_interval
        Kernel whose predictions have no interval -> reason.
    """

    models: dict[str, KernelModel] = field(default_factory=dict)
    refused: InputError | None = None
    histories: dict[str, str] = field(default_factory=dict)
    without_interval: dict[str, str] = field(default_factory=dict)


def write_kernels(
    destination: Destination,
    collected: KernelSamples,
    rows: Sequence[MeasuredConfiguration],
    locality: Mapping[str, Locality],
    lock_free: Mapping[str, float],
    options: CalibrationOptions,
    kernels: Collection[str],
    written: Written,
) -> None:
    """Write a coefficient file, and the samples beside it, for each of *kernels*.

    *rows* are their configurations, *options* the precision to reach. If a model cannot be fitted,
    only the samples are written. Each kernel is recorded in *written* at once, so that an
    interruption does not lose it.
    """
    machine = Machine(destination.machine, fingerprint(destination.workers))
    effects = run_effects(collected.samples, written.models)
    for kernel in sorted(kernels):
        samples = collected.samples[kernel]
        try:
            model = _fitted(destination.choice, kernel, samples, written)
        except InputError as error:
            path = write_samples_of(destination, kernel, samples)
            written.refused = written.refused or InputError(
                f"kernel {kernel}: {error} (the samples are in {path})"
            )
            continue
        # The terms stay fixed in cross-validation: a search without each fifth of the samples would
        # take five times as long as the search itself.
        try:
            calibrate(model, samples, left_out(model.settled(), samples))
        except InputError as error:
            written.without_interval[kernel] = str(error)
        known = _earlier(destination, kernel) if collected.has_earlier(kernel) else None
        stopped = _stopped(collected, kernel, rows, options)
        clock = WALL if samples.wall_s is None else PROCESSOR
        measured = _measured(destination, collected.new[kernel], stopped, known, clock)
        far = locality.get(kernel) or (known.locality if known is not None else None)
        free = lock_free.get(kernel, known.lock_free if known is not None else None)
        if not effects[kernel].known:  # no configuration was in two runs: compare runs by the model
            effects = run_effects(collected.samples, {**written.models, kernel: model})
        save_kernel(
            destination.models_folder,
            kernel,
            {ARCHITECTURE: Entry(model, measured, far, free, effects[kernel])},
            machine=machine,
            samples={ARCHITECTURE: samples},
        )
        written.models[kernel] = model


def _fitted(choice: LinearKernels, kernel: str, samples: Samples, written: Written) -> KernelModel:
    """Return the model of *kernel*: with its given terms, with found terms, or a history."""
    terms = choice.terms_of(kernel)
    if terms is None:
        return HistoryModel().fit(samples)
    if kernel in choice.terms:
        from tasksim.models.kinds.linear import LinearModel

        return LinearModel(terms=terms).fit(samples)
    from tasksim.calibration.fit_kernels import fit_searched

    try:
        return fit_searched(kernel, samples)
    except InputError as error:
        written.histories[kernel] = str(error)
        return HistoryModel().fit(samples)


def write_slowdowns_of(
    destination: Destination, collected: KernelSamples, rows: Mapping[int, SlowdownRow]
) -> None:
    """Write the slowdowns of runs, with those of earlier calibrations."""
    path = slowdown_path(destination.models_folder)
    earlier = read_slowdowns(path)
    kept = {run: row for run, row in earlier.items() if run < collected.first_run}
    if kept or rows or earlier:
        write_slowdowns(destination.models_folder, {**kept, **rows})


def write_samples_of(destination: Destination, kernel: str, samples: Samples) -> Path:
    """Write the *samples* of *kernel* without a model; return their path."""
    path = samples_path(destination.models_folder, kernel)
    with locked(kernel_path(destination.models_folder, kernel)):
        others = read_samples(path) if path.exists() else {}
        write_samples(path, {**others, ARCHITECTURE: samples})
    return path


def _stopped(
    collected: KernelSamples,
    kernel: str,
    rows: Sequence[MeasuredConfiguration],
    options: CalibrationOptions,
) -> dict[str, str]:
    """Return the reasons to stop as text, per configuration or for the total time of *kernel*."""
    mine = [row for row in rows if row.kernel == kernel]
    if not collected.by_total(kernel):
        return {str(row): f"{row.stopped}: +-{100 * row.half_width:.2f} %" for row in mine}
    total = collected.total(kernel, options)
    why = "tolerance" if collected.known(kernel, options) else "limit"
    width = f"+-{100 * total.half_width:.2f} % of the total time"
    return {f"{kernel} ({len(mine)} configurations)": f"{why}: {width}"}


def _measured(
    destination: Destination,
    manners: Sequence[str],
    stopped: Mapping[str, str],
    known: Entry | None,
    clock: str,
) -> Measured:
    """Return how a kernel was measured, now and, if *known*, before."""
    now = [f"{manner}, {destination.workers} workers busy" for manner in manners]
    before = [] if known is None else known.measured.how.split("; ")
    return Measured(_today(), "; ".join(dict.fromkeys([*before, *now])), stopped, clock)


def _earlier(destination: Destination, kernel: str) -> Entry | None:
    """Return the entry of *kernel* from an earlier calibration, or None."""
    path = kernel_path(destination.models_folder, kernel)
    return load_kernel(path).architectures.get(ARCHITECTURE) if path.exists() else None


def write_platform(
    destination: Destination,
    overheads: Overheads | None,
    bandwidths: Sequence[float] = (),
) -> None:
    """Write the platform file; without *overheads*, keep those of the existing file.

    With *bandwidths*, of 1, 2, ... cores, the cores share a memory domain.
    """
    path = destination.platform_path
    if overheads is None:
        overheads = load(str(path)).overheads if path.exists() else Overheads()
    memory = memory_bytes()
    cores = usable_cores()[: destination.workers]
    workers: dict[str, Any] = {"count": destination.workers}
    if len(cores) == destination.workers:
        workers["cores"] = cores
    description = {
        "name": destination.machine,
        "description": processor(),
        "models": f"../models/{destination.machine}",
        "memories": {"ram": {"size": exact_quantity(memory, "size")} if memory else {}},
        "workers": {"cpu": workers},
        "overheads": {
            "submission": exact_quantity(overheads.submission_s, "time"),
            "task": exact_quantity(overheads.task_s, "time"),
            "wakeup": exact_quantity(overheads.wakeup_s, "time"),
            **({"push": exact_quantity(overheads.push_s, "time")} if overheads.push_s else {}),
        },
        "fingerprint": fingerprint(destination.workers),
        **_measured_otherwise(path),
    }
    if bandwidths:
        curve = [exact_quantity(float(f"{each:.4g}"), "bandwidth") for each in bandwidths]
        description["memory_domains"] = {"ram": {"workers": "cpu", "bandwidth": curve}}
    dump(description, path, comment=f"Written by `tasksim calibrate` on {_today()}.")


def _measured_otherwise(path: Path) -> dict[str, Any]:
    """Return the sections of a platform file that calibrations of kernels do not write."""
    if not path.exists():
        return {}
    import yaml

    known = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    kept = ("memory_hierarchy", "memory_domains")
    return {name: known[name] for name in kept if name in known}


def _today() -> str:
    return datetime.date.today().isoformat()
