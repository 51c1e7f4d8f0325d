"""Independent blocks of a comparison, the evidence for statements about schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.base.units import counted
from tasksim.study.report.pairs import TIE_TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.pairs import PairedMakespans

__all__ = ["CONFIDENCE_LEVEL", "MIN_BLOCKS", "Evidence"]

CONFIDENCE_LEVEL: Final = 0.95
"""Confidence level of intervals, and one minus the significance level of tests, as in most
papers."""
MIN_BLOCKS: Final = 6
"""Minimum number of blocks for a verdict: by chance, five differences have the same sign once in 16
times (2 / 2**5), which is more often than 1 - :data:`CONFIDENCE_LEVEL`; six have it once in 32
times."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Independent blocks in which all schedulers were compared.

    Runs that differ only in their seed are replications of one configuration, and no evidence about
    others. With enough configurations, configurations are the blocks, and statements hold for
    configurations like them. With few, runs are the blocks, and statements hold only for these
    configurations.

    Parameters
    ----------
    unit : {"configuration", "run"}
        Kind of the blocks.
    log_s : array of float, (blocks, schedulers)
        Natural logarithms of makespans; means over seeds if the blocks are configurations.
    configurations : int
        Number of configurations (graph x platform x settings) in the blocks.
    seeds : int
        Largest number of seeds of a configuration; 1 if seeds change nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from tasksim.study.report.pairs import PairedMakespans
    >>> from tasksim.study.report.table import StudyTable
    >>> rows = [(f"{s}{seed}", s, seed, 1.0 + seed) for s in "ab" for seed in range(3)]
    >>> frame = pd.DataFrame(rows, columns=["cell", "scheduler", "seed", "makespan_s"])
    >>> frame = frame.assign(graph="lu tiles=4", platform="p", status="done")
    >>> found = Evidence.of(PairedMakespans.of(StudyTable.of(frame)))
    >>> found.unit, len(found), found.enough
    ('run', 3, False)
    """

    unit: Literal["configuration", "run"]
    log_s: NDArray[np.float64]
    configurations: int
    seeds: int

    @classmethod
    def of(cls, pairs: PairedMakespans) -> Evidence:
        """Return the evidence in *pairs*."""
        log_s = np.log(pairs.makespans_s)
        number, codes = np.unique(pairs.configuration, return_inverse=True)
        counts = np.bincount(codes, minlength=len(number))
        means = np.zeros((len(number), log_s.shape[1]))
        np.add.at(means, codes, log_s)
        means /= np.maximum(counts, 1)[:, None]
        seeds_count = np.abs(log_s - means[codes]).max(initial=0.0) > TIE_TOLERANCE
        seeds = int(counts.max(initial=0)) if seeds_count else min(len(log_s), 1)
        if len(number) < MIN_BLOCKS and seeds > 1:
            return cls("run", log_s, len(number), seeds)
        return cls("configuration", means, len(number), seeds)

    def __len__(self) -> int:
        return len(self.log_s)

    @property
    def enough(self) -> bool:
        """Whether there are enough blocks for statements at :data:`CONFIDENCE_LEVEL`."""
        return len(self) >= MIN_BLOCKS

    @property
    def scope(self) -> str:
        """Scope of the statements, in words."""
        if self.unit == "run":
            of = counted(self.configurations, "configuration")
            return f"{len(self)} pairs of runs of {of}, and of no others"
        seeds = f", means over {self.seeds} seeds" if self.seeds > 1 else ""
        return f"{counted(len(self), 'configuration')} (graph, platform, settings{seeds})"

    @property
    def lack(self) -> str:
        """Reason why no statement is possible, in words; ``""`` if :attr:`enough`."""
        if self.enough:
            return ""
        return (
            f"there {'is' if len(self) == 1 else 'are'} {counted(len(self), self.unit)} to "
            "compare in, and with fewer than "
            f"{MIN_BLOCKS} any order may be chance at {100 * CONFIDENCE_LEVEL:.0f} %: add "
            + ("seeds, graphs or platforms" if self.unit == "run" else "graphs, platforms or noise")
        )
