"""``tasksim study new``: a study file to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from tasksim.cli.command import command
from tasksim.cli.options import force_option
from tasksim.cli.output import note

__all__ = ["new"]


@command("new", examples=["tasksim study new", "tasksim study new sizes.yaml"])
@click.argument(
    "file", type=click.Path(path_type=Path), default=Path("study.yaml"), metavar="[FILE]"
)
@force_option
def new(file: Path, force: bool) -> None:
    """Write a study file that works, with comments on all that one can say.

    FILE is study.yaml where none is given.
    """
    from tasksim.base.files import refuse_existing, write_text
    from tasksim.study.sweep.example import EXAMPLE

    refuse_existing(file, force=force)
    write_text(file, EXAMPLE, force=force)
    note(f"Wrote {file}")
