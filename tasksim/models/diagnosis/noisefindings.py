"""Findings about outliers, spread, peaks and uneven noise of samples, and about odd runs.

A bogus run (another frequency, another program on the machine) fits as well as a good one but
misleads, so runs should be checked before fitting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import listed
from tasksim.base.extras import needed_for
from tasksim.models.diagnosis.findings import MAD_TO_SD, Finding, Residuals, spread_by_fitted
from tasksim.models.quantiles import group_means, group_medians

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.models.samples import Samples

__all__ = ["RunShifts", "noise_findings", "run_shifts", "shifted_runs"]

SIGNIFICANCE_LEVEL: Final = 1e-3
"""Significance level of each test; with some twenty tests, one clean model in fifty would have a
false finding if effects did not have to be large as well."""
OUTLIER_SHARE_THRESHOLD: Final = 0.05
"""Share of outliers above which they are a warning. Stalls are about ten times as long: one in
twenty makes the mean half as long again, which matters for an application that stalls, too."""
SPREAD_THRESHOLD: Final = 0.25
"""Spread that triggers a warning: that of an equal mixture of two kinds of tasks, one 1.7 times as
long, as a missing parameter with two values causes. Noise of native runs is 1 to 10 %."""
SPREAD_RATIO_THRESHOLDS: Final = (1.5, 2.5)
"""Ratios of spreads between short and long tasks for a note and for a warning. For three thirds of
30 normal samples, 8 of 100 exceed 1.5 by chance, which the test rejects, and 1 in 10 000 exceeds
2.5."""
MIN_SARLE_COEFFICIENT: Final = 0.6
"""Threshold of Sarle's coefficient, which is 5/9 for a uniform distribution. Of groups of 30 normal
samples, 0.9 % exceed it (at 0.5 12 %, at 0.7 0.02 %); of two peaks six deviations apart, 99 % (at
0.7 83 %); four deviations, 62 %. Most samples must be in such groups."""
MAX_KURTOSIS: Final = 2.5
"""Kurtosis below which two peaks are accepted; it is 1 for two points, 3 for a normal distribution.
Of groups of 30 normal samples with one in five far away, 27 % pass, and 45 % at 3."""
MIN_PEAKS_SAMPLES: Final = 100
"""Minimum number of samples to test together if no configuration has 30: of 20 000 groups of 100
normal ones, none has two peaks."""
MIN_PEAKS_SPREAD: Final = 0.05
"""Spread below which two groups are irrelevant: makespans change by less."""
MAX_ROUNDING: Final = 1e-9
"""Noise below which errors are rounding errors, and may all be equal."""
MIN_SAMPLES: Final = 30
"""Minimum number of samples: their standard deviation is known to 13 %."""


def noise_findings(res: Residuals) -> Iterator[Finding]:
    """Yield findings about noise, the variation of samples with equal parameters.

    If hardly any parameters were measured twice, deviations from the model are used instead.
    """
    share = res.dropped / (res.dropped + len(res.samples))
    if res.dropped:
        yield Finding(
            "outliers",
            "warning" if share > OUTLIER_SHARE_THRESHOLD else "note",
            f"{res.dropped} samples ({100 * share:.2f} %) are far out of their configuration's "
            "quartiles and were dropped",
            {"dropped": res.dropped, "share": share},
            "if the application has such stalls as well, predictions are too short by them"
            if share > OUTLIER_SHARE_THRESHOLD
            else "",
        )
    noise = res.noise[np.isfinite(res.noise)]
    if len(noise) >= MIN_SAMPLES:
        yield from _wide(res, noise)
        yield from _two_peaks(res)
        yield from _uneven(res)
        yield from _not_normal(noise)


def _wide(res: Residuals, noise: Floats) -> Iterator[Finding]:
    spread = float(noise.std())
    if spread <= SPREAD_THRESHOLD:
        return
    message = (
        f"samples differ from the model by {100 * spread:.0f} % (standard deviation), and hardly "
        "any configuration was measured twice: noise and model error are indistinguishable"
    )
    advice = "measure some configurations several times"
    if res.repeated:
        message = (
            f"samples of equal parameters differ by {100 * spread:.0f} % (standard deviation): "
            "noise, or a parameter is missing that nobody recorded"
        )
        advice = (
            "look at the distribution per configuration: several peaks are several kinds of task"
        )
    yield Finding("wide-spread", "warning", message, {"noise": spread}, advice)


def _two_peaks(res: Residuals) -> Iterator[Finding]:
    """Yield a finding if the errors within most configurations have two peaks.

    The criterion is Sarle's coefficient, (skewness² + 1) / kurtosis: 1/3 for a normal distribution,
    5/9 for a uniform one, 1 for two points (SAS/STAT User's Guide, the CLUSTER procedure). A few
    distant samples increase it, too, but with a large kurtosis. Configurations with 30 samples or
    more are tested; if there are none, all samples together.
    """
    known = np.isfinite(res.noise)
    noise, group = res.noise[known], res.group[known]
    many = np.bincount(group)[group] >= MIN_SAMPLES
    if not many.any():
        many, group = np.full(len(noise), len(noise) >= MIN_PEAKS_SAMPLES), np.zeros_like(group)
    if not many.any():
        return
    noise, (_, group) = noise[many], np.unique(group[many], return_inverse=True)
    centred = noise - group_means(noise, group)[group]
    second, third, fourth = (group_means(centred**power, group) for power in (2, 3, 4))
    second = np.maximum(second, 1e-300)
    flat = fourth / second**2
    coefficient = (third**2 / second**3 + 1) / np.maximum(flat, 1e-300)
    two = (coefficient > MIN_SARLE_COEFFICIENT) & (flat < MAX_KURTOSIS)
    spread, peaks = float(centred.std()), float(two[group].mean())
    if spread < MIN_PEAKS_SPREAD or peaks < 0.5:
        return
    yield Finding(
        "two-peaks",
        "warning",
        f"{'samples of equal parameters' if res.repeated else 'errors of the samples'} fall "
        f"into two groups (spread {100 * spread:.0f} %): two kinds of tasks, two machines, or two "
        "states of one",
        {"share": peaks, "noise": spread},
        "find out what tells the groups apart, and make it a parameter or fit them apart",
    )


def _uneven(res: Residuals) -> Iterator[Finding]:
    """Yield a finding if noise depends on the duration (T. S. Breusch and A. R. Pagan, 1979)."""
    with needed_for("the diagnosis of a model"):
        from statsmodels.stats.diagnostic import het_breuschpagan

    known = np.isfinite(res.noise)
    noise, logs = res.noise[known], np.log(res.predicted_s[known])
    if np.ptp(logs) < np.log(2) or np.ptp(noise) < MAX_ROUNDING:
        return
    pvalue = float(het_breuschpagan(noise, np.column_stack((logs * 0 + 1, logs)))[1])
    _, spread, count = spread_by_fitted(res, 3)
    spread = spread[count >= MIN_SAMPLES // 3]
    if pvalue > SIGNIFICANCE_LEVEL or len(spread) < 2 or spread.min() <= 0:
        return
    ratio = float(spread.max() / spread.min())
    if ratio < SPREAD_RATIO_THRESHOLDS[0]:
        return
    evidence = {"ratio": ratio, "p_value": pvalue}
    if res.absolute:
        yield Finding(
            "absolute-errors",
            "note",
            "the model was fitted to absolute errors, and these grow with the duration: long "
            f"tasks decide the fit (their errors are {ratio:.2g} times larger)",
            evidence,
            "fit with weights 'relative'",
        )
        return
    longer = "long" if spread[-1] > spread[0] else "short"
    yield Finding(
        "uneven-noise",
        "warning" if ratio > SPREAD_RATIO_THRESHOLDS[1] else "note",
        f"{longer} tasks are noisier: the relative spread differs by a factor {ratio:.2g} "
        "over the durations",
        evidence,
        "means are right, but a model with one spread for all draws wrong variations; "
        "history keeps the spread of each configuration",
    )


def _not_normal(noise: Floats) -> Iterator[Finding]:
    from scipy.stats import kurtosis, skew

    tails, tilt = float(kurtosis(noise)), float(skew(noise))
    if tails < 2 and abs(tilt) < 1:
        return
    yield Finding(
        "not-normal",
        "note",
        f"errors are not normal (skewness {tilt:.2g}, excess kurtosis {tails:.2g}): look at "
        "the Q-Q plot; several kinds of tasks or rare stalls bend it",
        {"skewness": tilt, "kurtosis": tails},
        "do not read too much into the intervals of the coefficients",
    )


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

    runs: Ints
    shift: Floats
    error: Floats
    samples: Floats
    usual: float

    @property
    def odd(self) -> Bools:
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
    if samples.runs is None or not (kept := samples.runs >= 0).any():
        return None
    logs = np.log(samples.durations_s[kept])
    key = np.column_stack((samples.configurations()[1][kept], samples.runs[kept]))
    cells, cell = np.unique(key, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    shared = np.bincount(cells[:, 0])[cells[:, 0]] > 1
    if not shared.any():
        return None
    typical, count = group_medians(logs, cell), np.bincount(cell)
    # The standard deviation within runs, robust to stalls: by the median absolute deviation.
    size = count[cell]
    rest = (logs - typical[cell])[size > 1] * np.sqrt(size[size > 1] / (size[size > 1] - 1))
    within = MAD_TO_SD * float(np.median(np.abs(rest))) if len(rest) else 0.0
    _, row = np.unique(cells[shared, 0], return_inverse=True)
    runs, run = np.unique(cells[shared, 1], return_inverse=True)
    table = typical[shared]
    shift = np.zeros(len(runs))
    for _ in range(POLISH_ITERATIONS):
        level = group_medians(table - shift[run], row)
        shift = group_medians(table - level[row], run)
        shift -= np.sort(shift)[(len(shift) - 1) // 2]
    rest = table - level[row] - shift[run]
    freedom = max(len(rest) - len(level) - len(runs) + 1, 1)
    rest_sd = float(np.sqrt((rest**2).sum() / freedom))
    by_run = np.bincount(run, count[shared]).astype(np.float64)
    error = np.sqrt(within**2 / by_run + rest_sd**2 / np.bincount(run))
    usual = 0.0
    if len(runs) >= MIN_SPREAD_RUNS:
        spread = (MAD_TO_SD * float(np.median(np.abs(shift - np.median(shift))))) ** 2
        usual = float(np.sqrt(max(0.0, spread - float(np.median(error)) ** 2)))
    return RunShifts(runs, shift, np.sqrt(np.pi / 2) * error, by_run, usual)


def shifted_runs(samples: Samples) -> Iterator[Finding]:
    """Yield findings about the runs of *samples*; no model is needed."""
    shifts = run_shifts(samples)
    if shifts is None:
        return
    if shifts.odd.any():
        yield _odd(shifts)
    if shifts.usual > MIN_SHIFT:
        yield Finding(
            "unsteady-runs",
            "note",
            f"runs of equal configurations differ by {100 * shifts.usual:.0f} % "
            "(standard deviation)",
            {"between_runs": shifts.usual, "runs": len(shifts.runs)},
            "look for what changes between runs: frequency, placement of threads, other users",
        )


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


def _took(names: tuple[str, ...], change: Floats) -> str:
    """Return text on how much longer or shorter the runs took."""
    word = "longer" if change[0] > 0 else "shorter"
    if len(names) == 1:
        return f"run {names[0]} took {100 * abs(change[0]):.0f} % {word}"
    return f"runs {listed(names, MAX_LISTED_RUNS)} took up to {100 * abs(change[0]):.0f} % {word}"
