"""Exceptions of tasksim, and helpers for the text of their messages.

A message names the problem, its place, the given value, the legal values and the next
step. ``exit_code`` is the exit code of the command line: 1 if a run failed, 2 for bad input, 3 if
a check failed.

A message names options as its reader writes them: ``--force`` on the command line, ``force=True``
in Python. The command line announces itself once, by :func:`on_command_line`.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
    "demand",
    "expect",
    "listed",
    "nearest",
    "on_command_line",
    "option",
    "printable",
    "readable",
    "short",
    "shortened_names",
    "unknown",
]

MAX_LINE_CHARACTERS: Final = 1000
"""Longest line of a message, in characters: a dozen lines of a terminal. The longest line that
tasksim writes on purpose, an unknown name with all known ones, has 700; longer lines quote a
file."""
MAX_MESSAGE_LINES: Final = 60
"""Most lines of a message: a file may be wrong everywhere, and nobody fixes more at once."""
MAX_VALUE_CHARACTERS: Final = 60
"""Longest value that a message shows, in characters: the message still fits on one line."""
MAX_NAMES: Final = 12
"""Number of names in a message up to which all are named: more hide what else it says."""
MAX_LISTED: Final = 8
"""Number of names that a message lists, so that they fit a line or two of a terminal."""
_MAX_COMPARED_CHARACTERS: Final = 200
"""Longest name that is compared with the known ones, in characters: no known name is longer, and
the time of a comparison grows with the square of the length."""

_on_command_line: ContextVar[bool] = ContextVar("on_command_line", default=False)


def readable(message: str) -> str:
    r"""Return *message* made fit for a terminal: printable, and of bounded length.

    Long lines lose their middle: their ends hold the legal values.

    Examples
    --------
    >>> readable("got '\x1b[31m'")
    "got '\\x1b[31m'"
    """
    lines = message.split("\n")
    if len(lines) > MAX_MESSAGE_LINES:
        kept = MAX_MESSAGE_LINES - 1
        lines = [*lines[:kept], f"... and {len(lines) - kept} more lines"]
    half = MAX_LINE_CHARACTERS // 2
    return "\n".join(
        line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:half]} ... {line[-half:]}"
        for line in map(printable, lines)
    )


def printable(text: str) -> str:
    """Return *text* on one line, with escapes for control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class TasksimError(Exception):
    """Base class of all errors that tasksim raises on purpose.

    See Also
    --------
    InputError, CheckFailed : The subclasses that callers handle most often.

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
        """Return the message, made fit for a terminal, as it may quote any file."""
        return readable(super().__str__())


class InputError(TasksimError, ValueError):
    """Raised for wrong input of the user: a name, a value, a file.

    See Also
    --------
    TasksimError : The base class of all errors.

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
    """Raised for a malformed task graph."""


class CycleError(GraphError):
    """Raised for a task graph with a cycle."""


class ModelError(TasksimError):
    """Raised for a kernel model that cannot answer a request."""


class NotFittedError(ModelError, ValueError, AttributeError):
    """Raised for a kernel model that is used before ``fit``."""


class OutOfDomainError(ModelError, InputError):
    """Raised for parameters to which a kernel model cannot extrapolate."""

    exit_code = 2


class SchedulerError(TasksimError):
    """Raised for a scheduler that drops or repeats a task, or names an illegal worker."""


class TaskFailed(TasksimError):
    """Raised for an exception of a kernel in a natively executed task."""


class OutputError(TasksimError):
    """Raised for a result that cannot be written."""


class CheckFailed(TasksimError):
    """Raised for a requested check that fails, though everything ran.

    See Also
    --------
    check_run : The check that raises it.

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


def demand(holds: bool, message: str) -> None:
    """Raise :exc:`CheckFailed` with this *message* unless a condition *holds*."""
    if not holds:
        raise CheckFailed(message)


def expect(value: object, kind: type, what: str) -> None:
    """Raise :exc:`InputError` unless *value* is a *kind*; the message calls it *what*.

    >>> expect("cholesky", int, "tiles")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: tiles: expected int, got 'cholesky' (str)
    """
    if not isinstance(value, kind):
        raise InputError(f"{what}: expected {kind.__name__}, got {short(value)}")


def short(value: object) -> str:
    """Return *value* as messages show it: its ``repr``, shortened if need be, and its type.

    Examples
    --------
    >>> short("a"), short(1.5)
    ("'a' (str)", '1.5 (float)')
    """
    text = repr(value)
    cut = text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[: MAX_VALUE_CHARACTERS - 3]}..."
    return f"{cut} ({type(value).__name__})"


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return ``", did you mean 'x'?"`` for the candidate nearest to *name*, or ``""``.

    A word that other programs have for a candidate is nearest to it.
    """
    if len(name) > _MAX_COMPARED_CHARACTERS:
        return ""
    from difflib import get_close_matches  # imported late: only errors need it

    from tasksim.base.synonyms import same_meaning

    originals = {c.lower(): c for c in candidates}
    if (meant := same_meaning(name, originals.values())) is not None:
        return f", did you mean '{meant}'?"
    matches = get_close_matches(name.lower(), originals, n=1, cutoff=0.5)
    return f", did you mean '{originals[matches[0]]}'?" if matches else ""


def shortened_names(names: Sequence[str]) -> str:
    """Return the first of many *names*, and their number."""
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:MAX_NAMES])}, ... {len(names)} in all"


def listed(names: Sequence[str], most: int = MAX_LISTED) -> str:
    """Return *names* as text, the first *most* of many.

    >>> listed(["col", "row"]), listed([str(i) for i in range(20)])
    ('col, row', '0, 1, 2, 3, 4, 5, 6, 7 and 12 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


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
    """Let messages within the block name options as the command line does."""
    token = _on_command_line.set(True)
    try:
        yield
    finally:
        _on_command_line.reset(token)


def option(name: str, value: str | None = None) -> str:
    """Return the option *name* as the reader of a message writes it, with its *value* if given.

    Parameters
    ----------
    name : str
        The name in Python: words joined by underscores.
    value : str, optional
        The value, or a placeholder for it; ``"True"`` marks a flag.

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
