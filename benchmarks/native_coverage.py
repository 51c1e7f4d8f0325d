"""Coverage, native: how many real runs are in the interval that says where one run is.

    python benchmarks/native_coverage.py FOLDER             # 45 minutes, mostly waiting
    python benchmarks/native_coverage.py FOLDER --report    # what it says so far

30 configurations, {cholesky, lu, qr, fmm} in sizes that no calibration sees, under eager, lws and
prio. First this machine is calibrated with other sizes, in short sessions some time apart, and the
interval of one run is predicted for each configuration. Then all configurations are run in rounds,
interleaved and spread over half an hour and more. Asked for are 95 %: between 90 and 98 % of the
runs inside, and intervals no wider than twice what the runs of a configuration differ by.

All is kept in FOLDER as it comes: a command that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tasksim
from tasksim.base.files import write_text
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.graph.apps.registry import generate
from tasksim.kernels.program import bind
from tasksim.native.cores import usable_cores
from tasksim.native.execute import execute
from tasksim.platform.description import Platform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.run.record import Run

SCHEDULERS = ("eager", "lws", "prio")
CALIBRATED = (
    "cholesky tiles=9",
    "cholesky tiles=11",
    "lu tiles=7",
    "lu tiles=10",
    "qr tiles=6",
    "qr tiles=8",
    "fmm particles=15000 height=4 group_size=40",
    "fmm particles=30000 height=4 group_size=60",
    "fmm particles=45000 height=4 group_size=80",
)
PREDICTED = (
    "cholesky tiles=8",
    "cholesky tiles=10",
    "cholesky tiles=12",
    "lu tiles=6",
    "lu tiles=8",
    "lu tiles=9",
    "qr tiles=5",
    "qr tiles=7",
    "fmm particles=20000 height=4 group_size=50",
    "fmm particles=40000 height=4 group_size=70",
)
CASES = [(graph, scheduler) for graph in PREDICTED for scheduler in SCHEDULERS]
LEVEL = 0.95
MACHINE = "here"


class Kept:
    """What was done so far, in a file that is written after every step."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._path = folder, folder / "state.json"
        self.data: dict[str, Any] = {"sessions": [], "predictions": [], "runs": []}
        if self._path.is_file():
            self.data = json.loads(self._path.read_text())

    def add(self, what: str, item: object) -> None:
        """Keep an *item* of a kind, at once."""
        self.data[what].append(item)
        write_text(self._path, json.dumps(self.data, indent=1) + "\n", force=True)


class WithoutRuns:
    """Models of a library, of which nobody knows how far whole runs differ."""

    def __init__(self, library: tasksim.ModelLibrary) -> None:
        self._library = library

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel*."""
        return self._library.model(kernel, architecture)

    def locality(self, kernel: str, architecture: str) -> Locality | None:
        """Return what far data cost *kernel*."""
        return self._library.locality(kernel, architecture)


def tell(what: str) -> None:
    """Say on stderr what goes on."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def wait_until(moment: float) -> None:
    """Sleep until a *moment* of the clock, if it is not over."""
    time.sleep(max(moment - time.time(), 0.0))


def graph_of(text: str) -> tasksim.TaskGraph:
    """Return the graph that a line of :data:`CASES` names."""
    name, *settings = text.split()
    pairs = (setting.split("=") for setting in settings)
    return generate(name, **{key: int(value) for key, value in pairs})


def calibration(kept: Kept, sessions: int, every_s: float, seconds: float) -> None:
    """Calibrate in so many *sessions*, as far as they are not done."""
    while len(done := kept.data["sessions"]) < sessions:
        number = len(done)
        if done:
            wait_until(done[-1] + every_s)
        begun = time.time()
        tell(f"calibrating, session {number + 1} of {sessions}")
        turned = tuple(SCHEDULERS[(number + i) % 3] for i in range(3))
        calibrate(
            CALIBRATED,
            kept.folder,
            machine=MACHINE,
            options=CalibrationOptions(max_seconds=seconds, schedulers=turned, tolerance=1e-4),
            # Terms are searched for once, in the samples of all sessions.
            search="none" if number + 1 < sessions else "irregular",
        )
        kept.add("sessions", begun)


def predictions(kept: Kept) -> None:
    """Predict all cases, with run effects and without, before any of them runs."""
    if kept.data["predictions"]:
        return
    tell("predicting")
    library = tasksim.ModelLibrary(kept.folder / "models" / MACHINE)
    platform = tasksim.load_platform(str(kept.folder / "platforms" / f"{MACHINE}.yaml"))
    found = {}
    for text, scheduler in CASES:
        for name, models in (("with", library), ("without", WithoutRuns(library))):
            scenario = tasksim.Scenario(
                graph_of(text), platform=platform, models=models, scheduler=scheduler
            )
            sure = tasksim.how_sure(scenario, level=LEVEL, replications=999)
            found[f"{text}, {scheduler}, {name}"] = sure.to_json()
    kept.add("predictions", found)


