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
    default="auto",
    show_default=True,
    help="What computes: auto, serial, processes, threads, dask[:ADDRESS], mpi, slurm[:OPTIONS].",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Say how many cells, how long and how much memory; compute nothing.",
)
@click.option("--extend", is_flag=True, help="Add to a study whose file has changed.")
@click.option("--retry", is_flag=True, help="Compute cells again that have failed.")
@trust_option
@json_option
def run(file: Path, output: Path | None, dry_run: bool, as_json: bool, **how: Any) -> int:
    """Compute the cells of a study that its folder has not yet.

    It can be stopped at any time, with Ctrl-C or by pulling the plug; the same command goes on.
    Cells that fail are kept with what went wrong, and the exit code is 1.
    """
    if dry_run:
        _dry_run(file, output, as_json, how)
        return 0
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


def _dry_run(file: Path, output: Path | None, as_json: bool, how: dict[str, Any]) -> None:
    """Print what a study will take."""
    from tasksim.base.units import format_size, format_time
    from tasksim.study.sweep.estimate import estimate, known_cells
    from tasksim.study.sweep.plan import plan
    from tasksim.study.sweep.studies import cores_to_use
    from tasksim.study.sweep.study_file import read_study

    study = read_study(file, trust=how["trust"])
    cells = plan(study)
    found = estimate(study, cells, known_cells(output), how["jobs"] or cores_to_use())
    if as_json:
        print_json(found._asdict())
        return
    before = f", {found.done} of them done" if found.done else ""
    memory = "not known" if found.memory_bytes is None else format_size(found.memory_bytes)
    click.echo(f"cells    {found.cells} in {found.groups} groups of one graph and platform{before}")
    click.echo(f"time     about {format_time(found.seconds)} on {found.workers} at a time")
    click.echo(f"memory   about {memory}")
    note(f"from {found.sampled} cells computed now")


def _tell(outcome: Outcome, output: Path) -> None:
    from tasksim.base.units import format_time

    before = outcome.cells - outcome.computed
    again = f", {before} of them before" if before else ""
    of = f" of {outcome.cells}" if outcome.failed else ""
    click.echo(f"cells    {outcome.cells - outcome.failed}{of} done{again}")
    if outcome.failed:
        click.echo(f"failed   {outcome.failed}: 'tasksim study table {output}' says why")
    click.echo(f"time     {format_time(outcome.seconds)} on {outcome.workers} at a time")
    note(f"Wrote {output}")
