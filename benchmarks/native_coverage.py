"""Coverage, native: how many real runs are in the interval that says where one run is.

    python benchmarks/native_coverage.py FOLDER             # 34 minutes, mostly waiting
    python benchmarks/native_coverage.py FOLDER --report    # what it says so far

30 configurations, {cholesky, lu, qr, fmm} in sizes that no calibration sees, under eager, lws and
prio. First this machine is calibrated with other sizes, the pace of the machine taken before each
run. Then all configurations are run in rounds, interleaved and spread over half an hour, the pace
taken before each run, too; between rounds the machine is calibrated on, in short sessions. Each run
is predicted from the sessions before its round:

- *now*: at the pace just before it and the last few before that, as ``simulate --now`` does;
- *with*: with run effects, at no pace in particular;
- *without* run effects;
- *first*: as *now*, but from the sessions before the first round alone.

Asked for are 95 %: between 90 and 98 % of the runs inside, and intervals no wider than twice what
the runs of a configuration differ by.

All is kept in FOLDER as it comes: a command that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tasksim
from tasksim.base.files import write_text
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.graph.apps.registry import generate
from tasksim.kernels.program import bind
from tasksim.models.uncertainty.pacelaw import RECENT
from tasksim.native.cores import usable_cores
from tasksim.native.execute import execute
from tasksim.native.pace import Pace
from tasksim.platform.description import Platform
from tasksim.run.replicated import position
from tasksim.view.figure import save_figure
from tasksim.view.insideplot import figure_inside

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
SORTS = ("now", "with", "without", "first")
LEVEL = 0.95
MACHINE = "here"


class Kept:
    """What was done so far, in a file that is written after every step."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._path = folder, folder / "state.json"
        self.data: dict[str, Any] = {"sessions": [], "runs": [], "predictions": {}}
        if self._path.is_file():
            self.data = json.loads(self._path.read_text())

    def add(self, what: str, item: object) -> None:
        """Keep an *item* of a kind, at once."""
        self.data[what].append(item)
        self.write()

    def write(self) -> None:
        """Write all."""
        write_text(self._path, json.dumps(self.data, indent=1) + "\n", force=True)

    def models_of(self, number: int) -> Path:
        """Return the library as it was before a round."""
        return self.folder / f"before-{number + 1}"


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


def graph_of(text: str) -> tasksim.TaskGraph:
    """Return the graph that a line of :data:`CASES` names."""
    name, *settings = text.split()
    pairs = (setting.split("=") for setting in settings)
    return generate(name, **{key: int(value) for key, value in pairs})


def calibration(kept: Kept, sessions: int, seconds: float) -> None:
    """Calibrate until there are so many *sessions*."""
    while (number := len(kept.data["sessions"])) < sessions:
        tell(f"calibrating, session {number + 1}")
        begun = time.time()
        turned = tuple(SCHEDULERS[(number + i) % 3] for i in range(3))
        report = calibrate(
            CALIBRATED,
            kept.folder,
            machine=MACHINE,
            options=CalibrationOptions(
                max_seconds=seconds, schedulers=turned, tolerance=1e-4, pace=True
            ),
            # Terms are searched for once: in the samples of the sessions before the first round.
            search="irregular" if number + 1 == sessions else "none",
        )
        if report.interrupted:  # it returns; its samples are kept, and it is made again
            raise KeyboardInterrupt
        kept.add("sessions", begun)


def rounds(kept: Kept, asked: argparse.Namespace) -> None:
    """Run every case once per round, as far as it is not done; calibrate between them."""
    for number in range(asked.rounds):
        mine = [run for run in kept.data["runs"] if run["round"] == number]
        if number and not mine:
            first = min(run["at"] for run in kept.data["runs"])
            _between(kept, asked, first + number * asked.every)
        if not mine:
            shutil.rmtree(kept.models_of(number), ignore_errors=True)
            for part in ("models", "platforms"):
                shutil.copytree(kept.folder / part, kept.models_of(number) / part)
        tell(f"round {number + 1} of {asked.rounds}")
        one_round(kept, number)
        predictions(kept, number, asked.replications)


