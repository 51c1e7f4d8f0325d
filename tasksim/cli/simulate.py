"""``tasksim simulate``: replay a task graph on a platform."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tasksim.base.interruption import INTERRUPTED_EXIT_CODE
from tasksim.cli.command import command
from tasksim.cli.options import (
    auto_option,
    automatic,
    cluster_options,
    graph_argument,
    result_options,
    scenario_options,
    scheduler_option,
    seed_option,
    trust_option,
)
from tasksim.cli.output import Results, describe_run, print_json, warn
from tasksim.cli.uncertainty import OPTIONS, Asked, uncertainty_options

if TYPE_CHECKING:
    from tasksim.cli.uncertainty import Rival
    from tasksim.engine.choice import Engine
    from tasksim.run.record import Run
    from tasksim.scenario.prediction import Prediction
    from tasksim.scenario.resolved import Resolved
    from tasksim.scenario.scenario import Noise, Scenario

__all__ = ["simulate_command"]

WITH_FROM = {
    "from_run", "trust", "changes", "output", "gantt", "force", "as_json", "check", "engine",
}  # fmt: skip
"""What may be given together with ``--from``."""


@command(
    "simulate",
    examples=[
        "tasksim simulate cholesky tiles=20 --workers 8 --durations potrf=1,trsm=3,syrk=3,gemm=6",
        "tasksim simulate cholesky tiles=20 --platform mymachine --scheduler dm -o runs/dm",
        "tasksim simulate qr tiles=16 --platform mymachine --set platform.workers.cpu.count=24",
        "tasksim simulate cholesky tiles=14 --platform mymachine --uncertainty both --plot a.png",
        "tasksim simulate cholesky tiles=40 --platform mymachine --nodes 4 --grid 2x2 "
        "--network switch:bandwidth=12.5GB/s,latency=1us",
        "tasksim simulate --from runs/dm --gantt dm.pdf",
        "tasksim simulate runs/native --durations measured --scheduler dm",
    ],
)
@graph_argument(required=False)
@scenario_options
@cluster_options
@scheduler_option("lws")
@auto_option
@seed_option
@click.option(
    "--noise",
    type=click.Choice(["none", "model"]),
    default="none",
    help="Cost of a task: its model's mean (none), or a draw from its model's distribution.",
)
@uncertainty_options
@click.option("--check", is_flag=True, help="Verify every invariant of the result.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "simpy", "compiled"]),
    default="auto",
    help="Engine of the replay; results are the same: the compiled core, or SimPy's, its"
    " reference; auto takes the core where it can.",
)
@click.option(
    "--from",
    "from_run",
    type=click.Path(path_type=Path),
    help="Repeat a recorded run (a folder, or its run.json); with --set, with changes.",
)
@trust_option
@result_options
@click.pass_context
def simulate_command(
    ctx: click.Context,
    /,
    scenario: Scenario,
    scheduler: str,
    seed: int,
    noise: Noise,
    check: bool,
    engine: Engine,
    from_run: Path | None,
    trust: bool,
    auto: Path | None,
    **where: Any,
) -> None:
    """Predict a run: replay a task graph on a platform.

    GRAPH is the name of a generator (see 'tasksim list generators'), with its KEY=VALUE
    settings, or a graph file, or a file of costs per processor (.csv), which brings its own
    platform. What a task takes comes from --durations; else from kernel models, those of the
    platform or of --models; else, if it has a parameter duration_s (all tasks of chain, fork-join
    and random-layered, and barriers, which have 0), it takes just as long.

    GRAPH may be a recorded run, a folder: its graph is run again, where it ran unless --platform
    or --workers says otherwise, under its scheduler unless --scheduler does; with --durations
    measured each task takes what it took there, with --durations means what its configuration
    did in the mean.
    """
    doubts = Asked(**{name: where.pop(name) for name in OPTIONS})
    results = Results(**where)
    doubts.refuse_early(noise, results)
    from tasksim.scenario.resolved import Resolver
    from tasksim.scenario.solving import solve

    resolver = Resolver()
    recorded: Run | None = None
    changed = False
    if from_run is not None:
        _refuse_others()
        from tasksim.formats.runs import load_run
        from tasksim.run.runchecks import check_records
        from tasksim.scenario.recorded import scenario_of

        recorded = load_run(from_run)
        check_records(recorded, from_run)
        repeated = scenario_of(recorded, from_run, trust=trust)
        scenario, changed = repeated.with_changes(scenario.changes), bool(scenario.changes)
    elif trust:
        raise click.UsageError("--trust is about a recorded run: give --from RUN")
    elif not scenario.graph:
        raise click.UsageError("Missing argument 'GRAPH' (or --from RUN).")
    else:
        replayed = resolver.replayed(scenario)
        asked_for = ctx.get_parameter_source("scheduler") is ParameterSource.COMMANDLINE
        if replayed is not None and not asked_for:
            from tasksim.schedulers.registry import SCHEDULERS

            if replayed.run.scheduler.partition(":")[0] in SCHEDULERS:
                scheduler = replayed.run.scheduler
        asked = scenario.vary(scheduler=scheduler, seed=seed, noise=noise)
        scenario = automatic(asked, auto)
    results.refuse_early()
    resolved = resolver.resolve(scenario)
    run = solve(resolved, check=check, engine=engine, digests=results.output is not None)
    if recorded is not None and not changed:
        _warn_of_differences(recorded, run)
    sure = doubts.answer(resolved, engine)
    rivals: list[Rival] = []
    if sure is not None:
        rivals = [] if sure.interrupted else doubts.rivals(resolver, resolved, sure, engine)
        against = {"against": [rival.to_json() for rival in rivals]} if rivals else {}
        run = replace(run, uncertainty={**sure.to_json(), **against})
    try:
        results.keep(run)
        if sure is not None:
            doubts.draw(run.scheduler, sure, rivals, force=results.force)
    finally:  # a full disk does not take the answer away
        _print(run, resolved, results, sure)
        if rivals and not results.as_json:
            click.echo("\n".join(rival.text(run.scheduler) for rival in rivals))
    if sure is not None and sure.interrupted:
        ctx.exit(INTERRUPTED_EXIT_CODE)


def _refuse_others() -> None:
    """Raise for options that a recorded run settles."""
    ctx = click.get_current_context()
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in WITH_FROM and ctx.params.get(name) != ():
            text = parameter.opts[-1] if parameter.param_type_name == "option" else name.upper()
            raise click.UsageError(f"--from repeats a run as it was; {text} cannot be given", ctx)


def _warn_of_differences(recorded: Run, run: Run) -> None:
    if run.tasks == recorded.tasks:
        return
    from tasksim.scenario.fingerprints import changed_files

    changed = changed_files(recorded)
    why = f"; changed since: {', '.join(changed)}" if changed else ""
    warn(
        f"this is not the recorded run: makespan {run.makespan_s:.9g} s,"
        f" then {recorded.makespan_s:.9g} s{why}"
    )


def _said_by(sources: dict[str, str]) -> str:
    """Return which kernels' durations come from where, in words.

    >>> _said_by({"potrf": "models", "barrier": "tasks", "gemm": "models"})
    'models: potrf, gemm; tasks: barrier'
    """
    words = dict.fromkeys(sources.values())
    return "; ".join(f"{w}: {', '.join(k for k in sources if sources[k] == w)}" for w in words)


def _print(run: Run, resolved: Resolved, results: Results, sure: Prediction | None) -> None:
    advice, sources = resolved.advice(), resolved.sources()
    guessed, overfull = advice["beyond_contention"], advice["overfull"]
    said = [line for lines in advice.values() for line in lines]
    for message in said if sure is None else [*said, *sure.warnings()]:
        warn(message)
    if results.as_json:
        print_json(
            {
                **describe_run(run, resolved.graph),
                "noise": resolved.scenario.noise,
                **({} if sure is None else {"uncertainty": run.uncertainty}),
                "extrapolated": advice["extrapolated"],
                **({"guessed": guessed} if guessed else {}),
                **({"overfull": overfull} if overfull else {}),
                **({"durations_from": sources} if sources else {}),
                "engine": run.engine,
                "engine_why": run.engine_why,
                "simulation_wall_s": run.wall_s,
                "tasks_per_s": len(run) / run.wall_s if run.wall_s else None,
                "output": results.output,
                "gantt": results.gantt,
            }
        )
        return
    from tasksim.view.texttables import kernel_table, run_summary

    summary = run_summary(run)
    if sources:
        summary += f"\ndurations by   {_said_by(sources)}"
    click.echo(f"{summary}\n\n{kernel_table(run)}")
    if sure is not None:
        click.echo(f"\n{sure.text()}")
