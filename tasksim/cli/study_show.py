"""``tasksim study show``: a cell of a study, simulated again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import result_options, trust_option
from tasksim.cli.output import Results, describe_run, note, print_json, warn

__all__ = ["show"]


@command(
    "show",
    examples=[
        "tasksim study show study 3f9a",
        "tasksim study show study 3f9a -o runs/best --gantt best.pdf",
    ],
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="STUDY")
@click.argument("cell", metavar="CELL")
@trust_option
@result_options
def show(folder: Path, cell: str, trust: bool, **where: Any) -> None:
    """Simulate a cell again, and print its run, keep it, draw it.

    CELL is what the table has in that column, or as much of its beginning as tells it from others.
    """
    results = Results(**where)
    from tasksim.scenario.resolved import resolve
    from tasksim.scenario.solving import solve
    from tasksim.study.sweep.lookup import difference, find_cell

    found = find_cell(folder, cell, trust=trust)
    results.refuse_early()
    resolved = resolve(found.scenario)
    run = solve(resolved, digests=results.output is not None)
    for line in [] if found.scenario.clock == "native" else resolved.warnings():
        warn(line)
    changed = difference(found, run)
    if changed:
        warn(changed)
    results.keep(run)
    if results.as_json:
        print_json({"cell": found.cell, **describe_run(run, resolved.graph)})
        return
    from tasksim.view.texttables import kernel_table, run_summary

    note(f"{found.cell}: {found.scenario.label}")
    click.echo(f"{run_summary(run)}\n\n{kernel_table(run)}")
