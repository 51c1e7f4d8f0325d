"""``tasksim study``: sweeps over graphs, platforms, schedulers, settings and seeds."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import nearest
from tasksim.cli.command import Command

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMMANDS", "study"]

COMMANDS: dict[str, tuple[str, str]] = {
    "new": ("tasksim.cli.study_new:new", "Write a commented study file to begin with."),
    "run": ("tasksim.cli.study_run:run", "Compute the cells of a study; resumes."),
    "table": ("tasksim.cli.study_table:table", "Print the table of a study."),
    "show": ("tasksim.cli.study_show:show", "Simulate a cell again, and look at it."),
    "report": ("tasksim.cli.study_report:report", "Who wins and how surely, curves, figures."),
    "tree": ("tasksim.cli.study_tree:tree", "Make a decision tree: C, Python, text, picture."),
}
"""Name -> where the command is, and what it does."""

EXAMPLES = (
    "tasksim study new study.yaml",
    "tasksim study run study.yaml -o study --jobs 2",
    "tasksim study table study --csv > study.csv",
    "tasksim study report study -o report",
)


class LazyCommands(Command, click.Group):
    """The commands of a mapping as :data:`COMMANDS`, imported when called."""

    lazy: Mapping[str, tuple[str, str]] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, in the order of their use."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command."""
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that *args* name; for an unknown one, say the nearest."""
        name = args[0]
        if name not in self.lazy and not name.startswith("-") and not ctx.resilient_parsing:
            known = ", ".join(self.lazy)
            ctx.fail(f"unknown command '{name}'{nearest(name, self.lazy)} (known: {known})")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.lazy.items()])


@click.group("study", cls=LazyCommands, examples=EXAMPLES)
def study() -> None:
    """Ask many questions at once: a grid of graphs, platforms, schedulers, settings, seeds.

    A study is a file that says which; its answers are kept in a folder, cell by cell, so that it
    can be stopped at any time, and goes on where it was.
    """
