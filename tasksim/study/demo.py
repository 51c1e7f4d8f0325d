"""The main job in one go: calibrate this machine, predict, really run, compare, draw."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.files import new_folder, write_text
from tasksim.calibration.book import Options
from tasksim.calibration.calibrate import calibrate
from tasksim.graph.apps.registry import generate
from tasksim.models.files.store import ModelLibrary
from tasksim.native.execution import usable_cores
from tasksim.platform.load import load
from tasksim.run.runfolder import save
from tasksim.study.fidelity import Case, Outcome, measure, predict

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CALIBRATED_TILES", "DemoResult", "demo"]

CALIBRATED_TILES = (6, 10)
PREDICTED = ((8, "eager"), (8, "prio"), (12, "eager"), (12, "lws"), (14, "prio"), (14, "lws"))
"""Tiles and scheduler of what is predicted: other sizes than those of the calibration."""
DRAWN = (12, "lws")
TILE_SIZE = 256
REPETITIONS = 5
CALIBRATION_S = 25.0

Progress = Callable[[str, float], None]


@dataclass
class DemoResult:
    """What the demo found, and where it put it."""

    output: Path
    machine: str
    workers: int
    outcomes: list[Outcome]
    files: tuple[str, ...]

    @property
    def median_error(self) -> float:
        """The median of the absolute relative errors."""
        return statistics.median(abs(outcome.error) for outcome in self.outcomes)

    @property
    def worst_error(self) -> float:
        """The largest absolute relative error."""
        return max(abs(outcome.error) for outcome in self.outcomes)

    def table(self) -> str:
        """Return the table: graph, scheduler, predicted, measured median and spread, error."""
        lines = [
            f"{'graph':38} {'scheduler':9} {'predicted':>11} {'measured':>11}"
            f" {'spread':>8} {'error':>8}"
        ]
        lines += [
            f"{o.case.graph_text:38} {o.case.scheduler:9} {1e3 * o.predicted_s:8.1f} ms"
            f" {1e3 * o.median_s:8.1f} ms {100 * o.spread:6.1f} % {100 * o.error:+6.1f} %"
            for o in self.outcomes
        ]
        lines.append(
            f"\nmeasured: median of {REPETITIONS} interleaved runs on {self.workers} workers of"
            f" {self.machine}; spread: (max - min) / median"
            f"\n|error|: median {100 * self.median_error:.1f} %,"
            f" worst {100 * self.worst_error:.1f} %"
        )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "schema_version": 1,
            "machine": self.machine,
            "workers": self.workers,
            "cases": [outcome.to_json() for outcome in self.outcomes],
            "median_error": self.median_error,
            "worst_error": self.worst_error,
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
    other sizes and is simulated before its first native run. *output* is complete or, when the
    demo is interrupted, as it was before. *progress* is called with what goes on
    and the share of the whole that is done.
    """
    count = workers or len(usable_cores())
    tell = progress or (lambda _what, _share: None)
    with new_folder(output, force=force) as folder:
        platform_path, models_folder = _calibrate(folder, count, tell)
        platform = load(str(platform_path))
        models = ModelLibrary(models_folder)
        cases = [
            Case("cholesky", {"tiles": tiles, "tile_size": TILE_SIZE}, scheduler)
            for tiles, scheduler in PREDICTED
        ]
        outcomes = predict(cases, platform, models)
        measure(
            outcomes, platform, models, REPETITIONS, lambda what, x: tell(what, 0.45 + 0.45 * x)
        )
        tell("drawing", 0.92)
        result = DemoResult(output, platform.name, count, outcomes, ())
        _write(folder, result)
    tell("done", 1.0)
    return result


def _calibrate(folder: Path, workers: int, tell: Progress) -> tuple[Path, Path]:
    graphs = [generate("cholesky", tiles=tiles, tile_size=TILE_SIZE) for tiles in CALIBRATED_TILES]
    report = calibrate(
        graphs,
        folder,
        workers=workers,
        options=Options(max_seconds=CALIBRATION_S, schedulers=("eager", "lws", "prio")),
        progress=lambda what, share: tell(f"calibrating, {what}", 0.45 * min(1.0, share)),
    )
    if report.interrupted:  # half a calibration is worth keeping, half a demo is not
        raise KeyboardInterrupt
    return report.platform_path, report.models_folder


def _write(folder: Path, result: DemoResult) -> None:
    from tasksim.view.figure import figure, save_figure

    write_text(folder / "table.txt", result.table() + "\n")
    drawn = next(
        o for o in result.outcomes if (o.case.arguments["tiles"], o.case.scheduler) == DRAWN
    )
    save(drawn.median_run, folder / "native")
    save(drawn.simulated, folder / "simulated")
    chart = figure([drawn.median_run, drawn.simulated], panels=["gantt", "ready"])
    for suffix in ("png", "pdf"):
        save_figure(chart, folder / f"gantt.{suffix}")
    # Last, because it names the others.
    result.files = tuple(sorted([*(path.name for path in folder.iterdir()), "demo.json"]))
    write_text(folder / "demo.json", json.dumps(result.to_json(), indent=1) + "\n")
