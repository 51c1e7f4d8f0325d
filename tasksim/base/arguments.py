"""Checks of the arguments of public functions, with the same messages as the command line's."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import inf, isfinite
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, SupportsFloat, TypeVar

from tasksim.base.errors import InputError, expect, nearest, short
from tasksim.base.units import format_size

__all__ = [
    "all_of", "finite_number", "flag", "number_from", "one_of", "path_of", "positive_number",
    "refuse_too_large", "switch", "whole_number",
]  # fmt: skip

T = TypeVar("T")


def path_of(value: Any, what: str) -> Path:
    """Return *value*, a path or a text that is not empty, as a path.

    Raises
    ------
    InputError
        If *value* is neither.

    Examples
    --------
    >>> path_of(3, "folder")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: folder: got 3 (int); legal: a path
    """
    if not isinstance(value, str | PathLike) or value == "":
        raise InputError(f"{what}: got {short(value)}; legal: a path")
    return Path(value)


def one_of(value: Any, legal: Iterable[str], what: str) -> str:
    """Return *value* if it is one of the texts *legal*; else raise :exc:`InputError`.

    Examples
    --------
    >>> one_of("Model", ["none", "model"], "noise")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: noise: got 'Model' (str), did you mean 'model'? (legal: none, \
model)
    """
    known = list(legal)
    if isinstance(value, str) and value in known:
        return value
    close = nearest(value, known) if isinstance(value, str) else ""
    raise InputError(f"{what}: got {short(value)}{close} (legal: {', '.join(known)})")


def whole_number(value: Any, what: str, low: int = 0, high: int | None = None) -> int:
    """Return *value* as an ``int`` if it is a whole number (NumPy's included) within the limits.

    Raises
    ------
    InputError
        If it is not. Texts, floats, ``True`` and ``False`` are not whole numbers.

    Examples
    --------
    >>> whole_number(-1, "seed")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: seed: got -1 (int); legal: a whole number from 0
    """
    try:
        # By name, because NumPy's bool_ is no subclass of bool, and NumPy is not imported here.
        number = None if type(value).__name__ in ("bool", "bool_") else index(value)
    except TypeError:
        number = None
    if number is None or number < low or (high is not None and number > high):
        limits = f"from {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{what}: got {short(value)}; legal: a whole number {limits}")
    return number


def positive_number(value: Any, what: str, example: str) -> float:
    """Return *value* as a ``float`` if it is a finite number above 0.

    The message of the error quotes *example*, a legal value.

    Raises
    ------
    InputError
        If it is not. Texts, ``True`` and ``False`` are not numbers.

    Examples
    --------
    >>> positive_number(0, "tolerance", "0.02")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: tolerance: got 0 (int); legal: a number above 0, as 0.02
    """
    number = _number(value)
    if number is None or not 0 < number < inf:
        raise InputError(f"{what}: got {short(value)}; legal: a number above 0, as {example}")
    return number


def finite_number(value: Any, what: str) -> float:
    """Return *value* as a ``float`` if it is a finite number.

    Raises
    ------
    InputError
        If it is not. Texts, ``True`` and ``False`` are not numbers.

    Examples
    --------
    >>> finite_number("1", "b")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: b: got '1' (str); legal: a finite number
    """
    number = _number(value)
    if number is None or not isfinite(number):
        raise InputError(f"{what}: got {short(value)}; legal: a finite number")
    return number


def number_from(value: Any, what: str, low: float, high: float = inf) -> float:
    """Return *value* as a ``float`` if it is a finite number from *low* to *high*.

    Examples
    --------
    >>> number_from(2, "share", 0, 1)
    Traceback (most recent call last):
    tasksim.base.errors.InputError: share: got 2 (int); legal: a number from 0 to 1
    """
    number = _number(value)
    if number is None or not low <= number <= high or number == inf:
        limits = f"from {low:g}" if high == inf else f"from {low:g} to {high:g}"
        raise InputError(f"{what}: got {short(value)}; legal: a number {limits}")
    return number


def all_of(values: Any, kind: type[T], what: str) -> tuple[T, ...]:
    """Return *values* as a tuple if they are a sequence of *kind*.

    Raises
    ------
    InputError
        If *values* is a single value (a text counts as one), or an element is of another kind.

    Examples
    --------
    >>> all_of(3, str, "names")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: names: got 3 (int); legal: a sequence of str
    >>> all_of(["m", 3], str, "names")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: names[1]: expected str, got 3 (int)
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{what}: got {short(values)}; legal: a sequence of {kind.__name__}")
    found = tuple(values)
    for place, value in enumerate(found):
        expect(value, kind, f"{what}[{place}]")
    return found


def flag(value: Any, what: str) -> bool:
    """Return *value* if it is ``True`` or ``False``; else raise :exc:`InputError`.

    Examples
    --------
    >>> flag("no", "check")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: check: got 'no' (str); legal: True or False
    """
    if not isinstance(value, bool):
        raise InputError(f"{what}: got {short(value)}; legal: True or False")
    return value


def switch(value: Any, what: str) -> bool:
    """Return the truth of *value* if it is 0 or 1, as in texts; else raise :exc:`InputError`.

    Examples
    --------
    >>> switch(2, "prefetch")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: prefetch: got 2 (int); legal: 0 or 1
    """
    if value not in (0, 1):
        raise InputError(f"{what}: got {short(value)}; legal: 0 or 1")
    return bool(value)


def refuse_too_large(size_bytes: int, what: str) -> None:
    """Raise :exc:`InputError` if *size_bytes*, the size of *what*, exceeds this machine's memory.

    An allocation would not fail: the system grants memory that it does not have, and kills the
    process when the memory is used.
    """
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # the system does not report its memory
        return
    if size_bytes > there:
        raise InputError(
            f"{what} needs {format_size(size_bytes)} of memory, "
            f"this machine has {format_size(there)}"
        )


def _number(value: Any) -> float | None:
    """Return *value* as a ``float``; None if it is not a number."""
    if not isinstance(value, SupportsFloat) or type(value).__name__ in ("bool", "bool_"):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):  # arrays; integers beyond the largest float
        return None
