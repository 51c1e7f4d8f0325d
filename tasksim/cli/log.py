"""Option ``--log``: lines of what a command reads, decides and writes, with their times."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError, unknown
from tasksim.base.log import Log

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["LOG_LEVELS", "logged"]

LOG_LEVELS: Final = ("debug", "info", "warning")
"""Legal levels of lines on stderr; a file gets all lines."""
LINE_FORMAT: Final = "%(asctime)s.%(msecs)03d %(levelname)-7s %(name)s: %(message)s"
TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"

_log = Log("cli")


class _Stderr:
    """The standard error stream of the moment: a bar of progress takes its place for a while."""

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


@contextmanager
def logged(place: str, command: str, words: Sequence[str]) -> Iterator[None]:
    """Log what happens within the block to *place*, a level for stderr or a file to append to.

    The first line names the version and the *command* with its *words*; the last one says how it
    ended, after how long and with how much memory.

    Raises :exc:`InputError` if *place* is neither a level nor a file that can be written.
    """
    handler = _handler(place)
    handler.setFormatter(logging.Formatter(LINE_FORMAT, TIME_FORMAT))
    logger = logging.getLogger("tasksim")
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(place.upper() if place in LOG_LEVELS else logging.DEBUG)
    logger.propagate = False
    try:
        with _told(command, words):
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
        handler.close()


def _handler(place: str) -> logging.Handler:
    if place in LOG_LEVELS:
        return logging.StreamHandler(_Stderr())
    path = Path(place)
    if path.name == place and not path.suffix:  # a misspelt level must not become a file
        raise unknown("level", place, [*LOG_LEVELS, "a file such as run.log"], "--log")
    try:
        return logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--log {place}: cannot be written: {error.strerror or error}") from None


@contextmanager
def _told(command: str, words: Sequence[str]) -> Iterator[None]:
    """Log the begin and the end of a command."""
    import resource
    import shlex
    from platform import python_version

    import click

    import tasksim

    begun = time.monotonic()
    _log.info("tasksim %s, Python %s: %s", tasksim.__version__, python_version(),
              shlex.join([*command.split(), *words]))  # fmt: skip
    ended = "interrupted"
    try:
        yield
        ended = "done"
    except click.exceptions.Exit as end:
        ended = f"exit code {end.exit_code}"
        raise
    except Exception as error:
        ended = f"{type(error).__name__}: {error}"
        raise
    finally:
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        _log.info("%s, after %.3f s, peak memory %.0f MB", ended, time.monotonic() - begun, peak_mb)
