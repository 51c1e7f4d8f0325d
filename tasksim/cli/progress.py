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
from tasksim.base.progress import watching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.progress import Progress

    from tasksim.base.progress import CountProgress, ShareProgress, Watcher, WorkAmount

__all__ = ["Stages", "counting", "say", "showing", "stages"]

SHOWN_AFTER_S = 1.0
"""Duration in seconds after which a bar appears: short work shows none, and imports nothing."""
LEFT_AFTER_S = 1.0
"""Duration in seconds after which the time that is left is estimated."""
MAX_UNSEEN_SHARE = 0.95
"""Largest share of a stage that is taken to be complete for the time it has taken alone."""
REDRAW_S = 0.5
"""Interval between two redraws in seconds: the bar looks alive, at no noticeable cost."""
MIN_ADVANCE = 0.05
"""Share of the work after which the bar is redrawn at once: few calls of much work each."""

_log = Log("cli")


@contextmanager
def showing(what: str, *, time_left: bool = True, ticking: bool = False) -> Iterator[ShareProgress]:
    """Yield a function that shows a message and the completed share of the work.

    Without *time_left*, it shows no estimate of that: messages have their own, or shares are not
    proportional to time. If *ticking*, a thread redraws the bar every second between two calls,
    which would disturb measurements.
    """
    shown = _Shown(what, time_left=time_left)
    if _on_terminal():
        with watching() as watcher, closing(_Bar(what, shown, watcher, ticking=ticking)) as bar:
            yield bar.call
    else:
        yield shown


@contextmanager
def counting(what: str, *, ticking: bool = False) -> Iterator[CountProgress]:
    """Yield a function that shows the numbers of finished and of all items.

    *ticking* is as for :func:`showing`, for work before the first item and after the last one.
    """
    with showing(what, ticking=ticking) as show:
        yield lambda done, total: show(f"{done}/{total}", done / total if total else 1.0)


