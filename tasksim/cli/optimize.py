"""The ``tasksim optimize`` command, which searches for the best schedule of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError
from tasksim.base.interruption import INTERRUPTED_EXIT_CODE
from tasksim.cli.command import command
from tasksim.cli.options import (
    TIME,
    WholeNumber,
    force_option,
    graph_argument,
    json_option,
    output_option,
    scenario_options,
    seed_option,
)
from tasksim.cli.output import note, note_written, print_result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.optimization.optimum import Optimum
    from tasksim.optimization.search import SearchMethod
    from tasksim.scenario.scenario import Scenario

__all__ = ["optimizing"]


@command(
    "optimize",
    examples=[
        "tasksim optimize cholesky tiles=8 --workers 4"
        " --durations potrf=1,trsm=3,syrk=3,gemm=6 --time 10s",
        "tasksim optimize cholesky tiles=10 --platform mymachine --time 5min -o best/",
        "tasksim optimize lu tiles=8 --platform mymachine --steps 20000 --seed 1 -o best/",
        "tasksim optimize cholesky tiles=10 --platform mymachine --time 5min --resume -o best/",
    ],
)
@graph_argument()
@scenario_options
@click.option(
    "--time",
    "time_s",
    type=TIME,
    help="Time limit of the graph, the heuristics and the search together, such as 30s or 5min."
    "  [default: 60s, unless --steps is given]",
)
@click.option(
    "--steps",
    type=WholeNumber(min=1),
    help="Number of candidates to replay; the same number and seed give the same schedule.",
)
@seed_option
@click.option(
    "--method",
    type=click.Choice(["auto", "annealing", "solver"]),
    default="auto",
    help="Method of the search: annealing changes workers and places of tasks at random; solver is"
    " CP-SAT of OR-Tools (extra 'optimize'); auto uses the solver, if it is installed, then"
    " annealing.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue from the result in the folder of --output, and replace it.",
)
@output_option("Folder for the plan, the priorities, hints for StarPU, and the account.")
@force_option
@json_option
@click.pass_context
def optimizing(
    ctx: click.Context,
    scenario: Scenario,
    time_s: float | None,
    steps: int | None,
    seed: int,
    method: SearchMethod,
    resume: bool,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Search for the schedule with the shortest makespan, and report its gap to a lower bound.

    GRAPH is a graph as for 'tasksim simulate', with the same options. Each candidate is replayed
    with copies, limited memories, costs of the runtime and contention. The search begins with the
    schedules of the heuristics as plans, so its result is never worse than these. Ctrl-C keeps the
    best so far.

    The folder of --output gets plan.csv, for --scheduler static:file=plan.csv of 'tasksim simulate'
    and 'tasksim run'; graph.npz, the graph with the plan's order as priorities, for dynamic
    schedulers; sched.rec, the same for StarPU's starpu_replay; and optimum.json.
    """
    from tasksim.cli.progress import showing
    from tasksim.optimization.optimum import refuse_optimum
    from tasksim.optimization.search import optimize

    if resume and output is None:
        raise InputError("--resume goes on from the folder of --output; give -o FOLDER")
    if output is not None and not resume:
        refuse_optimum(output, force=force)
    with showing("optimising") as progress:
        found = optimize(
            scenario,
            time_s=time_s,
            steps=steps,
            seed=seed,
            method=method,
            resume=output if resume else None,
            progress=progress,
        )
    if output is not None:
        found.save(output, force=force or resume)
    print_result(found.to_json(), _text(found), as_json=as_json)
    if found.interrupted:
        note("interrupted: this is the best schedule so far")
    note_written(output)
    if found.interrupted:
        ctx.exit(INTERRUPTED_EXIT_CODE)


def _text(found: Optimum) -> Iterator[str]:
    from tasksim.base.units import duration_text

    yield f"graph      {found.label} ({len(found.plan)} tasks)"
    yield f"platform   {found.platform} ({len(found.workers)} workers)"
    name = found.best_heuristic
    if name:
        tried = len(found.heuristics)
        yield f"heuristic  {duration_text(found.heuristics[name])}, {name}, the best of {tried}"
        gain = 1 - found.makespan_s / found.heuristics[name]
        shorter = f", {100 * gain:.1f} % shorter" if gain > 0 else ", no shorter"
    else:
        shorter = ""
    yield f"optimised  {duration_text(found.makespan_s)}{shorter}"
    which = max(found.bounds, key=found.bounds.__getitem__).removesuffix("_s").replace("_", " ")
    proof = "optimal" if found.gap <= 1e-9 else f"gap at most {100 * found.gap:.1f} %"
    yield f"bound      {duration_text(found.bound_s)}, {which}: {proof}"
    if found.searched_s:
        engine = "" if found.compiled else " with SimPy's engine"
        yield (
            f"search     {found.steps} candidates, {duration_text(found.searched_s)}, "
            f"{found.replays_per_s:.0f} replays per second{engine}"
        )
    for name, (before, after) in found.survives.items():
        yield (
            f"{name:10} {duration_text(after)} with the plan's order as priorities, "
            f"{duration_text(before)} before"
        )
    for text in found.notes:
        yield f"note       {text}"
