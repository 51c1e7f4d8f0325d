"""Numerals: decimal numbers as people write them, and nothing else that Python or YAML reads.

``010`` is eight to YAML and ten to Python, ``1_0`` ten to both, and ``1:30`` ninety; to people
they are questions. So they are no numbers here, nor are digits of other scripts.
"""

from __future__ import annotations

import math
import re
from typing import Final

__all__ = ["LEGAL", "decimal_number", "is_plain", "plain_float", "whole_number"]

LEGAL: Final = "decimal digits, without 0 before them, '_' or ':' between them"
"""What numerals are, for messages."""

_WHOLE: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,39})")  # int() refuses thousands of digits
_DECIMAL: Final = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?"
)


def whole_number(text: str) -> int | None:
    """Return the whole number that *text* is, or None.

    See Also
    --------
    decimal_number : with fractions and exponents.

    Examples
    --------
    >>> whole_number("10"), whole_number("010"), whole_number("1_0"), whole_number("1e1")
    (10, None, None, None)
    """
    return int(text) if _WHOLE.fullmatch(text) else None


def decimal_number(text: str) -> float | None:
    """Return the finite number that *text* is, or None.

    See Also
    --------
    whole_number : exactly, however large.

    Examples
    --------
    >>> decimal_number("1e1"), decimal_number(".5"), decimal_number("010"), decimal_number("1e400")
    (10.0, 0.5, None, None)
    """
    value = float(text) if _DECIMAL.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def is_plain(text: str) -> bool:
    """Return whether *text* has neither ``_`` nor digits of other scripts, which Python reads.

    For tables that tools wrote, where time matters and ``007.5`` is no question.
    """
    return text.isascii() and "_" not in text


def plain_float(text: str) -> float:
    """Return what ``float`` makes of a *text* that :func:`is_plain`, maybe NaN or infinity.

    Raises :exc:`ValueError` for any other text.
    """
    if not is_plain(text):
        raise ValueError(text)
    return float(text)
