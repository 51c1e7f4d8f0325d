"""Physical limits of measurements: finds disturbed values and their least error."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TooLow", "disturbed_text", "low_rates"]


class TooLow(NamedTuple):
    """A rate below its physical limit: disturbances only lower rates.

    Attributes
    ----------
    cores
        Number of cores of the rate.
    off_by
        Least relative error.
    text
        Description of the broken limit.
    """

    cores: int
    off_by: float
    text: str


def low_rates(rates: Sequence[float]) -> list[TooLow]:
    """Return the *rates* of 1, 2, ... cores together that are too low.

    More cores together have no lower rate than fewer, and each of them no higher one than a core
    alone.

    Examples
    --------
    >>> [(low.cores, low.text) for low in low_rates([20e9, 13e9])]
    [(2, '2 cores together get 13 GB/s, and 1 gets 20')]
    >>> [(low.cores, low.text) for low in low_rates([2e9, 26e9])]
    [(1, '1 core gets 2 GB/s, and each of 2 gets 13')]
    """
    found = []
    for fewer, (less, more) in enumerate(pairwise(rates), 1):
        if more < less:
            verb = "get" if fewer > 1 else "gets"
            text = (
                f"{fewer + 1} cores together get {_giga(more)} GB/s, and {fewer} {verb} "
                f"{_giga(less)}"
            )
            found.append(TooLow(fewer + 1, 1 - more / less, text))
    for cores, together in enumerate(rates[1:], 2):
        each = together / cores
        if each > rates[0]:
            text = f"1 core gets {_giga(rates[0])} GB/s, and each of {cores} gets {_giga(each)}"
            found.append(TooLow(1, 1 - rates[0] / each, text))
    return found


def disturbed_text(off_by: float, text: str) -> str:
    """Return the message for a value that breaks the limit described by *text*.

    >>> disturbed_text(1 / 3, "2 cores together get 6 GB/s, and 1 gets 9")
    'disturbed, off by 33 % at least: 2 cores together get 6 GB/s, and 1 gets 9'
    """
    return f"disturbed, off by {100 * off_by:.2g} % at least: {text}"


def _giga(rate: float) -> str:
    return f"{rate / 1e9:.3g}"
