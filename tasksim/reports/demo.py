"""Demo of the main job, from a calibration of this machine to predictions and native runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.files import new_folder, write_text
from tasksim.base.threadclock import has_thread_clock
from tasksim.base.units import format_time
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.engine.simulation import Simulation
from tasksim.formats.platforms import platform_of_workers
from tasksim.graph.apps.registry import generate
from tasksim.native.slowdown_probe import SlowdownProbe
from tasksim.native.this_machine import usable_cores
from tasksim.run.disturbance import others_share
from tasksim.run.measured import MeasuredDurations
from tasksim.run.others import MIN_SAID_CROWDED_SHARE, crowded_share
from tasksim.run.runfolder import save
from tasksim.scenario.repetitions import ErrorSummary, ScenarioRuns, measure, solved
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.sureness import how_sure
from tasksim.view.texttables import table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.base.progress import ShareProgress
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.scenario.prediction import Prediction

__all__ = [
    "CALIBRATED_TILES",
    "LIVE_PAGE_NAME",
    "DemoCase",
    "DemoResult",
    "demo",
    "replay_error",
    "replay_line",
]


def replay_error(run: Run, graph: TaskGraph) -> float:
    """Return the relative error of the makespan when *run*, of *graph*, is replayed.

    The replay has the run's durations, its mean overhead and its scheduler: the error contains
    neither kernel models nor the machine's moods.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> replay_error(tasksim.simulate(graph, workers=1), graph)
    0.0
    """
    platform = platform_of_workers(run, graph)
    measured = MeasuredDurations(run, graph)
    again = Simulation(graph, platform, measured, run.scheduler, seed=run.seed or 0).run()
    return again.makespan_s / run.makespan_s - 1 if run.makespan_s else 0.0


def replay_line(errors: Sequence[float]) -> str:
    """Return a line about the errors of replays."""
    sizes = [abs(error) for error in errors]
    return (
        f"|error| of the native runs replayed with their own durations: median"
        f" {100 * median(sizes):.2f} %, worst {100 * max(sizes):.2f} %"
    )


CALIBRATED_TILES = (7, 16)
"""Tiles of the calibrated graphs, one smaller and one larger than all predicted ones: only a graph
that does not fit in the last cache shows the cost of far data."""
PREDICTED_CASES = ((8, "eager"), (8, "prio"), (12, "eager"), (12, "lws"), (14, "prio"), (14, "lws"))
"""Tiles and scheduler of each predicted case, with other sizes than the calibration."""
DRAWN_CASE = (12, "lws")
PAGE_NAME: Final = "runs.html"
"""Page of the drawn runs, to explore in a browser."""
LIVE_PAGE_NAME: Final = "live.html"
"""Live page of the drawn prediction: what other workers, speeds and schedulers would give."""
TILE_SIZE = 256
"""Rows of a tile: its gemm takes a millisecond, long beside the runtime's overhead, as in real
use."""
REPETITIONS = 5
"""Native runs per case: the smallest odd number whose median two disturbed runs cannot disturb."""
CALIBRATION_S = 15.0
"""Time of the calibration in seconds. It suffices for each kernel of the small graphs on two cores,
over several moods of the machine, while the whole demo takes half a minute."""
CALIBRATION_TOLERANCE: Final = 1e-3
"""Relative tolerance of the calibration, so small that it uses all of its time: a machine's mood
lasts for seconds, and means after one second would be those of that mood."""


@dataclass(frozen=True, eq=False)
class DemoCase:
    """A case of the demo, with its native runs and what was predicted before them.

    Attributes
    ----------
    measured : ScenarioRuns
        The native runs.
    predicted : Run
        The simulated one.
    sure : Prediction
        Prediction interval of one run that starts when the native runs began.
    """

    measured: ScenarioRuns
    predicted: Run
    sure: Prediction

    @property
    def undisturbed_s(self) -> float:
        """The median run's makespan alone; if that is unknown, as measured."""
        alone_s = self.measured.alone_s
        return self.measured.median_s if alone_s is None else alone_s

    @property
    def error(self) -> float:
        """The signed relative error of the prediction."""
        return self.predicted.makespan_s / self.undisturbed_s - 1

    @property
    def inside(self) -> int:
        """The number of native runs inside the prediction interval of one run."""
        low_s, high_s = self.sure.run_low_s, self.sure.run_high_s
        return sum(low_s <= makespan_s <= high_s for makespan_s in self.measured.makespans_s)

    def row(self) -> list[str]:
        """Return the row of the table."""
        alone_s = self.measured.alone_s
        return [
            self.measured.scenario.graph_label,
            self.measured.scenario.scheduler_label,
            format_time(self.predicted.makespan_s),
            f"{format_time(self.sure.run_low_s)} to {format_time(self.sure.run_high_s)}",
            format_time(self.measured.median_s),
            "-" if alone_s is None else format_time(alone_s),
            f"{100 * self.error:+.1f} %",
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the case as plain data."""
        return {
            "graph": self.measured.scenario.graph_label,
            "scheduler": self.measured.scenario.scheduler_label,
            "predicted_s": self.predicted.makespan_s,
            "run_low_s": self.sure.run_low_s,
            "run_high_s": self.sure.run_high_s,
            "measured_s": self.measured.makespans_s,
            "median_s": self.measured.median_s,
            "spread": self.measured.spread,
            "alone_s": self.measured.alone_s,
            "inside": self.inside,
            "error": self.error,
        }


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Results of the demo, and the files that it wrote.

    Attributes
    ----------
    rows : tuple of DemoCase
    """

    output: Path
    machine: str
    workers: int
    rows: tuple[DemoCase, ...]
    files: tuple[str, ...] = ()
    replay_errors: tuple[float, ...] = ()
    """Errors of all native runs replayed with their own durations, without kernel models."""
    live_refused: str = ""
    """Why the live page shows a recording only; empty if it replays."""

    @property
    def errors(self) -> ErrorSummary:
        """A summary of the errors of all cases."""
        return ErrorSummary.of(row.error for row in self.rows)

    @property
    def others_share(self) -> float:
        """The share of the cores that other processes had during the native runs."""
        return mean(others_share(run) for row in self.rows for run in row.measured.runs)

    @property
    def crowded_share(self) -> float | None:
        """The share of the tasks' time that others on the same processor took; None: unknown."""
        shares = [crowded_share(run) for row in self.rows for run in row.measured.runs]
        known = [share for share in shares if share is not None]
        return mean(known) if known else None

    def table(self) -> str:
        """Return the table of predictions, intervals, measurements and errors, with a legend."""
        headers = ["graph", "scheduler", "predicted", "one run", "measured", "alone", "error"]
        errors, runs = self.errors, sum(len(row.measured.runs) for row in self.rows)
        inside = sum(row.inside for row in self.rows)
        known = self.rows[0].measured.alone_s is not None
        crowded = self.crowded_share or 0.0
        alone = (
            "alone: the same runs replayed without what others took, "
            f"{100 * self.others_share:.1f} % of the cores"
            + (
                f" and, on the same processor, {100 * crowded:.0f} % of the tasks' time"
                if crowded >= MIN_SAID_CROWDED_SHARE
                else ""
            )
            if known
            else "alone: this system does not tell the processor time of threads"
        )
        lines = [
            table(headers, [row.row() for row in self.rows], left=2),
            f"\nmeasured: median of {REPETITIONS} runs on {self.workers} workers of {self.machine};"
            f" {inside} of {runs} are within their interval of one run"
            f" ({100 * self.rows[0].sure.level:g} %)",
            alone,
            "predicted: alone on the machine; one run: a run now, with what others may take",
            f"error: predicted against {'alone' if known else 'measured'};"
            f" median {100 * errors.median:.1f} %, worst {100 * errors.worst:.1f} %",
            *([replay_line(self.replay_errors)] if self.replay_errors else []),
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        errors = self.errors
        return {
            "schema_version": 2,
            "machine": self.machine,
            "workers": self.workers,
            "cases": [row.to_json() for row in self.rows],
            "median_error": errors.median,
            "worst_error": errors.worst,
            "others_share": self.others_share,
            "crowded_share": self.crowded_share,
            "replay_errors": list(self.replay_errors),
            "output": str(self.output),
            "live_refused": self.live_refused or None,
            "files": list(self.files),
        }


def demo(
    output: Path,
    *,
    workers: int | None = None,
    force: bool = False,
    progress: ShareProgress | None = None,
) -> DemoResult:
    """Calibrate, predict, run, compare, draw, and write all files to the folder *output*.

    The models come from runs of a tiled Cholesky of 7 and 16 tiles. The predicted cases have other
    sizes, and all are simulated just before the native runs, which other processes may disturb.
    *output* is complete or, when the demo is interrupted, as it was before.

    Parameters
    ----------
    output : Path
        A new folder.
    workers : int, optional
        Threads; by default all usable cores.
    force : bool, default False
        Whether to replace an existing folder.
    progress : callable, optional
        Called with the current step and the finished share of the demo.
    """
    count = workers or len(usable_cores())
    tell = progress or (lambda _what, _share: None)
    with new_folder(output, force=force) as folder:
        platform = _calibrate(folder, count, tell)
        base = Scenario("cholesky", {"tile_size": TILE_SIZE}, platform=str(platform))
        cases = [
            base.vary(settings={"tiles": tiles, "tile_size": TILE_SIZE}, scheduler=scheduler)
            for tiles, scheduler in PREDICTED_CASES
        ]
        rows = _rows(cases, count, tell)
        tell("drawing", 0.92)
        replayed = tuple(
            replay_error(run, generate(run.graph_name, **run.graph_arguments))
            for row in rows
            for run in row.measured.runs
        )
        result = DemoResult(output, platform.stem, count, tuple(rows), replay_errors=replayed)
        result = _written(folder, result)
    tell("done", 1.0)
    return result


def _rows(cases: Sequence[Scenario], workers: int, tell: ShareProgress) -> list[DemoCase]:
    """Predict all *cases*, and run them in turn.

    Runs of a case in one and the same moment of the machine would share its mood. What others take
    is predicted from probes just before all runs.
    """
    resolver = Resolver()
    predicted = [solved(case, resolver).median_run for case in cases]
    tell("probing the machine", 0.45)
    probes = SlowdownProbe(workers).recent() if has_thread_clock() else None
    measured = measure(
        [case.vary(clock="native") for case in cases],
        REPETITIONS,
        resolver=resolver,
        progress=lambda what, share: tell(what, 0.5 + 0.25 * share),
    )
    rows = []
    for number, (case, run, runs) in enumerate(
        zip(cases, predicted, measured.scenarios, strict=True)
    ):
        tell("predicting intervals", 0.75 + 0.15 * number / len(cases))
        rows.append(DemoCase(runs, run, how_sure(case, probes=probes)))
    return rows


def _calibrate(folder: Path, workers: int, tell: ShareProgress) -> Path:
    """Calibrate this machine, and return its platform file."""
    graphs = [generate("cholesky", tiles=tiles, tile_size=TILE_SIZE) for tiles in CALIBRATED_TILES]
    report = calibrate(
        graphs,
        folder,
        workers=workers,
        options=CalibrationOptions(
            max_seconds=CALIBRATION_S,
            tolerance=CALIBRATION_TOLERANCE,
            schedulers=("eager", "lws", "prio"),
        ),
        progress=lambda what, share: tell(f"calibrating, {what}", 0.45 * min(1.0, share)),
    )
    if report.interrupted:  # half a calibration is worth keeping, half a demo is not
        raise KeyboardInterrupt
    return report.platform_path


def _written(folder: Path, result: DemoResult) -> DemoResult:
    """Write the table, the runs and the figures; return the result with their paths."""
    from tasksim.view.figure import figure, save_figure
    from tasksim.view.live.page import live_page
    from tasksim.view.page.document import save_page

    write_text(folder / "table.txt", result.table() + "\n")
    cases = [(f"tiles={tiles}", scheduler) for tiles, scheduler in PREDICTED_CASES]
    drawn = result.rows[cases.index((f"tiles={DRAWN_CASE[0]}", DRAWN_CASE[1]))]
    runs = [drawn.measured.median_run, drawn.predicted]
    # First, while the runs still name existing files: the page needs the models' expectations.
    save_page(runs, folder / PAGE_NAME, names=["native", "simulated"])
    predicted = drawn.measured.scenario.vary(clock="simulated")
    moved = str(predicted.platform).replace(str(folder), str(result.output))
    live = live_page(predicted, told=predicted.vary(platform=moved))
    live.save(folder / LIVE_PAGE_NAME)
    native, simulated = (_moved(run, folder, result.output) for run in runs)
    save(native, folder / "native")
    save(simulated, folder / "simulated")
    chart = figure([native, simulated], panels=["gantt", "ready"])
    for suffix in ("png", "pdf"):
        save_figure(chart, folder / f"gantt.{suffix}")
    # Last, because it names the others.
    files = tuple(sorted([*(path.name for path in folder.iterdir()), "demo.json"]))
    result = replace(result, files=files, live_refused=live.refused)
    write_text(folder / "demo.json", json.dumps(result.to_json(), indent=1) + "\n")
    return result


def _moved(run: Run, folder: Path, output: Path) -> Run:
    """Return the run with the paths of its scenario moved from *folder* to *output*."""
    before, after = json.dumps(str(folder.resolve())), json.dumps(str(output.resolve()))
    text = json.dumps(run.config).replace(before[1:-1], after[1:-1])
    return replace(run, config=json.loads(text))
