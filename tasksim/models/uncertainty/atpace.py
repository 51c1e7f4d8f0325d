"""Runs at a pace: how slow they are where the machine works at it, and how far that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.uncertainty.spread import student_stretch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["MANY_RUNS", "AtPace"]

MANY_RUNS: Final = 40
"""Of fewer, the one in forty that is shortest or longest was not seen: they are taken for normal,
with Student's doubt."""
MOST_BLOCKS: Final = 10
"""Runs that follow each other are alike, those of different blocks less so."""


@dataclass(frozen=True, eq=False)
class AtPace:
    """Logarithms of how slow runs at a pace are, and what is not known of that.

    Attributes
    ----------
    level
        What is said of the pace.
    rest
        Sorted, how far off that runs like these were.
    doubts
        Deviations of the level: one that few blocks of runs tell, and others that are given.
    freedom
        From how many degrees of freedom the first is known.
    """

    level: float
    rest: Array
    doubts: tuple[float, ...]
    freedom: int

    @classmethod
    def of(cls, level: float, rest: Array, *others: float) -> AtPace:
        """Return it by what runs left in order of time, with *others*, deviations of the level."""
        blocks = min(MOST_BLOCKS, len(rest) // 3)
        means = np.array([block.mean() for block in np.array_split(rest, blocks)])
        doubt = float(means.std(ddof=1) / blocks**0.5)
        return cls(level, np.sort(rest), (doubt, *others), blocks - 1)

    @property
    def expected(self) -> float:
        """How slow runs are in the middle."""
        return self.level + float(np.median(self.rest))

    def drawn_level(self, rng: np.random.Generator) -> float:
        """Return a draw of the level, as other runs may have said."""
        stretch = np.ones(len(self.doubts))
        stretch[0] = student_stretch(np.array([float(self.freedom)]), rng)[0]
        deviations = stretch * np.array(self.doubts)
        return self.level + float(deviations @ rng.standard_normal(len(self.doubts)))

    def drawn_rest(self, rng: np.random.Generator) -> float:
        """Return a draw of how far one run is off that."""
        count = len(self.rest)
        if count < MANY_RUNS:
            stretch = student_stretch(np.array([count - 2.0]), rng)[0]
            return float(self.rest.mean() + self.rest.std() * stretch * rng.standard_normal())
        levels = np.arange(1, count + 1) / (count + 1)
        return float(np.interp(rng.random(), levels, self.rest))
