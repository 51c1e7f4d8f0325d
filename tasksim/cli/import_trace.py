"""``tasksim import trace`` and ``import workflow``: runs and graphs of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tasksim.cli.command import Command
from tasksim.cli.importing import importing
from tasksim.cli.options import force_option, json_option
from tasksim.cli.output import note, print_json, refuse_unwritable, warn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["importing", "trace"]

EXAMPLES = (
    "tasksim import trace qr_mumps/ -o tf16",
    "tasksim import trace tasks.rec -o recorded --models",
)
SHOWN = 10
"""Maximum number of skipped records that are listed: more do not fit on a screen; their number is
stated."""


@importing.command(
    "trace", cls=Command, examples=EXAMPLES, short_help="Import a run that another tool recorded."
)
@click.argument("path", type=click.Path(path_type=Path), metavar="PATH")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="A new run folder: the run, its graph, its platform.",
)
@click.option("--models", is_flag=True, help="Write kernel models of its own durations as well.")
@click.option("--skip-bad", is_flag=True, help="Pass over records that are wrong, and count them.")
@force_option
@json_option
def trace(
    path: Path, output: Path, models: bool, skip_bad: bool, force: bool, as_json: bool
) -> None:
    """Import a run that another tool recorded: with its graph, and where it ran.

    PATH is a folder of StarVZ, a tasks.rec of StarPU, CSV of pj_dump, Chrome's JSON, or a table
    (.csv) with columns task, kernel, worker, start, end and any others: 'tasksim list formats'.
    What is wrong is told with its line, and nothing is written then.
    """
    refuse_unwritable(output)
    from tasksim.formats.runs import read_trace
    from tasksim.formats.traces.tracefolder import save_trace

    found = read_trace(path, skip_bad=skip_bad)
    notes = [*found.notes, *save_trace(found, output, models=models, force=force)]
    _tell_skipped(found)
    if as_json:
        run = found.run
        print_json(
            {
                "tasks": len(run),
                "edges": 0 if run.graph is None else run.graph.edges,
                "kernels": run.kernel_names,
                "workers": [worker.name for worker in run.workers],
                "makespan_s": run.makespan_s,
                "notes": notes,
                "skipped": len(found.skipped),
                "output": output,
            }
        )
        return
    _print(found, notes)
    note(f"Wrote {output}")
    click.echo(f"\nNext:\n  tasksim simulate {output} --durations measured --scheduler lws")


def _tell_skipped(found: RecordedTrace) -> None:
    for text in found.skipped[:SHOWN]:
        warn(f"passed over: {text}")
    if len(found.skipped) > SHOWN:
        warn(f"passed over: {len(found.skipped) - SHOWN} more")


def _print(found: RecordedTrace, notes: Iterable[str]) -> None:
    from tasksim.view.texttables import kernel_table, run_summary

    click.echo(f"{run_summary(found.run)}\n\n{kernel_table(found.run)}")
    texts = list(notes)
    if texts:
        click.echo("\nnotes:")
    for text in texts:
        click.echo(f"  {text}")
