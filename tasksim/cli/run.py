"""``tasksim run``: execute a task graph on this machine's cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import (
    WORKERS,
    auto_option,
    automatic,
    graph_argument,
    library_option,
    result_options,
    scheduler_option,
    seed_option,
)
from tasksim.cli.output import Results
from tasksim.cli.printed_runs import print_checked
from tasksim.cli.progress import counting

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.native.calm_moments import Calmness
    from tasksim.native.runtimes import Runtime
    from tasksim.scenario.resolved import Resolved
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
    help="Kernel models for schedulers that need estimates: a folder, by name or path,"
    " or a file. [default: those of this machine]",
)
@library_option
@click.option("--pin/--no-pin", default=True, help="Keep each thread on a core of its own.")
@click.option(
    "--runtime",
    type=click.Choice(["auto", "python", "compiled"]),
    default="auto",
    help="What runs between two tasks: the compiled core, about a microsecond, or"
    " Python, its reference, ten or more; auto takes the core if it is there.",
)
@click.option(
    "--calm",
    is_flag=True,
    help="Repeat the run, for a minute at most, until other programs took at most 2 % of"
    " its workers' time.",
)
@click.option(
    "--grid",
    metavar="PxQ",
    help="Under mpiexec: rows and columns of ranks, over which the data are spread block-"
    "cyclically. [default: nearly square]",
)
@click.option(
    "--owner",
    default="row",
    show_default="row",
    metavar="NAME",
    help="Under mpiexec: which rank owns what: row, column (major), diamond, round-robin, morton, "
    "partitioned, metis, parameter.",
)
@auto_option
@seed_option
@click.option(
    "--check/--no-check", default=True, help="Verify the result of the computation, and the run."
)
@click.option(
    "--check-accesses",
    is_flag=True,
    help="Run tasks one at a time, and name those that write what they do not declare to write.",
)
@click.option(
    "--isolate",
    is_flag=True,
    help="Run in a child process, so that a kernel that crashes is named and does not end tasksim.",
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
    """Run a task graph for real, on this machine's cores.

    GRAPH is the name of a generator whose kernels execute (cholesky, lu, qr, fmm, and those
    whose tasks only wait), or an application of one's own (MODULE:NAME or FILE.py), with its
    KEY=VALUE settings, or a file of such a graph.

    Under mpiexec all ranks run it together: each executes the tasks that write the data it owns,
    and sends what others read. One run is recorded, by rank 0.
    """
    from tasksim.native.cluster.launch import launched_ranks, watch_over_rank

    over_ranks = grid is not None or launched_ranks() > 1
    if over_ranks:
        watch_over_rank()
    from tasksim.scenario.resolved import resolve
    from tasksim.scenario.scenario import Scenario
    from tasksim.scenario.solving import execute_isolated

    if calm and (isolate or check_accesses):
        raise click.UsageError("--calm is for measuring: not with --isolate or --check-accesses")
    results = Results(**where)
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
    if over_ranks:
        if isolate:
            raise click.UsageError(
                "--isolate is for runs without mpiexec: each rank is a process of its own, and one "
                "that dies ends all of them, and is named"
            )
        from tasksim.cli.run_over_ranks import run_over_ranks

        run_over_ranks(
            automatic(scenario, auto), grid, owner, results=results,
            check=check, calm=calm, check_accesses=check_accesses,
        )  # fmt: skip
        return
    resolved = resolve(automatic(scenario, auto))
    if isolate:
        done, calmness = (
            execute_isolated(resolved, check=check, check_accesses=check_accesses),
            None,
        )
    else:
        done, calmness = _execute(resolved, check, calm, check_accesses)
    try:
        results.keep(done.run)
    finally:  # a full disk does not take the answer away
        print_checked(done, resolved.graph, calmness, results)
    if done.problem is not None:
        raise done.problem


def _execute(
    resolved: Resolved, check: bool, calm: bool, check_accesses: bool
) -> tuple[Checked, Calmness | None]:
    """Return the run, what checking it and what was computed told, and how calm the machine was."""
    from tasksim.scenario.solving import Checked, bound, execute, execute_calmly, execute_checked

    with counting("running") as progress:
        if calm:
            return execute_calmly(resolved, check=check, progress=progress)
        program = bound(resolved, check_accesses=check_accesses)
        if check:
            return execute_checked(resolved, program=program, progress=progress), None
        return Checked(execute(resolved, program=program, progress=progress)), None
