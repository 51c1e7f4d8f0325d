"""Writer of a calibration's coefficient files, samples, slowdowns and platform file."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from tasksim.base.files import read_text
from tasksim.base.lockfile import locked
from tasksim.base.units import exact_quantity
from tasksim.calibration.machine import machine_facts, memory_bytes
from tasksim.models.files.store import (
    Entry,
    kernel_path,
    load_kernel,
    read_samples,
    samples_path,
    write_samples,
)
from tasksim.models.terms.candidates import AUTO
from tasksim.models.uncertainty.slowdownlaw import read_slowdowns, slowdown_path, write_slowdowns
from tasksim.native.this_machine import processor, usable_cores
from tasksim.platform.description import Overheads
from tasksim.platform.layers import merged, read_layers
from tasksim.platform.load import dump, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tasksim.base.units import Dimension
    from tasksim.calibration.kernel_samples import KernelSamples
    from tasksim.models.samples import Samples
    from tasksim.models.uncertainty.slowdownlaw import SlowdownRow
    from tasksim.platform.description import Platform

__all__ = [
    "ARCHITECTURE",
    "Destination",
    "earlier_entry",
    "earlier_samples",
    "earlier_terms",
    "known_sections",
    "rounded_quantity",
    "today",
    "write_platform",
    "write_recorded_platform",
    "write_samples_of",
    "write_slowdowns_of",
]

ARCHITECTURE = "cpu"


@dataclass(frozen=True)
class Destination:
    """Library, machine and number of workers that a calibration is for."""

    library: Path
    machine: str
    workers: int

    @property
    def models_folder(self) -> Path:
        """Folder of the machine's coefficient files."""
        return self.library / "models" / self.machine

    @property
    def platform_path(self) -> Path:
        """Platform file of the machine."""
        return self.library / "platforms" / f"{self.machine}.yaml"


def earlier_entry(folder: Path, kernel: str, architecture: str = ARCHITECTURE) -> Entry | None:
    """Return the entry of *kernel* from an earlier calibration in *folder*, or None."""
    path = kernel_path(folder, kernel)
    return load_kernel(path).architectures.get(architecture) if path.exists() else None


def earlier_samples(folder: Path) -> dict[str, Samples]:
    """Return the samples of earlier calibrations in *folder*, by kernel."""
    found = {}
    for path in sorted(folder.glob("*.samples.csv")):
        samples = read_samples(path).get(ARCHITECTURE)
        if samples is not None:
            found[path.name.removesuffix(".samples.csv")] = samples
    return found


def earlier_terms(folder: Path, kernels: Iterable[str]) -> dict[str, str]:
    """Return the terms of *kernels* that were given to earlier calibrations in *folder*.

    Terms found by a search are left out: the search is repeated with more samples.
    """
    found = {}
    for kernel in kernels:
        entry = earlier_entry(folder, kernel)
        if entry is not None and "terms" in entry.model.option_names():
            found[kernel] = entry.model.get_params()["terms"]
    return {kernel: terms for kernel, terms in found.items() if terms != AUTO}


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


def write_platform(
    destination: Destination, overheads: Overheads | None, bandwidths: Sequence[float] = ()
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
        "fingerprint": machine_facts(destination.workers),
        **_measured_otherwise(path),
    }
    if bandwidths:
        curve = [rounded_quantity(each, "bandwidth") for each in bandwidths]
        description["memory_domains"] = {"ram": {"workers": "cpu", "bandwidth": curve}}
    dump(description, path, comment=f"Written by `tasksim calibrate` on {today()}.")


def write_recorded_platform(destination: Destination, platform: Platform, where: Path) -> None:
    """Write the *platform* of the run *where*, with the models of the destination."""
    from tasksim.base.documents.yaml_document import YamlDocument

    if platform.path is None:
        data = _like(platform)
    else:
        data = merged(read_layers(YamlDocument.read(platform.path), None).documents)
        for name in ("version", "extends", "models", "name"):
            data.pop(name, None)
        # The durations are those of these workers, whatever others their models were taken from.
        for section in data.get("arch", {}).values():
            for name in ("speed", "models"):
                section.pop(name, None)
    description = {
        "name": destination.machine,
        "models": f"../models/{destination.machine}",
        **data,
    }
    comment = f"Written by `tasksim calibrate`: where {where} was recorded."
    dump(description, destination.platform_path, comment=comment)


def _like(platform: Platform) -> dict[str, Any]:
    """Return the sections of a file for workers on one memory."""
    counts = Counter(worker.architecture for worker in platform.workers)
    cost = platform.overheads
    seconds = {
        "submission": cost.submission_s, "task": cost.task_s, "wakeup": cost.wakeup_s,
        "push": cost.push_s, "start": cost.start_s,
    }  # fmt: skip
    return {
        "memories": {memory.name: {} for memory in platform.memories},
        "workers": {kind: {"count": count} for kind, count in counts.items()},
        "overheads": {name: exact_quantity(s, "time") for name, s in seconds.items() if s},
    }


def _measured_otherwise(path: Path) -> dict[str, Any]:
    """Return the sections of a platform file that calibrations of kernels do not write."""
    if not path.exists():
        return {}
    known = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    kept = ("memory_hierarchy", "memory_domains")
    return {name: known[name] for name in kept if name in known}


def rounded_quantity(value: float, dimension: Dimension) -> str:
    """Return a quantity with four digits: measurements have no more."""
    return exact_quantity(float(f"{value:.4g}"), dimension)


def today() -> str:
    """Return the date of today, as files have it."""
    return datetime.date.today().isoformat()


def known_sections(path: Path, comment: str) -> tuple[dict[str, Any], str]:
    """Return the sections of the platform file at *path*, and the first line of its comment.

    If there is no file, these are one worker per core, and *comment*.
    """
    name = {"name": path.stem}
    if not path.exists():
        return {**name, "workers": {ARCHITECTURE: {"count": os.cpu_count() or 1}}}, comment
    text = read_text(path)
    first = text.partition("\n")[0]
    known = yaml.safe_load(text) or {}
    return {**name, **known}, first[1:].strip() if first.startswith("#") else comment
