"""Tunings of one problem: their runs, and the rows that ``benchmarks/autotuning.py`` prints.

A way of tuning has a value per configuration and round; it is judged by full runs.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.native.calm_moments import Gate


class Problem(NamedTuple):
    """A problem to tune."""

    name: str
    graph: str
    settings: tuple[str, ...]
    over: tuple[str, ...]


@dataclass
class Tuning:
    """Result of one way of tuning one problem: per configuration, a value per round."""

    wall_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    makespan_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    disturbance: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    executed: int = 0
    tasks: int = 0

    def add(self, place: int, makespan_s: float, wall_s: float, cpu_s: float) -> None:
        """Note one run."""
        self.makespan_s[place].append(makespan_s)
        self.wall_s[place].append(wall_s)
        self.cpu_s[place].append(cpu_s)


class Full:
    """The full runs of a problem, and how calm the machine was around them."""

    def __init__(self, patience_s: float, gate: Gate[Any]) -> None:
        self.tuning = Tuning()
        self._gate = gate
        self._until = time.monotonic() + patience_s

    def during(self, place: int, run: Callable[[], Any]) -> None:
        """Let *run*, which adds to the tuning, happen in a calm moment if there is one."""
        _, disturbance = self._gate.during(run, self._until)
        self.tuning.disturbance[place].append(disturbance)

    def calm(self, values: dict[int, list[float]]) -> dict[int, list[float]]:
        """Return of *values* those of calm moments; all of a configuration that had none."""
        found = {}
        for place, disturbances in self.tuning.disturbance.items():
            pairs = zip(values[place], disturbances, strict=True)
            calm = [value for value, disturbance in pairs if self._gate.is_calm(disturbance)]
            found[place] = calm or values[place]
        return found

    @property
    def calm_share(self) -> float:
        """The share of the runs that were made in calm moments."""
        all_runs = [each for found in self.tuning.disturbance.values() for each in found]
        return sum(map(self._gate.is_calm, all_runs)) / len(all_runs)


def medians(values: dict[int, list[float]]) -> dict[int, float]:
    """Return the median of each configuration."""
    return {place: median(found) for place, found in values.items()}


def judged(predicted: dict[int, float], full: dict[int, float]) -> dict[str, float]:
    """Return mean error and regret of some predictions."""
    chosen = min(predicted, key=lambda place: predicted[place])
    return {
        "mean_error": fmean(abs(predicted[place] / full[place] - 1) for place in full),
        "regret": full[chosen] / min(full.values()) - 1,
    }


def rows_of_runs(
    problem: Problem, full: Full, selective: dict[tuple[Any, float], Tuning], rounds: int
) -> tuple[list[dict[str, Any]], dict[int, float], float]:
    """Return a row per way of tuning by runs; the makespans, and how long all of them take."""
    made = full.tuning
    truth, full_wall_s = (
        medians(full.calm(made.makespan_s)),
        sum(medians(full.calm(made.wall_s)).values()),
    )
    full_cpu_s = sum(medians(full.calm(made.cpu_s)).values())
    all_moments = medians(made.makespan_s)
    single = {place: found[0] for place, found in full.calm(made.makespan_s).items()}
    rows = [
        {"problem": problem.name, "way": "full", "tolerance": None, "tuning_s": full_wall_s,
         "speedup": 1.0, "cpu_speedup": 1.0, "executed": 1.0, **judged(single, truth),
         "calm": full.calm_share, "makespans_s": list(made.makespan_s.values())}
    ]  # fmt: skip
    for (method, tolerance), tuning in selective.items():
        errors = [judged(one, truth) for one in _by_round(tuning.makespan_s, rounds)]
        beside = [judged(one, all_moments) for one in _by_round(tuning.makespan_s, rounds)]
        wall_s = sum(medians(tuning.wall_s).values())
        rows.append(
            {
                "problem": problem.name,
                "way": method.label,
                "tolerance": tolerance,
                "tuning_s": wall_s,
                "speedup": full_wall_s / wall_s,
                "cpu_speedup": full_cpu_s / sum(medians(tuning.cpu_s).values()),
                "executed": tuning.executed / tuning.tasks,
                "mean_error": median(e["mean_error"] for e in errors),
                "regret": median(e["regret"] for e in errors),
                "error_beside": median(e["mean_error"] for e in beside),
                "makespans_s": list(tuning.makespan_s.values()),
            }
        )
    return rows, truth, full_wall_s


def row_of_simulation(
    name: str,
    predicted: dict[int, float],
    truth: dict[int, float],
    full_wall_s: float,
    *,
    simulated_s: float,
    calibrated_s: float,
) -> dict[str, Any]:
    """Return the row of tuning the problem *name* by simulation alone."""
    return {
        "problem": name,
        "way": "simulation",
        "tolerance": None,
        "tuning_s": simulated_s,
        "speedup": full_wall_s / simulated_s,
        "cpu_speedup": None,
        "executed": 0.0,
        "calibration_s": calibrated_s,
        **judged(predicted, truth),
        "makespans_s": list(predicted.values()),
    }


def _by_round(makespans_s: dict[int, list[float]], rounds: int) -> list[dict[int, float]]:
    return [{place: m[turn] for place, m in makespans_s.items()} for turn in range(rounds)]
