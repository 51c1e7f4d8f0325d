"""Options as the user writes them: ``--force`` on the command line, ``force=True`` in Python.

Messages of errors say what to do next. What that is called depends on who reads them, which only
the command line knows: it says so once, and every message below it follows.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["on_command_line", "option"]

_on_command_line: ContextVar[bool] = ContextVar("on_command_line", default=False)


@contextmanager
def on_command_line() -> Iterator[None]:
    """Let messages name options as the command line does, while the block lasts."""
    token = _on_command_line.set(True)
    try:
        yield
    finally:
        _on_command_line.reset(token)


def option(name: str, value: str | None = None) -> str:
    """Return the option *name* as the reader of a message writes it, with a *value* if given.

    Parameters
    ----------
    name : str
        As in Python, words joined by underscores.
    value : str, optional
        What stands for the value; ``"True"`` is a flag.

    Examples
    --------
    >>> option("model_names"), option("force", "True")
    ('model_names', 'force=True')
    >>> with on_command_line():
    ...     option("model_names"), option("workers", "N"), option("force", "True")
    ('--model-names', '--workers N', '--force')
    """
    if not _on_command_line.get():
        return name if value is None else f"{name}={value}"
    flag = f"--{name.replace('_', '-')}"
    return flag if value in (None, "True") else f"{flag} {value}"
