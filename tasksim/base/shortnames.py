"""Names of kernels, workers, memories and runs, as short as figures and tables need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NAME_LETTERS", "distinct", "shortened"]

NAME_LETTERS: Final = 40
"""Maximum length of the name of a kernel in a legend, which then has three columns."""


def shortened(text: str, most: int = NAME_LETTERS) -> str:
    r"""Return *text* without its middle if it is longer than *most*; without tabs and line breaks.

    >>> shortened("a\tb", 9), shortened("abcdefghij", 7)
    ('a b', 'abc…hij')
    """
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else " " for letter in text)
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def distinct(names: Sequence[str], most: int) -> list[str]:
    """Return *names* without the middles of those longer than *most*, still told apart.

    >>> distinct(["update<double>(Tile)", "scale<double>(Tile)", "copy"], 9)
    ['upda…ile)', 'scal…ile)', 'copy']
    >>> distinct(["update<double>(Tile)", "update<single>(Tile)"], 9)
    ['update<d…e>(Tile)', 'update<s…e>(Tile)']
    """
    found = list(names)
    while most < max(map(len, names), default=0):
        found = [name if len(name) <= most else shortened(name, most) for name in names]
        if len(set(found)) == len(set(names)):
            return found
        most += 2
    return list(names)
