"""The ``tasksim tune`` command group, for the best choice and the cost of a wrong one."""

from __future__ import annotations

import click

from tasksim.cli.command import LazyGroup

__all__ = ["tuning"]

GRAPH = "GRAPH"
"""Placeholder for a graph in the place of a subcommand."""
PARTS = {
    GRAPH: ("tasksim.cli.tune_graph:graph", "Find the best choice for a graph."),
    "report": ("tasksim.cli.tune_report:reporting", "Judge choices by real runs on this machine."),
    "table": ("tasksim.cli.tune_table:table", "Judge methods on measurements made elsewhere."),
}
"""Subcommand -> its location, and its summary."""

EXAMPLES = (
    "tasksim tune cholesky n=8192 --platform xeon-24c --over tile_size=128..1024:log"
    " scheduler=lws,prio,dmdas",
    "tasksim tune report --native",
    "tasksim tune table blaze.csv --features Nthr,Ms,Mflop,Nite --choices 1,2,3,4,5,6,7,8,9,10"
    " --limit Nite",
)


class Tuning(LazyGroup):
    """The subcommands of :data:`PARTS`; any other first argument is a graph."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*; a first word that is no subcommand is a graph."""
        if args and args[0] not in (*PARTS, *ctx.help_option_names, "--debug"):
            args = [GRAPH, *args]
        return super().parse_args(ctx, args)


@click.group("tune", cls=Tuning, parts=PARTS, examples=EXAMPLES)
def tuning() -> None:
    """Find the best choice, and the cost of others."""
