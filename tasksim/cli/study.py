"""The ``tasksim study`` commands for sweeps.

A sweep goes over graphs, platforms, schedulers, settings and seeds.
"""

from __future__ import annotations

import click

from tasksim.cli.command import LazyGroup

__all__ = ["COMMANDS", "study"]

COMMANDS: dict[str, tuple[str, str]] = {
    "new": ("tasksim.cli.study_run:new", "Write a commented study file to begin with."),
    "run": ("tasksim.cli.study_run:run", "Compute the cells of a study; resumes."),
    "table": ("tasksim.cli.study_run:table", "Print the table of a study."),
    "show": ("tasksim.cli.study_run:show", "Simulate a cell again, and look at it."),
    "report": ("tasksim.cli.study_report:report", "Who wins and how surely, curves, figures."),
    "adversary": (
        "tasksim.cli.study_adversary:adversary",
        "Search for instances on which a scheduler is much worse than another.",
    ),
    "tree": ("tasksim.cli.study_tree:tree", "Make a decision tree: C, Python, text, picture."),
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
    """Ask many questions at once: a grid of graphs, platforms, schedulers, settings, seeds.

    A study is a file that says which; its answers are kept in a folder, cell by cell, so that it
    can be stopped at any time, and goes on where it was.
    """
