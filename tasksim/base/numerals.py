"""Plain decimal numbers in texts, and ranges of them, as people write them.

``010`` is eight in YAML and ten in Python, ``1_0`` is ten in both, and ``1:30`` is ninety in YAML;
people cannot tell what is meant. So tasksim refuses these notations, and digits of other scripts,
too.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "LEGAL_NUMERALS",
    "decimal_number",
    "is_plain",
    "plain_float",
    "sorted_names",
    "table_number",
    "values_of",
    "whole_number",
]

LEGAL_NUMERALS: Final = "decimal digits, without 0 before them, '_' or ':' between them"
"""Description of legal numbers, for messages."""

_WHOLE: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,39})")  # int() refuses thousands of digits
_DECIMAL: Final = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?"
)
_RANGE: Final = re.compile(r"\s*(\d{1,18})\s*\.\.\s*(\d{1,18})\s*(?::\s*(\d{1,18}|log)\s*)?")


def whole_number(text: str) -> int | None:
    """Return *text* as a whole number; None if it is none.

    See Also
    --------
    decimal_number : Numbers with fractions and exponents.

    Examples
    --------
    >>> whole_number("10"), whole_number("010"), whole_number("1_0"), whole_number("1e1")
    (10, None, None, None)
    """
    return int(text) if _WHOLE.fullmatch(text) else None


def decimal_number(text: str) -> float | None:
    """Return *text* as a finite number; None if it is none.

    See Also
    --------
    whole_number : Whole numbers of any size, without rounding.

    Examples
    --------
    >>> decimal_number("1e1"), decimal_number(".5"), decimal_number("010"), decimal_number("1e400")
    (10.0, 0.5, None, None)
    """
    value = float(text) if _DECIMAL.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def is_plain(text: str) -> bool:
    """Return whether *text* has neither ``_`` nor digits of other scripts.

    This faster check is for tables that tools wrote, where ``007.5`` is unambiguous.
    """
    return text.isascii() and "_" not in text


def plain_float(text: str) -> float:
    """Return ``float(text)``, which may be NaN or infinity.

    Raises :exc:`ValueError` if *text* is not plain (:func:`is_plain`) or not a number.
    """
    if not is_plain(text):
        raise ValueError(text)
    return float(text)


def table_number(text: str) -> float | None:
    """Return the *text* of a cell as a finite number; None if it is none.

    >>> table_number("007.5"), table_number("nan"), table_number("row")
    (7.5, None, None)
    """
    try:
        number = plain_float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct *names* in order; in that of their numbers if all are numbers.

    >>> sorted_names(["row", "col", "row"]), sorted_names(["8", "16", "2"])
    (('col', 'row'), ('2', '8', '16'))
    """
    distinct = sorted(set(names))
    numbers = [table_number(name) for name in distinct]
    if all(number is not None for number in numbers):
        return tuple(name for _, name in sorted(zip(numbers, distinct, strict=True)))
    return tuple(distinct)


def values_of(text: str) -> Sequence[int] | None:
    """Return the whole numbers of the range *text*, lazily; None if it is not a range.

    Both ends belong to the range. Raises :exc:`ValueError` for a range without values.

    Examples
    --------
    >>> list(values_of("8..20:4")), values_of("64..512:log"), values_of("lws")
    ([8, 12, 16, 20], (64, 128, 256, 512), None)
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first, last, step = int(match[1]), int(match[2]), match[3] or "1"
    if step == "log":
        if not first:
            raise ValueError("a range that doubles cannot begin with 0")
        doubled = (first << power for power in range(last.bit_length()))
        found: Sequence[int] = tuple(value for value in doubled if value <= last)
    else:
        if not int(step):
            raise ValueError("the step of a range must be at least 1")
        found = range(first, last + 1, int(step))
    if not found:
        raise ValueError(f"the range is empty: {first} is more than {last}")
    return found
