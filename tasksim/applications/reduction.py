"""Reduction: how contributions of many tasks to one datum become one.

Each worker adds to an array of its own, which begins as the neutral element; a task, ``combine``,
adds those that were used to the datum before anybody else accesses it (StarPU's handbook, "Data
reduction"). It is a task like others: measured, modelled, simulated and drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["REDUCTIONS", "Reduction", "reduction_of"]


@dataclass(frozen=True)
class Reduction:
    """An operation that is associative and commutative, and what changes nothing under it.

    Attributes
    ----------
    name : str
    operate : callable
        ``operate(into, part)`` changes *into*.
    neutral : callable
        The element that changes nothing, of a type of numbers.
    """

    name: str
    operate: Callable[[NDArray[Any], NDArray[Any]], object]
    neutral: Callable[[np.dtype[Any]], Any]


def _by(ufunc: np.ufunc) -> Callable[[NDArray[Any], NDArray[Any]], object]:
    return lambda into, part: ufunc(into, part, out=into)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction("sum", _by(np.add), lambda _: 0),
    "product": Reduction("product", _by(np.multiply), lambda _: 1),
    "max": Reduction("max", _by(np.maximum), _lowest),
    "min": Reduction("min", _by(np.minimum), _highest),
}
"""Reductions by name."""


def reduction_of(given: str | Reduction) -> Reduction:
    """Return the reduction *given* by name, or itself; :exc:`InputError` if it is none."""
    if isinstance(given, Reduction):
        return given
    if given not in REDUCTIONS:
        if not isinstance(given, str):
            raise InputError(f"reduction: got {given!r:.60}; legal: {', '.join(REDUCTIONS)}")
        raise unknown("reduction", given, REDUCTIONS)
    return REDUCTIONS[given]
