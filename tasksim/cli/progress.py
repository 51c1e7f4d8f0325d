"""Progress on stderr, as a bar on a terminal or as a line every ten percent."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["counting", "showing"]

QUIET_S = 1.0
"""Duration in seconds below which no progress is shown."""
REDRAW_S = 0.5
"""Interval between two redraws in seconds: the bar looks alive, at no noticeable cost."""


@contextmanager
def showing(what: str) -> Iterator[Callable[[str, float], None]]:
    """Yield a function that shows a message and the completed share of the work."""
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        with _bar(what) as show:
            yield show
    else:
        yield _Lines(what)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many items of how many are done."""
    with showing(what) as show:
        yield lambda done, total: show(f"{done}/{total}", done / total if total else 1.0)


class _Lines:
    """A line for each ten percent, and none for short work."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._begun = time.monotonic()
        self._shown = 0

    def __call__(self, message: str, share: float) -> None:
        tenth = int(10 * min(1.0, share))
        if tenth > self._shown and time.monotonic() - self._begun > QUIET_S:
            self._shown = tenth
            click.echo(f"{self._what}: {10 * tenth} %, {message}", err=True)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[str, float], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[message]}"),
    )
    # No thread draws the bar: it would share Python's lock with the measurements.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task(what, total=1.0, message="")
        drawn = 0.0

        def show(message: str, share: float) -> None:
            nonlocal drawn
            now = time.monotonic()
            if now - drawn > REDRAW_S:
                drawn = now
                completed = min(1.0, share)
                progress.update(task, completed=completed, message=message, refresh=True)

        yield show
