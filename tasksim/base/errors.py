"""The exceptions of tasksim, a tree by meaning, and the words of their messages.

A message says what, where, what was got, what is legal and what to do next. ``exit_code``
is what the command line returns: 1 a run failed, 2 bad input, 3 a check failed.

What options are called depends on who reads the message, ``--force`` on the command line,
``force=True`` in Python, which only the command line knows: it says so once.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "CheckFailed",
    "CycleError",
    "GraphError",
    "InputError",
    "ModelError",
    "NotFittedError",
    "OutOfDomainError",
    "OutputError",
    "SchedulerError",
    "TaskFailed",
    "TasksimError",
    "expect",
    "nearest",
    "on_command_line",
    "option",
    "readable",
    "unknown",
]

LONGEST_LINE: Final = 1000
"""Characters of a line of a message: a dozen lines of a terminal. The longest that is meant, an
unknown name with all that are known, has 700; longer ones quote what a file has."""
MOST_LINES: Final = 60
"""Lines of a message: of a file in which everything is wrong, more than anyone mends at once."""
_NEAREST_OF: Final = 200
"""Characters of a name that a near one is looked for: none is longer, and it takes their square."""

_on_command_line: ContextVar[bool] = ContextVar("on_command_line", default=False)


def readable(message: str) -> str:
    r"""Return a *message* that a terminal can show: printable, and of bounded length.

    What stands in the middle of long lines is left out, for their ends say what is legal.

    Examples
    --------
    >>> readable("got '\x1b[31m'")
    "got '\\x1b[31m'"
    """
    lines = message.split("\n")
    if len(lines) > MOST_LINES:
        kept = MOST_LINES - 1
        lines = [*lines[:kept], f"... and {len(lines) - kept} more lines"]
    return "\n".join(map(_readable_line, lines))


def _readable_line(line: str) -> str:
    if not line.isprintable():
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    half = LONGEST_LINE // 2
    return line if len(line) <= LONGEST_LINE else f"{line[:half]} ... {line[-half:]}"


class TasksimError(Exception):
    """Anything that tasksim refuses or fails to do.

    See Also
    --------
    InputError, CheckFailed : its kinds that one expects.

    Examples
    --------
    >>> import tasksim
    >>> try:
    ...     tasksim.load_run("no such folder")
    ... except tasksim.TasksimError as error:
    ...     print(error.exit_code)
    2
    """

    exit_code: ClassVar[int] = 1

    def __str__(self) -> str:
        """Return the message, which may quote what files have, fit for a terminal."""
        return readable(super().__str__())


class InputError(TasksimError, ValueError):
    """The user's input is wrong: a name, a value, a file.

    See Also
    --------
    TasksimError : all that can be raised.

    Examples
    --------
    >>> import tasksim
    >>> try:
    ...     tasksim.generate("cholesky", tile=4)
    ... except tasksim.InputError as error:
    ...     print("did you mean" in str(error))
    True
    """

    exit_code = 2


class GraphError(InputError):
    """A task graph is malformed."""


class CycleError(GraphError):
    """A task graph has a cycle."""


class ModelError(TasksimError):
    """A kernel model cannot do what is asked."""


class NotFittedError(ModelError, ValueError, AttributeError):
    """A kernel model is used before ``fit``."""


class OutOfDomainError(ModelError, InputError):
    """A kernel model is asked for parameters that it cannot extrapolate to."""

    exit_code = 2


class SchedulerError(TasksimError):
    """A scheduler broke the rules: dropped or repeated a task, or named an illegal worker."""


class TaskFailed(TasksimError):
    """A kernel raised while a task was executed natively."""


class OutputError(TasksimError):
    """A result cannot be written."""


class CheckFailed(TasksimError):
    """Everything ran, but a check that was asked for does not hold.

    See Also
    --------
    check_run : raises it.

    Examples
    --------
    >>> import dataclasses, tasksim
    >>> run = tasksim.simulate("chain length=2", workers=1)
    >>> early = dataclasses.replace(run.tasks, start_s=run.tasks.start_s - 1)
    >>> try:
    ...     tasksim.check_run(dataclasses.replace(run, tasks=early))
    ... except tasksim.CheckFailed as error:
    ...     print(error.exit_code)
    3
    """

    exit_code = 3


def expect(value: object, kind: type, what: str) -> None:
    """Raise :exc:`InputError` unless *value*, which the caller names *what*, is a *kind*.

    >>> expect("cholesky", int, "tiles")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: tiles: expected int, got 'cholesky' (str)
    """
    if not isinstance(value, kind):
        got = repr(value)
        short = got if len(got) <= 60 else f"{got[:57]}..."
        name = type(value).__name__
        raise InputError(f"{what}: expected {kind.__name__}, got {short} ({name})")


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return ``", did you mean 'x'?"`` for the candidate nearest to *name*, or ``""``."""
    if len(name) > _NEAREST_OF:
        return ""
    from difflib import get_close_matches  # which only errors need

    originals = {c.lower(): c for c in candidates}
    matches = get_close_matches(name.lower(), originals, n=1, cutoff=0.5)
    return f", did you mean '{originals[matches[0]]}'?" if matches else ""


def unknown(what: str, name: str, candidates: Iterable[str], where: str = "") -> InputError:
    """Return the error for a *name* that is not among the *candidates*.

    >>> print(unknown("scheduler", "pro", ["eager", "prio"]))
    unknown scheduler 'pro', did you mean 'prio'? (known: eager, prio)
    """
    names = list(candidates)
    known = ", ".join(names) if names else "none"
    prefix = f"{where}: " if where else ""
    return InputError(f"{prefix}unknown {what} '{name}'{nearest(name, names)} (known: {known})")


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
