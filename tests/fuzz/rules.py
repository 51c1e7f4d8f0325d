"""Rules for readers: a value, or an error in a few words; soon, in little memory, doing nothing.

What breaks a rule is a :class:`Find`.
"""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, TasksimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["CPU_S", "Find", "check", "watch_actions"]

CPU_S = 30.0
"""The CPU time for one input, of 200 kB at most. The slowest took 9 s where its lines were traced
beside other programs; what grows with the square of an input takes minutes."""
LONGEST_LINE, MAX_LINES = 1100, 60
"""Of a message: a line names a file, and what is legal may be two dozen names; of a platform file
all that is wrong is told, up to a number of lines."""
_FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "os.fork",
              "socket.connect", "socket.bind", "ctypes.dlopen", "pty.spawn", "webbrowser.open",
              "pickle.find_class")  # fmt: skip
"""The events that Python tells its auditors before it acts."""


@dataclass(frozen=True)
class Find:
    """A rule that an input breaks."""

    rule: str
    """Rule that was broken: ``raises``, ``message``, ``time``, ``memory``, ``acts``, ``dies``."""
    what: str
    """The exception, or what else was seen."""
    where: str
    """The innermost line of tasksim; with rule and kind of exception, what tells finds apart."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The key that finds with the same cause share."""
        return self.rule, self.what.partition(":")[0][:60], self.where


class _TooLong(BaseException):
    """The CPU time is over."""


class _Acted(BaseException):
    """Something was about to be done that no reader does."""


_watching = False


def watch_actions() -> None:
    """From now on, while an input is read, refuse to run programs and to import what it names."""

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if not _watching:
            return
        if event in _FORBIDDEN or (event == "import" and str(arguments[0]).startswith("canary")):
            raise _Acted(f"{event} {arguments!r:.200}")

    sys.addaudithook(audit)


def check(read: Callable[[Path], object], folder: Path) -> Find | None:
    """Read what is in *folder*; return the rule that was broken, if one was."""
    try:
        with _watched(), warnings.catch_warnings():
            warnings.simplefilter("error")
            read(folder)
    except TasksimError as error:
        return _message(error)
    except _TooLong as error:
        return Find("time", f"more than {CPU_S:g} s of CPU", _where(error))
    except _Acted as error:
        return Find("acts", str(error), _where(error))
    except MemoryError as error:
        return Find("memory", repr(error)[:200], _where(error))
    except Exception as error:
        return Find("raises", f"{type(error).__name__}: {error}"[:300], _where(error))
    return None


def _message(error: TasksimError) -> Find | None:
    text = str(error)
    lines = text.split("\n")
    if not isinstance(error, InputError):
        return Find(
            "message", f"{type(error).__name__} is no InputError: {text:.200}", _where(error)
        )
    if len(lines) > MAX_LINES or max(map(len, lines)) > LONGEST_LINE:
        size = f"{len(lines)} lines, the longest of {max(map(len, lines))} characters"
        return Find("message", f"long: {size}: {text[:100]}", _where(error))
    if not text.strip() or not text.replace("\n", "").isprintable():
        return Find("message", f"not printable: {text[:200]!r}", _where(error))
    return None


@contextmanager
def _watched() -> Iterator[None]:
    """Raise in the block when its CPU time is over, or when something is about to be done."""
    global _watching

    def over(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    _watching = True
    try:
        yield
    finally:
        _watching = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/tasksim/" in f.filename and "/tests/" not in f.filename]
    if not ours:
        return "?"
    name = ours[-1].filename.rpartition("/tasksim/")[2]
    return f"{name}:{ours[-1].name}"
