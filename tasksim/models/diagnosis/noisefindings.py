"""Noise in the samples, as findings: outliers, wide spread, two peaks, uneven noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.diagnosis.findings import Finding
from tasksim.models.diagnosis.residuals import Residuals, spread_by_fitted
from tasksim.models.groups import group_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["noise_findings"]

LEVEL: Final = 1e-3
"""Of each test; some twenty are made, so that one clean model in fifty would have a false finding
if it had not to be large as well."""
DROPPED: Final = 0.05
"""Of the samples. Stalls are some ten times as long: one in twenty makes the mean half as long
again, which an application that stalls too would feel."""
WIDE: Final = 0.25
"""The spread of a mixture of two kinds of task, as many of each, one 1.7 times as long: what a
missing parameter with two values does. Noise natively is 1 to 10 %."""
UNEVEN: Final = (1.5, 2.5)
"""Ratios of spreads between short and long tasks from which there is a note, a warning. Of three
thirds of 30 normal samples, 8 of 100 are beyond 1.5 by chance, which the test refuses, and 1 in 10
000 beyond 2.5."""
PEAKS: Final = 0.6
"""Of Sarle's coefficient, 5/9 for a uniform distribution. Of 30 normal samples, 0.9 % of groups
are above it (at 0.5 12 %, at 0.7 0.02 %), of two groups that are six deviations apart 99 % (at 0.7
83 %), four deviations 62 %; most samples must be in such groups."""
FLAT: Final = 2.5
"""The kurtosis below which two peaks are believed, 1 for two points, 3 for a normal distribution:
of normal samples with one in five far away, 27 % of groups of 30 pass, and 45 % at 3."""
PEAKS_SAMPLES: Final = 100
"""Samples that are looked at together if no configuration has 30: of 100 normal ones none of 20
000 groups has two peaks."""
PEAKS_SPREAD: Final = 0.05
"""Groups nearer than that do not matter: no makespan changes by more."""
LARGEST_ROUNDING: Final = 1e-9
"""Noise below which errors are those of rounding, which say nothing, and may be all equal."""
LEAST_SAMPLES: Final = 30
"""A standard deviation of so many is known to 13 %."""


def noise_findings(res: Residuals) -> list[Finding]:
    """Return findings on the noise: how samples of equal parameters differ.

    Where hardly any parameters were measured twice, how samples differ from the model.
    """
    found = []
    share = res.dropped / (res.dropped + len(res.samples))
    if res.dropped:
        found.append(
            Finding(
                "outliers",
                "warning" if share > DROPPED else "note",
                f"{res.dropped} samples ({share:.2%}) are far out of their configuration's "
                "quartiles and were dropped",
                {"dropped": res.dropped, "share": share},
                "if the application has such stalls as well, predictions are too short by them"
                if share > DROPPED
                else "",
            )
        )
    noise = res.noise[np.isfinite(res.noise)]
    if len(noise) >= LEAST_SAMPLES:
        found += [*_wide(res, noise), *_two_peaks(res), *_uneven(res), *_not_normal(noise)]
    return found


def _wide(res: Residuals, noise: NDArray[np.float64]) -> list[Finding]:
    spread = float(noise.std())
    if spread <= WIDE:
        return []
    if not res.repeated:
        return [
            Finding(
                "wide-spread",
                "warning",
                f"samples differ from the model by {spread:.0%} (standard deviation), and hardly "
                "any configuration was measured twice: noise and what the model does not know "
                "cannot be told apart",
                {"noise": spread},
                "measure some configurations several times",
            )
        ]
    return [
        Finding(
            "wide-spread",
            "warning",
            f"samples of equal parameters differ by {spread:.0%} (standard deviation): noise, or "
            "a parameter is missing that nobody recorded",
            {"noise": spread},
            "look at the distribution per configuration: several peaks are several kinds of task",
        )
    ]


def _two_peaks(res: Residuals) -> list[Finding]:
    """Return a finding if the errors within most configurations have two peaks.

    By Sarle's coefficient, (skewness² + 1) / kurtosis: 1/3 for a normal distribution, 5/9 for a
    uniform one, 1 for two points (SAS/STAT User's Guide, the CLUSTER procedure). Few far samples
    make it large too, but with a large kurtosis. Of configurations with 30 samples or more; if
    there are none, of all samples together.
    """
    known = np.isfinite(res.noise)
    noise, group = res.noise[known], res.group[known]
    many = np.bincount(group)[group] >= LEAST_SAMPLES
    if not many.any():
        many, group = np.full(len(noise), len(noise) >= PEAKS_SAMPLES), np.zeros_like(group)
    if not many.any():
        return []
    spread, peaks = _peaks(noise[many], group[many])
    if spread < PEAKS_SPREAD or peaks < 0.5:
        return []
    return [
        Finding(
            "two-peaks",
            "warning",
            f"{'samples of equal parameters' if res.repeated else 'errors of the samples'} fall "
            f"into two groups (spread {spread:.0%}): two kinds of tasks, two machines, or two "
            "states of one",
            {"share": peaks, "noise": spread},
            "find out what tells the groups apart, and make it a parameter or fit them apart",
        )
    ]


def _peaks(noise: NDArray[np.float64], group: NDArray[np.intp]) -> tuple[float, float]:
    """Return the spread of *noise*, and the share of samples in groups that have two peaks."""
    _, group = np.unique(group, return_inverse=True)
    centred = noise - group_means(noise, group)[group]
    second, third, fourth = (group_means(centred**power, group) for power in (2, 3, 4))
    second = np.maximum(second, 1e-300)
    flat = fourth / second**2
    coefficient = (third**2 / second**3 + 1) / np.maximum(flat, 1e-300)
    two = (coefficient > PEAKS) & (flat < FLAT)
    return float(centred.std()), float(two[group].mean())


def _uneven(res: Residuals) -> list[Finding]:
    """Return a finding if noise depends on the duration (T. S. Breusch and A. R. Pagan, 1979)."""
    from statsmodels.stats.diagnostic import het_breuschpagan

    known = np.isfinite(res.noise)
    noise, logs = res.noise[known], np.log(res.predicted_s[known])
    if np.ptp(logs) < np.log(2) or np.ptp(noise) < LARGEST_ROUNDING:
        return []
    pvalue = float(het_breuschpagan(noise, np.column_stack((logs * 0 + 1, logs)))[1])
    _, spread, count = spread_by_fitted(res, 3)
    spread = spread[count >= LEAST_SAMPLES // 3]
    if pvalue > LEVEL or len(spread) < 2 or spread.min() <= 0:
        return []
    ratio = float(spread.max() / spread.min())
    if ratio < UNEVEN[0]:
        return []
    evidence = {"ratio": ratio, "p_value": pvalue}
    if res.absolute:
        return [_absolute(evidence)]
    longer = "long" if spread[-1] > spread[0] else "short"
    return [
        Finding(
            "uneven-noise",
            "warning" if ratio > UNEVEN[1] else "note",
            f"{longer} tasks are noisier: the relative spread differs by a factor {ratio:.2g} "
            "over the durations",
            evidence,
            "means are right, but a model with one spread for all draws wrong variations; "
            "history keeps the spread of each configuration",
        )
    ]


def _absolute(evidence: dict[str, float]) -> Finding:
    return Finding(
        "absolute-errors",
        "note",
        "the model was fitted to absolute errors, and these grow with the duration: long tasks "
        f"decide the fit (their errors are {evidence['ratio']:.2g} times larger)",
        evidence,
        "fit with weights 'relative'",
    )


def _not_normal(noise: NDArray[np.float64]) -> list[Finding]:
    from scipy.stats import kurtosis, skew

    tails, tilt = float(kurtosis(noise)), float(skew(noise))
    if tails < 2 and abs(tilt) < 1:
        return []
    return [
        Finding(
            "not-normal",
            "note",
            f"errors are not normal (skewness {tilt:.2g}, excess kurtosis {tails:.2g}): look at "
            "the Q-Q plot; several kinds of tasks or rare stalls bend it",
            {"skewness": tilt, "kurtosis": tails},
            "do not read too much into the intervals of the coefficients",
        )
    ]
