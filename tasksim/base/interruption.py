"""Interruption by Ctrl-C or SIGTERM: raised once, and only where nothing is lost by it.

Python raises KeyboardInterrupt between any two instructions, again for each signal: in the midst
of giving back a lock, or of writing what an earlier one has left to be written. Here signals are
noted, and become an exception at once, or only where it is asked for.

::

    with Interrupts() as interrupts:
        try:
            measure()              # the first Ctrl-C ends it
            interrupts.hold()
        except KeyboardInterrupt:
            pass
        write()                    # and no other one ends this
"""

from __future__ import annotations

import signal
import threading
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["AGAIN_S", "INTERRUPTED", "Interrupts"]

INTERRUPTED: Final = 130
"""The exit code of what Ctrl-C ended: 128 + SIGINT, as shells have it."""

AGAIN_S: Final = 0.5
"""Two signals within so short a time are one: a person has not read yet what the first one did."""

_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""The handlers that are set where nobody has set another."""


class Interrupts:
    """A block in which signals raise KeyboardInterrupt in one thread of control, and not twice.

    Parameters
    ----------
    again_s : float, default inf
        How long after a signal was raised others are only noted. People press Ctrl-C twice, and
        shells send it to a command and to what started it.
    held : bool, default False
        Only note signals, from the beginning.
    terminate : bool, default False
        Whether SIGTERM is taken for Ctrl-C where it would end the process.

    Attributes
    ----------
    noted : bool
        Whether a signal has come that was held back.

    Notes
    -----
    Blocks may lie within each other: the innermost gets the signals, and what it raises counts as
    raised by those around it. Handlers that somebody else has set stay, before the block and within
    it, and outside the main thread nothing happens, as Python handles signals there.

    See Also
    --------
    signal.default_int_handler : What raises KeyboardInterrupt otherwise.

    Examples
    --------
    >>> with Interrupts(held=True) as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.noted
    True
    """

    def __init__(
        self, again_s: float = inf, *, held: bool = False, terminate: bool = False
    ) -> None:
        self.noted = False
        self._again_s = again_s
        self._held = held
        self._signals = [signal.SIGINT, *[signal.SIGTERM] * terminate]
        self._raised_at = -inf
        self._outer: Interrupts | None = None
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._take(number)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        held, self._held = self._held, True
        for number, handler in self._before.items():
            if _block_of(signal.getsignal(number)) is not None:
                signal.signal(number, handler)  # type: ignore[arg-type]
        self._before.clear()
        if not held and error is None:
            self.check()  # what came since the line above

    @property
    def raised(self) -> bool:
        """Whether a signal was raised, of which KeyboardInterrupt is not all that may come.

        An import in C makes an ImportError of it.
        """
        return self._raised_at > -inf

    def hold(self) -> None:
        """Only note signals from now on."""
        self._held = True

    def allow(self) -> None:
        """Raise signals again as they come, and what was noted now."""
        self._held = False
        self.check()

    def rearm(self) -> None:
        """Forget all signals so far; the next one is raised."""
        self.noted, self._raised_at, self._held = False, -inf, False

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal was noted."""
        if self.noted:
            self._raise()

    def _take(self, number: signal.Signals) -> None:
        """Handle the signal *number*, if it would interrupt."""
        before = signal.getsignal(number)
        outer = _block_of(before)
        if outer is not None:
            self._outer = outer
        elif number not in self._signals or before is not _USUAL[number]:
            return
        self._before[number] = before
        signal.signal(number, self._received)

    def _received(self, *_: object) -> None:
        if self._held:
            self.noted = True
        elif monotonic() - self._raised_at >= self._again_s:
            self._raise()

    def _raise(self) -> None:
        """Raise KeyboardInterrupt; for the blocks around this one, too, it has been raised."""
        block: Interrupts | None = self
        while block is not None:
            block.noted, block._raised_at = False, monotonic()
            block = block._outer
        raise KeyboardInterrupt


def _block_of(handler: object) -> Interrupts | None:
    """Return the block that a *handler* of signals belongs to."""
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, Interrupts) else None
