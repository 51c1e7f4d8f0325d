"""Cooperative cancellation of a pool's threads once their results are not needed."""

from __future__ import annotations

import threading

__all__ = ["Stop", "Stopped", "give_up_if_asked"]


class Stopped(BaseException):
    """Raised in a cancelled thread; a BaseException, so that no handler of errors catches it."""


class Stop:
    """A flag that the threads of a pool check, because only the main thread gets Ctrl-C.

    See Also
    --------
    give_up_if_asked : The check that the threads call regularly.

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
        """Let the calling thread check this flag."""
        _of_thread.stop = self

    def ask(self) -> None:
        """Ask all threads to give up."""
        self._asked = True

    def check(self) -> None:
        """Raise :exc:`Stopped` if the threads were asked to give up."""
        if self._asked:
            raise Stopped


class _OfThread(threading.local):
    stop: Stop | None = None


_of_thread = _OfThread()


def give_up_if_asked() -> None:
    """Raise :exc:`Stopped` in a thread of a pool that was asked to give up."""
    if _of_thread.stop is not None:
        _of_thread.stop.check()
