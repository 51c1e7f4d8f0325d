"""Writing what a calibration measured: coefficient files, samples, the platform file."""

from __future__ import annotations

import datetime
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.base.units import exact_quantity
from tasksim.calibration.machine import fingerprint, memory_bytes, processor
from tasksim.models.history import HistoryModel
from tasksim.models.store import (
    Entry,
    Machine,
    Measured,
    kernel_path,
    load_kernel,
    read_samples,
    samples_path,
    save_kernel,
    write_samples,
)
from tasksim.models.uncertainty import calibrate
from tasksim.native.execution import usable_cores
from tasksim.platform.description import Overheads
from tasksim.platform.load import dump, load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tasksim.calibration.book import Book, Configuration
    from tasksim.models.base import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.models.samples import Samples

__all__ = ["ARCHITECTURE", "Destination", "write_kernels", "write_platform"]

ARCHITECTURE = "cpu"


@dataclass(frozen=True)
class Destination:
    """Where a calibration goes, and for what."""

    library: Path
    machine: str
    workers: int
    terms: Mapping[str, str] = field(default_factory=dict)

    @property
    def models_folder(self) -> Path:
        """The machine's folder of coefficient files."""
        return self.library / "models" / self.machine

    @property
    def platform_path(self) -> Path:
        """The machine's platform file."""
        return self.library / "platforms" / f"{self.machine}.yaml"


def write_kernels(
    destination: Destination,
    book: Book,
    rows: Sequence[Configuration],
    locality: Mapping[str, Locality],
) -> InputError | None:
    """Write a coefficient file, and the samples beside it, for each kernel measured.

    Where a model cannot be fitted to the samples that there are yet, the samples alone are
    written; the first such refusal is returned.
    """
    refused: InputError | None = None
    machine = Machine(destination.machine, fingerprint(destination.workers))
    for kernel in sorted(book.new):
        samples = book.samples[kernel]
        try:
            model = _model(destination.terms.get(kernel)).fit(samples)
        except InputError as error:
            path = _save_samples(destination, kernel, samples)
            refused = refused or InputError(f"kernel {kernel}: {error} (the samples are in {path})")
            continue
        with suppress(InputError):  # too few samples for intervals: predictions do without
            calibrate(model, samples)
        known = _earlier(destination, kernel) if book.has_earlier(kernel) else None
        measured = _measured(destination, book.new[kernel], kernel, rows, known)
        far = locality.get(kernel) or (known.locality if known is not None else None)
        save_kernel(
            destination.models_folder,
            kernel,
            {ARCHITECTURE: Entry(model, measured, far)},
            machine=machine,
            samples={ARCHITECTURE: samples},
        )
    return refused


def _save_samples(destination: Destination, kernel: str, samples: Samples) -> Path:
    """Write the *samples* without a model; return where they are."""
    path = samples_path(destination.models_folder, kernel)
    others = read_samples(path) if path.exists() else {}
    write_samples(path, {**others, ARCHITECTURE: samples})
    return path


def _measured(
    destination: Destination,
    manners: Sequence[str],
    kernel: str,
    rows: Sequence[Configuration],
    known: Entry | None,
) -> Measured:
    """Return how *kernel* was measured, this time and, if that is *known*, before."""
    stopped = {
        str(row): f"{row.stopped}: +-{100 * row.half_width:.2f} %"
        for row in rows
        if row.kernel == kernel
    }
    now = [f"{manner}, {destination.workers} workers busy" for manner in manners]
    before = [] if known is None else known.measured.how.split("; ")
    return Measured(_today(), "; ".join(dict.fromkeys([*before, *now])), stopped)


def _earlier(destination: Destination, kernel: str) -> Entry | None:
    """Return what an earlier calibration wrote of *kernel*."""
    path = kernel_path(destination.models_folder, kernel)
    return load_kernel(path).architectures.get(ARCHITECTURE) if path.exists() else None


def _model(terms: str | None) -> KernelModel:
    if terms is None:
        return HistoryModel()
    from tasksim.models.regression import LinearModel

    return LinearModel(terms=terms)


def write_platform(destination: Destination, overheads: Overheads | None) -> None:
    """Write the platform file; without *overheads*, those of the file that is there remain."""
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
        },
        "fingerprint": fingerprint(destination.workers),
    }
    dump(description, path, comment=f"Written by `tasksim calibrate` on {_today()}.")


def _today() -> str:
    return datetime.date.today().isoformat()
