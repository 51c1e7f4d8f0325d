"""Evidence: the independent comparisons that statements about schedulers rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.study.report.pairs import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.pairs import Pairs

__all__ = ["CONFIDENCE", "FEWEST", "Evidence"]

CONFIDENCE: Final = 0.95
"""Of intervals, and one minus the level of tests: what papers have."""
FEWEST: Final = 6
"""Pairs below which nothing is said: of five, all with the same sign, chance makes one set in 16
(2 / 2**5), which is more than 1 - :data:`CONFIDENCE`; of six, one in 32."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Blocks in which all schedulers were compared, of which one tells nothing about another.

    Runs that differ in the seed alone are repetitions of one configuration and no evidence about
    others. With enough configurations, these are the blocks, and what is said is about
    configurations like them. With few, runs are the blocks, and it is about these alone.

    Parameters
    ----------
    unit : {"configuration", "run"}
        What a block is.
    log_s : array of float, (blocks, schedulers)
        Natural logarithms of makespans; of configurations, means over seeds.
    configurations : int
        How many graphs x platforms x settings are in the blocks.
    seeds : int
        The most seeds of a configuration; 1 too if they change nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from tasksim.study.report.pairs import Pairs
    >>> from tasksim.study.report.table import StudyTable
    >>> rows = [(f"{s}{seed}", s, seed, 1.0 + seed) for s in "ab" for seed in range(3)]
    >>> frame = pd.DataFrame(rows, columns=["cell", "scheduler", "seed", "makespan_s"])
    >>> frame = frame.assign(graph="lu tiles=4", platform="p", status="done")
    >>> found = Evidence.of(Pairs.of(StudyTable.of(frame)))
    >>> found.unit, len(found), found.enough
    ('run', 3, False)
    """

    unit: Literal["configuration", "run"]
    log_s: NDArray[np.float64]
    configurations: int
    seeds: int

    @classmethod
    def of(cls, pairs: Pairs) -> Evidence:
        """Return the evidence that *pairs* give."""
        log_s = np.log(pairs.makespans_s)
        number, codes = np.unique(pairs.configuration, return_inverse=True)
        counts = np.bincount(codes, minlength=len(number))
        means = np.zeros((len(number), log_s.shape[1]))
        np.add.at(means, codes, log_s)
        means /= np.maximum(counts, 1)[:, None]
        seeds_count = np.abs(log_s - means[codes]).max(initial=0.0) > TIE
        seeds = int(counts.max(initial=0)) if seeds_count else min(len(log_s), 1)
        if len(number) < FEWEST and seeds > 1:
            return cls("run", log_s, len(number), seeds)
        return cls("configuration", means, len(number), seeds)

    def __len__(self) -> int:
        return len(self.log_s)

    @property
    def enough(self) -> bool:
        """Whether anything can be said at :data:`CONFIDENCE`."""
        return len(self) >= FEWEST

    @property
    def scope(self) -> str:
        """What the statements are about, in words."""
        if self.unit == "run":
            of = _count(self.configurations, "configuration")
            return f"{len(self)} pairs of runs of {of}, and of no others"
        seeds = f", means over {self.seeds} seeds" if self.seeds > 1 else ""
        return f"{_count(len(self), 'configuration')} (graph, platform, settings{seeds})"

    @property
    def lack(self) -> str:
        """Why nothing can be said, in words; nothing if :attr:`enough`."""
        if self.enough:
            return ""
        return (
            f"there are {_count(len(self), self.unit)} to compare in, and of fewer than {FEWEST} "
            f"any order is no surprise at {100 * CONFIDENCE:.0f} %: add "
            + ("seeds, graphs or platforms" if self.unit == "run" else "graphs, platforms or noise")
        )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
