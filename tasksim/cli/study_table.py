"""``tasksim study table``: the table of a study, as text, JSON or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.command import command
from tasksim.cli.options import json_option
from tasksim.cli.output import note, print_json

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["table"]

SHOWN = ("makespan_s", "lower_bound_s", "busy_share", "status")
"""Columns of answers in the text, which has room for few."""


@command(
    "table",
    examples=[
        "tasksim study table study",
        "tasksim study table study --csv > study.csv",
        "tasksim study table study --json",
    ],
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="STUDY")
@click.option("--csv", "as_csv", is_flag=True, help="Print all columns as CSV.")
@json_option
def table(folder: Path, as_csv: bool, as_json: bool) -> None:
    """Print the table of a study, as far as it is done: a row per cell.

    As text, the axes and what matters most; as CSV or JSON, all columns.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    from tasksim.study.sweep.store import read_header, read_table

    header = read_header(folder)
    rows = read_table(folder)
    if as_json:
        study = {"study": header.name, "cells": header.cells, "columns": list(rows.columns)}
        print_json({**study, "rows": _records(rows)})
    elif as_csv:
        click.echo(rows.to_csv(index=False), nl=False)
    else:
        click.echo(_text(rows))
    if len(rows) < header.cells:
        note(f"{len(rows)} of {header.cells} cells are done")


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain data; what is missing is null."""
    plain = rows.astype(object).where(rows.notna(), None)
    return plain.to_dict(orient="records")  # type: ignore[return-value]


def _text(rows: pd.DataFrame) -> str:
    from tasksim.study.sweep.store import axes_of

    names = ["cell", *(axes_of(rows) or ["graph"]), *SHOWN]
    text = rows[names].to_string(index=False, na_rep="-")
    wrong = rows.loc[rows["status"] != "done", ["cell", "error"]]
    told = "".join(f"\n{cell}: {error}" for cell, error in wrong.itertuples(index=False))
    return f"{text}\n{told}" if told else text
