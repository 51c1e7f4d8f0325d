"""Diagnosis of a kernel model: what a developer should look at before believing it.

::

    diagnosis = diagnose(LinearModel("m*n*k").fit(samples), samples)
    for finding in diagnosis.findings:
        print(finding.text())

:mod:`tasksim.view.modelreport` writes it as a page with figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.models.diagnosis.coverage import (
    extrapolation,
    few_repetitions,
    few_values,
    together,
)
from tasksim.models.diagnosis.findings import Finding, sorted_findings
from tasksim.models.diagnosis.influence import Influence, influence
from tasksim.models.diagnosis.linearfindings import linear_findings
from tasksim.models.diagnosis.missing import missing
from tasksim.models.diagnosis.residuals import Residuals, residuals, spread_by_fitted
from tasksim.models.diagnosis.runshifts import shifted_runs
from tasksim.models.groups import group_means
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.samples import Samples
from tasksim.models.validation.accuracy import Errors, errors_left_out, errors_on

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tasksim.models.forms import LinearForm

__all__ = ["Coefficient", "Diagnosis", "coefficients", "diagnose"]

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
INACCURATE: Final = 0.1
"""The typical error beyond which a ranking of schedulers, often within 10 %, is not believed."""
LEAST_SAMPLES: Final = 30
"""A standard deviation of so many is known to 13 %."""
WORSE: Final = 0.03
"""By how much errors may be larger where a model was not fitted: three standard errors of the mean
of 40 errors that are 10 % typically."""
WORSE_ALONE: Final = 0.1
"""For models that know each configuration by itself, and have next to no errors there: what is
left out is then predicted by its neighbours, or as badly as noise is."""


@dataclass(frozen=True)
class Coefficient:
    """A row of the table of coefficients; ``vif`` is NaN for a constant."""

    term: str
    value_s: float
    low_s: float
    high_s: float
    p_value: float
    vif: float


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """All that is known about how good a model is.

    Parameters
    ----------
    model : KernelModel
        The model that was looked at.
    residuals : Residuals
        What it leaves of the samples.
    influence : Influence or None
        What each configuration does to the coefficients; None if it is no linear form.
    coefficients : tuple of Coefficient
        With their intervals; empty if it is no linear form.
    training, held_out, test : Errors or None
        Errors on the samples, cross-validated, and on test samples; None where there are none.
    findings : tuple of Finding
        In words, warnings first.

    See Also
    --------
    tasksim.diagnose : Makes it.

    Examples
    --------
    >>> from tasksim.models.kinds.history import HistoryModel
    >>> samples = Samples(("n",), [[64], [64], [128]], [1.0, 1.1, 9.0])
    >>> found = diagnose(HistoryModel().fit(samples), samples)
    >>> found.has("few-repetitions"), found.training.configurations
    (True, 2)
    """

    model: KernelModel
    residuals: Residuals
    influence: Influence | None
    coefficients: tuple[Coefficient, ...]
    training: Errors | None
    held_out: Errors | None
    test: Errors | None
    findings: tuple[Finding, ...]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that say that predictions may be wrong."""
        return tuple(f for f in self.findings if f.severity == "warning")

    def has(self, code: str) -> bool:
        """Return whether there is a finding of this *code*."""
        return any(finding.code == code for finding in self.findings)


def diagnose(
    model: KernelModel,
    samples: Samples,
    test: Samples | None = None,
    asked: ArrayLike | None = None,
) -> Diagnosis:
    """Look at a fitted model and the samples it was fitted to.

    Parameters
    ----------
    model : KernelModel
        Of any kind.
    samples : Samples
        What it was fitted to. Columns that the model ignores are candidates for a parameter
        that is missing.
    test : Samples, default=None
        Samples that the model has not seen.
    asked : array_like, shape (n, p), default=None
        Configurations that will be asked for, the columns as in ``model.names_``: those of a
        task graph. Those outside of what was measured are reported.

    Returns
    -------
    Diagnosis
        Findings in words, errors, residuals; for linear models coefficients and influences.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InputError
        If the samples lack parameters of the model, or there are none.

    See Also
    --------
    tasksim.select : Compares kinds of models, before.
    tasksim.view.modelreport.write_report : A page with figures.

    Examples
    --------
    A term is missing:

    >>> from tasksim.models.kinds.linear import LinearModel
    >>> n = np.repeat(np.arange(10.0, 200.0, 10.0), 5)
    >>> noise = np.random.default_rng(0).lognormal(0.0, 0.01, len(n))
    >>> samples = Samples(("n",), n[:, None], (1e-8 * n**2 + 1e-10 * n**3) * noise)
    >>> model = LinearModel("n^2").fit(samples)
    >>> diagnosis = diagnose(model, samples)
    >>> diagnosis.warnings[0].code, diagnosis.warnings[0].names
    ('missing-term', ('n^3', 'n'))
    """
    expect(model, KernelModel, "model")
    expect(samples, Samples, "samples")
    if len(samples) == 0:
        raise InputError("no samples to diagnose the model with: measure the kernel first")
    res = residuals(model, samples)
    linear = model.linear()
    inf = None
    if linear is not None and len(res.samples) > len(linear.coef):
        inf = influence(linear, res)
    training = errors_on(model, res.samples, "samples")
    held_out = errors_left_out(model, res.samples)
    tested = None if test is None else errors_on(model, test, "test")
    found = [
        *shifted_runs(samples),
        *missing(model, res),
        *([] if linear is None or inf is None else linear_findings(linear, res, inf)),
        *_noise(res),
        *_accuracy(res, training, held_out, tested, WORSE_ALONE if model.exact else WORSE),
        *_coverage(model, samples, test, asked),
    ]
    table = () if linear is None else coefficients(linear, inf)
    findings = sorted_findings(found)
    return Diagnosis(model, res, inf, table, training, held_out, tested, findings)