def _between(kept: Kept, asked: argparse.Namespace, moment: float) -> None:
    """Calibrate on until a *moment*, in sessions with pauses, and wait for it."""
    pause = max((moment - time.time()) / asked.between - 2.5 * asked.session, 0.0)
    for _ in range(asked.between):
        if time.time() + 2.5 * asked.session < moment:
            time.sleep(min(pause, max(moment - time.time(), 0.0)))
            calibration(kept, len(kept.data["sessions"]) + 1, asked.session)
    time.sleep(max(moment - time.time(), 0.0))


def one_round(kept: Kept, number: int) -> None:
    """Run every case that is not done in a round, with the pace just before it."""
    platform, pace = Platform.identical(len(usable_cores())), Pace(len(usable_cores()))
    mine = [run for run in kept.data["runs"] if run["round"] == number]
    done = {(run["graph"], run["scheduler"]) for run in mine}
    paces_s = deque(pace.recent() if len(done) < len(CASES) else [], maxlen=RECENT)
    for text in PREDICTED:
        asked = [name for name in SCHEDULERS if (text, name) not in done]
        if not asked:
            continue
        graph = graph_of(text)
        program = bind(graph, len(platform.workers))
        execute(graph, platform, "eager", program=program)  # first touch of its memory
        for scheduler in asked:
            at = time.time()
            paces_s.append(pace())
            run = execute(graph, platform, scheduler, program=program)
            told = {"round": number, "graph": text, "scheduler": scheduler, "at": at}
            spans = {"paces_s": list(paces_s), "makespan_s": run.makespan_s, "kernels": _means(run)}
            kept.add("runs", {**told, **spans})


def _means(run: Run) -> dict[str, float]:
    """Return what the tasks of each kernel took in the mean: to see what was off."""
    tasks = run.tasks
    count = np.bincount(tasks.kernel)
    total = np.bincount(tasks.kernel, weights=tasks.duration_s)
    return {run.kernel_names[k]: float(total[k] / count[k]) for k in np.flatnonzero(count)}


def predictions(kept: Kept, number: int, replications: int) -> None:
    """Predict the runs of a round, each from what was known before it."""
    tell(f"predicting round {number + 1}")
    for run in kept.data["runs"]:
        if run["round"] != number:
            continue
        for sort in SORTS:
            since = 0 if sort == "first" else number
            paces_s = run["paces_s"] if sort in ("now", "first") else None
            key = f"{run['graph']}, {run['scheduler']}, {sort}, {number}"
            if key in kept.data["predictions"]:
                continue
            if sort == "first" and not number:
                kept.data["predictions"][key] = kept.data["predictions"][key.replace(sort, "now")]
                continue
            found = _predicted(kept.models_of(since), run, sort, paces_s, replications)
            kept.data["predictions"][key] = found
    kept.write()


def _predicted(
    folder: Path, run: dict[str, Any], sort: str, paces_s: list[float] | None, replications: int
) -> dict[str, Any]:
    """Return the interval of one run, and where in what was predicted the run is."""
    library = tasksim.ModelLibrary(folder / "models" / MACHINE)
    scenario = tasksim.Scenario(
        graph_of(run["graph"]),
        platform=tasksim.load_platform(str(folder / "platforms" / f"{MACHINE}.yaml")),
        models=WithoutRuns(library) if sort == "without" else library,
        scheduler=run["scheduler"],
    )
    sure = tasksim.how_sure(scenario, level=LEVEL, replications=replications, pace_s=paces_s)
    return {
        "low_s": sure.run_low_s,
        "high_s": sure.run_high_s,
        "median_s": sure.median_s,
        "shares": sure.shares,
        "position": float(position(sure.found.makespans_s, run["makespan_s"])),
    }


def report(kept: Kept) -> dict[str, Any]:
    """Print a row per configuration, and what they say together."""
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in kept.data["runs"]:
        if (
            f"{run['graph']}, {run['scheduler']}, without, {run['round']}"
            in kept.data["predictions"]
        ):
            runs.setdefault((run["graph"], run["scheduler"]), []).append(run)
    rows = [_row(case, runs[case], kept) for case in CASES if case in runs]
    print(
        f"{'graph':44} {'under':6} {'runs':>9} {'spread':>7}"
        + "".join(f"  {sort + ': error, width, in':>26}" for sort in SORTS)
    )
    for row in rows:
        print(
            f"{row['graph']:44} {row['scheduler']:6} {1e3 * row['median_s']:6.1f} ms"
            f" {100 * row['spread']:5.1f} %"
            + "".join(_text(row[sort], row["runs"]) for sort in SORTS)
        )
    return _whole(rows, runs, kept)


