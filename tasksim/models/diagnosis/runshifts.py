"""Run shifts: runs that took longer or shorter than others for the same configurations.

A bogus run (another frequency, another program on the machine) fits as well as a good one but
misleads, so runs should be checked before fitting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.diagnosis.findings import Finding
from tasksim.models.diagnosis.residuals import MAD_TO_SD
from tasksim.models.quantiles import group_quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["RunShifts", "run_shifts", "shifted_runs"]

MIN_SHIFT: Final = 0.05
"""Smallest relevant shift of a run: a smaller one changes the mean of ten runs by half a
percent."""
ODD_DEVIATIONS: Final = 4.0
"""Standard deviations from which a run is odd: of a hundred runs, one deviates by 4 by chance in
one of 160 cases."""
POLISH_ITERATIONS: Final = 10
"""Number of iterations of the median polish, the maximum in R's medpolish."""
MAX_LISTED_RUNS: Final = 5
"""Maximum number of runs listed in a message: one line of a terminal."""
WARNING_SAMPLE_SHARE: Final = 0.05
"""Share of the samples from which odd runs are a warning, one in twenty ..."""
WARNING_MEAN_CHANGE: Final = 0.005
"""... or the change of the mean from which they are, half the tolerance of calibrations."""
MIN_SPREAD_RUNS: Final = 5
"""Minimum number of runs to estimate the usual variation: the median of their deviations is then
not that of the odd one."""


@dataclass(frozen=True, eq=False)
class RunShifts:
    """Log ratios of the duration of each run to that of the median run.

    Attributes
    ----------
    runs
        The numbers of the runs that share configurations with others.
    shift, error
        ln(this run / median run), and its standard error.
    samples
        Number of samples of each run.
    usual
        The standard deviation between runs, from the median of their shifts; 0 if there are
        too few.
    """

    runs: NDArray[np.int64]
    shift: NDArray[np.float64]
    error: NDArray[np.float64]
    samples: NDArray[np.float64]
    usual: float

    @property
    def odd(self) -> NDArray[np.bool_]:
        """Which runs are odd: shifted by 5 % or more, and by 4 usual standard deviations."""
        expected = np.sqrt(self.error**2 + self.usual**2)
        size = np.abs(self.shift)
        return np.asarray((size > np.log1p(MIN_SHIFT)) & (size > ODD_DEVIATIONS * expected))


def run_shifts(samples: Samples) -> RunShifts | None:
    """Return the shifts between runs of equal configurations; None if none are comparable.

    The two-way table of median logarithms, configuration by run, is decomposed by alternating
    medians (median polish; Tukey, Exploratory Data Analysis, 1977, chapter 11), so that one
    bogus run does not affect the others. Outliers are kept: with little noise,
    all samples of a bogus run would be outliers.
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
    """Return findings about the runs of *samples*; no model is needed."""
    shifts = run_shifts(samples)
    if shifts is None:
        return []
    found = [_odd(shifts)] if shifts.odd.any() else []
    if shifts.usual > MIN_SHIFT:
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


def _odd(shifts: RunShifts) -> Finding:
    """Return one finding for all odd runs; a note if they are few among many."""
    odd = np.flatnonzero(shifts.odd)
    odd = odd[np.argsort(-np.abs(shifts.shift[odd]), kind="stable")]
    names = tuple(str(run) for run in shifts.runs[odd].tolist())
    share = float(shifts.samples[odd].sum() / shifts.samples.sum())
    change = np.expm1(shifts.shift)
    moved = abs(float((shifts.samples * change)[odd].sum() / shifts.samples.sum()))
    return Finding(
        "shifted-run",
        "warning" if share >= WARNING_SAMPLE_SHARE or moved >= WARNING_MEAN_CHANGE else "note",
        f"{_took(names, change[odd])} than the others for equal configurations"
        + (", and with two runs it is unknown which one is right" if len(shifts.runs) == 2 else ""),
        {
            "runs": len(names),
            "share_of_samples": share,
            "largest_shift": float(change[odd[0]]),
            "standard_error": float(shifts.error[odd[0]]),
            "between_runs": shifts.usual,
            "change_of_mean": moved,
        },
        "find out what was different, leave such runs out or measure them again, then fit",
        names,
    )


def _took(names: tuple[str, ...], change: NDArray[np.float64]) -> str:
    """Return text on how much longer or shorter the runs took."""
    word = "longer" if change[0] > 0 else "shorter"
    if len(names) == 1:
        return f"run {names[0]} took {abs(change[0]):.0%} {word}"
    more = f" and {len(names) - MAX_LISTED_RUNS} more" if len(names) > MAX_LISTED_RUNS else ""
    return f"runs {', '.join(names[:MAX_LISTED_RUNS])}{more} took up to {abs(change[0]):.0%} {word}"


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
    for _ in range(POLISH_ITERATIONS):
        level = _medians(table - shift[run], row)
        shift = _medians(table - level[row], run)
        shift -= np.sort(shift)[(len(shift) - 1) // 2]
    rest = table - level[row] - shift[run]
    freedom = max(len(rest) - len(level) - len(runs) + 1, 1)
    rest_sd = float(np.sqrt((rest**2).sum() / freedom))
    by_run = np.bincount(run, samples).astype(np.float64)
    error = np.sqrt(within**2 / by_run + rest_sd**2 / np.bincount(run))
    usual = 0.0
    if len(runs) >= MIN_SPREAD_RUNS:
        spread = (MAD_TO_SD * float(np.median(np.abs(shift - np.median(shift))))) ** 2
        usual = float(np.sqrt(max(0.0, spread - float(np.median(error)) ** 2)))
    return RunShifts(runs, shift, np.sqrt(np.pi / 2) * error, by_run, usual)


def _within(rest: NDArray[np.float64], count: NDArray[np.intp]) -> float:
    """Return the standard deviation within runs, of samples of repeated configurations.

    It is estimated by the median absolute deviation, which is robust to stalls.
    """
    several = count > 1
    if not several.any():
        return 0.0
    scaled = rest[several] * np.sqrt(count[several] / (count[several] - 1))
    return MAD_TO_SD * float(np.median(np.abs(scaled)))


def _medians(values: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    return group_quantiles(values, groups, (0.5,))[:, 0]