def coefficients(form: LinearForm, inf: Influence | None) -> tuple[Coefficient, ...]:
    """Return the table of coefficients with 95 % intervals."""
    vif = np.full(len(form.coef), np.nan) if inf is None else inf.vif
    return tuple(
        Coefficient(
            term,
            float(form.coef[i]),
            float(form.intervals[i, 0]),
            float(form.intervals[i, 1]),
            float(form.pvalues[i]),
            float("nan") if term == "1" else float(vif[i]),
        )
        for i, term in enumerate(form.term_names)
    )


def _coverage(
    model: KernelModel, samples: Samples, test: Samples | None, asked: ArrayLike | None
) -> list[Finding]:
    found = [
        *few_repetitions(model, samples),
        *few_values(model, samples),
        *together(model, samples),
    ]
    if test is not None:
        found += extrapolation(model, test.names, test.parameters, "test samples")
    if asked is not None:
        table: NDArray[np.float64] = np.asarray(asked, dtype=np.float64)
        found += extrapolation(model, model.names_, table, "configurations asked for")
    return found


def _noise(res: Residuals) -> list[Finding]:
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
        found += [*_wide(noise), *_two_peaks(res), *_uneven(res), *_not_normal(noise)]
    return found


def _wide(noise: NDArray[np.float64]) -> list[Finding]:
    spread = float(noise.std())
    if spread <= WIDE:
        return []
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
            f"samples of equal parameters fall into two groups (spread {spread:.0%}): two kinds "
            "of tasks, two machines, or two states of one",
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
    logs = np.log(res.predicted_s[known])
    if np.ptp(logs) < np.log(2):
        return []
    pvalue = float(het_breuschpagan(res.noise[known], np.column_stack((logs * 0 + 1, logs)))[1])
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


def _accuracy(
    res: Residuals,
    training: Errors | None,
    held_out: Errors | None,
    test: Errors | None,
    margin: float,
) -> list[Finding]:
    if training is None:
        return []
    found = []
    known = res.noise[np.isfinite(res.noise)]
    noise = float(known.std()) / np.sqrt(len(res.samples) / len(res.rows))
    if training.mlogq > max(INACCURATE, 2 * noise if not res.absolute else 0.0):
        found.append(
            Finding(
                "inaccurate",
                "warning",
                f"the model is off by {np.expm1(training.mlogq):.0%} (typical error of a "
                "configuration) even where it was fitted",
                {"mlogq": training.mlogq, "bias": training.bias, "worst": training.worst},
                "see what is missing above; history has no such errors where it was measured",
            )
        )
    for code, other in (("overfit", held_out), ("test-errors", test)):
        if other is not None and other.mlogq > max(2 * training.mlogq, training.mlogq + margin):
            found.append(_worse(code, training, other))
    return found


def _worse(code: str, training: Errors, other: Errors) -> Finding:
    where = "test samples" if code == "test-errors" else "configurations that were held out"
    return Finding(
        code,
        "warning",
        f"{where} are predicted worse than those fitted: {np.expm1(other.mlogq):.1%} against "
        f"{np.expm1(training.mlogq):.1%} (typical error)",
        {"mlogq": other.mlogq, "fitted_mlogq": training.mlogq, "bias": other.bias},
        "use fewer terms, or measure more configurations, above all at the ends",
    )
