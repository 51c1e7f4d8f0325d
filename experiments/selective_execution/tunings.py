"""Tunings of every problem under every policy and tolerance, by ``tasksim autotune``."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.selective_execution.problems import PROBLEMS, problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.frame import Work

__all__ = ["configurations", "tune_all", "tunings"]

KEPT_COLUMNS = (
    "makespan_s",
    "executed",
    "tasks",
    "wall_s",
    "full_s",
    "prediction_error",
    "alone_error",
    "full_alone_s",
    "busiest_s",
    "full_busiest_s",
    "path_error",
)
"""Columns that are kept of each configuration."""


def tune_all(work: Work) -> list[dict[str, Any]]:
    """Return a tuning per problem, policy and tolerance, the full runs beside it included."""
    settings = work.settings
    ways = [
        (one.name, policy, tolerance)
        for tolerance in settings["tolerances"]
        for one in PROBLEMS
        for policy in settings["policies"]
    ]
    found = []
    for number, (name, policy, tolerance) in enumerate(ways):
        work.progress(f"{problem(name).label}, {policy} at {tolerance:.3g}", number / len(ways))
        key = f"{name}-{policy}-{tolerance:g}"
        found.append(work.kept(key, partial(_tune, work, name, policy, tolerance)))
    return found


def _tune(work: Work, name: str, policy: str, tolerance: float) -> dict[str, Any]:
    settings = work.settings
    text = work.tasksim(
        "autotune", *problem(name).words(settings),
        "--policy", policy, "--tolerance", f"{tolerance:g}",
        "--sampling", settings["sampling"], "--statistics", _statistics(settings, policy),
        "--charge", settings["charge"],
        "--judge", settings["full_runs"], "--no-fall-back", "--json",
    )  # fmt: skip
    told = json.loads(text)
    return {
        "problem": name,
        "policy": policy,
        "tolerance": tolerance,
        "tuning_s": told["tuning_s"],
        "speedup": told["speedup"],
        "mean_error": told["mean_error"],
        "others_percent": _others(told["notes"]),
        "choices": [
            {"values": choice["values"], **{name: choice[name] for name in KEPT_COLUMNS}}
            for choice in told["choices"]
            if choice["error"] is None
        ],
    }


def _others(notes: Sequence[str]) -> float:
    """Return the share of the cores' time that others had, if *notes* tell it; in percent."""
    for note in notes:
        if found := re.search(r"had the cores for (\d+) %", note):
            return float(found[1])
    return 0.0


def _statistics(settings: Mapping[str, Any], policy: str) -> str:
    if settings["statistics"] != "policy":
        return str(settings["statistics"])
    return "reuse" if policy in ("eager", "shares") else "reset"


def tunings(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row per tuning: its time, that of full runs, errors, the loss of its choice."""
    rows = []
    for one in found["tunings"]:
        choices = one["choices"]
        path = [abs(c["path_error"]) for c in choices if c["path_error"] is not None]
        rows.append({
            "problem": one["problem"],
            "policy": one["policy"],
            "tolerance": one["tolerance"],
            "tuning (s)": one["tuning_s"],
            "full tuning (s)": one["speedup"] * one["tuning_s"],
            "speed-up": one["speedup"],
            "longest kernel time (s)": sum(c["busiest_s"] for c in choices),
            "full longest kernel time (s)": sum(c["full_busiest_s"] for c in choices),
            "executed (%)": 100.0 * sum(c["executed"] for c in choices)
            / sum(c["tasks"] for c in choices),
            "bias (%)": 100.0 * sum(map(_error, choices)) / len(choices),
            "others (%)": one["others_percent"],
            "mean error (%)": 100.0 * sum(abs(_error(c)) for c in choices) / len(choices),
            "error of path's kernel time (%)": 100.0 * sum(path) / len(path),
            "regret (%)": 100.0 * (_full_s(choices[0]) / min(map(_full_s, choices)) - 1.0),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _error(choice: Mapping[str, Any]) -> float:
    """Return the error of a prediction, against full runs without what others took if known."""
    alone = choice["alone_error"]
    return float(choice["prediction_error"] if alone is None else alone)


def _full_s(choice: Mapping[str, Any]) -> float:
    """Return the duration of a full run, without what others took if known."""
    alone_s = choice["full_alone_s"]
    return float(choice["full_s"] if alone_s is None else alone_s)


def configurations(found: Mapping[str, Any], policy: str) -> pd.DataFrame:
    """Return a row per problem, configuration and tolerance under one policy."""
    rows = [
        {
            "problem": one["problem"],
            "configuration": ", ".join(
                f"{name.removeprefix('graph.')}={value}" for name, value in c["values"].items()
            ),
            "tolerance": one["tolerance"],
            "full run (s)": _full_s(c),
            "error (%)": 100.0 * abs(_error(c)),
            "error of path's kernel time (%)": 100.0 * abs(c["path_error"]),
        }
        for one in found["tunings"]
        if one["policy"] == policy
        for c in one["choices"]
    ]
    return pd.DataFrame(rows)
