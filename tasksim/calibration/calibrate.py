"""Calibrate this machine: measure, fit, and write its platform and coefficient files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tasksim.base.units import format_time
from tasksim.calibration.book import Book, Configuration, Options
from tasksim.calibration.insitu import Observed, measure_in_situ
from tasksim.calibration.locality import fit_locality
from tasksim.calibration.machine import machine_name
from tasksim.calibration.micro import Kernel, measure_under_load
from tasksim.calibration.overheads import measured_overheads
from tasksim.calibration.request import check_request
from tasksim.calibration.write import ARCHITECTURE, Destination, write_kernels, write_platform
from tasksim.graph.taskgraph import TaskGraph
from tasksim.models.store import read_samples
from tasksim.platform.description import Overheads, Platform

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.base.errors import InputError
    from tasksim.models.samples import Samples

__all__ = ["Report", "calibrate"]

SAVE_EVERY_S = 5.0

Progress = Callable[[str, float], None]


@dataclass
class Report:
    """What a calibration measured, and where it is."""

    machine: str
    platform_path: Path
    models_folder: Path
    rows: list[Configuration] = field(default_factory=list)
    overheads: Overheads | None = None
    """None when only kernels were measured, outside the runtime."""
    seconds: float = 0.0
    interrupted: bool = False

    def table(self) -> str:
        """Return a line per configuration: how often, how long, how sure, why it ended."""
        lines = [f"{'kernel':44} {'samples':>7} {'outliers':>8} {'mean':>10} {'+-':>8}  stopped by"]
        lines += [
            f"{row!s:44} {row.count:7} {row.dropped:8} {format_time(row.mean_s):>10}"
            f" {100 * row.half_width:6.2f} %  {row.stopped}"
            for row in self.rows
        ]
        if self.overheads is not None:
            costs = self.overheads
            lines.append(
                f"runtime: submission {format_time(costs.submission_s)}, task"
                f" {format_time(costs.task_s)}, wake-up {format_time(costs.wakeup_s)}"
            )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "schema_version": 1,
            "machine": self.machine,
            "platform": str(self.platform_path),
            "models": str(self.models_folder),
            "kernels": [asdict(row) for row in self.rows],
            "overheads": None if self.overheads is None else asdict(self.overheads),
            "seconds": self.seconds,
            "interrupted": self.interrupted,
        }


def calibrate(
    items: Sequence[TaskGraph | Kernel],
    library: Path,
    *,
    workers: int,
    machine: str | None = None,
    options: Options | None = None,
    terms: Mapping[str, str] | None = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Measure kernels on this machine; write models and platform to *library*.

    Parameters
    ----------
    items : sequence of TaskGraph or Kernel
        Graphs are run in turn, and their kernels measured where they work; kernels are
        measured by themselves, with all workers busy.
    library : Path
        Gets ``models/<machine>/<kernel>.json``, the samples beside them, and
        ``platforms/<machine>.yaml``.
    workers : int
        How many cores work at once. A prediction is for as many.
    machine : str, optional
        The name of the machine; its host name by default.
    options : Options, optional
        When to stop.
    terms : mapping, optional
        Kernel -> terms of a linear model (``"m*n*k + m*n"``); the others get a history model.
        All configurations of such a kernel must be measured before it can be fitted.
    replace : bool, optional
        Forget what earlier calibrations measured of these kernels; by default it counts too.
    progress : callable, optional
        Called with what goes on and the share of the time that is used.

    Notes
    -----
    What is measured is written every few seconds. When the measuring is interrupted
    (KeyboardInterrupt), what there is is written, and the report says so.

    Raises
    ------
    InputError
        Before anything is measured: if there is nothing to do, *terms* are wrong, or files of an
        earlier calibration are damaged. After: if the samples do not suffice for *terms*; they
        are written all the same.
    OutputError
        If the files cannot be written.
    """
    destination = Destination(library, machine or machine_name(), workers, dict(terms or {}))
    check_request(items, destination)
    session = _Session(destination, options or Options(), replace, progress)
    begun = time.monotonic()
    interrupted = False
    try:
        session.measure(items, workers)
    except KeyboardInterrupt:
        interrupted = True
    report = session.save()
    if session.refused is not None and not interrupted:
        raise session.refused
    report.interrupted = interrupted
    report.seconds = time.monotonic() - begun
    return report


class _Session:
    """A calibration under way."""

    def __init__(
        self, destination: Destination, options: Options, anew: bool, progress: Progress | None
    ) -> None:
        self.destination = destination
        self.options = options
        self.progress = progress
        self.book = Book({} if anew else earlier_samples(destination.models_folder))
        self.observed = Observed()
        self.saved = time.monotonic()
        self.refused: InputError | None = None
        """Why a model could not be fitted when the samples were last written."""

    def measure(self, items: Sequence[TaskGraph | Kernel], workers: int) -> None:
        graphs = [item for item in items if isinstance(item, TaskGraph)]
        kernels = [item for item in items if isinstance(item, Kernel)]
        platform = Platform.identical(workers)
        first = len(graphs) / len(items)
        if graphs:
            options, tell = self._part(0.0, first)
            measure_in_situ(graphs, platform, self.book, options, self.observed, tell)
        if kernels:
            options, tell = self._part(first, 1.0 - first)
            measure_under_load(kernels, workers, self.book, options, tell)

    def _part(self, begin: float, share: float) -> tuple[Options, Progress]:
        """Return the options and the progress of a *share* of the time, from *begin*."""
        options = replace(self.options, max_seconds=share * self.options.max_seconds)
        return options, lambda what, used: self.after_round(what, begin + share * used)

    def after_round(self, what: str, share: float) -> None:
        if self.progress is not None:
            self.progress(what, share)
        if time.monotonic() - self.saved > SAVE_EVERY_S:
            self.save()
            self.saved = time.monotonic()

    def save(self) -> Report:
        """Write everything measured so far; return what that is."""
        rows = list(self.book.configurations(self.options))
        gaps = self.observed.gaps
        overheads = measured_overheads(gaps) if gaps else None
        if rows:
            locality = fit_locality(self.observed.far)
            self.refused = write_kernels(self.destination, self.book, rows, locality)
            write_platform(self.destination, overheads)
        return Report(
            machine=self.destination.machine,
            platform_path=self.destination.platform_path,
            models_folder=self.destination.models_folder,
            rows=rows,
            overheads=overheads,
        )


def earlier_samples(folder: Path) -> dict[str, Samples]:
    """Return the samples of earlier calibrations in *folder*, by kernel."""
    found = {}
    for path in sorted(folder.glob("*.samples.csv")):
        samples = read_samples(path).get(ARCHITECTURE)
        if samples is not None:
            found[path.name.removesuffix(".samples.csv")] = samples
    return found
