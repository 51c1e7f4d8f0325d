"""Deprecated names: functions, arguments and options that still work, and warn.

CONTRIBUTING says when and how to use them.
"""

from __future__ import annotations

import warnings
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DeprecatedWarning", "deprecated", "renamed_arguments", "warn_deprecated"]

P = ParamSpec("P")
T = TypeVar("T")


class DeprecatedWarning(FutureWarning):
    """Warning for a name that a later version will not have.

    It is a :exc:`FutureWarning`, which Python shows to everybody: users of scripts and notebooks,
    not only their authors, need to know.
    """


def warn_deprecated(old: str, new: str, *, since: str, until: str, level: int = 2) -> None:
    """Warn that *old* is called *new* since a version, and is removed in the version *until*.

    *level* is the number of calls between the user's line and this one.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_deprecated("--cores", "--workers", since="0.2", until="0.4")
    >>> print(caught[0].message)
    --cores is deprecated since tasksim 0.2 and is removed in 0.4: use --workers
    """
    message = f"{old} is deprecated since tasksim {since} and is removed in {until}: use {new}"
    warnings.warn(message, DeprecatedWarning, stacklevel=level + 1)


def deprecated(new: str, *, since: str, until: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make the decorated function, or method, warn when it is called: *new* is used instead.

    Examples
    --------
    >>> @deprecated("run.frame()", since="0.2", until="0.4")
    ... def to_table(rows):
    ...     return list(rows)
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            warn_deprecated(f"{function.__qualname__}()", new, since=since, until=until)
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_arguments(
    *, since: str, until: str, **renamed: str
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let the decorated function accept earlier names of its arguments, with a warning.

    Parameters
    ----------
    since, until : str
        The version that renamed them, and the one that removes the earlier names.
    **renamed : str
        The new name for each earlier one.

    Raises
    ------
    InputError
        When the function is called with both names of an argument.
    ValueError
        At once, if the function has no argument of a new name.

    Examples
    --------
    >>> @renamed_arguments(cores="workers", since="0.2", until="0.4")
    ... def area_s(work_s, workers):
    ...     return work_s / workers
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        for new in renamed.values():
            if new not in signature(function).parameters:
                raise ValueError(f"{function.__qualname__}() has no argument '{new}'")

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> T:
            for old in [name for name in kwargs if name in renamed]:
                new = renamed[old]
                if new in kwargs:
                    raise InputError(f"{new}: also given as '{old}', its earlier name; give one")
                what = f"the argument '{old}' of {function.__qualname__}()"
                warn_deprecated(what, f"'{new}'", since=since, until=until)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