@contextmanager
def stages(
    what: str, durations: Sequence[float], *, ticking: bool = True
) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows which stage of the work begins.

    *durations* has the usual duration of each stage, in any unit. The time that is left is
    estimated from the finished stages and, within a stage, from work that reports its progress.
    *ticking* is as for :func:`showing`: a stage may last for minutes.
    """
    plan = Stages(what, durations)
    if _on_terminal():
        with watching() as watcher, closing(_Bar(what, plan, watcher, ticking=ticking)) as bar:
            yield bar.begin
    else:
        yield plan.begin


def say(message: str) -> None:
    """Print a line on a terminal, for work whose own output on the terminal would break a bar."""
    _log.info("%s", message)
    if _on_terminal():
        sys.stderr.write(f"{message}\n")


def _on_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class _Shown:
    """Progress of some work, in words and in the log."""

    def __init__(self, what: str, *, time_left: bool = True) -> None:
        self._what, self._time_left = what, time_left
        self._first: tuple[float, float] | None = None
        self._logged = 0
        self.message, self.share = "", 0.0
        self.begun_s = 0.0

    def __call__(self, message: str, share: float) -> None:
        self.share = share = min(1.0, share)
        self.message = message + self._left(share)
        self.log(self.message, share)

    def log(self, message: str, share: float) -> None:
        """Log the *message* if another tenth of the work is done."""
        tenth = int(10 * share)
        if tenth > self._logged:
            self._logged = tenth
            _log.info("%s: %d %%, %s", self._what, 10 * tenth, message)

    def now(self, amount: WorkAmount | None, reached: float) -> tuple[str, float]:
        """Return the message and the share at this moment.

        *amount* is the work that a function far below reports, and *reached* the completed share of
        that work. Before the first message, this share is shown as preparation.
        """
        text = "" if amount is None else amount.text()
        part = reached if amount is None else amount.share() or reached
        if not self.message and part > 0.0:
            passed_s = time.monotonic() - self.begun_s
            return (
                f"preparing{f', {text}' if text else ''}{time_left(passed_s, part, 1.0 - part)}",
                part,
            )
        return ", ".join(part for part in (self.message, text) if part), self.share

    def _left(self, share: float) -> str:
        """Return the time that is left, in words, at the pace since the first call."""
        if not self._time_left:
            return ""
        now = time.monotonic()
        # Resumed work does not begin at zero; some begins anew in each of its parts.
        if self._first is None or share < self._first[1]:
            self._first = now, share
        return time_left(now - self._first[0], share - self._first[1], 1.0 - share)


class Stages:
    """Stages of some work, of known relative durations."""

    def __init__(self, what: str, durations: Sequence[float]) -> None:
        self._shown = _Shown(what, time_left=False)
        self._spans = [duration / sum(durations) for duration in durations]
        self._begun_s = self._stage_s = time.monotonic()
        self._stage, self._low, self._span, self._known = what, 0.0, 0.0, 0.0

    def begin(self, stage: str) -> None:
        """Begin the next stage."""
        self._stage_s = time.monotonic()
        self._low += self._span
        self._span, self._known = self._spans.pop(0), 0.0
        self._stage = stage
        self._shown.log(stage, self._low)

    def now(self, amount: WorkAmount | None, reached: float) -> tuple[str, float]:
        """Return the message and the share at this moment.

        *amount* and *reached* are as for the work without stages; they are taken within the stage.
        Without them, the pace of the earlier stages is assumed.
        """
        now = time.monotonic()
        known = max(self._known, reached if amount is None else amount.share() or reached)
        self._known = part = known
        is_late = False
        if amount is None:
            usual_s = (self._stage_s - self._begun_s) * self._span / self._low if self._low else 0.0
            unseen = (now - self._stage_s) / usual_s if usual_s else 0.0
            is_late = unseen > 1.0 and known < MAX_UNSEEN_SHARE
            part = max(known, min(MAX_UNSEEN_SHARE, unseen))
        share = self._low + self._span * part
        text = "" if amount is None else amount.text()
        message = ", ".join(word for word in (self._stage, text) if word)
        # The end of a stage that has exceeded its usual time cannot be estimated.
        left = "" if is_late else time_left(now - self._begun_s, share, 1.0 - share)
        return message + left, share


def time_left(passed_s: float, done: float, left: float) -> str:
    """Return the time for the share *left*, in words; "" while too little is *done* to tell."""
    if passed_s < LEFT_AFTER_S or done <= 0.0 or left <= 0.0:
        return ""
    left_s = passed_s * left / done
    return f", {left_s:.0f} s left" if left_s < 100 else f", {left_s / 60:.0f} min left"


class _Bar:
    """A bar on a terminal, drawn once the work has taken a while."""

    def __init__(
        self, what: str, shown: _Shown | Stages, watcher: Watcher, *, ticking: bool
    ) -> None:
        self._what, self._begun, self._shown = what, time.monotonic(), shown
        if isinstance(shown, _Shown):
            shown.begun_s = self._begun
        self._progress: Progress | None = None
        self._watcher = watcher
        self._drawn_s = self._drawn_share = 0.0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True) if ticking else None
        if self._ticker is not None:
            self._ticker.start()

    def call(self, message: str, share: float) -> None:
        """Show a message and a share, as :class:`_Shown` does."""
        assert isinstance(self._shown, _Shown)
        with self._lock:
            self._watcher.clear()
            self._shown(message, share)
            self._draw(share)

    def begin(self, stage: str) -> None:
        """Begin a stage, as :class:`Stages` does."""
        assert isinstance(self._shown, Stages)
        with self._lock:
            self._watcher.clear()
            self._shown.begin(stage)
            self._draw(None)

    def _draw(self, share: float | None) -> None:
        """Redraw the bar if it is time; at once for a stage, which has no *share*."""
        now = time.monotonic()
        if self._progress is None:
            if now - self._begun < SHOWN_AFTER_S:
                return
        elif (
            share is not None
            and now - self._drawn_s < REDRAW_S
            and share - self._drawn_share < MIN_ADVANCE
        ):
            return
        self._redraw(now)

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
                self._redraw(time.monotonic())

    def _redraw(self, now: float) -> None:
        if self._progress is None:
            self._progress = _started(self._what, self._begun)
        (task,) = self._progress.task_ids
        message, share = self._shown.now(self._watcher.amount, self._watcher.reached)
        self._drawn_s, self._drawn_share = now, share
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
