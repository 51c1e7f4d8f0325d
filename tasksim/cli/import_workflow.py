"""``tasksim import workflow``: task graphs of other tools."""

from __future__ import annotations

from pathlib import Path

import click

from tasksim.cli.command import Command
from tasksim.cli.import_trace import importing
from tasksim.cli.options import force_option, json_option
from tasksim.cli.output import note, print_json, refuse_unwritable

__all__ = ["importing", "workflow"]

EXAMPLES = (
    "tasksim import workflow montage.json -o montage.npz",
    "tasksim import workflow daggen.dot --flop-rate 1e9 -o daggen.npz",
)


@importing.command(
    "workflow", cls=Command, examples=EXAMPLES, short_help="Import a task graph of another tool."
)
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="A new task graph file, .npz.",
)
@click.option(
    "--flop-rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="FLOP/S",
    help="Speed of a worker, for files that give flop in place of seconds.",
)
@force_option
@json_option
def workflow(path: Path, output: Path, flop_rate: float | None, force: bool, as_json: bool) -> None:
    """Import a task graph of another tool.

    FILE is a workflow in WfFormat (WfCommons, .json) or DAX (Pegasus, .dax), DOT as SimGrid and
    daggen have it (.dot), a graph of the Standard Task Graph set (.stg), one of Davidovic's (.td),
    or one of Estee's (.json). 'tasksim simulate' reads all of these directly, too.
    """
    refuse_unwritable(output)
    from tasksim.formats.graphs import graph_in
    from tasksim.formats.workflows.jobs import with_durations
    from tasksim.graph.graph_file import save

    found = graph_in(path)
    graph = found.graph if flop_rate is None else with_durations(found.graph, flop_rate)
    save(graph, output, force=force)
    summary = graph.summary()
    if as_json:
        print_json({**summary, "notes": found.notes, "output": output})
        return
    click.echo(f"graph    {graph.name}: {len(graph)} tasks, {graph.edges} dependencies")
    click.echo(f"data     {summary['handles']}, {summary['size_bytes']} bytes")
    kernels = [f"{count} {kernel}" for kernel, count in summary["kernels"].items()]
    click.echo(f"kernels  {', '.join(kernels)}")
    if found.notes:
        click.echo("\nnotes:")
    for text in found.notes:
        click.echo(f"  {text}")
    note(f"Wrote {output}")
