"""The ``tasksim study adversary`` command, which searches for a scheduler's worst instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import PATH, completing, force_option, json_option
from tasksim.cli.output import note, note_written, print_json

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["adversary"]

MAX_ROWS = 10
"""Largest number of runs in the text output: it fits a screen, and the page has all."""


@command(
    "adversary",
    examples=[
        "tasksim study adversary heft cpop --tasks 10 -o worst",
        "tasksim study adversary heft best --runs 40 -o worst",
        "tasksim study adversary dmdas heft --platform unrelated-4 -o worst",
    ],
)
@click.argument("first", metavar="SCHEDULER")
@click.argument("second", metavar="OTHER")
@click.option(
    "-o",
    "--output",
    required=True,
    type=PATH,
    help="Folder of the search: a new one, or the one of this search, which gets further runs; "
    "several processes may share it.",
)
@click.option("--tasks", type=int, help="Number of tasks. [default: 10]")
@click.option("--workers", type=int, help="Number of processors, each with a speed. [default: 4]")
@click.option(
    "--platform",
    shell_complete=completing("platform"),
    help="Platform, by name or path, whose speeds and bandwidths do not change.",
)
@click.option("--steps", type=int, help="Number of instances that a run tries. [default: 1000]")
@click.option("--runs", type=int, default=10, show_default=True, help="Number of independent runs.")
@click.option("--seed", type=int, help="Seed of the random choices. [default: 0]")
@click.option(
    "--slowest", type=float, help="Smallest speed and bandwidth; the largest is 1. [default: 0.1]"
)
@click.option(
    "--vary",
    metavar="NAME,...",
    help="Kinds of changes: weights, volumes, edges, speeds, bandwidths. [default: all]",
)
@click.option(
    "--extremes",
    type=float,
    metavar="SHARE",
    help="Share of changes that make a value the smallest or the largest; others are small. "
    "[default: 0.3]",
)
@click.option(
    "--keep",
    type=int,
    default=3,
    show_default=True,
    help="Number of instances to write, draw and explain.",
)
@force_option
@json_option
def adversary(first: str, second: str, output: Path, as_json: bool, **settings: Any) -> None:
    """Search for instances on which SCHEDULER takes much longer than OTHER.

    OTHER may be best: the best static algorithm, instance by instance. Simulated annealing changes
    durations, data, dependencies, speeds and bandwidths. It can be stopped at any time; the same
    command goes on.
    """
    from tasksim.cli.progress import showing
    from tasksim.study.adversary.search import search

    with showing("adversary") as show:
        found = search(
            first,
            second,
            output,
            tell=lambda done, runs, worst: show(
                f"{done}/{runs} runs, worst ratio {worst:.3f}", done / runs
            ),
            **settings,
        )
    if as_json:
        rows = [
            {"run": each.run, "ratio": each.ratio, "makespans_s": each.makespans_s}
            for each in found
        ]
        print_json({"scheduler": first, "other": second, "runs": rows, "output": output})
        return
    from tasksim.base.units import format_time
    from tasksim.view.texttables import table

    click.echo(f"worst  {first} takes {found[0].ratio:.3f} times as long as {second}\n")
    cells = [
        [str(each.run), f"{each.ratio:.3f}", *map(format_time, each.makespans_s)]
        for each in found[:MAX_ROWS]
    ]
    click.echo(table(["run", "ratio", first, second], cells))
    if len(found) > MAX_ROWS:
        note(f"and {len(found) - MAX_ROWS} more runs")
    note_written(output)
