"""Cells that differ only in the scheduler, under common random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.study.report.axes import ordered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.table import StudyTable

__all__ = ["TIE_TOLERANCE", "PairedMakespans"]

TIE_TOLERANCE: Final = 1e-9
"""Relative difference up to which two makespans are a tie: sums of a million rounded durations
differ by less, and no measurement is as exact."""


@dataclass(frozen=True, eq=False)
class PairedMakespans:
    """Makespans of several schedulers in groups of the same graph, platform, settings and seed.

    Only groups in which every compared scheduler has a makespan are kept.

    Parameters
    ----------
    schedulers : tuple of str
        Schedulers with a makespan in at least one group.
    makespans_s : array of float, (groups, schedulers)
    bounds_s : array of float, (groups, schedulers)
        Lower bounds of the runs; NaN for runs without one.
    known_s : array of float, (groups, schedulers)
        Best known makespans of their graphs; NaN where nothing but the runs is known.
    cells : array of str, (groups, schedulers)
    configuration : array of int, (groups,)
        Number of the graph, platform and settings; groups that differ only in the seed share it.
    failed : array of bool, (groups that every scheduler has tried, schedulers)
        Whether a scheduler failed while another did not; for profiles.
    ratios_with_failures : array of float, as *failed*
        Ratios of the makespans to the best of the group; infinite for failures.
    incomplete : int
        Number of groups left out because a scheduler has no makespan.
    absent : tuple of str
        Schedulers without any makespan.

    See Also
    --------
    tasksim.study.report.tournament.standings : Wins and ratios of the schedulers.
    """

    schedulers: tuple[str, ...]
    makespans_s: NDArray[np.float64]
    bounds_s: NDArray[np.float64]
    known_s: NDArray[np.float64]
    cells: NDArray[np.object_]
    configuration: NDArray[np.int64]
    failed: NDArray[np.bool_]
    ratios_with_failures: NDArray[np.float64]
    incomplete: int
    absent: tuple[str, ...]

    @classmethod
    def of(cls, table: StudyTable) -> PairedMakespans:
        """Return the pairs of a study's *table*.

        Examples
        --------
        >>> import pandas as pd
        >>> from tasksim.study.report.table import StudyTable
        >>> rows = [("a", "eager", 0, 2.0), ("b", "lws", 0, 1.0), ("c", "eager", 1, 2.0)]
        >>> frame = pd.DataFrame(rows, columns=["cell", "scheduler", "seed", "makespan_s"])
        >>> frame = frame.assign(graph="lu tiles=4", platform="p", status="done")
        >>> pairs = PairedMakespans.of(StudyTable.of(frame))
        >>> pairs.schedulers, pairs.makespans_s.tolist(), pairs.incomplete
        (('eager', 'lws'), [[2.0, 1.0]], 1)
        """
        rows = table.frame
        present = set(rows.loc[rows["used"], "scheduler"])
        schedulers = tuple(ordered(present))
        absent = tuple(name for name in table.schedulers if name not in present)
        compared = rows[rows["scheduler"].isin(present)].reset_index(drop=True)
        place = {name: number for number, name in enumerate(schedulers)}
        column = compared["scheduler"].map(place).to_numpy(dtype=np.int64)
        seeds = [axis for axis in table.axes if axis.name == "seed"]
        code = table.code(compared, [*table.configuration, *seeds])
        shape = (int(code.max()) + 1 if len(code) else 0, len(schedulers))

        def spread(name: str, empty: float | str) -> NDArray[np.object_]:
            values = np.full(shape, empty, dtype=object)
            values[code, column] = compared[name].to_numpy(dtype=object)
            return values

        known = spread("used", False).astype(bool)
        makespans_s = np.where(known, spread("makespan_s", np.nan).astype(float), np.nan)

        def numbers(name: str) -> NDArray[np.float64]:
            if name not in compared:
                return np.full(shape, np.nan)
            return spread(name, np.nan).astype(float)

        configuration = np.zeros(shape[0], dtype=np.int64)
        configuration[code] = table.code(compared, table.configuration)
        whole = known.all(axis=1)
        tried = np.zeros(shape, dtype=bool)
        tried[code, column] = True
        answered = tried.all(axis=1) & known.any(axis=1)
        or_failed_s = np.where(known, makespans_s, np.inf)[answered]
        return cls(
            schedulers,
            makespans_s[whole],
            numbers("lower_bound_s")[whole],
            numbers("best_known_s")[whole],
            spread("cell", "")[whole],
            configuration[whole],
            ~known[answered],
            or_failed_s / _best_of(or_failed_s),
            int((~whole).sum()),
            absent,
        )

    def __len__(self) -> int:
        return len(self.makespans_s)

    @property
    def ratios(self) -> NDArray[np.float64]:
        """Ratios of the makespans to the best of their group, at least 1."""
        ratios: NDArray[np.float64] = self.makespans_s / _best_of(self.makespans_s)
        return ratios

    @property
    def best(self) -> NDArray[np.bool_]:
        """Whether each scheduler is the best of the group, or ties with the best."""
        return self.ratios <= 1.0 + TIE_TOLERANCE


def _best_of(makespans_s: NDArray[np.float64]) -> NDArray[np.float64]:
    best: NDArray[np.float64] = makespans_s.min(axis=1, keepdims=True, initial=np.inf)
    return best
