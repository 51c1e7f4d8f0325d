"""Stop: what threads of a pool are making is given up once nobody waits for it any more."""

from __future__ import annotations

import threading

__all__ = ["Stop", "Stopped", "give_up_if_asked"]


class Stopped(BaseException):
    """A thread was asked to give up: no error, and nobody on the way is to handle it."""


class Stop:
    """A flag that the threads of a pool look at, as only the main thread hears of Ctrl-C.

    See Also
    --------
    give_up_if_asked : What they call now and then.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> stop = Stop()
    >>> with ThreadPoolExecutor(1, initializer=stop.begin) as pool:
    ...     stop.ask()
    ...     type(pool.submit(give_up_if_asked).exception()).__name__
    'Stopped'
    """

    def __init__(self) -> None:
        self._asked = False

    def begin(self) -> None:
        """Let this thread be one of those that look at it."""
        _of_thread.stop = self

    def ask(self) -> None:
        """Ask all of them to give up."""
        self._asked = True

    def check(self) -> None:
        """Raise :exc:`Stopped` if they were asked."""
        if self._asked:
            raise Stopped


class _OfThread(threading.local):
    stop: Stop | None = None


_of_thread = _OfThread()


def give_up_if_asked() -> None:
    """Raise :exc:`Stopped` in a thread of a pool that was asked to give up."""
    if _of_thread.stop is not None:
        _of_thread.stop.check()
