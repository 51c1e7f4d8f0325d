"""Steps of the experiment: counters, runs on some ranks, predictions of others."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

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
    programs, ranks = work.settings["programs"], all_ranks(work)
    sizes = (work.settings["points"], work.settings["large_points"])
    blocks = blocks_of(ranks, sizes)
    found = {}
    for number, name in enumerate(programs):
        work.progress(f"counters of {name}", number / len(programs))
        found[name] = work.kept(name, partial(_counted, work, PROGRAMS[name], blocks))
    return {"kernels": found, "folder": str(work.folder)}


def all_ranks(work: Work) -> list[int]:
    """Return the numbers of ranks that are learned from, and those that are predicted."""
    return sorted({*work.settings["few"], *work.settings["many"]})


def _counted(work: Work, program: Program, blocks: list[int]) -> dict[str, Any]:
    """Return the median duration of each kernel, by the points in a row of its blocks."""
    domain = f"{program.block}={','.join(map(str, blocks))}"
    work.tasksim(
        "counters", program.name, *program.count.split(), domain, "--samples", len(blocks),
        "--runs", work.settings["timings"], "-o", program.name, "--force",
    )  # fmt: skip
    return {
        path.name.removesuffix("-counters.csv"): _durations(path)
        for path in sorted((work.folder / program.name).glob("*-counters.csv"))
    }


def _durations(path: Path) -> dict[str, float]:
    """Return the median duration by block; of a kernel without sizes, for any."""
    samples = pd.read_csv(path, comment="#")
    sizes = [name for name in ("n", "m") if name in samples]
    if not sizes:
        return {"any": float(samples["duration_s"].median())}
    medians = samples.groupby(sizes[0])["duration_s"].median()
    return {f"{size:g}": float(duration_s) for size, duration_s in medians.items()}


def run(work: Work) -> dict[str, Any]:
    """Run each program on all numbers of ranks: kernels as timed here, messages simulated."""
    settings = work.settings
    cases = [
        (name, points, P)
        for name in settings["programs"]
        for points in (settings["points"], settings["large_points"])
        for P in (all_ranks(work) if points == settings["points"] else sorted(settings["many"]))
    ]
    rows = []
    for number, (name, points, P) in enumerate(cases):
        work.progress(f"{name} on {P} ranks", number / len(cases))
        rows.append(work.kept(f"{name}-{points}-{P}", partial(_ran, work, name, points, P)))
    return {"runs": rows, "folder": str(work.folder)}


def _ran(work: Work, name: str, points: int, ranks: int) -> dict[str, Any]:
    program, settings = PROGRAMS[name], work.settings
    words = program.settings(ranks, points, settings["iterations"])
    block = f"{blocks_of([ranks], [points])[0]}"
    durations = {
        kernel: by_block.get(block, by_block.get("any"))
        for kernel, by_block in work["count"]["kernels"][name].items()
    }
    given = ",".join(f"{kernel}={seconds:.4g}" for kernel, seconds in durations.items())
    folder = f"{name}-{points}-{ranks}"
    text = work.tasksim(
        "simulate", name, *words, "--workers", 1, "--durations", given, "--nodes", ranks,
        "--network", settings["network"], "--scheduler", settings["scheduler"],
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
