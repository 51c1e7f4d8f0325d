"""The ``tasksim study`` commands for sweeps.

A sweep goes over graphs, platforms, schedulers, settings and seeds.
"""

from __future__ import annotations

import click

from tasksim.cli.command import LazyGroup

__all__ = ["COMMANDS", "study"]

COMMANDS: dict[str, tuple[str, str]] = {
    "new": ("tasksim.cli.study_run:new", "Write a commented study file to begin with."),
    "run": ("tasksim.cli.study_run:run", "Compute the cells of a study, or resume it."),
    "table": ("tasksim.cli.study_run:table", "Print the table of a study."),
    "show": ("tasksim.cli.study_run:show", "Simulate one cell again, and show it."),
    "report": (
        "tasksim.cli.study_report:report",
        "Report the winner, its certainty, curves, figures.",
    ),
    "adversary": (
        "tasksim.cli.study_adversary:adversary",
        "Search for instances on which a scheduler is much worse than another.",
    ),
    "tree": ("tasksim.cli.study_tree:tree", "Fit a decision tree: C, Python, text, picture."),
}
"""Name -> the location of the command, and its summary."""

EXAMPLES = (
    "tasksim study new study.yaml",
    "tasksim study run study.yaml -o study --jobs 2",
    "tasksim study table study --csv > study.csv",
    "tasksim study report study -o report",
)


@click.group("study", cls=LazyGroup, parts=COMMANDS, examples=EXAMPLES)
def study() -> None:
    """Simulate a grid of graphs, platforms, schedulers, settings and seeds.

    A study file describes the grid. The answers go to a folder, cell by cell, so that a study can
    be stopped at any time, and resumes where it was.
    """
