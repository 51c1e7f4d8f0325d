"""The ``tasksim view machine`` command, which draws a machine as boxes in boxes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError
from tasksim.cli.output import note, open_page, print_json, refuse_figure, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MACHINE", "is_machine", "view_machine"]

MACHINE = "machine"
"""Word in place of runs that asks for the drawing of a machine."""


def is_machine(words: Sequence[Path]) -> bool:
    """Return whether the arguments of ``view`` ask for a machine.

    A recorded run in a folder of that name is still a run, alone or beside others.
    """
    from tasksim.run.foldernames import is_run_folder

    return str(words[0]) == MACHINE and not is_run_folder(words[0])


def view_machine(
    words: Sequence[Path],
    output: Path | None,
    html: Path | None,
    library: Path | None,
    *,
    in_browser: bool,
    given: Mapping[str, object],
    force: bool,
    as_json: bool,
) -> None:
    """Draw the machine that *words* name after the word ``machine``.

    *given* are options for runs, which are refused here.
    """
    if len(words) != 2:
        got = f"got {len(words) - 1} machines"
        raise InputError(f"view machine: {got}; legal: one, a platform or a file of hwloc's (.xml)")
    for option, value in given.items():
        if value:
            raise InputError(f"{option} is for runs; 'view machine' takes -o, --html and --library")
    target, page = _targets(words[1], output, html)
    if target is not None:
        refuse_figure(target, force=force)
    if page is not None:
        _refuse_page(page, force=force)
    from tasksim.view.machine import drawn, read_machine, write_machine_page

    machine = read_machine(words[1], library)
    if target is not None:
        from tasksim.view.figure import save_figure

        save_figure(drawn(machine), target, force=force)
    if page is not None:
        write_machine_page(machine, page, force=force)
    if as_json:
        parts = {plural: count for (_, plural), count in machine.facts}
        print_json({"machine": machine.name, "summary": machine.summary, "parts": parts,
                    "figure": target, "html": page})  # fmt: skip
    else:
        click.echo(f"machine   {machine.summary}")
        texts = [f"{count} {nouns[count != 1]}" for nouns, count in machine.facts]
        click.echo(f"parts     {', '.join(texts)}")
    for written in (target, page):
        if written is not None:
            note(f"Wrote {written}")
    if in_browser and page is not None:
        open_page(page)


def _targets(
    machine: Path, output: Path | None, html: Path | None
) -> tuple[Path | None, Path | None]:
    """Return where the figure and the page go; by default a figure in the current folder."""
    if output is not None and output.suffix.lower() in (".html", ".htm"):
        if html is not None:
            raise InputError(f"-o and --html are both pages, {output} and {html}; give one")
        return None, output
    if output is None and html is None:
        stem = machine.stem if machine.suffix in (".xml", ".yaml", ".yml") else machine.name
        return Path(f"{stem}.png"), None
    return output, html


def _refuse_page(page: Path, *, force: bool) -> None:
    """Refuse, before any work is done, a page that could not be written."""
    from tasksim.base.files import refuse_existing

    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{page}: a page is a '.html' file, not '{page.suffix}'")
    refuse_existing(page, force=force)
    refuse_unwritable(page)
