"""Functions that a program passes to libraries, and the names of their tasks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["carried_by", "function_and_name", "is_of_library", "unwrapped"]


_LIBRARIES = (
    "dask.local",
    "distributed.",
    "joblib._parallel_backends",
    "joblib._utils",
    "joblib.externals.loky",
    "joblib.parallel",
    "parsl.",
    "tasksim.recording.",
)
"""Modules of libraries that use pools for tasks of their own, by their beginnings."""
_WRAPPERS = {"_FuncWrapper": "function", "CloudpickledObjectWrapper": "_obj"}
"""Class that hands its calls on -> its attribute with the function: scikit-learn's, which sets the
configuration before, and joblib's, which pickles what pickle cannot."""
_RUNNERS = frozenset({"_process_chunk"})
"""Functions in which ``Executor.map`` calls the user's function on a chunk of arguments."""


def unwrapped(function: Any, arguments: Sequence[Any] = ()) -> Callable[..., Any]:
    """Return the function that a call is about, without its wrappers.

    >>> unwrapped(functools.partial(sorted, reverse=True)).__name__
    'sorted'
    """
    while True:
        if isinstance(function, functools.partial):
            function, arguments = function.func, (*function.args, *arguments)
        elif (attribute := _WRAPPERS.get(type(function).__name__)) is not None and callable(
            inner := getattr(function, attribute, None)
        ):
            function = inner
        elif _only_carries(function) and arguments and callable(arguments[0]):
            function, arguments = arguments[0], arguments[1:]
        else:
            return function  # type: ignore[no-any-return]


def function_and_name(function: Any, arguments: Sequence[Any] = ()) -> tuple[str, str]:
    """Return the name of a call's function, and the same with its module before it.

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


def is_of_library(function: Any, arguments: Sequence[Any] = ()) -> bool:
    """Return whether a library submits this call to a pool: a batch of tasks of its own.

    Its tasks are recorded where the library gets them from the program.
    """
    kind = type(function).__module__
    found = getattr(unwrapped(function, arguments), "__module__", None)
    return any(name.startswith(_LIBRARIES) for name in (kind, found) if isinstance(name, str))


def _only_carries(function: Any) -> bool:
    """Return whether *function* calls its first argument and does nothing of its own.

    ``Context.run``, by which libraries hand on context variables, is one.
    """
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    return name in _RUNNERS or (type(owner).__name__ == "Context" and name == "run")


def carried_by(function: Any) -> tuple[Any, ...]:
    """Return the arguments that a ``functools.partial`` carries."""
    if isinstance(function, functools.partial):
        return (*function.args, *function.keywords.values(), *carried_by(function.func))
    return ()
