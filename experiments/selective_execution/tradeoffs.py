"""Trade-offs among synchronisation, communication and computation of each configuration."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

import tasksim
from experiments.selective_execution.machine import MODELS_FILE
from experiments.selective_execution.problems import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.frame import Work
    from experiments.selective_execution.problems import Problem

__all__ = ["compare_costs", "costs"]


def compare_costs(work: Work) -> list[dict[str, Any]]:
    """Return the costs of every configuration of every problem on the emulated machine."""
    found = []
    for place, one in enumerate(PROBLEMS):
        for number, arguments in enumerate(one.configurations(work.settings)):
            work.progress(one.label, (place + 0.5) / len(PROBLEMS))
            key = f"{one.name}-{number}"
            found.append(work.kept(key, partial(_costs, work, one, arguments)))
    return found


def _costs(work: Work, one: Problem, arguments: dict[str, Any]) -> dict[str, Any]:
    graph = tasksim.generate(one.generator, **arguments)
    run = tasksim.simulate(
        graph,
        workers=work.settings["side"] ** 3,
        models=str(work.folder.parent / "machine" / MODELS_FILE),
        scheduler="eager" if one.emulated else "prio",
    )
    closed = tasksim.closed_costs(graph) or {}
    return {
        "problem": one.name,
        "configuration": ", ".join(
            f"{name}={arguments[name]}" for name in one.axes if name in arguments
        ),
        "time_s": run.makespan_s,
        **{
            by: tasksim.longest_path(run, graph, by).cost
            for by in ("synchronisations", "words", "flop")
        },
        **{f"closed_{name}": value for name, value in closed.items()},
    }


def costs(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row per problem and configuration."""
    return pd.DataFrame(found["costs"])
