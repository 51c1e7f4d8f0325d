"""Demo, the main job in one go: calibrate this machine, predict, really run, compare, draw."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.files import new_folder, write_text
from tasksim.base.threadclock import has_thread_clock
from tasksim.base.units import format_time
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.engine.simulation import Simulation
from tasksim.formats.recorded import platform_of_workers
from tasksim.graph.apps.registry import generate
from tasksim.native.cores import usable_cores
from tasksim.native.slowdown_probe import SlowdownProbe
from tasksim.run.disturbance import others_share
from tasksim.run.measured import MeasuredDurations
from tasksim.run.runfolder import save
from tasksim.scenario.repetitions import ErrorSummary, ScenarioRuns, measure, solved
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.sureness import how_sure
from tasksim.view.texttables import table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.scenario.prediction import Prediction

__all__ = ["CALIBRATED_TILES", "DemoCase", "DemoResult", "demo", "replay_error", "replay_line"]


def replay_error(run: Run, graph: TaskGraph) -> float:
    """Return the relative error of the makespan of *run*, of *graph*, when it is replayed.

    Each task takes what it took, the runtime what it took in the mean, under the same scheduler:
    neither kernel models nor the machine's moods are in it.

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
"""One graph that is smaller than all that is predicted, and one that is larger: what kernels cost
whose data have left the last cache shows only in graphs that do not fit."""
PREDICTED = ((8, "eager"), (8, "prio"), (12, "eager"), (12, "lws"), (14, "prio"), (14, "lws"))
"""Tiles and scheduler of what is predicted: other sizes than those of the calibration."""
DRAWN = (12, "lws")
PAGE: Final = "runs.html"
"""Of the runs that are drawn, to explore in a browser."""
TILE_SIZE = 256
"""What a gemm of takes a millisecond: long beside the costs of the runtime, as in real use."""
REPETITIONS = 5
"""The least odd number whose median two disturbed runs do not move to a disturbed one."""
CALIBRATION_S = 15.0
"""In which each kernel of the small graphs is known on two cores, in several moods of the machine,
while the whole demo takes half a minute."""
CALIBRATION_TOLERANCE: Final = 1e-3
"""So small that calibrations take all of their time: a machine's mood lasts for seconds, and means
that are known after one are those of that second."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class DemoCase:
    """A case: what was predicted of it just before it was run, and its native runs.

    Attributes
    ----------
    measured : ScenarioRuns
        The native runs.
    predicted : Run
        The simulated one.
    sure : Prediction
        Where one run that starts now is.
    """

    measured: ScenarioRuns
    predicted: Run
    sure: Prediction

    @property
    def undisturbed_s(self) -> float:
        """What is predicted: the median run, alone; where nobody knows that, as it was."""
        alone_s = self.measured.alone_s
        return self.measured.median_s if alone_s is None else alone_s

    @property
    def error(self) -> float:
        """The signed relative error of the prediction."""
        return self.predicted.makespan_s / self.undisturbed_s - 1

    @property
    def inside(self) -> int:
        """How many native runs are where the prediction says that one run is."""
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
    """What the demo found, and where it put it.

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
    """Of all native runs, replayed with their own durations: what the models have no part in."""

    @property
    def errors(self) -> ErrorSummary:
        """The errors of all cases in short."""
        return ErrorSummary.of(row.error for row in self.rows)

    @property
    def others_share(self) -> float:
        """The share of the cores that others had while the native runs were made."""
        return mean(others_share(run) for row in self.rows for run in row.measured.runs)

    def table(self) -> str:
        """Return the table: predicted, where one run is, measured, alone, error; what they are."""
        headers = ["graph", "scheduler", "predicted", "one run", "measured", "alone", "error"]
        errors, runs = self.errors, sum(len(row.measured.runs) for row in self.rows)
        inside = sum(row.inside for row in self.rows)
        known = self.rows[0].measured.alone_s is not None
        alone = (
            "alone: the same runs replayed without what others took, "
            f"{100 * self.others_share:.1f} % of the cores"
            if known
            else "alone: this system does not tell the processor time of threads"
        )
        lines = [
            table(headers, [row.row() for row in self.rows], left=2),
            f"\nmeasured: median of {REPETITIONS} runs on {self.workers} workers of {self.machine};"
            f" {inside} of {runs} are within their interval of one run"
            f" ({100 * self.rows[0].sure.level:g} %)",
            alone,
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
            "replay_errors": list(self.replay_errors),
            "output": str(self.output),
            "files": list(self.files),
        }


