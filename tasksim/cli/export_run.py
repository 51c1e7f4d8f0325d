"""``tasksim export perfetto`` and others: runs as other tools read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.command import Command
from tasksim.cli.export import exporting
from tasksim.cli.options import force_option
from tasksim.cli.output import note, refuse_unwritable

if TYPE_CHECKING:
    from tasksim.formats.traces.chrome import Arrows
    from tasksim.run.record import Run

__all__ = ["exporting"]

WRITERS = {
    "paje": ("paje", "run.trace", "a Paje trace, which ViTE, PajeNG and StarVZ open"),
    "starvz": ("starvz", "starvz/", "the Parquet tables of StarVZ, in a folder"),
    "csv": ("task-table", "run.csv", "a table of tasks"),
    "dot": ("dot", "run.dot", "its graph in DOT, as SimGrid has it"),
    "wfformat": ("wfformat", "flow.json", "its graph as a workflow of WfCommons"),
    "tasks.rec": ("tasks.rec", "tasks.rec", "the records of StarPU's trace tool"),
}
"""Commands: the format that writes, the name of an example, what is written."""

_output = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="File or folder to write.",
)


@exporting.command(
    "perfetto",
    cls=Command,
    examples=[
        "tasksim export perfetto runs/dm -o dm.json.gz",
        "tasksim export perfetto runs/a runs/b -o ab.json.gz",
    ],
    short_help="Write runs for Perfetto: Chrome's JSON.",
)
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@_output
@click.option(
    "--arrows",
    type=click.Choice(["none", "critical", "all"]),
    default="none",
    help="Arrows along the practical critical path, or for all dependencies.",
)
@force_option
def perfetto(runs: tuple[Path, ...], output: Path, arrows: Arrows, force: bool) -> None:
    """Write runs to one file that ui.perfetto.dev and chrome://tracing open, each run a process.

    With --arrows all the file has the whole graph, and is read back with it.
    """
    from tasksim.formats.traces.chrome import write_chrome

    refuse_unwritable(output)
    write_chrome([_loaded(run) for run in runs], output, arrows=arrows, force=force)
    note(f"Wrote {output}")


def _loaded(path: Path) -> Run:
    from tasksim.formats.runs import load_run
    from tasksim.run.runchecks import check_records

    run = load_run(path)
    check_records(run, path)
    return run


def _add(name: str, form: str, example: str, what: str) -> None:
    """Add the command that writes one format."""

    def write(run: Path, output: Path, force: bool) -> None:
        from tasksim.formats.registry import FORMATS

        refuse_unwritable(output)
        writer: Any = FORMATS.find(form).writes_run
        writer(_loaded(run), output, force)
        note(f"Wrote {output}")

    write.__doc__ = f"Write a run as {what}."
    command: Any = force_option(_output(write))
    command = click.argument("run", type=click.Path(path_type=Path), metavar="RUN")(command)
    examples = [f"tasksim export {name} runs/dm -o {example}"]
    short = f"Write a run as {what}."
    exporting.command(name, cls=Command, examples=examples, short_help=short)(command)


for _name, _writer in WRITERS.items():
    _add(_name, *_writer)
