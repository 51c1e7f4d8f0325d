"""Kernel names of functions that programs submit: what the function is called."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["function_and_name", "is_of_dask", "unwrapped"]

_RUNNERS = frozenset({"_process_chunk"})
"""Functions by which ``Executor.map`` calls the user's function on a chunk of arguments."""


def unwrapped(function: Any, arguments: Sequence[Any] = ()) -> Callable[..., Any]:
    """Return the function that a call is about, without what only carries it there.

    >>> unwrapped(functools.partial(sorted, reverse=True)).__name__
    'sorted'
    """
    while True:
        if isinstance(function, functools.partial):
            function, arguments = function.func, (*function.args, *arguments)
        elif _only_carries(function) and arguments and callable(arguments[0]):
            function, arguments = arguments[0], arguments[1:]
        else:
            return function  # type: ignore[no-any-return]


def function_and_name(function: Any, arguments: Sequence[Any] = ()) -> tuple[str, str]:
    """Return what a call is called: by its function's name, and with its module before it.

    >>> function_and_name(functools.partial(sorted, reverse=True))
    ('sorted', 'builtins.sorted')
    """
    found = unwrapped(function, arguments)
    name = getattr(found, "__qualname__", None) or getattr(found, "__name__", None)
    if not isinstance(name, str):
        found = type(found)
        name = found.__qualname__
    name = name.rpartition("<locals>.")[2]
    module = getattr(found, "__module__", None) or getattr(
        type(getattr(found, "__self__", None)), "__module__", ""
    )
    return name, f"{module}.{name}"


def is_of_dask(function: Any, arguments: Sequence[Any] = ()) -> bool:
    """Return whether a call is what Dask gives to its pool: batches of tasks of its own."""
    return getattr(unwrapped(function, arguments), "__module__", None) == "dask.local"


def _only_carries(function: Any) -> bool:
    """Return whether *function* calls its first argument and does nothing of its own.

    ``Context.run``, by which libraries hand on context variables, is one.
    """
    if getattr(function, "__name__", "") in _RUNNERS:
        return True
    owner = getattr(function, "__self__", None)
    return type(owner).__name__ == "Context" and getattr(function, "__name__", "") == "run"
