"""Calibration of kernels alone and beside each other, for predictions for any number of cores.

Kernels are measured on one core, and what they lose beside each other in turn with that
(:mod:`tasksim.calibration.neighbours`): a calibration whose durations and slowdowns were of
different minutes would multiply what never was together.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.calibration.calibrate import KernelCampaign
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.fit_runs import measured_overheads
from tasksim.calibration.neighbours import Neighbours
from tasksim.calibration.write_library import (
    ARCHITECTURE,
    Destination,
    earlier_entry,
    write_platform,
)
from tasksim.models.files.store import kernel_path, load_kernel, save_kernel
from tasksim.native.calm_moments import MAX_OTHERS_SHARE
from tasksim.native.this_machine import usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.fit_kernels import TermSearch
    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.calibration.neighbours import MeasuredContention
    from tasksim.calibration.report import CalibrationReport
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.contention import Contention

__all__ = ["calibrate_contended", "write_contention"]


def calibrate_contended(
    items: Sequence[str | TaskGraph | KernelCall],
    library: str | Path,
    *,
    workers: int | None = None,
    machine: str | None = None,
    options: CalibrationOptions | None = None,
    terms: Mapping[str, str] | None = None,
    search: TermSearch = "irregular",
    predicted: Sequence[str | TaskGraph] = (),
    progress: ShareProgress | None = None,
) -> CalibrationReport:
    """Measure kernels on one core, and in turn with that their slowdown on *workers* cores.

    The platform gets all workers and a memory domain; earlier samples, possibly measured beside
    busy neighbours, are discarded.

    Parameters
    ----------
    items, library, machine, options, terms, search, predicted, progress
        As in :func:`~tasksim.calibration.calibrate.calibrate`.
    workers : int, optional
        Number of cores, at least two [default: all usable ones].

    Raises
    ------
    InputError
        If there is only one core, or for the reasons that ``calibrate`` has.
    OutputError
        If files cannot be written.

    See Also
    --------
    tasksim.models.contention.Contention : The part of each coefficient file that is written.

    Examples
    --------
    >>> calibrate_contended(["cholesky tiles=2 tile_size=32"], "lib", workers=1)
    Traceback (most recent call last):
    ...
    tasksim.base.errors.InputError: contention: got 1 workers; legal: at least 2
    """
    begun = time.monotonic()
    count = len(usable_cores()) if workers is None else workers
    if count < 2:
        raise InputError(f"contention: got {count} workers; legal: at least 2")
    options = options or CalibrationOptions()
    neighbours = Neighbours(count, options)
    report = KernelCampaign(
        items, library, workers=1, machine=machine, options=options, terms=terms, search=search,
        predicted=predicted, replace=True, progress=progress, neighbours=neighbours,
    ).reported()  # fmt: skip
    kernels = {row.kernel for row in report.rows}
    entries = {kernel: earlier_entry(report.models_folder, kernel) for kernel in kernels}
    found = neighbours.result(
        {k: e.locality for k, e in entries.items() if e is not None and e.locality is not None}
    )
    written = write_contention(found, report.models_folder, kernels)
    if found.gaps:
        report.overheads = measured_overheads(found.gaps)
    if kernels:
        destination = Destination(report.platform_path.parents[1], report.machine, count)
        write_platform(destination, report.overheads, found.bandwidths)
    report.notes += _notes(found, written, count)
    report.seconds = time.monotonic() - begun
    return report


def _notes(found: MeasuredContention, written: Mapping[str, Contention], workers: int) -> list[str]:
    """Return the results as notes, one per kernel."""
    rates = ", ".join(f"{each / 1e9:.3g}" for each in found.bandwidths)
    notes = []
    if found.bandwidths:
        notes.append(f"memory bandwidth for copies on 1 to {workers} cores: {rates} GB/s")
    for kernel, known in written.items():
        texts = [f"{name} {factors[-1]:.3f}" for name, factors in sorted(known.beside.items())]
        share = f"{100 * known.memory_share:.0f} % of its time is memory access"
        mean = _mean_text(*found.mean[kernel]) if kernel in found.mean else ""
        notes.append(f"{kernel}: slowdown beside {', '.join(texts) or 'none'}{mean}; {share}")
    notes += found.impossible
    if found.used_by_others > MAX_OTHERS_SHARE:
        used = f"other programs used {100 * found.used_by_others:.0f} % of the cores"
        notes.append(
            f"{used}: kernels on one core had neighbours, too, so that slowdowns are too small for"
            " a calm machine"
        )
    if found.disturbed:
        notes.append(f"{found.disturbed} measurements of contention had no calm moment")
    return notes


def _mean_text(mean: float, deviation: float) -> str:
    """Return a kernel's mean slowdown and its standard error, if it is known."""
    return f" (mean {mean:.3f} +- {deviation:.3f})" if deviation >= 0 else f" (mean {mean:.3f})"


def write_contention(
    found: MeasuredContention, folder: Path, kernels: Iterable[str]
) -> dict[str, Contention]:
    """Write the results into the coefficient files of *kernels*, and return them."""
    written = {}
    for kernel in sorted(kernels):
        path = kernel_path(folder, kernel)
        if not path.exists():
            continue
        file = load_kernel(path)
        written[kernel] = known = found.of(kernel)
        entry = dataclasses.replace(file.architectures[ARCHITECTURE], contention=known)
        save_kernel(folder, kernel, {ARCHITECTURE: entry}, machine=file.machine)
    return written
