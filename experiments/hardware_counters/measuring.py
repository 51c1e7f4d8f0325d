"""Steps of the experiment: counters, runs on some ranks, predictions of others."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

import tasksim
from experiments.hardware_counters.programs import PROGRAMS, blocks_of

if TYPE_CHECKING:
    from pathlib import Path

    from experiments.frame import Work
    from experiments.hardware_counters.programs import Program

__all__ = ["METHODS", "count", "predict", "run"]

METHODS: Final = {
    "r2": "counters, functions by R² (the paper's)",
    "cv": "counters, functions by cross-validation",
    "worley": "a/P + b P^c + d (Worley)",
    "nan": "a size/P + b (Nan)",
}
"""Methods of prediction, with their descriptions."""
COUNTED_FOLDER: Final = "counted"


def count(work: Work) -> dict[str, Any]:
    """Count and time the kernels of each program for all sizes of blocks."""
    programs = work.settings["programs"]
    found = {}
    for number, name in enumerate(programs):
        work.progress(f"counters of {name}", number / len(programs))
        found[name] = work.kept(name, partial(_counted, work, PROGRAMS[name]))
    return {"kernels": found, "folder": str(work.folder)}


def all_ranks(work: Work) -> list[int]:
    """Return the numbers of ranks that are learned from, and those that are predicted."""
    return sorted({*work.settings["few"], *work.settings["many"]})


def _counted(work: Work, program: Program) -> list[str]:
    """Count the kernels of a program; return their names."""
    sizes = (work.settings["points"], work.settings["large_points"])
    blocks = blocks_of(all_ranks(work), sizes, slabs=program.slabs)
    domain = f"{program.block}={','.join(map(str, blocks))}"
    work.tasksim(
        "counters", program.name, *program.count.split(), domain, "--samples", len(blocks),
        "--runs", work.settings["timings"], "-o", program.name, "--force",
    )  # fmt: skip
    return [_kernel(path) for path in _files(work.folder / program.name)]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*-counters.csv"))


def _kernel(path: Path) -> str:
    return path.name.removesuffix("-counters.csv")


def _write_models(folder: Path, output: Path) -> None:
    """Write the mean durations of the kernels that were counted into *folder* as models."""
    models = {}
    for path in _files(folder):
        table = pd.read_csv(path, comment="#")
        columns = list(table.columns)
        names = columns[columns.index("run") + 1 : columns.index("instructions")]
        durations_s = table["duration_s"].to_numpy(float)
        samples = tasksim.Samples(tuple(names), table[names].to_numpy(float), durations_s)
        models[_kernel(path)] = {"cpu": tasksim.HistoryModel().fit(samples)}
    tasksim.save_models(output, models, machine="here", how="timed by tasksim counters")


def run(work: Work) -> dict[str, Any]:
    """Run each program on all numbers of ranks: kernels as timed here, messages simulated."""
    settings = work.settings
    cases = [
        (name, points, P)
        for name in settings["programs"]
        for points in (settings["points"], settings["large_points"])
        for P in (all_ranks(work) if points == settings["points"] else sorted(settings["many"]))
    ]
    counted = work.folder.parent / "count"
    for name in settings["programs"]:
        _write_models(counted / name, work.folder / f"{name}.json")
    rows = []
    for number, (name, points, P) in enumerate(cases):
        work.progress(f"{name} on {P} ranks", number / len(cases))
        rows.append(work.kept(f"{name}-{points}-{P}", partial(_ran, work, name, points, P)))
    return {"runs": rows, "folder": str(work.folder)}


def _ran(work: Work, name: str, points: int, ranks: int) -> dict[str, Any]:
    program, settings = PROGRAMS[name], work.settings
    words = program.settings(ranks, points, settings["iterations"])
    folder = f"{name}-{points}-{ranks}"
    text = work.tasksim(
        "simulate", name, *words, "--workers", 1, "--models", f"{name}.json", "--nodes", ranks,
        "--grid", program.grid(ranks), "--network", settings["network"],
        "--scheduler", settings["scheduler"],
        "-o", folder, "--force", "--json",
    )  # fmt: skip
    makespan_s = float(json.loads(text)["makespan_s"])
    return {
        "program": name, "points": points, "ranks": ranks, "seconds": makespan_s, "folder": folder
    }  # fmt: skip


def predict(work: Work) -> dict[str, Any]:
    """Predict the runs on many ranks from those on few, of this size and of the larger one."""
    found = {}
    programs = work.settings["programs"]
    for number, name in enumerate(programs):
        work.progress(f"predictions of {name}", number / len(programs))
        found[name] = work.kept(name, partial(_predicted, work, PROGRAMS[name]))
    return found


def _predicted(work: Work, program: Program) -> dict[str, Any]:
    counters = f"../count/{program.name}"
    runs = [row for row in work["run"]["runs"] if row["program"] == program.name]
    folders = [f"../run/{row['folder']}" for row in runs]
    few = max(work.settings["few"])
    words = [word for text in program.collectives for word in ("--collective", text)]
    tables: dict[str, Any] = {}
    for by, more in (("r2", ()), ("cv", ("--network", work.settings["network"]))):
        folder = f"{program.name}-{by}"
        work.tasksim(
            "report", "scaling", *folders, "--counters", counters, "--fitted", few,
            "--size", program.size, "--by", by, *words, *more, "-o", folder, "--force",
        )  # fmt: skip
        tables[by] = {
            table: json.loads(pd.read_csv(work.folder / folder / f"{table}.csv").to_json(
                orient="records"
            ))
            for table in ("scaling", "kernels", "counters", "messages")
        }  # fmt: skip
    small = [f"../run/{r['folder']}" for r in runs if r["points"] == work.settings["points"]]
    critical = json.loads(work.tasksim("report", "kernels", "--critical", *small, "--json"))
    return {**tables, "critical": critical}
