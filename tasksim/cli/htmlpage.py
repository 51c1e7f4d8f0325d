"""Page of runs for a browser, as ``view`` and ``compare`` write it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tasksim.base.errors import TasksimError
from tasksim.base.units import format_size
from tasksim.cli.output import note, refuse_unwritable, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.run.record import Run

__all__ = ["html_option", "open_page", "refuse_html", "write_page"]

_LARGE_BYTES: Final = 20_000_000
"""A million tasks; what is larger takes a browser many seconds."""

html_option = click.option(
    "--html",
    type=click.Path(path_type=Path),
    help="A page to explore the runs in a browser, offline: one .html file.",
)


def refuse_html(path: Path, runs: int, *, force: bool) -> None:
    """Raise, before the work is done, for a page that could not be written."""
    from tasksim.view.page.pagefile import refuse_page

    refuse_page(path, runs, force=force)
    refuse_unwritable(path)


def write_page(
    paths: Sequence[Path], runs: Sequence[Run], target: Path, *, force: bool, trust: bool
) -> None:
    """Write *runs*, read from *paths*, to a page; say so if it is large."""
    from tasksim.view.page.pagefile import save_page

    save_page(runs, target, force=force, names=_names(paths), trust=trust)
    for path, run in zip(paths, runs, strict=True):
        _say_without_graph(run, path, trust=trust)
    size = target.stat().st_size
    if size > _LARGE_BYTES:
        warn(f"{target} has {format_size(size)}: a browser takes long to open it (all is in it)")


def _say_without_graph(run: Run, path: Path, *, trust: bool) -> None:
    """Say why dependencies of a run are not known, if they are not."""
    from tasksim.formats.recorded import graph_of
    from tasksim.view.rungraph import graph_of_run

    if graph_of_run(run, trust=trust) is not None:
        return
    try:
        graph_of(run, path, trust=trust)
    except TasksimError as error:
        note(f"note: the page has only what released each task: {error}")


def open_page(path: Path) -> None:
    """Show a page in the user's browser."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        note(f"no browser was found here: open {path} in one")


def _names(paths: Sequence[Path]) -> list[str]:
    """Return what to call runs: their folders, with as much before it as tells them apart."""
    folders = [path.parent if path.name == "run.json" else path for path in paths]
    parts = [folder.resolve().parts for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(some[-count:]) for some in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{folder.name} ({number})" for number, folder in enumerate(folders, 1)]
