"""Overhead of profiling: runs that keep the account and execute every task, beside full runs."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from experiments.selective_execution.problems import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.frame import Work
    from experiments.selective_execution.problems import Problem

__all__ = ["measure_overhead", "overheads"]

NOTHING_KNOWN: Final = 1e-9
"""Tolerance at which no kernel is ever known well enough, so that all are executed."""
RANK_COUNT: Final = 2
"""Ranks of the runs over MPI: as many as the machine has cores."""
RANKS_WORDS: Final = ("--grid", "1x2", "--workers", "1")


def measure_overhead(work: Work) -> list[dict[str, Any]]:
    """Return the time of profiled runs and of full ones, interleaved, for each configuration."""
    ways = [(one, 0) for one in PROBLEMS if not one.emulated]
    if work.mpiexec is not None:
        ways += [(one, RANK_COUNT) for one, _ in ways]
    found = []
    for number, (one, ranks) in enumerate(ways):
        over = f" over {ranks} ranks" if ranks else ""
        work.progress(f"{one.label}{over}", number / len(ways))
        found += work.kept(f"{one.name}-{ranks}", partial(_overhead, work, one, ranks))
    return found


def _overhead(work: Work, one: Problem, ranks: int) -> list[dict[str, Any]]:
    text = work.tasksim(
        "autotune", *one.words(work.settings), *(RANKS_WORDS if ranks else ()),
        "--policy", "conditional", "--tolerance", NOTHING_KNOWN,
        "--repetitions", work.settings["overhead_runs"], "--judge", 1, "--json", ranks=ranks,
    )  # fmt: skip
    return [
        {
            "problem": one.label,
            "ranks": max(1, ranks),
            "configuration": ", ".join(
                f"{name.removeprefix('graph.')}={value}" for name, value in row["values"].items()
            ),
            "tasks": row["tasks"] // row["runs"],
            "executed": row["executed"] // row["runs"],
            "full_s": row["full_wall_s"],
            "profiled_s": row["wall_s"] / row["runs"],
        }
        for row in json.loads(text)["choices"]
        if row["error"] is None
    ]


def overheads(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row per configuration: the time of a full run, of a profiled one, the overhead."""
    rows = pd.DataFrame(found["overhead"])
    more_s = rows["profiled_s"] - rows["full_s"]
    return pd.DataFrame({
        "problem": rows["problem"],
        "ranks": rows["ranks"],
        "configuration": rows["configuration"],
        "tasks": rows["tasks"],
        "executed (%)": 100.0 * rows["executed"] / rows["tasks"],
        "full run (ms)": 1e3 * rows["full_s"],
        "profiled run (ms)": 1e3 * rows["profiled_s"],
        "overhead (%)": 100.0 * more_s / rows["full_s"],
        "overhead per task (us)": 1e6 * more_s / rows["tasks"],
    })  # fmt: skip
