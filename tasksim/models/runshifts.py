"""Runs that took longer or shorter than others for the same configurations.

A bogus run (another frequency, another program on the machine) fits as well as a good one and
misleads all the same, so this is to be looked at before fitting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.findings import Finding
from tasksim.models.quantiles import group_quantiles
from tasksim.models.residuals import MAD_TO_SD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["RunShifts", "run_shifts", "shifted_runs"]

SHIFT: Final = 0.05
SIGMAS: Final = 4.0
STEPS: Final = 10
SPREAD_RUNS: Final = 5
"""From so many runs on, what is usual between runs can be told."""


@dataclass(frozen=True, eq=False)
class RunShifts:
    """How much longer each run takes than the median run, in logarithms.

    Attributes
    ----------
    runs
        The numbers of the runs that share configurations with others.
    shift, error
        ln(this run / median run), and its standard error.
    usual
        The standard deviation between runs, from the median of their shifts; 0 where there are
        too few to tell.
    """

    runs: NDArray[np.int64]
    shift: NDArray[np.float64]
    error: NDArray[np.float64]
    usual: float

    @property
    def odd(self) -> NDArray[np.bool_]:
        """Which runs are off: by 5 % or more, and by 4 standard deviations of what is usual."""
        expected = np.sqrt(self.error**2 + self.usual**2)
        size = np.abs(self.shift)
        return np.asarray((size > np.log1p(SHIFT)) & (size > SIGMAS * expected))


def run_shifts(samples: Samples) -> RunShifts | None:
    """Return the shifts between runs of equal configurations; None where none are comparable.

    A two-way table, configuration by run, of median logarithms, taken apart by alternating
    medians (median polish; Tukey, Exploratory Data Analysis, 1977, chapter 11), so that one
    bogus run does not move the others. Nothing is left out as an outlier first: where there is
    little noise, all samples of a bogus run would be.
    """
    if samples.runs is None:
        return None
    group = samples.configurations()[1]
    kept = samples.runs >= 0
    if not kept.any():
        return None
    logs = np.log(samples.durations_s[kept])
    key = np.column_stack((group[kept], samples.runs[kept]))
    cells, cell = np.unique(key, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    shared = np.bincount(cells[:, 0])[cells[:, 0]] > 1
    if not shared.any():
        return None
    return _polished(cells, shared, _medians(logs, cell), np.bincount(cell), logs, cell)


def shifted_runs(samples: Samples) -> list[Finding]:
    """Return what is to be said about the runs of *samples*; no model is needed."""
    shifts = run_shifts(samples)
    if shifts is None:
        return []
    found = [_odd(shifts, index) for index in np.flatnonzero(shifts.odd).tolist()]
    if shifts.usual > SHIFT:
        found.append(
            Finding(
                "unsteady-runs",
                "note",
                f"runs of equal configurations differ by {shifts.usual:.0%} (standard deviation)",
                {"between_runs": shifts.usual, "runs": len(shifts.runs)},
                "look for what changes between runs: frequency, placement of threads, other users",
            )
        )
    return found


def _odd(shifts: RunShifts, index: int) -> Finding:
    change = float(np.expm1(shifts.shift[index]))
    run = int(shifts.runs[index])
    way = "longer" if change > 0 else "shorter"
    doubt = ", and with two runs nobody knows which is right" if len(shifts.runs) == 2 else ""
    return Finding(
        "shifted-run",
        "warning",
        f"run {run} took {abs(change):.0%} {way} than the others for equal configurations{doubt}",
        {
            "run": run,
            "shift": change,
            "standard_error": float(shifts.error[index]),
            "between_runs": shifts.usual,
        },
        "find out what was different, leave this run out or measure it again, then fit",
        (str(run),),
    )


def _polished(
    cells: NDArray[np.int64],
    shared: NDArray[np.bool_],
    typical: NDArray[np.float64],
    count: NDArray[np.intp],
    logs: NDArray[np.float64],
    cell: NDArray[np.intp],
) -> RunShifts:
    within = _within(logs - typical[cell], count[cell])
    _, row = np.unique(cells[shared, 0], return_inverse=True)
    runs, run = np.unique(cells[shared, 1], return_inverse=True)
    table, samples = typical[shared], count[shared]
    shift = np.zeros(len(runs))
    for _ in range(STEPS):
        level = _medians(table - shift[run], row)
        shift = _medians(table - level[row], run)
        shift -= np.sort(shift)[(len(shift) - 1) // 2]
    rest = table - level[row] - shift[run]
    freedom = max(len(rest) - len(level) - len(runs) + 1, 1)
    rest_sd = float(np.sqrt((rest**2).sum() / freedom))
    error = np.sqrt(within**2 / np.bincount(run, samples) + rest_sd**2 / np.bincount(run))
    usual = 0.0
    if len(runs) >= SPREAD_RUNS:
        spread = (MAD_TO_SD * float(np.median(np.abs(shift - np.median(shift))))) ** 2
        usual = float(np.sqrt(max(0.0, spread - float(np.median(error)) ** 2)))
    return RunShifts(runs, shift, np.sqrt(np.pi / 2) * error, usual)


def _within(rest: NDArray[np.float64], count: NDArray[np.intp]) -> float:
    """Return the standard deviation inside a run, of the samples that have company there.

    From their median absolute deviation: stalls do not count.
    """
    several = count > 1
    if not several.any():
        return 0.0
    scaled = rest[several] * np.sqrt(count[several] / (count[several] - 1))
    return MAD_TO_SD * float(np.median(np.abs(scaled)))


def _medians(values: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    return group_quantiles(values, groups, (0.5,))[:, 0]
