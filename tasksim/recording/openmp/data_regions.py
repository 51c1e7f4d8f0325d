"""Memory that data of a program lie in, and sizes of the data at its addresses."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["DataRegion", "fill", "guessed_sizes", "is_used"]

MAX_GAPS: Final = 8
"""Largest distance to the next address, in median distances, that counts as the size of a datum if
distances vary: a larger one leads to another array."""


@dataclass(frozen=True)
class DataRegion:
    """Memory of data that have a name."""

    name: str
    base: int
    size: int
    element: int = 8
    tile: tuple[int, int] | None = None
    leading: int | None = None
    datum: int | None = None

    def datum_at(self, offset: int) -> tuple[str, int] | None:
        """Return name and size of the datum at an offset; None if the map does not tell."""
        if self.tile is None:
            if self.datum is None:
                return None
            return f"{self.name}[{offset // self.datum}]", min(self.datum, self.size - offset)
        rows, columns = self.tile
        element = offset // self.element
        if self.leading is None:
            whole = rows * columns * self.element
            return f"{self.name}[{offset // whole}]", min(whole, self.size - offset)
        row, column = divmod(element, self.leading)
        last_row = -(-self.size // (self.leading * self.element))
        i, j = row // rows, column // columns
        height = min(rows, last_row - i * rows)
        width = min(columns, self.leading - j * columns)
        return f"{self.name}[{i}, {j}]", min(height * width * self.element, self.size)


def is_used(region: DataRegion, address: NDArray[np.uint64]) -> bool:
    """Return whether any address is within a region."""
    inside = (address >= region.base) & (address < region.base + region.size)
    return bool(inside.any())


def fill(
    address: NDArray[np.uint64],
    regions: Sequence[DataRegion],
    sizes: NDArray[np.int64],
    names: list[str],
) -> int:
    """Fill in sizes and names of the data in *regions*; return how many sizes remain guesses."""
    ordered = sorted(regions, key=lambda each: each.base)
    bases = [each.base for each in ordered]
    within: dict[str, list[int]] = {}
    outside = []
    for at, place in enumerate(address.tolist()):
        number = bisect_right(bases, place) - 1
        region = ordered[number] if number >= 0 else None
        if region is None or place >= region.base + region.size:
            outside.append(at)
            continue
        found = region.datum_at(place - region.base)
        if found is None:
            within.setdefault(region.name, []).append(at)
        else:
            names[at], sizes[at] = found
    guessed = len(outside)
    if len(outside) < len(address):
        sizes[outside] = guessed_sizes(address[outside])
    # Data without tiles: from one address to the next.
    for region in ordered:
        members = sorted(within.get(region.name, []), key=lambda at: int(address[at]))
        starts = [int(address[at]) for at in members]
        if starts == [region.base]:
            names[members[0]], sizes[members[0]] = region.name, region.size
            continue
        ends = [*starts[1:], region.base + region.size]
        for at, start, end in zip(members, starts, ends, strict=False):
            names[at], sizes[at] = f"{region.name}+{start - region.base}", end - start
        guessed += len(members)
    return guessed


def guessed_sizes(address: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return sizes in bytes guessed from the distances of addresses; 0 for a single one.

    A datum reaches to the next address. Where one distance is the rule, as with tiles of a matrix,
    no datum is larger than that.
    """
    if len(address) < 2:
        return np.zeros(len(address), np.int64)
    order = np.argsort(address)
    gaps = np.diff(address[order]).astype(np.int64)
    values, counts = np.unique(gaps, return_counts=True)
    usual = int(values[np.argmax(counts)])
    if 2 * int(counts.max()) < len(gaps):
        usual = int(np.median(gaps))
        largest = MAX_GAPS * usual
    else:
        largest = usual
    sizes = np.empty(len(address), np.int64)
    sizes[order] = np.append(np.where(gaps <= largest, gaps, usual), usual)
    return sizes
