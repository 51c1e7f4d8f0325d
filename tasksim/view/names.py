"""Runs given to views, and short names for them."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, short
from tasksim.run.record import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    AnyRun = Run | str | Path

__all__ = ["given_runs", "listed_runs", "run_names"]


def listed_runs(runs: Run | Sequence[Run]) -> list[Run]:
    """Return one run, or several, as a list."""
    return [runs] if isinstance(runs, Run) else list(runs)


def given_runs(given: AnyRun | Iterable[AnyRun]) -> list[AnyRun]:
    """Return one run, or several, as a list; paths of runs stay paths."""
    several = [given] if isinstance(given, Run | str | PathLike) else given
    if not isinstance(several, Iterable):
        raise InputError(f"runs: got {short(given)}; legal: a run, or a list of runs")
    return list(several)


def run_names(runs: Sequence[Run]) -> list[str]:
    """Return short names of *runs*, of the facts in which they differ.

    Runs that differ in none are numbered.
    """
    arguments = dict.fromkeys(name for run in runs for name in run.graph_arguments)
    facts = []
    for run in runs:
        given = run.graph_arguments
        values = [f"{name}={given[name]}" if name in given else "" for name in arguments]
        fact = [run.kind, run.scheduler, run.platform, run.graph_name, *values, f"seed {run.seed}"]
        facts.append(fact)
    varying = [k for k, values in enumerate(zip(*facts, strict=True)) if len(set(values)) > 1]
    names = [", ".join(fact[k] for k in varying if fact[k]) or "run" for fact in facts]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]
