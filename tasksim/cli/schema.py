"""The ``tasksim schema`` command, which prints the JSON Schema of a command's output."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from tasksim.base.errors import unknown
from tasksim.cli.command import command

__all__ = ["SCHEMAS", "schema", "schema_names"]

SCHEMAS: Final = Path(__file__).with_name("schemas")
"""Folder of the schemas, a file per command: ``study-run.json``."""


def schema_names() -> list[str]:
    """Return the commands that have a schema, such as ``study run``."""
    return sorted(path.stem.replace("-", " ") for path in SCHEMAS.glob("*.json"))


@command(
    "schema", examples=["tasksim schema", "tasksim schema simulate", "tasksim schema study run"]
)
@click.argument("words", nargs=-1, metavar="[COMMAND]")
def schema(words: tuple[str, ...]) -> None:
    """Print the JSON Schema of what a command prints with --json; without COMMAND, list those.

    The schemas are of draft 2020-12. Later versions may add keys, so a program should
    ignore unknown keys; schema_version grows if a key changes its meaning or is removed.
    """
    names = schema_names()
    if not words:
        click.echo("\n".join(names))
        return
    name = " ".join(words)
    if name not in names:
        raise unknown("command with JSON output", name, names)
    text = (SCHEMAS / f"{name.replace(' ', '-')}.json").read_text(encoding="utf-8")
    click.echo(text, nl=False)
