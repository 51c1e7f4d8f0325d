"""Loops compiled by Numba: the types that they take, and the options that all share."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from numba import njit, types

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
_KNOWN: list[tuple[Any, ...]] = []
"""Types that Numba forgets when nobody has them, and then numbers anew."""
# What a vectorised sum needs: its terms in any order. Infinity must stay what it is.
_REORDER = {"reassoc", "contract", "nsz"}


class LoopCall(NamedTuple):
    """A call that is ready: a loop, and all its arguments.

    That a task is one of them is what lets it be called by address, see
    :mod:`tasksim.kernels.fmm.entries`.
    """

    loop: Callable[..., None]
    arguments: tuple[Any, ...]

    def __call__(self) -> None:
        """Do it."""
        self.loop(*self.arguments)


def loop(*arguments: Any) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function of *arguments* of these types, at once.

    It returns nothing, and does not hold the GIL. Arrays are C-contiguous; those that the types
    call read-only may be writable.
    """

    def compiled(function: Function) -> Function:
        made = njit(types.void(*arguments), **_OPTIONS)(function)
        if made.stats.cache_misses:
            _say_that_it_compiles()
        _accept_writable(made, arguments)
        return cast("Function", made)

    return compiled


def _accept_writable(compiled: Any, arguments: tuple[Any, ...]) -> None:
    """Let *compiled* know that writable arrays do for those that it only reads.

    Numba finds that out at the first call, which is not safe in threads: of two first calls at
    once, one may fail with "No matching definition for argument type(s)".
    """
    given = tuple(
        type_.copy(readonly=False) if isinstance(type_, types.Array) else type_
        for type_ in arguments
    )
    _KNOWN.append(given)
    compiled.typingctx.install_possible_conversions(given, arguments)


@cache
def _say_that_it_compiles() -> None:
    """Say, once, why the first use takes so long: nobody should think that it hangs.

    As a line of progress, as commands print them.
    """
    logging.getLogger(__name__).warning(
        "compiling: 0 %, the kernels of fmm, which takes some 20 s; they are kept for later"
    )


def inlined(function: Function) -> Function:
    """Compile *function* for the loops that call it; its sums may be taken in any order."""
    return cast("Function", njit(fastmath=_REORDER, **_OPTIONS)(function))
