"""``tasksim study run``: compute the cells of a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import WORKERS, json_option, trust_option
from tasksim.cli.output import note, print_json
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from tasksim.study.sweep.studies import Outcome

__all__ = ["run"]


@command(
    "run",
    examples=[
        "tasksim study run study.yaml -o study --jobs 2",
        "tasksim study run study.yaml --dry-run",
        "tasksim study run study.yaml -o study --extend      # after values were added to the file",
    ],
)
@click.argument("file", type=click.Path(path_type=Path), metavar="STUDY.YAML")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where the answers are kept: a new folder, or that of this study.",
)
@click.option("--jobs", type=WORKERS, help="Cells at a time. [default: one per usable core]")
@click.option(
    "--executor",
    default="processes",
    help="What computes: serial, processes, threads, dask[:ADDRESS], mpi, slurm[:OPTIONS].",
)
@click.option("--extend", is_flag=True, help="Add to a study whose file has changed.")
@click.option("--retry", is_flag=True, help="Compute cells again that have failed.")
@trust_option
@json_option
def run(file: Path, output: Path | None, as_json: bool, **how: Any) -> int:
    """Compute the cells of a study that its folder has not yet.

    It can be stopped at any time, with Ctrl-C or by pulling the plug; the same command goes on.
    Cells that fail are kept with what went wrong, and the exit code is 1.
    """
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    from tasksim.study.sweep.studies import run_study

    with showing("study") as show:
        outcome = run_study(
            file,
            output,
            tell=lambda progress: show(str(progress), progress.done / progress.cells),
            **how,
        )
    if as_json:
        print_json({**outcome._asdict(), "output": output})
    else:
        _tell(outcome, output)
    return 1 if outcome.failed else 0


def _tell(outcome: Outcome, output: Path) -> None:
    from tasksim.base.units import format_time

    before = outcome.cells - outcome.computed
    again = f", {before} of them before" if before else ""
    click.echo(f"cells    {outcome.cells} done{again}")
    if outcome.failed:
        click.echo(f"failed   {outcome.failed}: 'tasksim study table {output}' says why")
    click.echo(f"time     {format_time(outcome.seconds)} on {outcome.workers} at a time")
    note(f"Wrote {output}")
