"""``tasksim import network``: a network of SimGrid's, as a file of tasksim's own."""

from __future__ import annotations

from pathlib import Path

import click

from tasksim.cli.command import Command
from tasksim.cli.import_workflow import importing
from tasksim.cli.options import force_option, json_option
from tasksim.cli.output import note, print_json, refuse_unwritable

__all__ = ["importing", "network"]

EXAMPLES = ("tasksim import network simgrid-platform.xml -o lib",)


@importing.command(
    "network", cls=Command, examples=EXAMPLES, short_help="Import a network of SimGrid's."
)
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "-o",
    "--output",
    "library",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    show_default="the current folder",
    help="The library where networks/NAME.yaml is written.",
)
@click.option("--name", help="Name of the network. [default: the name of the file]")
@force_option
@json_option
def network(path: Path, library: Path, name: str | None, force: bool, as_json: bool) -> None:
    """Import a network of SimGrid's.

    FILE is a platform file of SimGrid, .xml: a cluster, flat, with a backbone, a fat tree, a torus
    or a dragonfly; or hosts, links and routes.
    """
    refuse_unwritable(library / "networks" / "x")
    from tasksim.formats.simgrid import import_network

    target, found = import_network(path, library, name, force=force)
    if as_json:
        print_json({"network": found.name, "hosts": found.nodes, "links": found.topology.link_count,
                    "topology": str(found.topology), "model": found.model.name,
                    "output": target})  # fmt: skip
        return
    click.echo(f"network   {found.name}: {found.topology}")
    click.echo(f"hosts     {found.nodes}")
    click.echo(f"links     {found.topology.link_count}")
    click.echo(f"model     {found.model.name}")
    note(f"Wrote {target}")
