"""The ``tasksim study new``, ``run``, ``table`` and ``show`` commands, from study file to cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import (
    PATH,
    WORKERS,
    force_option,
    json_option,
    output_option,
    result_options,
    trust_option,
)
from tasksim.cli.output import (
    ResultOptions,
    describe_run,
    note,
    note_written,
    print_json,
    print_run,
    warn,
)

__all__ = ["new", "run", "show", "table"]


@command("new", examples=["tasksim study new", "tasksim study new sizes.yaml"])
@click.argument("file", type=PATH, default=Path("study.yaml"), metavar="[FILE]")
@force_option
def new(file: Path, force: bool) -> None:
    """Write a study file that runs as it is, with comments on every field.

    FILE is study.yaml by default.
    """
    from tasksim.base.files import refuse_existing, write_text
    from tasksim.study.sweep.example import EXAMPLE

    refuse_existing(file, force=force)
    write_text(file, EXAMPLE, force=force)
    note_written(file)


@command(
    "run",
    examples=[
        "tasksim study run study.yaml -o study --jobs 2",
        "tasksim study run study.yaml --dry-run",
        "tasksim study run study.yaml -o study --extend      # after values were added to the file",
    ],
)
@click.argument("file", type=PATH, metavar="STUDY.YAML")
@output_option("Folder of the answers: a new one, or the one of this study.")
@click.option(
    "--jobs", type=WORKERS, help="Number of cells at a time. [default: one per usable core]"
)
@click.option(
    "--executor",
    default="auto",
    show_default=True,
    help="Executor of the cells: auto, serial, processes, threads, dask[:ADDRESS], mpi,"
    " slurm[:OPTIONS].",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the number of cells, the time and the memory, without computing them.",
)
@click.option("--extend", is_flag=True, help="Add cells to a study whose file has changed.")
@click.option("--retry", is_flag=True, help="Compute failed cells again.")
@trust_option
@json_option
def run(file: Path, output: Path | None, dry_run: bool, as_json: bool, **how: Any) -> int:
    """Compute the cells of a study that its folder does not have yet.

    It can be stopped at any time, with Ctrl-C or by pulling the plug; the same command resumes it.
    Failed cells are kept with their errors, and the exit code is 1.
    """
    if dry_run:
        _dry_run(file, output, as_json, how)
        return 0
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    from tasksim.cli.progress import showing
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
        from tasksim.base.units import format_time

        before = outcome.cells - outcome.computed
        again = f", {before} of them before" if before else ""
        of = f" of {outcome.cells}" if outcome.failed else ""
        click.echo(f"cells    {outcome.cells - outcome.failed}{of} done{again}")
        if outcome.failed:
            click.echo(f"failed   {outcome.failed}: 'tasksim study table {output}' says why")
        click.echo(f"time     {format_time(outcome.seconds)} on {outcome.workers} at a time")
        note_written(output)
    return 1 if outcome.failed else 0


def _dry_run(file: Path, output: Path | None, as_json: bool, how: dict[str, Any]) -> None:
    """Print the expected time and memory of a study."""
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


TABLE_COLUMNS = ("makespan_s", "lower_bound_s", "busy_share", "status")
"""Result columns in the text output, which has room for few."""


@command(
    "table",
    examples=[
        "tasksim study table study",
        "tasksim study table study --csv > study.csv",
        "tasksim study table study --json",
    ],
)
@click.argument("folder", type=PATH, metavar="STUDY")
@click.option("--csv", "as_csv", is_flag=True, help="Print all columns as CSV.")
@json_option
def table(folder: Path, as_csv: bool, as_json: bool) -> None:
    """Print the table of a study, a row per finished cell.

    The text has the axes and the most important columns; CSV and JSON have all columns.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    from tasksim.cli.progress import stages
    from tasksim.study.sweep.store import axes_of, read_header, read_table

    header = read_header(folder)
    with stages("table", [1]) as begin:
        begin(f"reading {header.cells} cells")
        rows = read_table(folder)
    if as_json:
        study = {"study": header.name, "cells": header.cells, "columns": list(rows.columns)}
        plain = rows.astype(object).where(rows.notna(), None)  # missing values are null
        print_json({**study, "rows": plain.to_dict(orient="records")})
    elif as_csv:
        click.echo(rows.to_csv(index=False), nl=False)
    else:
        names = ["cell", *(axes_of(rows) or ["graph"]), *TABLE_COLUMNS]
        text = rows[names].to_string(index=False, na_rep="-")
        wrong = rows.loc[rows["status"] != "done", ["cell", "error"]]
        told = "".join(f"\n{cell}: {error}" for cell, error in wrong.itertuples(index=False))
        click.echo(f"{text}\n{told}" if told else text)
    if len(rows) < header.cells:
        note(f"{len(rows)} of {header.cells} cells are done")


@command(
    "show",
    examples=[
        "tasksim study show study 3f9a",
        "tasksim study show study 3f9a -o runs/best --gantt best.pdf",
    ],
)
@click.argument("folder", type=PATH, metavar="STUDY")
@click.argument("cell", metavar="CELL")
@trust_option
@result_options
def show(folder: Path, cell: str, trust: bool, **where: Any) -> None:
    """Simulate a cell again, and print, keep or draw its run.

    CELL is the identity of a cell, in the table's column 'cell', or a unique beginning of it.
    """
    results = ResultOptions(**where)
    from tasksim.cli.progress import counting, stages
    from tasksim.scenario.resolved import resolve
    from tasksim.scenario.solving import solve
    from tasksim.study.sweep.lookup import difference, find_cell

    found = find_cell(folder, cell, trust=trust)
    results.refuse_early()
    with stages("simulating", [1]) as begin:
        begin("the graph")
        resolved = resolve(found.scenario)
    with counting("simulating", ticking=True) as progress:
        run = solve(resolved, digests=results.output is not None, progress=progress)
    for line in [] if found.scenario.clock == "native" else resolved.warnings():
        warn(line)
    changed = difference(found, run)
    if changed:
        warn(changed)
    results.keep(run)
    if results.as_json:
        print_json({"cell": found.cell, **describe_run(run, resolved.graph)})
        return
    note(f"{found.cell}: {found.scenario.label}")
    print_run(run)
