"""Progress: a bar on a terminal, with the time that is left; a line every ten percent in the log.

Elsewhere nothing is shown, so that what a command prints does not depend on how fast it was.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from tasksim.base.log import Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

__all__ = ["counting", "say", "showing", "stages"]

SHOWN_AFTER_S = 1.0
"""Duration in seconds after which a bar appears: short work shows none, and imports nothing."""
LEFT_AFTER_S = 1.0
"""Duration in seconds after which the time that is left is estimated."""
REDRAW_S = 0.5
"""Interval between two redraws in seconds: the bar looks alive, at no noticeable cost."""
MIN_ADVANCE = 0.05
"""Share of the work after which the bar is redrawn at once: few calls of much work each."""

_log = Log("cli")


@contextmanager
def showing(
    what: str, *, time_left: bool = True, ticking: bool = False
) -> Iterator[Callable[[str, float], None]]:
    """Yield a function that shows a message and the completed share of the work.

    Without *time_left*, it shows no estimate of that: messages have their own, or shares are not
    proportional to time. If *ticking*, a thread redraws the bar every second between two calls,
    which would disturb measurements.
    """
    if _on_terminal():
        with closing(_Bar(what, ticking=ticking)) as bar:
            yield _Shown(what, bar.draw, time_left=time_left)
    else:
        yield _Shown(what, lambda _message, _share: None, time_left=time_left)


@contextmanager
def counting(what: str, *, ticking: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many items of how many are done.

    *ticking* is as for :func:`showing`, for work before the first item and after the last one.
    """
    with showing(what, ticking=ticking) as show:
        yield lambda done, total: show(f"{done}/{total}", done / total if total else 1.0)


@contextmanager
def stages(what: str, count: int, *, ticking: bool = True) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows which of *count* stages begins.

    *ticking* is as for :func:`showing`: a stage may last for minutes.
    """
    begun = 0
    with showing(what, time_left=False, ticking=ticking) as show:

        def begin(stage: str) -> None:
            nonlocal begun
            show(stage, begun / count)
            begun += 1

        yield begin


def say(message: str) -> None:
    """Print a line on a terminal: while a program writes there itself, it would tear a bar."""
    _log.info("%s", message)
    if _on_terminal():
        sys.stderr.write(f"{message}\n")


def _on_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class _Shown:
    """Progress of some work on the terminal and in the log."""

    def __init__(self, what: str, draw: Callable[[str, float], None], *, time_left: bool) -> None:
        self._what, self._draw, self._time_left = what, draw, time_left
        self._first: tuple[float, float] | None = None
        self._logged = 0

    def __call__(self, message: str, share: float) -> None:
        share = min(1.0, share)
        text = message + self._left(share)
        self._draw(text, share)
        tenth = int(10 * share)
        if tenth > self._logged:
            self._logged = tenth
            _log.info("%s: %d %%, %s", self._what, 10 * tenth, text)

    def _left(self, share: float) -> str:
        """Return the time that is left, in words, at the pace since the first call."""
        if not self._time_left:
            return ""
        now = time.monotonic()
        # Resumed work does not begin at zero; some begins anew in each of its parts.
        if self._first is None or share < self._first[1]:
            self._first = now, share
        passed_s, done = now - self._first[0], share - self._first[1]
        if passed_s < LEFT_AFTER_S or not done or share == 1.0:
            return ""
        left_s = passed_s * (1.0 - share) / done
        return f", {left_s:.0f} s left" if left_s < 100 else f", {left_s / 60:.0f} min left"


class _Bar:
    """A bar on a terminal, drawn once the work has taken a while."""

    def __init__(self, what: str, *, ticking: bool) -> None:
        self._what, self._begun = what, time.monotonic()
        self._progress: Progress | None = None
        self._message = ""
        self._drawn_s = self._drawn_share = 0.0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True) if ticking else None
        if self._ticker is not None:
            self._ticker.start()

    def draw(self, message: str, share: float) -> None:
        with self._lock:
            self._message = message
            now = time.monotonic()
            if self._progress is None:
                if now - self._begun < SHOWN_AFTER_S:
                    self._drawn_share = share
                    return
            elif now - self._drawn_s < REDRAW_S and share - self._drawn_share < MIN_ADVANCE:
                return
            self._drawn_s, self._drawn_share = now, share
            self._redraw()

    def close(self) -> None:
        """Remove the bar."""
        self._closed.set()
        if self._ticker is not None:
            self._ticker.join()
        if self._progress is not None:
            self._progress.stop()

    def _tick(self) -> None:
        while not self._closed.wait(SHOWN_AFTER_S):
            with self._lock:
                self._redraw()

    def _redraw(self) -> None:
        if self._progress is None:
            self._progress = _started(self._what, self._begun)
        (task,) = self._progress.task_ids
        share, message = self._drawn_share, self._message
        self._progress.update(task, completed=share, message=message, refresh=True)


def _started(what: str, begun: float) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[message]}"),
    )
    # No thread of Rich's draws the bar: it would share Python's lock with the measurements.
    console = Console(stderr=True)
    progress = Progress(*columns, console=console, transient=True, auto_refresh=False)
    progress.add_task(what, total=1.0, message="")
    progress.tasks[0].start_time = begun
    progress.start()
    return progress