def _text(of: dict[str, Any], runs: int) -> str:
    error, width = 100 * of["error"], 100 * of["width"]
    return f"  {error:+8.1f} % {width:6.1f} %  {of['inside']}/{runs}  "


def _row(case: tuple[str, str], runs: list[dict[str, Any]], kept: Kept) -> dict[str, Any]:
    spans = [run["makespan_s"] for run in runs]
    median = statistics.median(spans)
    row: dict[str, Any] = {
        "graph": case[0],
        "scheduler": case[1],
        "runs": len(spans),
        "median_s": median,
        "spread": (max(spans) - min(spans)) / median,
    }
    for sort in SORTS:
        said = [_said(kept, run, sort) for run in runs]
        both = list(zip(said, spans, strict=True))
        row[sort] = {
            "inside": sum(of["low_s"] <= span <= of["high_s"] for of, span in both),
            "above": sum(span > of["high_s"] for of, span in both),
            "width": statistics.median(of["high_s"] - of["low_s"] for of in said) / median,
            "error": statistics.median(of["median_s"] / span - 1 for of, span in both),
        }
    return row


def _said(kept: Kept, run: dict[str, Any], sort: str) -> dict[str, Any]:
    key = f"{run['graph']}, {run['scheduler']}, {sort}, {run['round']}"
    found: dict[str, Any] = kept.data["predictions"][key]
    return found


def _whole(
    rows: list[dict[str, Any]], runs: dict[tuple[str, str], list[dict[str, Any]]], kept: Kept
) -> dict[str, Any]:
    """Print and return how many runs are inside, and how wide intervals are; draw it."""
    flat = [run for of in runs.values() for run in of]
    count, at = len(flat), [run["at"] for run in flat]
    spread = statistics.median(row["spread"] for row in rows)
    sessions = kept.data["sessions"]
    before = sum(session < min(at) for session in sessions)
    found: dict[str, Any] = {"runs": count, "spread": spread}
    print(
        f"\n{count} runs over {(max(at) - min(at)) / 60:.0f} minutes, after {before} sessions of "
        f"calibration, {len(sessions) - before} between them; what runs differ by, (longest - "
        f"shortest) / median: {100 * spread:.1f} %"
    )
    for sort in SORTS:
        inside = sum(row[sort]["inside"] for row in rows) / count
        above = sum(row[sort]["above"] for row in rows) / count
        width = statistics.median(row[sort]["width"] for row in rows)
        error = statistics.median(abs(row[sort]["error"]) for row in rows)
        ratios = [row[sort]["width"] / row["spread"] for row in rows if row["spread"]]
        ratio = statistics.median(ratios) if ratios else float("nan")
        found[sort] = {
            "inside": inside, "above": above, "width": width, "ratio": ratio, "error": error
        }  # fmt: skip
        print(
            f"{sort:8} {100 * inside:5.1f} % inside, {100 * above:.1f} % above; width "
            f"{100 * width:.1f} %, {ratio:.2f} times the spread; off by {100 * error:.1f} % "
            "(medians)"
        )
    drawn = {sort: [_said(kept, run, sort)["position"] for run in flat] for sort in SORTS}
    save_figure(figure_inside(drawn), kept.folder / "inside.png", force=True)
    return found


def main(given: Sequence[str] | None = None) -> None:
    """Calibrate, run, predict, report: what of it is not done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sessions", type=int, default=6, help="of calibration, before all runs")
    parser.add_argument("--between", type=int, default=3, help="sessions, before each other round")
    parser.add_argument("--session", type=float, default=12.0, help="seconds that one measures")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", type=float, default=451.0, help="seconds from one to the next")
    parser.add_argument("--replications", type=int, default=600)
    parser.add_argument("--report", action="store_true", help="only say what there is")
    asked = parser.parse_args(given)
    kept = Kept(asked.folder)
    if not asked.report:
        if not kept.data["runs"]:
            calibration(kept, asked.sessions, asked.session)
        rounds(kept, asked)
    found = report(kept)
    write_text(asked.folder / "report.json", json.dumps(found, indent=1) + "\n", force=True)


if __name__ == "__main__":
    main()
