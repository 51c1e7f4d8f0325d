"""Demo, the main job in one go: calibrate this machine, predict, really run, compare, draw."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.files import new_folder, write_text
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.graph.apps.registry import generate
from tasksim.native.calm_moments import Probe
from tasksim.native.cores import usable_cores
from tasksim.run.runfolder import save
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.study.cells import Compared, ResultTable, solved
from tasksim.study.repetitions import calm_warning, measure
from tasksim.study.replays import replay_error, replay_line

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.calm_moments import Calmness
    from tasksim.run.record import Run

__all__ = ["CALIBRATED_TILES", "DemoResult", "demo"]

CALIBRATED_TILES = (6, 10)
PREDICTED = ((8, "eager"), (8, "prio"), (12, "eager"), (12, "lws"), (14, "prio"), (14, "lws"))
"""Tiles and scheduler of what is predicted: other sizes than those of the calibration."""
DRAWN = (12, "lws")
PAGE: Final = "runs.html"
"""Of the runs that are drawn, to explore in a browser."""
TILE_SIZE = 256
"""What a gemm of takes a millisecond: long beside the costs of the runtime, as in real use."""
REPETITIONS = 5
"""The least odd number whose median two disturbed runs do not move to a disturbed one."""
CALIBRATION_S = 25.0
"""In which each kernel of the small graphs is known to a few percent on two cores, while the whole
demo takes about a minute."""
PATIENCE_S = 20.0
"""How long calm moments are waited for: on a quiet machine none of it is used, and on a busy one
the demo still ends in about a minute."""
MODELS: Final = "models"
"""What the prediction is called: there is one variant, that of the calibrated models."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo found, and where it put it.

    Attributes
    ----------
    rows : tuple of Compared
        Per case what was measured and predicted.
    calm : Calmness
        How calm the machine was when it was measured.
    """

    output: Path
    machine: str
    workers: int
    rows: tuple[Compared, ...]
    calm: Calmness
    files: tuple[str, ...] = ()
    replay_errors: tuple[float, ...] = ()
    """Of all native runs, replayed with their own durations: what the models have no part in."""

    @property
    def median_error(self) -> float:
        """The median of the absolute relative errors."""
        return ResultTable(self.rows).summary(MODELS).median

    @property
    def worst_error(self) -> float:
        """The largest absolute relative error."""
        return ResultTable(self.rows).summary(MODELS).worst

    @property
    def warning(self) -> str | None:
        """What is to be said of a machine that others used meanwhile."""
        return calm_warning(self.calm)

    def table(self) -> str:
        """Return the table: graph, scheduler, predicted, measured median and spread, error."""
        lines = [
            ResultTable(self.rows).text(MODELS),
            f"\nmeasured: median of {REPETITIONS} interleaved runs on {self.workers} workers of"
            f" {self.machine}; spread: (max - min) / median",
            f"|error|: median {100 * self.median_error:.1f} %,"
            f" worst {100 * self.worst_error:.1f} %",
            *([replay_line(self.replay_errors)] if self.replay_errors else []),
            _calm_line(self.calm),
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "schema_version": 1,
            "machine": self.machine,
            "workers": self.workers,
            "cases": [_case_json(row) for row in self.rows],
            "median_error": self.median_error,
            "worst_error": self.worst_error,
            "replay_errors": list(self.replay_errors),
            "calm": {"kept": self.calm.kept, "disturbed": self.calm.disturbed},
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

    The models come from runs of a tiled Cholesky of 6 and 10 tiles; what is predicted has
    other sizes and is simulated before its first native run. Both are run in calm moments, as far
    as there are some. *output* is complete or, when the demo is interrupted, as it was before.

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
        predicted = [solved(case, resolver) for case in cases]
        measured = measure(
            [case.vary(clock="native") for case in cases],
            REPETITIONS,
            probe=Probe(count),
            patience_s=PATIENCE_S,
            resolver=resolver,
            progress=lambda what, x: tell(what, 0.45 + 0.45 * x),
        )
        tell("drawing", 0.92)
        pairs = zip(measured.cells, predicted, strict=True)
        rows = tuple(Compared(native, {MODELS: simulated}) for native, simulated in pairs)
        assert measured.calm is not None  # since there was a probe
        replayed = tuple(
            replay_error(run, _graph(run)) for row in rows for run in row.measured.runs
        )
        result = DemoResult(
            output, platform.stem, count, rows, measured.calm, replay_errors=replayed
        )
        result = _written(folder, result)
    tell("done", 1.0)
    return result


def _graph(run: Run) -> TaskGraph:
    return generate(run.graph_name, **run.graph_arguments)


def _calm_line(calm: Calmness) -> str:
    if not calm.disturbed:
        return f"calm: all {calm.kept} runs were made while nobody else used the cores"
    return f"calm: {calm.kept - calm.disturbed} of {calm.kept} runs, others used the cores"


def _case_json(row: Compared) -> dict[str, Any]:
    """Return a case with what its only variant predicts."""
    data = row.to_json()
    del data["errors"]
    return {**data, "predicted_s": row.predicted_s(MODELS), "error": row.error(MODELS)}


def _calibrate(folder: Path, workers: int, tell: Progress) -> Path:
    """Return the platform file of this machine."""
    graphs = [generate("cholesky", tiles=tiles, tile_size=TILE_SIZE) for tiles in CALIBRATED_TILES]
    report = calibrate(
        graphs,
        folder,
        workers=workers,
        options=CalibrationOptions(
            max_seconds=CALIBRATION_S, schedulers=("eager", "lws", "prio"), calm=True
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
    runs = [drawn.measured.median_run, drawn.predicted[MODELS].median_run]
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
