"""Simulated runs of the inputs, with each set of models, beside the native ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tasksim
from experiments.irregular_kernels.inputs import graph_settings, inputs_of
from experiments.irregular_kernels.measuring import folders
from experiments.irregular_kernels.modelling import KERNELS, naive_durations_s

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from experiments.frame import Work
    from experiments.irregular_kernels.inputs import Input

__all__ = [
    "COMPARED_MODELS",
    "GENERAL",
    "NAIVE",
    "SPECIFIC",
    "ks_distance",
    "promises",
    "simulated",
]

NAIVE, SPECIFIC, GENERAL = "naive", "MLR specific", "MLR general"
COMPARED_MODELS: Final = (NAIVE, SPECIFIC, GENERAL)
"""Models that are compared.

naive: a line in one parameter of the whole run; all tasks of a kernel take the same time. MLR:
linear regressions with the parameters of the tasks, fitted to runs of one distribution of
particles (specific), or to all (general).
"""
MAX_DETAILED_TASKS: Final = 2000
"""Number of tasks up to which an input is shown task by task: more make a Gantt chart a blot."""


def promises(work: Work) -> dict[str, float]:
    """Predict the makespans of the unseen inputs, before they are run for the first time."""
    found = {
        given.name: _run(work, given, "unseen", GENERAL).makespan_s
        for given in inputs_of(work.settings, "unseen")
    }
    (work.folder / "predictions.json").write_text(json.dumps(found, indent=1) + "\n")
    return found


def simulated(work: Work) -> dict[str, Any]:
    """Simulate the predicted and the unseen inputs; compare one of each distribution in detail."""
    rows: list[dict[str, Any]] = []
    kept: dict[str, dict[str, tasksim.Run]] = {}
    for part in ("predicted", "unseen"):
        for given, measured in zip(inputs_of(work.settings, part), work[part], strict=True):
            work.progress(given.name, 0.5 * (part == "unseen"))
            known = given.distribution in work["models"]["naive"]
            names = COMPARED_MODELS if known else (GENERAL,)
            runs = {name: _run(work, given, part, name) for name in names}
            about = {k: v for k, v in measured.items() if k != "rounds"}
            makespans = {name: run.makespan_s for name, run in runs.items()}
            rows.append({**about, "part": part, "predicted_s": makespans})
            if part == "predicted":
                kept[given.name] = runs
    details = {}
    for distribution in dict.fromkeys(row["distribution"] for row in rows if row["input"] in kept):
        mine = [row for row in rows if row["distribution"] == distribution and row["input"] in kept]
        small = [row for row in mine if row["tasks"] < MAX_DETAILED_TASKS] or mine[:1]
        shown = max(small, key=lambda row: row["tasks"])["input"]
        measured = next(m for m in work["predicted"] if m["input"] == shown)
        details[distribution] = _detail(work, measured, kept[shown])
    return {"rows": rows, "details": details}


def _run(work: Work, given: Input, part: str, variant: str) -> tasksim.Run:
    found, settings = work["models"], work.settings
    words = graph_settings(given, part, settings["order"]).items()
    asked = {"platform": found["platform"], "scheduler": settings["scheduler"]}
    graph = " ".join(["fmm", *(f"{name}={value}" for name, value in words)])
    if variant == NAIVE:
        lines = found["naive"][given.distribution]
        durations_s = naive_durations_s(lines, given._asdict())
        return tasksim.simulate(graph, durations=durations_s, **asked)
    name = "general" if variant == GENERAL else given.distribution
    return tasksim.simulate(graph, models=found["files"][name], **asked)


def _detail(work: Work, measured: dict[str, Any], runs: dict[str, tasksim.Run]) -> dict[str, Any]:
    """Compare the tasks of the median native run with those of the simulated ones."""
    natives = [tasksim.load_run(folder) for folder in folders(measured)]
    order = sorted(range(len(natives)), key=lambda place: natives[place].makespan_s)
    middle = order[(len(order) - 1) // 2]
    native = natives[middle]
    others = [run for place, run in enumerate(natives) if place != middle]
    charts = {"native": folders(measured)[middle]}
    for name, run in runs.items():
        path: Path = work.folder / "runs" / measured["input"] / name.replace(" ", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        tasksim.save_run(run, path, force=True)
        charts[name] = str(path.resolve())
    kernels = [kernel for kernel in KERNELS if kernel in native.kernel_names]
    return {
        "input": measured["input"],
        "workers": len(native.workers),
        "charts": charts,
        "durations_s": {
            name: {kernel: _column(run, kernel, "duration_s").tolist() for kernel in kernels}
            for name, run in {"native": native, **runs}.items()
        },
        "shifts": {
            name: {kernel: _shifts(native, [run], kernel) for kernel in kernels}
            for name, run in runs.items()
        },
        "native_shifts": {kernel: _shifts(native, others, kernel) for kernel in kernels}
        if others
        else None,
    }


def _shifts(native: tasksim.Run, others: list[tasksim.Run], kernel: str) -> dict[str, float]:
    """Return the largest distance of starts, ends and durations of a kernel's tasks."""
    return {
        column: max(
            ks_distance(_column(native, kernel, column), _column(other, kernel, column))
            for other in others
        )
        for column in ("start_s", "end_s", "duration_s")
    }


def _column(run: tasksim.Run, kernel: str, column: str) -> NDArray[np.float64]:
    values: NDArray[np.float64] = getattr(run.tasks, column)
    chosen: NDArray[np.float64] = values[run.tasks.kernel == list(run.kernel_names).index(kernel)]
    return chosen


def ks_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples: 0 if equal, 1 if they are apart."""
    at = np.concatenate([a, b])
    shares = [np.searchsorted(np.sort(x), at, side="right") / len(x) for x in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())
