"""Trade-offs among synchronisation, communication and computation of each configuration."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

import tasksim
from experiments.selective_execution.machine import MODELS
from experiments.selective_execution.problems import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.frame import Work
    from experiments.selective_execution.problems import Problem

__all__ = ["bulk_costs", "compare_costs", "costs"]


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
        models=str(work.folder.parent / "machine" / MODELS),
        scheduler="eager" if one.emulated else "prio",
    )
    closed = bulk_costs(arguments) if one.name == "recursive-cholesky" else {}
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


def bulk_costs(arguments: Mapping[str, Any]) -> dict[str, float]:
    """Return the closed costs of the recursive Cholesky in the bulk-synchronous model.

    Those of n rows are twice those of n/2, and of the products: 3 supersteps each, three blocks
    that are moved, and the operations of one rank. They are solved from the base case up.
    """
    block, side, base = arguments["block"], arguments["side"], arguments["base"]

    def solved(inverse: bool) -> list[float]:
        whole, back = float(block**2), float((1 + inverse) * block**2)
        moved = {
            "gather": (3.0, whole + back + back / side**2),
            "allgather": (1.0, whole),
            "layer": (2.0, whole + back / side**2),
        }
        return [*moved[base], (1 + inverse) * block**3 / 3]

    with_inverse, without = solved(True), solved(False)
    rows = block
    while rows < arguments["n"]:
        local = rows // side
        product = (3.0, 3.0 * local**2, float(local**3))
        without = [a + b + 2 * c for a, b, c in zip(with_inverse, without, product, strict=True)]
        with_inverse = [2 * a + 4 * c for a, c in zip(with_inverse, product, strict=True)]
        rows *= 2
    return dict(zip(("synchronisations", "words", "flop"), without, strict=True))


def costs(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row per problem and configuration."""
    return pd.DataFrame(found["costs"])
