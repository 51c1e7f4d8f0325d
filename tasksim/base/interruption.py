"""Controlled interruption by Ctrl-C or SIGTERM, once and without loss of results.

Python raises KeyboardInterrupt between any two instructions, and again for each signal, even
while a lock is being released, or while the results before an earlier Ctrl-C are being written.
An :class:`Interrupts` block notes signals and raises them at once, or only where the program
allows it.

::

    with Interrupts() as interrupts:
        try:
            measure()              # the first Ctrl-C interrupts this
            interrupts.hold()
        except KeyboardInterrupt:
            pass
        write()                    # no further Ctrl-C interrupts this

Where a result enters several tables, :func:`unbroken` keeps it in all or none::

    with unbroken():
        samples.add(run)
        costs.add(run)             # a Ctrl-C in either is raised after both

What is raised while an object dies, or in a function that C code calls, is lost: Python prints it
and goes on. A block raises it again, soon after.

Only the main thread gets Ctrl-C: a :class:`Stop` passes it on to the threads of a pool.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

__all__ = [
    "INTERRUPTED_EXIT_CODE",
    "REPEATED_SIGNAL_S",
    "Interrupts",
    "Stop",
    "Stopped",
    "give_up_if_asked",
    "unbroken",
    "usual_termination",
]

INTERRUPTED_EXIT_CODE: Final = 130
"""Exit code of a command that Ctrl-C ended: 128 + SIGINT, as in shells."""

REPEATED_SIGNAL_S: Final = 0.5
"""Time in seconds within which two signals count as one: nobody has read the first effect yet."""

REPEATED_AFTER_S: Final = 0.01
"""Time in seconds after which a lost KeyboardInterrupt is raised again: a finalizer has ended."""

_PYTHON_HANDLERS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""Python's own handlers: only these are replaced."""


class Interrupts:
    """A block in which signals raise KeyboardInterrupt once, or are only noted.

    Parameters
    ----------
    again_s : float, default inf
        Time in seconds after a raised signal during which further signals are ignored. People
        press Ctrl-C twice, and shells send it both to a command and to the command's parent.
    held : bool, default False
        Only note signals, from the beginning.
    terminate : bool, default False
        Whether to treat SIGTERM like Ctrl-C, if it would otherwise end the process.

    Attributes
    ----------
    noted : bool
        Whether a signal came while signals were held back.

    Notes
    -----
    Blocks may be nested: the innermost one gets the signals, and a signal that it raises counts as
    raised by the outer blocks, too. Handlers that other code has set, before the block or within
    it, stay. Outside the main thread a block does nothing, because Python handles signals only
    there.

    See Also
    --------
    signal.default_int_handler : Python's own handler of Ctrl-C.

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
        self._number: int = signal.SIGINT
        self._outer: Interrupts | None = None
        self._before: dict[signal.Signals, object] = {}
        self._hook_before = sys.unraisablehook

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._take(number)
            if self._before:
                self._hook_before, sys.unraisablehook = sys.unraisablehook, self._lost
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        held, self._held = self._held, True
        for number, handler in self._before.items():
            # If other code has set a handler within the block, that handler stays.
            if _block_of(signal.getsignal(number)) is not None:
                signal.signal(number, handler)  # type: ignore[arg-type]
        self._before.clear()
        if sys.unraisablehook == self._lost:
            sys.unraisablehook = self._hook_before
        if not held and error is None:
            self.check()  # a signal may have come since signals were held, above

    @property
    def raised(self) -> bool:
        """Whether a signal was raised; it may arrive as another exception than KeyboardInterrupt.

        An import within C code turns it into an ImportError.
        """
        return self._raised_at > -inf

    def hold(self) -> None:
        """Only note signals from now on."""
        self._held = True

    def allow(self) -> None:
        """Raise signals again as they come; raise a noted signal now."""
        self._held = False
        self.check()

    def rearm(self) -> None:
        """Forget all signals so far, and raise the next one."""
        self.noted, self._raised_at, self._held = False, -inf, False

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal was noted."""
        if self.noted:
            self._raise()

    def _take(self, number: signal.Signals) -> None:
        """Install the handler of the signal *number*, unless other code has set one."""
        before = signal.getsignal(number)
        outer = _block_of(before)
        if outer is not None:
            self._outer = outer
        elif number not in self._signals or before is not _PYTHON_HANDLERS[number]:
            return
        self._before[number] = before
        signal.signal(number, self._received)

    def _received(self, number: int, _frame: object) -> None:
        self._number = number
        if self._held:
            self.noted = True
        elif monotonic() - self._raised_at >= self._again_s:
            self._raise()

    def _lost(self, lost: sys.UnraisableHookArgs) -> None:
        """Send a signal again whose KeyboardInterrupt was lost, in place of Python's message."""
        if not issubclass(lost.exc_type, KeyboardInterrupt) or not self.raised:
            self._hook_before(lost)
            return
        block: Interrupts | None = self
        while block is not None:
            block._raised_at = -inf
            block = block._outer
        # By another thread: in this one, the hook would lose it again.
        main = threading.main_thread().ident
        again = threading.Timer(REPEATED_AFTER_S, signal.pthread_kill, (main, self._number))
        again.daemon = True
        again.start()

    def _raise(self) -> None:
        """Raise KeyboardInterrupt, and mark it as raised in all outer blocks, too."""
        block: Interrupts | None = self
        while block is not None:
            block.noted, block._raised_at = False, monotonic()
            block = block._outer
        raise KeyboardInterrupt


@contextmanager
def unbroken() -> Iterator[None]:
    """Hold back signals of the innermost :class:`Interrupts`, and raise them after the block.

    NumPy swallows an exception that is raised while it looks up an attribute, and tables that one
    result enters would not agree. Without such a block, nothing happens.
    """
    interrupts = _block_of(signal.getsignal(signal.SIGINT))
    if interrupts is None or interrupts._held:
        yield
        return
    interrupts.hold()
    try:
        yield
    finally:
        interrupts._held = False
    interrupts.check()


@contextmanager
def usual_termination() -> Iterator[None]:
    """Let SIGTERM end the process at once inside the block, as without :class:`Interrupts`.

    Processes that are forked inherit handlers. A pool ends its workers by SIGTERM and waits for
    them: an exception in its place can be lost, in a callback of the garbage collector or between
    the fork and the first instruction, and the worker would stay for ever.
    """
    before = signal.getsignal(signal.SIGTERM)
    here = threading.current_thread() is threading.main_thread()
    if not here or not callable(before) or _block_of(before) is None:
        yield
        return
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        # A handler that the program has set within the block stays.
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, before)


def _block_of(handler: object) -> Interrupts | None:
    """Return the block that a signal *handler* belongs to; None if it belongs to none."""
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, Interrupts) else None


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