def demo(
    output: Path,
    *,
    workers: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> DemoResult:
    """Calibrate, predict, run, compare, draw; leave everything in the folder *output*.

    The models come from runs of a tiled Cholesky of 7 and 16 tiles; what is predicted has
    other sizes and is simulated just before its native runs, which others may disturb. *output* is
    complete or, when the demo is interrupted, as it was before.

    Parameters
    ----------
    output : Path
        A new folder.
    workers : int, optional
        Threads; by default all usable cores.
    force : bool, default False
        Replace what is there.
    progress : callable, optional
        Called with what goes on and the share of the whole that is done.
    """
    count = workers or len(usable_cores())
    tell = progress or (lambda _what, _share: None)
    with new_folder(output, force=force) as folder:
        platform = _calibrate(folder, count, tell)
        base = Scenario("cholesky", {"tile_size": TILE_SIZE}, platform=str(platform))
        cases = [
            base.vary(settings={"tiles": tiles, "tile_size": TILE_SIZE}, scheduler=scheduler)
            for tiles, scheduler in PREDICTED
        ]
        resolver = Resolver()
        rows = []
        for number, case in enumerate(cases):
            tell(f"{case.graph_label}, {case.scheduler_label}", 0.45 + 0.45 * number / len(cases))
            rows.append(_case(case, count, resolver))
        tell("drawing", 0.92)
        replayed = tuple(
            replay_error(run, _graph(run)) for row in rows for run in row.measured.runs
        )
        result = DemoResult(output, platform.stem, count, tuple(rows), replay_errors=replayed)
        result = _written(folder, result)
    tell("done", 1.0)
    return result


def _graph(run: Run) -> TaskGraph:
    return generate(run.graph_name, **run.graph_arguments)


def _case(case: Scenario, workers: int, resolver: Resolver) -> DemoCase:
    """Predict a case for now, and run it."""
    predicted = solved(case, resolver).median_run
    probes = SlowdownProbe(workers).recent() if has_thread_clock() else None
    sure = how_sure(case, probes=probes)
    measured = measure([case.vary(clock="native")], REPETITIONS, resolver=resolver)
    return DemoCase(measured.scenarios[0], predicted, sure)


def _calibrate(folder: Path, workers: int, tell: Progress) -> Path:
    """Return the platform file of this machine."""
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
    """Write the table, the runs and the figures; return the result with what was written."""
    from tasksim.view.figure import figure, save_figure
    from tasksim.view.page.pagefile import save_page

    write_text(folder / "table.txt", result.table() + "\n")
    cases = [(f"tiles={tiles}", scheduler) for tiles, scheduler in PREDICTED]
    drawn = result.rows[cases.index((f"tiles={DRAWN[0]}", DRAWN[1]))]
    runs = [drawn.measured.median_run, drawn.predicted]
    # Before they name files that are not there yet: the page has what their models expect.
    save_page(runs, folder / PAGE, names=["native", "simulated"])
    native, simulated = (_moved(run, folder, result.output) for run in runs)
    save(native, folder / "native")
    save(simulated, folder / "simulated")
    chart = figure([native, simulated], panels=["gantt", "ready"])
    for suffix in ("png", "pdf"):
        save_figure(chart, folder / f"gantt.{suffix}")
    # Last, because it names the others.
    files = tuple(sorted([*(path.name for path in folder.iterdir()), "demo.json"]))
    result = replace(result, files=files)
    write_text(folder / "demo.json", json.dumps(result.to_json(), indent=1) + "\n")
    return result


def _moved(run: Run, folder: Path, output: Path) -> Run:
    """Return a run whose scenario names the files of *folder* as they are called in *output*."""
    before, after = json.dumps(str(folder.resolve())), json.dumps(str(output.resolve()))
    text = json.dumps(run.config).replace(before[1:-1], after[1:-1])
    return replace(run, config=json.loads(text))
