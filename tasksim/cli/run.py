"""``tasksim run``: execute a task graph on this machine's cores."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tasksim.base.errors import CheckFailed, InputError
from tasksim.cli.command import command
from tasksim.cli.options import (
    WORKERS,
    graph_argument,
    library_option,
    result_options,
    scheduler_option,
    seed_option,
)
from tasksim.cli.output import Results, describe_run, print_json
from tasksim.cli.progress import counting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Residual
    from tasksim.platform.description import Platform
    from tasksim.run.record import Run

__all__ = ["run"]


@command(
    "run",
    examples=[
        "tasksim run cholesky tiles=12",
        "tasksim run lu tiles=16 tile_size=192 --workers 4 --scheduler prio -o runs/lu",
        "tasksim run cholesky tiles=12 --scheduler dm --library calibrated",
    ],
)
@graph_argument()
@click.option("--workers", type=WORKERS, help="Threads. [default: all cores one may use]")
@scheduler_option("lws")
@click.option("--models", help="Kernel models, for schedulers that need estimates.")
@library_option
@click.option("--pin/--no-pin", default=True, help="Keep each thread on a core of its own.")
@seed_option
@click.option(
    "--check/--no-check", default=True, help="Verify the result of the computation, and the run."
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
    seed: int,
    check: bool,
    **where: Any,
) -> None:
    """Run a task graph for real, on this machine's cores.

    GRAPH is the name of a generator whose kernels execute (cholesky, lu, qr, fmm, and those
    whose tasks only wait), with its KEY=VALUE settings, or a file of such a graph.
    """
    from tasksim.formats.graphs import load_graph

    results = Results(**where)
    results.refuse_early()
    tasks = load_graph(graph, list(settings))
    platform = _this_machine(workers)
    estimates = _estimates(tasks, platform, scheduler, models, library)
    config = {
        "graph": {"name": graph, "settings": [f"{k}={v}" for k, v in tasks.arguments.items()]},
        "workers": len(platform.workers),
        "scheduler": scheduler,
        "seed": seed,
        "pin": pin,
        "models": models,
        "library": None if library is None else str(library.resolve()),
    }
    done, checked = _execute(tasks, platform, scheduler, estimates, seed, pin, check, config)
    try:
        results.keep(done)
    finally:  # a full disk does not take the answer away
        _print(done, tasks, checked, results)
    if checked.problem is not None:
        raise checked.problem


class _Checked(NamedTuple):
    """The residual of what was computed, other errors of it by name, and what is wrong."""

    residual: Residual | None = None
    errors: Mapping[str, float] = MappingProxyType({})
    problem: CheckFailed | None = None


def _this_machine(workers: int | None) -> Platform:
    from tasksim.calibration.machine import machine_name
    from tasksim.native.execution import usable_cores
    from tasksim.platform.description import Platform

    return replace(Platform.identical(workers or len(usable_cores())), name=machine_name())


def _estimates(
    graph: TaskGraph, platform: Platform, scheduler: str, models: str | None, library: Path | None
) -> list[list[float]] | None:
    """Return what the scheduler believes, None if it does not ask."""
    from tasksim.base import library as libraries
    from tasksim.schedulers.registry import create

    if models is None and not getattr(create(scheduler), "needs_estimates", False):
        return None
    try:
        folder = libraries.find("models", models or platform.name, library=library)
    except InputError as error:
        if models is not None:
            raise
        raise InputError(
            f"scheduler {scheduler} needs kernel models, and there are none of this machine "
            f"({platform.name}); give --models DIR, or measure them: tasksim calibrate GRAPH"
        ) from error
    from tasksim.engine.durations import durations
    from tasksim.models.files.store import ModelLibrary

    estimates: list[list[float]] = durations(graph, platform, ModelLibrary(folder)).tolist()
    return estimates


def _execute(
    graph: TaskGraph,
    platform: Platform,
    scheduler: str,
    estimates: list[list[float]] | None,
    seed: int,
    pin: bool,
    check: bool,
    config: dict[str, Any],
) -> tuple[Run, _Checked]:
    """Return the run, and what checking it and what was computed told."""
    from tasksim.kernels.program import bind
    from tasksim.native.execute import execute

    program = bind(graph, len(platform.workers), seed)
    with counting("running") as progress:
        done = execute(
            graph,
            platform,
            scheduler,
            program=program,
            estimates=estimates,
            seed=seed,
            pin=pin,
            progress=progress,
            config=config,
        )
    done = replace(done, bounds=_bounds(graph, done))
    if not check:
        return done, _Checked()
    residual = program.check()
    # Some programs know more of their result than whether it is right.
    errors: Mapping[str, float] = getattr(program, "errors", dict)()
    return done, _Checked(residual, errors, _problem(done, graph, residual))


def _bounds(graph: TaskGraph, run: Run) -> dict[str, float]:
    """Return the lower bounds for the durations that the tasks had."""
    from tasksim.run.bounds import bounds

    return bounds(graph, run.tasks.duration_s[None, :], [len(run.workers)]).to_json()


def _problem(run: Run, graph: TaskGraph, residual: Residual | None) -> CheckFailed | None:
    from tasksim.run.runchecks import check_run

    try:
        check_run(run, graph)
    except CheckFailed as error:
        return error
    if residual is None or residual.ok:
        return None
    return CheckFailed(
        f"{graph.name}: {residual.what} is {residual.value:.3g}, more than {residual.tolerance:.3g}"
    )


def _print(run: Run, graph: TaskGraph, checked: _Checked, results: Results) -> None:
    residual = checked.residual
    if results.as_json:
        print_json(
            {
                **describe_run(run, graph),
                "residual": None if residual is None else residual.value,
                "residual_tolerance": None if residual is None else residual.tolerance,
                **checked.errors,
                "output": results.output,
                "gantt": results.gantt,
            }
        )
        return
    from tasksim.view.texttables import kernel_table, run_summary

    click.echo(f"{run_summary(run)}\n\n{kernel_table(run)}")
    if residual is not None:
        click.echo(f"\n{residual.what}: {residual.value:.3g} (tolerance {residual.tolerance:.3g})")
        for name, value in checked.errors.items():
            if value != residual.value:  # the one that decides has been said
                click.echo(f"{name.replace('_', ' ')}, likewise: {value:.3g}")
