"""Steps beside the runs: functions of a program in C, and costs told apart by two loads."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim import CheckFailed

if TYPE_CHECKING:
    from experiments.frame import Work

__all__ = ["SOLVER", "profile", "refine"]

SOLVER: Final = Path(__file__).with_name("solver.c")
"""Program whose functions are counted: what one of some ranks does."""
PROFILED_STEPS: Final = 4
"""Steps of the program where each instruction is simulated."""
MIN_SHARE: Final = 1e-3
"""Least share of a function that is shown."""
COMPARED_STEPS: Final = {"callgrind": 100, "perf": 30_000}
"""Steps of the program where both profilers are compared: so many that reading the input takes a
percent or two, and that perf's start and end, a tenth of a second, are a few percent."""


def profile(work: Work) -> dict[str, Any]:
    """Count the functions of a program on three numbers of ranks; sample it, too."""
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("valgrind") is None:
        return {"why": "no C compiler, or no Valgrind"}
    shutil.copy(SOLVER, work.folder / SOLVER.name)
    subprocess.run(
        [compiler, "-O2", "-o", "solver", SOLVER.name, "-lm"], cwd=work.folder, check=True
    )
    ranks = sorted(work.settings["few"])[:3]
    for number, P in enumerate(ranks):
        work.progress(f"functions on {P} ranks", number / 5)
        work.kept(f"counted-{P}", partial(_counted, work, P))
    work.progress("sampling", 0.7)
    sampled = work.kept("sampled", partial(_sampled, work, ranks[-1]))
    profiles = [f"{P}={P}.csv" for P in ranks]
    text = work.tasksim("report", "functions", *profiles, "--of-one", "--json")
    lines = SOLVER.read_text().splitlines()
    return {
        "critical": json.loads(text),
        "sampled": sampled,
        "lines": sum(bool(line.strip()) for line in lines),
        "loops": sum(bool(re.match(r"\s*for ", line)) for line in lines),
    }


def _counted(work: Work, ranks: int) -> str:
    command = ["./solver", work.settings["points"], ranks, PROFILED_STEPS]
    work.tasksim("profile", "--source", "callgrind", "-o", f"{ranks}.csv", "--force", *command)
    return f"{ranks}.csv"


def _sampled(work: Work, ranks: int) -> dict[str, Any]:
    """Return shares of functions by both profilers; why it was not sampled, if it may not."""
    command = ["./solver", work.settings["points"], ranks]
    found: dict[str, Any] = {}
    for source, steps in COMPARED_STEPS.items():
        words = ["--source", source, "--force", "--json", "-o", f"{source}.csv"]
        try:
            text = work.tasksim("profile", *words, "--overhead", *command, steps)
        except CheckFailed as error:
            return {"why": str(error)}
        told = json.loads(text)
        found[source] = {name: told[name] for name in ("overhead", "seconds", "alone_s")}
        found[source]["shares"] = {
            f["function"]: f["share"] for f in told["functions"] if f["share"] > MIN_SHARE
        }
    three = [f"{P}=callgrind.csv" for P in (1, 2, 3)]  # the distance is that of the first
    text = work.tasksim("report", "functions", *three, "--against", "perf.csv", "--json")
    return {**found, "distance": json.loads(text)["distance"]}


def refine(work: Work) -> dict[str, Any]:
    """Time kernels alone, and beside a load of the memory; lay lines through both."""
    if len(os.sched_getaffinity(0)) < 2:
        return {"why": "one core: no load of the memory beside it"}
    found = {}
    kernels = work.settings["refined"]
    for number, kernel in enumerate(kernels):
        work.progress(f"{kernel} beside a load", number / len(kernels))
        found[kernel] = work.kept(kernel, partial(_refined, work, kernel))
    return {"kernels": found}


def _refined(work: Work, kernel: str) -> dict[str, Any]:
    domain = f"m={','.join(map(str, work.settings['refined_sizes']))}"
    try:
        work.tasksim(
            "counters", kernel, domain, "--samples", len(work.settings["refined_sizes"]),
            "--load", 1, "--runs", work.settings["timings"], "-o", f"{kernel}.csv", "--force",
        )  # fmt: skip
        text = work.tasksim("report", "refinement", f"{kernel}.csv", "--json")
    except CheckFailed as error:
        return {"why": str(error)}
    told = json.loads(text)
    return {"points": told["points"], "lines": told["lines"]}
