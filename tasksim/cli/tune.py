"""``tasksim tune``: which choice is best, and what a wrong one costs; its subcommands are apart."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from tasksim.cli.command import Group

__all__ = ["tuning"]

GRAPH = "GRAPH"
"""In the place of a subcommand: a graph."""
PARTS = {
    GRAPH: ("tasksim.cli.tune_graph:graph", "Find the best choice for a graph."),
    "report": ("tasksim.cli.tune_report:reporting", "Judge choices by real runs, here."),
    "table": ("tasksim.cli.tune_table:table", "Judge methods on measurements made elsewhere."),
}
"""Subcommand -> where it is, and what it does."""

EXAMPLES = (
    "tasksim tune cholesky n=8192 --platform xeon-24c --over tile_size=128..1024:log"
    " scheduler=lws,prio,dmdas",
    "tasksim tune report --native",
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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*; what begins with no subcommand is about a graph."""
        if args and args[0] not in (*PARTS, *ctx.help_option_names, "--debug"):
            args = [GRAPH, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that *args* name."""
        return click.Group.resolve_command(self, ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in PARTS.items()])


@click.group("tune", cls=Tuning, what="subcommand", examples=EXAMPLES)
def tuning(**_: Any) -> None:
    """Say which choice is best, and what a wrong one costs."""
