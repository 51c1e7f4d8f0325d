"""Earlier calibrations of a machine: their samples, and the terms that they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.calibration.write_library import ARCHITECTURE
from tasksim.models.files.store import kernel_path, load_kernel, read_samples
from tasksim.models.terms.candidates import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tasksim.models.samples import Samples

__all__ = ["earlier_samples", "earlier_terms"]


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
        path = kernel_path(folder, kernel)
        entry = load_kernel(path).architectures.get(ARCHITECTURE) if path.exists() else None
        if entry is not None and "terms" in entry.model.option_names():
            found[kernel] = entry.model.get_params()["terms"]
    return {kernel: terms for kernel, terms in found.items() if terms != AUTO}
