"""Ranges of whole numbers in texts: ``8..20``, in steps ``8..20:4``, doubling ``64..512:log``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["values_of"]

_RANGE: Final = re.compile(r"\s*(\d{1,18})\s*\.\.\s*(\d{1,18})\s*(?::\s*(\d{1,18}|log)\s*)?")


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
