"""Calibration of one core and of contention between cores: predicts for any number of cores."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.contention import Measured, measure_contention, write_contention
from tasksim.calibration.library_files import Destination, write_platform
from tasksim.calibration.overheads import gaps, measured_overheads
from tasksim.calibration.preconditions import named_items
from tasksim.native.cores import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasksim.calibration.calibration_report import CalibrationReport
    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.calibration.linear_kernels import Search
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.contention import Contention

__all__ = ["calibrate_contended"]


def calibrate_contended(
    items: Sequence[str | TaskGraph | KernelCall],
    library: str | Path,
    *,
    workers: int | None = None,
    machine: str | None = None,
    options: CalibrationOptions | None = None,
    terms: Mapping[str, str] | None = None,
    search: Search = "irregular",
    progress: Callable[[str, float], None] | None = None,
) -> CalibrationReport:
    """Measure kernels on one core, and their slowdown on *workers* cores.

    Each part gets half of the time. The platform gets all workers and a memory domain; earlier
    samples, possibly measured beside busy neighbours, are discarded.

    Parameters
    ----------
    items, library, machine, options, terms, search, progress
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
    half = dataclasses.replace(options, max_seconds=options.max_seconds / 2)
    wanted = named_items(items)
    report = calibrate(
        wanted, library, workers=1, machine=machine, options=half, terms=terms, search=search,
        replace=True, progress=_part(progress, 0.0),
    )  # fmt: skip
    if report.interrupted:
        return report
    found = measure_contention(
        wanted,
        count,
        max_seconds=half.max_seconds,
        schedulers=options.schedulers,
        pin=options.pin,
        progress=_part(progress, 0.5),
    )
    written = write_contention(found, report.models_folder, {row.kernel for row in report.rows})
    if found.runs:
        report.overheads = measured_overheads([gaps(run) for run in found.runs])
    destination = Destination(report.platform_path.parents[1], report.machine, count)
    write_platform(destination, report.overheads, found.bandwidths)
    report.notes += _notes(found, written, count)
    report.seconds = time.monotonic() - begun
    return report


def _part(
    progress: Callable[[str, float], None] | None, begin: float
) -> Callable[[str, float], None] | None:
    """Return a progress function for half of the time, from *begin* on."""
    if progress is None:
        return None
    return lambda what, share: progress(what, begin + share / 2)


def _notes(found: Measured, written: Mapping[str, Contention], workers: int) -> list[str]:
    """Return the results as notes, one per kernel."""
    rates = ", ".join(f"{each / 1e9:.3g}" for each in found.bandwidths)
    notes = [f"memory bandwidth for copies on 1 to {workers} cores: {rates} GB/s"]
    for kernel, known in written.items():
        texts = [f"{name} {factors[-1]:.3f}" for name, factors in sorted(known.beside.items())]
        share = f"{100 * known.memory_share:.0f} % of its time is memory access"
        notes.append(f"{kernel}: slowdown beside {', '.join(texts) or 'none'}; {share}")
    notes += found.impossible
    if found.disturbed:
        notes.append(f"{found.disturbed} measurements of contention had no calm moment")
    return notes