def rounds(kept: Kept, count: int, every_s: float) -> None:
    """Run every case once per round, *count* rounds, as far as they are not done."""
    platform = Platform.identical(len(usable_cores()))
    for number in range(count):
        mine = [run for run in kept.data["runs"] if run["round"] == number]
        done = {(run["graph"], run["scheduler"]) for run in mine}
        before = [run["at"] for run in kept.data["runs"] if run["round"] == number - 1]
        if not mine and before:
            wait_until(min(before) + every_s)
        tell(f"round {number + 1} of {count}")
        for text in PREDICTED:
            asked = [name for name in SCHEDULERS if (text, name) not in done]
            if not asked:
                continue
            graph = graph_of(text)
            program = bind(graph, len(platform.workers))
            execute(graph, platform, "eager", program=program)  # first touch of its memory
            for scheduler in asked:
                at = time.time()
                run = execute(graph, platform, scheduler, program=program)
                told = {"round": number, "graph": text, "scheduler": scheduler, "at": at}
                kept.add("runs", {**told, "makespan_s": run.makespan_s, "kernels": _means(run)})


def _means(run: Run) -> dict[str, float]:
    """Return what the tasks of each kernel took in the mean: to see what was off."""
    tasks = run.tasks
    count = np.bincount(tasks.kernel)
    total = np.bincount(tasks.kernel, weights=tasks.duration_s)
    return {run.kernel_names[k]: float(total[k] / count[k]) for k in np.flatnonzero(count)}


def report(kept: Kept) -> dict[str, Any]:
    """Print a row per configuration, and what they say together."""
    measured: dict[tuple[str, str], list[float]] = {}
    for run in kept.data["runs"]:
        measured.setdefault((run["graph"], run["scheduler"]), []).append(run["makespan_s"])
    said = kept.data["predictions"][0]
    rows = [_row(case, measured[case], said) for case in CASES if case in measured]
    print(
        f"{'graph':44} {'under':6} {'runs':>9} {'spread':>7} {'error':>8}"
        f"  {'with: width, inside':>19}  {'without':>14}"
    )
    for row in rows:
        print(
            f"{row['graph']:44} {row['scheduler']:6} {1e3 * row['median_s']:6.1f} ms"
            f" {100 * row['spread']:5.1f} % {100 * row['error']:+6.1f} %"
            + "".join(
                f"  {100 * row[name]['width']:8.1f} %  {row[name]['inside']}/{row['runs']}"
                for name in ("with", "without")
            )
        )
    return _whole(rows, kept)


def _row(case: tuple[str, str], spans: list[float], said: dict[str, Any]) -> dict[str, Any]:
    median = statistics.median(spans)
    row: dict[str, Any] = {
        "graph": case[0],
        "scheduler": case[1],
        "runs": len(spans),
        "median_s": median,
        "spread": (max(spans) - min(spans)) / median,
    }
    for name in ("with", "without"):
        sure = said[f"{case[0]}, {case[1]}, {name}"]
        low, high = sure["run_low_s"], sure["run_high_s"]
        inside = sum(low <= span <= high for span in spans)
        above = sum(span > high for span in spans)
        width = (high - low) / sure["median_s"]
        row[name] = {"inside": inside, "above": above, "width": width, "shares": sure["shares"]}
        row["error"] = sure["median_s"] / median - 1
    return row


def _whole(rows: list[dict[str, Any]], kept: Kept) -> dict[str, Any]:
    """Print and return how many runs are inside, and how wide intervals are."""
    count = sum(row["runs"] for row in rows)
    spread = statistics.median(row["spread"] for row in rows)
    at = [run["at"] for run in kept.data["runs"]]
    sessions = kept.data["sessions"]
    found: dict[str, Any] = {"runs": count, "spread": spread}
    print(
        f"\n{count} runs over {(max(at) - min(at)) / 60:.0f} minutes, the first "
        f"{(min(at) - sessions[-1]) / 60:.0f} minutes after the last of {len(sessions)} sessions "
        f"of calibration; what runs differ by, (longest - shortest) / median: {100 * spread:.1f} %"
    )
    for name in ("with", "without"):
        inside = sum(row[name]["inside"] for row in rows) / count
        above = sum(row[name]["above"] for row in rows) / count
        width = statistics.median(row[name]["width"] for row in rows)
        ratios = [row[name]["width"] / row["spread"] for row in rows if row["spread"]]
        ratio = statistics.median(ratios) if ratios else float("nan")
        found[name] = {"inside": inside, "above": above, "width": width, "ratio": ratio}
        print(
            f"{name + ' run effects':20} {100 * inside:5.1f} % inside, {100 * above:.1f} % above; "
            f"width {100 * width:.1f} %, {ratio:.2f} times the spread (medians)"
        )
    return found


def main(given: Sequence[str] | None = None) -> None:
    """Calibrate, predict, run, report: what of it is not done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sessions", type=int, default=10, help="of calibration")
    parser.add_argument("--session", type=float, default=8.0, help="seconds that one measures")
    parser.add_argument("--apart", type=float, default=60.0, help="seconds from one to the next")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", type=float, default=480.0, help="seconds from one to the next")
    parser.add_argument("--report", action="store_true", help="only say what there is")
    asked = parser.parse_args(given)
    kept = Kept(asked.folder)
    if not asked.report:
        calibration(kept, asked.sessions, asked.apart, asked.session)
        predictions(kept)
        rounds(kept, asked.rounds, asked.every)
    found = report(kept)
    write_text(asked.folder / "report.json", json.dumps(found, indent=1) + "\n", force=True)


if __name__ == "__main__":
    main()
