"""C functions on arrays of doubles, compiled by Numba when they are first needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from numba import cfunc, types

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["REORDERING_FLAGS", "c_function", "signature_of"]

REORDERING_FLAGS: Any = {"reassoc", "contract", "nsz"}
"""Flags that let a vectorised sum reorder its terms; no flag may assume finite numbers."""


def signature_of(pointers: int, integers: int = 0, reals: int = 0) -> Any:
    """Return the signature of a function of pointers to doubles, 64-bit integers, then doubles."""
    pointer: Any = types.CPointer
    doubles, whole, real = pointer(types.float64), types.int64, types.float64
    return types.void(*[doubles] * pointers, *[whole] * integers, *[real] * reals)


def c_function(
    pointers: int, integers: int = 0, reals: int = 0, *, reorders: bool = False
) -> Callable[[Callable[..., None]], Callable[[], Any]]:
    """Return a decorator that replaces a function by one that returns it compiled.

    The arguments count the function's parameters, in this order. With *reorders*, sums may be in
    any order.
    """

    def decorated(function: Callable[..., None]) -> Callable[[], Any]:
        @cache
        def compiled() -> Any:
            flags = REORDERING_FLAGS if reorders else False
            return cfunc(signature_of(pointers, integers, reals), cache=True, fastmath=flags)(
                function
            )

        return compiled

    return decorated
