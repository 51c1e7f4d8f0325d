"""The ``tasksim study report`` command, for the conclusions of a study and their confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tasksim.cli.command import command
from tasksim.cli.options import (
    PATH,
    WholeNumber,
    force_option,
    json_option,
    output_option,
    trust_option,
)
from tasksim.cli.output import note, note_written, print_json, refuse_unwritable, warn
from tasksim.cli.progress import counting, showing

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.study.report.findings import Findings

__all__ = ["report"]


@command(
    "report",
    examples=[
        "tasksim study report study -o report",
        "tasksim study report study --choose tile_size -o report",
        "tasksim study report study.csv --json",
        "tasksim study report study --sobol-draws 256",
        "tasksim study report study --tight --best best/cholesky --best best/lu",
    ],
)
@click.argument("study", type=PATH, metavar="STUDY")
@output_option(
    "New folder for index.html, report.md, figures, data (CSV) and report.json. [default: no files]"
)
@click.option(
    "--choose",
    multiple=True,
    metavar="AXIS",
    help="Axis, beside the scheduler, whose best values are chosen; may be repeated.",
)
@click.option(
    "--sobol",
    is_flag=True,
    help="Compute Sobol' indices of ln(makespan), exact for the grid of the study, which has to be"
    " full.",
)
@click.option(
    "--sobol-draws",
    type=WholeNumber(2),
    metavar="N",
    help="Number of draws (a power of two) between the study's values, simulated anew, for Sobol'"
    " indices with 95 % intervals.",
)
@click.option(
    "--tight",
    is_flag=True,
    help="Compute the lower bounds of 'tasksim bounds --tight', of areas, paths, windows of time"
    " and copies together, for cells without noise on one node.",
)
@click.option(
    "--best",
    type=PATH,
    multiple=True,
    metavar="FOLDER",
    help="Folder of 'tasksim optimize -o', whose plan is replayed in the cells without noise that"
    " it fits, for ratios to the best known makespan; may be repeated.",
)
@click.option("--pdf", is_flag=True, help="Write each figure as PDF, too, for papers.")
@trust_option
@force_option
@json_option
def report(
    study: Path,
    output: Path | None,
    choose: tuple[str, ...],
    tight: bool,
    best: tuple[Path, ...],
    sobol: bool,
    sobol_draws: int | None,
    pdf: bool,
    trust: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Report on a study: the winner and its certainty, curves, the effects on the makespan.

    STUDY is the folder of a study, finished or not, or a CSV file with the columns of its table.

    The first table has, for each scheduler, the groups of equal graph, platform, settings and seed
    in which it alone is the fastest (wins) or one of the fastest (ties), the mean and the worst
    ratio of its makespan to the fastest and to the lower bound, and the share of resamples of the
    groups in which its mean is the lowest (leads).
    """
    from tasksim.study.report.findings import examine
    from tasksim.study.report.folder import refuse_report, write_report
    from tasksim.study.report.reading import read_study_table

    if pdf and output is None:
        raise click.UsageError("--pdf is for a report in a folder: give --output, too")
    if output is not None:
        refuse_report(output, force=force)
        refuse_unwritable(output)
    with showing("what is known") as progress:
        table = read_study_table(study, tight=tight, best=best, progress=progress, trust=trust)
    with counting("conclusions", ticking=True) as count:
        findings = examine(
            table, choose=choose, sobol=sobol, sobol_draws=sobol_draws, progress=count
        )
    files: list[str] = []
    if output is not None:
        from tasksim.study.report.gantts import gantt_blocks

        with showing("figures") as progress:
            gantts = gantt_blocks(findings)
            files = write_report(
                findings, output, gantts=gantts, force=force, progress=progress, pdf=pdf
            )
    if as_json:
        print_json({**findings.to_json(), "output": output, "files": files})
    else:
        _print(findings, best=bool(choose))
    note_written(output)


def _print(findings: Findings, *, best: bool) -> None:
    """Print the tournament, its verdict, the effects and the *best* choices; warn of gaps."""
    from tasksim.study.report.blocks import (
        BEST_HEADER,
        CHANCES_HEADER,
        DRAWN_HEADER,
        MAX_TABLE_ROWS,
        best_cells,
        chance_rows,
        chances_left_out,
        drawn_rows,
        notes,
        standing_rows,
    )
    from tasksim.view.texttables import table

    for text in notes(findings.table):
        warn(text)
    if len(findings.standings) > 1:
        click.echo(table(*standing_rows(findings)) + "\n")
    click.echo(findings.verdict.text)
    if findings.chances:
        click.echo("\n" + table(CHANCES_HEADER, chance_rows(findings)))
        if text := chances_left_out(findings):
            click.echo(text)
    moved = [found for found in findings.sensitivities if found.axis != "seed"]
    if moved:
        swings = [
            [s.axis, f"{s.swing:.3f}", "–" if s.elasticity is None else f"{s.elasticity:+.3f}"]
            for s in moved
        ]
        click.echo("\n" + table(("axis", "longest / shortest", "elasticity"), swings))
    if findings.sobol:
        shares = [
            [i.axis, f"{100 * i.first:.1f} %", f"{100 * i.total:.1f} %"] for i in findings.sobol
        ]
        click.echo("\n" + table(("axis", "variance, alone", "with interactions"), shares))
    if findings.sobol_drawn:
        click.echo("\n" + table(DRAWN_HEADER, drawn_rows(findings)))
    if best:
        rows = [best_cells(choice) for choice in findings.best[:MAX_TABLE_ROWS]]
        click.echo("\n" + table(BEST_HEADER, rows, left=2))
        if len(findings.best) > MAX_TABLE_ROWS:
            more = len(findings.best) - MAX_TABLE_ROWS
            note(f"{more} more are in the report's data and in --json")
