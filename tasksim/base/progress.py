"""Progress of long work: how much of it is done, for whoever shows it.

Functions that do one thing many times take a callback, of one of two types. Deeper code, such as a
reader or a generator of a graph, says once where its progress can be seen, and a thread of the
command that shows it looks there every second: the work itself counts nothing, and where nothing
is shown, nothing is kept.

>>> with watching() as watcher:
...     for _ in watched(range(4), "lines"):
...         text = watcher.amount.text()  # of the lines before this one
>>> text
'3/4 lines'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

__all__ = [
    "FORMATTED_SHARE",
    "CountProgress",
    "ShareProgress",
    "Watcher",
    "WorkAmount",
    "follow",
    "follow_text",
    "is_watched",
    "noting",
    "part",
    "reached",
    "watched",
    "watching",
]

CountProgress: TypeAlias = Callable[[int, int], None]
"""Called from time to time with the number of finished items and that of all items."""
ShareProgress: TypeAlias = Callable[[str, float], None]
"""Called from time to time with a message and the completed share of the work."""

PARSED_SHARE: Final = 0.5
"""Share of the time of reading a file after which its text is parsed: what its records stand for,
a graph or a run, is made of them afterwards."""

FORMATTED_SHARE: Final = 0.8
"""Share of the time of writing a text after which its lines are made: then they are encoded,
perhaps compressed, and written."""
MIN_WATCHED_BYTES: Final = 2**20
"""Size from which on reading a text is worth a look, in bytes: a tenth of a second."""

T = TypeVar("T")


@dataclass(frozen=True)
class WorkAmount:
    """An amount of work, whose completed part another thread may read at any time.

    Attributes
    ----------
    finished : callable
        Returns the completed amount.
    total : float or None
        The whole amount; None if it is unknown.
    noun : str
        What is counted, in the plural; "" for amounts that tell a person nothing.
    since, until : float
        Shares of the whole work that are complete before and with this amount.
    """

    finished: Callable[[], float]
    total: float | None
    noun: str = ""
    since: float = 0.0
    until: float = 1.0

    def share(self) -> float | None:
        """Return the completed share of the whole work; None if it is unknown."""
        done = self._done()
        if done is None or not self.total:
            return None
        return self.since + (self.until - self.since) * min(1.0, done / self.total)

    def text(self) -> str:
        """Return the amount in words; "" if they would tell nothing."""
        done = self._done()
        if done is None or not self.noun:
            return ""
        of = f"/{self.total:.0f}" if self.total else ""
        return f"{done:.0f}{of} {self.noun}"

    def _done(self) -> float | None:
        with suppress(OSError, ValueError):  # the file that is read may be closed meanwhile
            return self.finished()
        return None


class Watcher:
    """The latest amount of work that can be watched.

    Attributes
    ----------
    amount : WorkAmount or None
        The work that goes on.
    reached : float
        Completed share of the whole work, where no amount tells it.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all work, as other work begins."""
        self.amount: WorkAmount | None = None
        self.reached = 0.0
        self._span = 0.0, 1.0

    def whole(self, share: float) -> float:
        """Return the *share* of the part that goes on as a share of the whole work."""
        low, high = self._span
        return low + (high - low) * share

    @contextmanager
    def part(self, until: float) -> Iterator[None]:
        """Take work in the block as a part of the whole, up to the share *until*."""
        outer, high = self._span, self.whole(until)
        self._span = min(self.reached, high), high
        try:
            yield
        finally:
            self._span = outer
            self.amount, self.reached = None, max(self.reached, high)


_watcher: Watcher | None = None
"""The watcher of this process: there is one terminal."""


@contextmanager
def watching() -> Iterator[Watcher]:
    """Watch the work that is done within the block."""
    global _watcher
    before, _watcher = _watcher, Watcher()
    try:
        yield _watcher
    finally:
        _watcher = before


def follow(
    finished: Callable[[], float], total: float | None, noun: str = "", *, until: float = 1.0
) -> None:
    """Let who watches see how much of the work that begins now is done.

    Parameters
    ----------
    finished : callable
        Returns the completed amount; called by another thread.
    total : float or None
        The whole amount; None if it is unknown.
    noun : str, default ""
        What is counted, in the plural; "" for amounts that tell a person nothing.
    until : float, default 1.0
        Share of the time of the whole work after which this amount is complete.

    See Also
    --------
    watched : The same for a loop over items.
    reached : The end of a part of the work.
    """
    if _watcher is not None:
        since = _watcher.reached
        _watcher.amount = WorkAmount(
            finished, total, noun, since, max(since, _watcher.whole(until))
        )


def is_watched(size_bytes: int) -> bool:
    """Return whether anybody watches work on so many bytes that it takes a while."""
    return _watcher is not None and size_bytes >= MIN_WATCHED_BYTES


def follow_text(finished: Callable[[], float], size: int, *, until: float = PARSED_SHARE) -> None:
    """Let who watches see how much of a text is read; a short one is no part worth a look.

    Parameters
    ----------
    finished : callable
        Returns the number of bytes or characters that are read.
    size : int
        Their whole number.
    until : float
        As in :func:`follow`.
    """
    if is_watched(size):
        follow(finished, size, until=until)


def noting(noun: str) -> CountProgress | None:
    """Return a callback that lets who watches see its numbers; None if nobody watches.

    Parameters
    ----------
    noun : str
        What is counted, in the plural.
    """
    if _watcher is None:
        return None
    return lambda done, total: follow(lambda: done, total, noun)


def reached(share: float) -> None:
    """Say that work which can be watched is over, and what *share* of the whole is complete."""
    if _watcher is not None:
        _watcher.amount = None
        _watcher.reached = max(_watcher.reached, _watcher.whole(share))


@contextmanager
def part(until: float) -> Iterator[None]:
    """Let work in the block, which may be a whole elsewhere, be a part of the work around it.

    Parameters
    ----------
    until : float
        Share of the work around it that is complete after the block.
    """
    if _watcher is None:
        yield
    else:
        with _watcher.part(until):
            yield


def watched(
    items: Iterable[T], noun: str = "", *, total: int | None = None, until: float = 1.0
) -> Iterable[T]:
    """Return *items*, and let who watches see how many of them are done.

    Parameters
    ----------
    items : iterable
        Returned as they are if nobody watches.
    noun : str, default ""
        Their name, in the plural; "" if it would tell a person nothing.
    total : int, optional
        Their number. [default: their length, if they have one]
    until : float, default 1.0
        As in :func:`follow`.
    """
    if _watcher is None:
        return items
    return _watched(items, noun, len(items) if total is None else total, until)  # type: ignore[arg-type]


def _watched(items: Iterable[T], noun: str, total: int, until: float) -> Iterator[T]:
    done = 0
    follow(lambda: done, total, noun, until=until)
    for item in items:
        yield item
        done += 1
    reached(until)
