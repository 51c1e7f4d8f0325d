"""Compilation of loops by Numba, with their argument types and common options."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from numba import njit, types

from tasksim.kernels.cfunctions import REORDERING_FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "INDEX_TABLE",
    "INDICES",
    "MATRICES",
    "REAL",
    "REALS",
    "RESULT",
    "TABLE",
    "LoopCall",
    "inlined",
    "loop",
]

Function = TypeVar("Function", bound="Callable[..., Any]")

REAL = types.float64
REALS = types.Array(types.float64, 1, "C", readonly=True)
TABLE = types.Array(types.float64, 2, "C", readonly=True)
INDICES = types.Array(types.int64, 1, "C", readonly=True)
INDEX_TABLE = types.Array(types.int64, 2, "C", readonly=True)
MATRICES = types.Array(types.float64, 3, "C", readonly=True)
RESULT = types.Array(types.float64, 2, "C")

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True}
_KEPT_TYPES: list[tuple[Any, ...]] = []
"""Types kept alive, because Numba forgets unused types and then gives them new numbers."""


class LoopCall(NamedTuple):
    """A call of a loop with all its arguments.

    A task in this form can be called by address, see :mod:`tasksim.kernels.fmm.plan`.
    """

    loop: Callable[..., None]
    arguments: tuple[Any, ...]

    def __call__(self) -> None:
        """Call the loop."""
        self.loop(*self.arguments)


def loop(*arguments: Any) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function for *arguments*, a list of types, at once.

    The compiled function returns nothing and does not hold the GIL. Arrays are C-contiguous; an
    array for a read-only type may be writable.
    """

    def compiled(function: Function) -> Function:
        made = njit(types.void(*arguments), **_OPTIONS)(function)
        if made.stats.cache_misses:
            _report_compilation()
        # Numba finds out that writable arrays are accepted for read-only ones at the first call,
        # which is not thread-safe: one of two simultaneous first calls may fail with "No matching
        # definition for argument type(s)".
        given = tuple(
            type_.copy(readonly=False) if isinstance(type_, types.Array) else type_
            for type_ in arguments
        )
        _KEPT_TYPES.append(given)
        made.typingctx.install_possible_conversions(given, arguments)
        return cast("Function", made)

    return compiled


@cache
def _report_compilation() -> None:
    """Report once that the first use compiles, so that the wait does not look like a hang.

    The message has the form of a progress line of the commands.
    """
    logging.getLogger(__name__).warning(
        "compiling: 0 %, kernels of fmm; this takes about 20 s, once, and is cached"
    )


def inlined(function: Function) -> Function:
    """Compile *function* for the loops that call it, with sums in any order."""
    return cast("Function", njit(fastmath=REORDERING_FLAGS, **_OPTIONS)(function))
