"""The ``tasksim run`` command, which executes a task graph on cores, or on MPI ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import (
    WORKERS,
    auto_option,
    automatic,
    completing,
    graph_argument,
    library_option,
    result_options,
    scheduler_option,
    seed_option,
)
from tasksim.cli.output import ResultOptions, describe_run, print_json, print_run, warn
from tasksim.cli.over_ranks import ending_together, grid_of
from tasksim.cli.progress import counting, stages

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.calm_moments import Calmness
    from tasksim.native.runtimes import Runtime
    from tasksim.scenario.over_ranks import RankedScenario
    from tasksim.scenario.scenario import Scenario
    from tasksim.scenario.solving import Checked

__all__ = ["run"]


@command(
    "run",
    examples=[
        "tasksim run cholesky tiles=12",
        "tasksim run lu tiles=16 tile_size=192 --workers 4 --scheduler prio -o runs/lu",
        "tasksim run cholesky tiles=12 --scheduler dm --library calibrated",
        "tasksim run cholesky tiles=12 --calm",
        "mpiexec -n 2 tasksim run cholesky tiles=16 --grid 1x2 -o native/",
    ],
)
@graph_argument()
@click.option("--workers", type=WORKERS, help="Number of threads. [default: all usable cores]")
@scheduler_option("lws")
@click.option(
    "--models",
    shell_complete=completing("models"),
    help="Kernel models for schedulers that need estimates: a folder, by name or path,"
    " or a file. [default: those of this machine]",
)
@library_option
@click.option("--pin/--no-pin", default=True, help="Keep each thread on a core of its own.")
@click.option(
    "--runtime",
    type=click.Choice(["auto", "python", "compiled"]),
    default="auto",
    help="Runtime between tasks: the compiled core, with about a microsecond per task, or Python,"
    " its reference, with ten or more; auto takes the core if it is available.",
)
@click.option(
    "--calm",
    is_flag=True,
    help="Repeat the run, for at most a minute, until other programs take at most 2 % of any"
    " worker's time.",
)
@click.option(
    "--grid",
    metavar="PxQ",
    help="Under mpiexec: rows and columns of the grid of ranks, for a block-cyclic distribution."
    " [default: nearly square]",
)
@click.option(
    "--owner",
    default="row",
    show_default="row",
    metavar="NAME",
    help="Under mpiexec: distribution of the data over ranks: row, column (major), diamond,"
    " round-robin, morton, partitioned, metis, parameter.",
)
@auto_option
@seed_option
@click.option(
    "--check/--no-check", default=True, help="Verify the computation and the records of the run."
)
@click.option(
    "--check-accesses",
    is_flag=True,
    help="Run tasks one at a time, and report those that write data without declaring it.",
)
@click.option(
    "--isolate",
    is_flag=True,
    help="Run in a child process, so that a kernel that crashes is reported and does not end"
    " tasksim.",
)
@result_options
def run(
    graph: str,
    settings: tuple[str, ...],
    workers: int | None,
    scheduler: str,
    models: str | None,
    library: Path | None,
    pin: bool,
    runtime: Runtime,
    calm: bool,
    seed: int,
    check: bool,
    check_accesses: bool,
    isolate: bool,
    auto: Path | None,
    grid: str | None,
    owner: str,
    **where: Any,
) -> None:
    """Execute a task graph for real, on this machine's cores.

    GRAPH is a generator whose kernels execute (cholesky, lu, qr, fmm, and those whose tasks only
    wait) or an application of your own (MODULE:NAME or FILE.py), with KEY=VALUE settings; or a file
    of such a graph.

    Under mpiexec all ranks execute it together: each executes the tasks that write its own data,
    and sends the data that others read. Rank 0 records the one run.
    """
    from tasksim.native.cluster.launch import launched_ranks, watch_over_rank

    over_ranks = grid is not None or launched_ranks() > 1
    if over_ranks:
        watch_over_rank()
    from tasksim.scenario.resolved import resolve
    from tasksim.scenario.scenario import Scenario
    from tasksim.scenario.solving import bound, execute, execute_calmly, execute_isolated

    if calm and (isolate or check_accesses):
        raise click.UsageError(
            "--calm is for measurements; leave --isolate and --check-accesses out"
        )
    if over_ranks and isolate:
        raise click.UsageError(
            "--isolate is for runs without mpiexec: each rank is already a process of its own,"
            " and one that dies is reported and ends the others"
        )
    results = ResultOptions(**where)
    if not over_ranks:
        results.refuse_early()
    scenario = Scenario(
        graph,
        settings,
        workers=workers,
        scheduler=scheduler,
        models=models,
        library=None if library is None else str(library),
        pin=pin,
        runtime=runtime,
        seed=seed,
        clock="native",
    )
    scenario = automatic(scenario, auto)
    if over_ranks:
        _run_over_ranks(
            scenario, grid, owner, results=results,
            check=check, calm=calm, check_accesses=check_accesses,
        )  # fmt: skip
        return
    with stages("running", [1]) as begin:
        begin("the graph")
        resolved = resolve(scenario)
    calmness = None
    if isolate:
        done = execute_isolated(resolved, check=check, check_accesses=check_accesses)
    elif calm:
        with counting("running") as progress:
            done, calmness = execute_calmly(resolved, check=check, progress=progress)
    else:
        with stages("running", [1]) as begin:  # no thread draws a bar during the run
            begin("the data")
            program = bound(resolved, check_accesses=check_accesses)
        with counting("running") as progress:
            done = execute(resolved, check=check, program=program, progress=progress)
    try:
        results.keep(done.run)
    finally:  # a full disk does not take the answer away
        _print_checked(done, resolved.graph, calmness, results)
    if done.problem is not None:
        raise done.problem


def _run_over_ranks(
    scenario: Scenario,
    grid: str | None,
    owner: str,
    *,
    results: ResultOptions,
    check: bool,
    calm: bool,
    check_accesses: bool,
) -> None:
    """Run a native *scenario* on all ranks; rank 0 keeps and prints the run.

    An error on one rank while others wait for it ends all ranks.
    """
    from tasksim.native.cluster.ranks import world
    from tasksim.scenario.over_ranks import RankedScenario

    ranks = world("a run over ranks")
    ranks.together(lambda: None if ranks.rank else results.refuse_early())
    arranged = ranks.together(lambda: grid_of(grid, ranks.size))
    ranked = RankedScenario(scenario, ranks, arranged, owner, check_accesses=check_accesses)
    with ending_together(ranks):
        if calm:
            done, calmness = ranked.run_calmly(check=check) or (None, None)
        else:
            done, calmness = ranked.run(check=check), None
        if done is not None:  # on rank 0
            results.keep(done.run)
            _print_ranked(ranked, done, calmness, results)
            if done.problem is not None:
                raise done.problem


def _print_ranked(
    ranked: RankedScenario, done: Checked, calmness: Calmness | None, results: ResultOptions
) -> None:
    from tasksim.base.units import format_size

    said = done.run.config["ranks"]
    messages = {"count": len(ranked.cut.messages), "bytes": ranked.cut.messages.bytes}
    more = {"nodes": ranked.ranks.size, "messages": messages, **said}
    _print_checked(done, ranked.resolved.graph, calmness, results, more)
    if not results.as_json:
        unsure_s = max(c["uncertainty_s"] for c in said["clocks"])
        click.echo(
            f"\n{ranked.ranks.size} ranks, {said['grid']}: {messages['count']} messages, "
            f"{format_size(messages['bytes'])}; clocks known to {1e6 * unsure_s:.1f} us"
        )


def _print_checked(
    checked: Checked,
    graph: TaskGraph,
    calmness: Calmness | None,
    results: ResultOptions,
    more: dict[str, Any] | None = None,
) -> None:
    """Print a run and the findings of its checks; *more* are further keys of the JSON."""
    from tasksim.scenario.repetitions import calm_warning

    run, residual = checked.run, checked.residual
    if (warning := calm_warning(calmness)) is not None:
        warn(warning)
    if results.as_json:
        print_json(
            {
                **describe_run(run, graph),
                "residual": None if residual is None else residual.value,
                "residual_tolerance": None if residual is None else residual.tolerance,
                **checked.errors,
                "calm": None if calmness is None else not calmness.disturbed,
                "engine": run.engine,
                "engine_why": run.engine_why,
                **(more or {}),
                "output": results.output,
                "gantt": results.gantt,
            }
        )
        return
    print_run(run)
    if residual is not None:
        click.echo(f"\n{residual.what}: {residual.value:.3g} (tolerance {residual.tolerance:.3g})")
        for name, value in checked.errors.items():
            if value != residual.value:  # the deciding one is printed already
                click.echo(f"{name.replace('_', ' ')}, likewise: {value:.3g}")
