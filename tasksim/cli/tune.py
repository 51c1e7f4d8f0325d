"""``tasksim tune``: which choice is best, and what a wrong one costs; its subcommands are apart."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from tasksim.base.errors import nearest
from tasksim.cli.command import Group

__all__ = ["tuning"]

PARTS = {
    "table": ("tasksim.cli.tune_table:table", "Judge methods on measurements made elsewhere."),
}
"""Subcommand -> where it is, and what it does. Everything else is a graph."""

EXAMPLES = (
    "tasksim tune table blaze.csv --features Nthr,Ms,Mflop,Nite --choices 1,2,3,4,5,6,7,8,9,10"
    " --limit Nite",
)


class Tuning(Group):
    """The subcommands of :data:`PARTS`, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the subcommands."""
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a subcommand."""
        if cmd_name not in PARTS:
            return None
        module, _, attribute = PARTS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that *args* name; for an unknown one, say the nearest."""
        name = args[0]
        if name not in PARTS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(
                f"unknown {self.what} '{name}'{nearest(name, PARTS)} (known: {', '.join(PARTS)})"
            )
        return click.Group.resolve_command(self, ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in PARTS.items()])


@click.group("tune", cls=Tuning, what="subcommand", examples=EXAMPLES)
def tuning(**_: Any) -> None:
    """Say which choice is best, and what a wrong one costs."""
