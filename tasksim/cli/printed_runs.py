"""Native runs as commands print them: a summary, the kernels, what checking told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.output import Results, describe_run, print_json, warn

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.calm_moments import Calmness
    from tasksim.scenario.solving import Checked

__all__ = ["print_checked"]


def print_checked(
    checked: Checked,
    graph: TaskGraph,
    calmness: Calmness | None,
    results: Results,
    more: dict[str, Any] | None = None,
) -> None:
    """Print a run and what checking it told; *more* are JSON's other keys."""
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
    from tasksim.view.texttables import kernel_table, run_summary

    click.echo(f"{run_summary(run)}\n\n{kernel_table(run)}")
    if residual is not None:
        click.echo(f"\n{residual.what}: {residual.value:.3g} (tolerance {residual.tolerance:.3g})")
        for name, value in checked.errors.items():
            if value != residual.value:  # the one that decides has been said
                click.echo(f"{name.replace('_', ' ')}, likewise: {value:.3g}")
