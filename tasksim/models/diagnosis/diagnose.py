"""Diagnosis of a kernel model, to be read before trusting it.

::

    diagnosis = diagnose(LinearModel("m*n*k").fit(samples), samples)
    for finding in diagnosis.findings:
        print(finding.text())

:mod:`tasksim.reports.modelreport` writes it as a page with figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.diagnosis.findings import (
    MIN_CORRELATION,
    Finding,
    Residuals,
    correlation,
    residuals,
    sorted_findings,
)
from tasksim.models.diagnosis.lackoffit import missing
from tasksim.models.diagnosis.linearfindings import Influence, influence, linear_findings
from tasksim.models.diagnosis.noisefindings import noise_findings, shifted_runs
from tasksim.models.fitted import bounding_parameters, columns, model_numbers, row_text
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.samples import Samples, with_clock
from tasksim.models.validation.crossvalidation import Errors, errors_left_out, errors_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Floats
    from tasksim.models.forms import LinearForm

__all__ = [
    "Coefficient",
    "Diagnosis",
    "beyond",
    "coefficients",
    "diagnose",
    "extrapolation",
    "few_repetitions",
    "few_values",
    "together",
]

MLOGQ_THRESHOLD: Final = 0.1
"""Typical error that triggers a warning: schedulers often differ by less than 10 %, so a ranking
would be unreliable."""
GENERAL_MARGIN: Final = 0.03
"""Allowed increase of the error outside the fitted samples: three standard errors of the mean of 40
errors of typically 10 %."""
EXACT_MARGIN: Final = 0.1
"""The same for models that know each configuration from its own samples, nearly without error:
held-out configurations are then predicted from neighbours, or with the error of noise."""


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
    """Errors and findings of a model.

    Parameters
    ----------
    model : KernelModel
        The diagnosed model.
    residuals : Residuals
        Its residuals on the samples.
    influence : Influence or None
        The influence of each configuration on the coefficients; None if it is not a linear form.
    coefficients : tuple of Coefficient
        With their intervals; empty if it is not a linear form.
    training : Errors or None
        Errors on the samples that it was fitted to; None if unknown.
    held_out : Errors or None
        Errors of cross-validation; None if it was not possible.
    test : Errors or None
        Errors on test samples; None if there are none.
    findings : tuple of Finding
        Warnings first, then notes.

    See Also
    --------
    tasksim.diagnose : Make a diagnosis.

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
        """The findings that indicate wrong predictions."""
        return tuple(f for f in self.findings if f.severity == "warning")

    def has(self, code: str) -> bool:
        """Return whether there is a finding with this *code*."""
        return any(finding.code == code for finding in self.findings)


def diagnose(
    model: KernelModel,
    samples: Samples,
    test: Samples | None = None,
    asked: ArrayLike | None = None,
) -> Diagnosis:
    """Diagnose a fitted model with the samples it was fitted to.

    Parameters
    ----------
    model : KernelModel
        A model of any kind.
    samples : Samples
        The samples it was fitted to. Columns that the model ignores are candidates for a missing
        parameter.
    test : Samples, default=None
        Samples that the model has not seen.
    asked : array_like, shape (n, p), default=None
        Configurations to be predicted, such as those of a task graph, with columns as in
        ``model.names_``. Those outside the measured range are reported.

    Returns
    -------
    Diagnosis
        Findings, errors, residuals; for linear models also coefficients and influences.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InputError
        If the samples lack parameters of the model, or there are none.

    See Also
    --------
    tasksim.select : Compare kinds of models first.
    tasksim.reports.modelreport.write_report : Write a page with figures.

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
    if CLOCK_PARAMETER in getattr(model, "names_", ()):
        samples = with_clock(samples, always=True)
        test = None if test is None else with_clock(test, always=True)
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
        *noise_findings(res),
        *_accuracy(model, res, training, held_out, tested),
        *few_repetitions(model, samples),
        *few_values(model, samples),
        *together(model, samples),
    ]
    if test is not None:
        found += extrapolation(model, test.names, test.parameters, "test samples", test.categories)
    if asked is not None:
        rows = model._table(asked, keep_unseen=True)
        known = dict(model.categories_)
        found += extrapolation(model, model.names_, rows, "configurations asked for", known)
    table = () if linear is None else coefficients(linear, inf)
    findings = sorted_findings(found)
    return Diagnosis(model, res, inf, table, training, held_out, tested, findings)


def coefficients(form: LinearForm, inf: Influence | None) -> tuple[Coefficient, ...]:
    """Return the table of coefficients with 95 % confidence intervals."""
    vif = np.full(len(form.coef), np.nan) if inf is None else inf.vif
    columns_of = (form.coef, *form.intervals.T, form.pvalues, vif)
    rows = zip(form.term_names, *(column.tolist() for column in columns_of), strict=True)
    return tuple(Coefficient(*row) for row in rows)


def _accuracy(
    model: KernelModel,
    res: Residuals,
    training: Errors | None,
    held_out: Errors | None,
    test: Errors | None,
) -> Iterator[Finding]:
    if training is None:
        return
    margin = EXACT_MARGIN if model.exact else GENERAL_MARGIN
    known = res.noise[np.isfinite(res.noise)]
    noise = float(known.std()) / np.sqrt(len(res.samples) / len(res.rows))
    if training.mlogq > max(MLOGQ_THRESHOLD, 2 * noise if not res.absolute else 0.0):
        yield Finding(
            "inaccurate",
            "warning",
            f"the model is off by {100 * np.expm1(training.mlogq):.0f} % (typical error of a "
            "configuration) even where it was fitted",
            {"mlogq": training.mlogq, "bias": training.bias, "worst": training.worst},
            "see what is missing above; history has no such errors where it was measured",
        )
    for code, other in (("overfit", held_out), ("test-errors", test)):
        if other is not None and other.mlogq > max(2 * training.mlogq, training.mlogq + margin):
            where = "test samples" if code == "test-errors" else "configurations that were held out"
            yield Finding(
                code,
                "warning",
                f"{where} are predicted worse than those fitted: "
                f"{100 * np.expm1(other.mlogq):.1f} % against "
                f"{100 * np.expm1(training.mlogq):.1f} % (typical error)",
                {"mlogq": other.mlogq, "fitted_mlogq": training.mlogq, "bias": other.bias},
                "use fewer terms, or measure more configurations, above all at the ends",
            )


MIN_REPETITIONS: Final = 5
"""Recommended number of repetitions: with fewer, the standard deviation of a configuration is
itself uncertain by a third and more."""
MAX_SELDOM_SHARE: Final = 0.1
"""Share of configurations that may have fewer: rare ones are necessarily few, and take little time
in total."""
MIN_VALUES: Final = 5
"""Recommended number of values per parameter, the same as in Extra-P: four fix a curve of two
terms, the fifth tests it."""


def few_repetitions(model: KernelModel, samples: Samples) -> Iterator[Finding]:
    """Yield a finding if configurations have too few repetitions.

    It is a warning for models that know each configuration from its own samples. For others,
    whose configurations support each other, it is a note if most were measured once.
    """
    count = np.bincount(samples.configurations()[1])
    seldom, alone = count < MIN_REPETITIONS, model.exact
    share = float(seldom.mean())
    if share <= MAX_SELDOM_SHARE or not (alone or (count > 1).mean() < 0.5):
        return
    message = (
        f"{int(seldom.sum())} of {len(count)} configurations have fewer than {MIN_REPETITIONS} "
        "samples"
    )
    if not alone:
        message += ", most only one: noise and model error are indistinguishable"
    yield Finding(
        "few-repetitions",
        "warning" if alone else "note",
        message,
        {"share": share, "configurations": len(count), "least": int(count.min())},
        "measure them more often, in several runs",
    )


def few_values(model: KernelModel, samples: Samples) -> Iterator[Finding]:
    """Yield a finding per parameter with too few values to determine the shape of a curve."""
    if not model.extrapolates:
        return
    for name in model.used_parameters():
        if model.needs_counters and name == CLOCK_PARAMETER:
            continue  # the model knows how durations depend on the clock
        if name in samples.categories:
            continue  # each has an effect of its own, not a point of a curve
        values = len(np.unique(samples.parameters[:, samples.names.index(name)]))
        if values >= MIN_VALUES:
            continue
        seen = "never varies" if values == 1 else f"has only {values} values"
        yield Finding(
            "few-values",
            "warning" if values == 2 else "note",
            f"{name} {seen}: its effect on the duration is poorly determined",
            {"values": values},
            f"measure {MIN_VALUES} or more values of {name}, a constant factor apart",
            (name,),
        )


def together(model: KernelModel, samples: Samples) -> Iterator[Finding]:
    """Yield a note per group of parameters that always vary together."""
    names = [name for name in model.used_parameters() if name not in samples.categories]
    rows, _ = samples.configurations()
    table = rows[:, [samples.names.index(name) for name in names]]
    done: set[str] = set()
    if len(table) < 4:
        return
    for index, name in enumerate(names):
        if name in done:
            continue
        others = [
            other
            for column, other in enumerate(names)
            if column > index
            and abs(correlation(table[:, index], table[:, column])) > MIN_CORRELATION
        ]
        if not others:
            continue
        done.update(others)
        listed = f"{', '.join([name, *others[:-1]])} and {others[-1]}"
        yield Finding(
            "together",
            "note",
            f"{listed} vary together in all samples: the model is known on that line only, "
            "though its box is wider",
            {"parameters": 1 + len(others)},
            "measure configurations in which they differ, if the application has such tasks",
            (name, *others),
        )


def extrapolation(
    model: KernelModel,
    names: Sequence[str],
    asked: Floats,
    what: str,
    categories: Mapping[str, tuple[str, ...]] | None = None,
) -> Iterator[Finding]:
    """Yield a finding if *asked* rows lie outside the range where the model was fitted."""
    table = columns(model, names, asked, categories=categories, keep_unseen=True)
    outside = ~model.inside(table)
    for name, value in model.fixed_.items():
        if name in names:
            outside |= model_numbers(model, name, asked[:, names.index(name)], categories) != value
    if not outside.any():
        return
    factors = beyond(model, table)
    furthest = int(np.argmax(factors))
    factor, share = float(factors[furthest]), float(outside.mean())
    row = row_text(model, table[furthest])
    times = f"{factor:.3g}" if np.isfinite(factor) else "infinitely many"
    far = f", up to {times} times beyond its box ({row})" if factor > 1 else ""
    yield Finding(
        "extrapolation",
        "warning",
        f"{int(outside.sum())} of {len(table)} {what} are where the model was not "
        f"fitted{far}; fitted: {model.measured()}",
        {"rows": int(outside.sum()), "share": share, "factor": factor},
        "measure configurations there: errors grow quickly outside, and no number here "
        "says how much",
    )


def beyond(model: KernelModel, table: Floats) -> Floats:
    """Return the factor by which each row exceeds the box of the domain; 1 inside.

    It is the largest over the bounding parameters; infinite beyond a bound of 0.
    """
    bounding = bounding_parameters(model)
    low, high = np.array([model.domain_[name] for name in bounding]).reshape(-1, 2).T
    table = table[:, [model.names_.index(name) for name in bounding]]
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.where(table > high, table / high, 1.0)
        under = np.where(table < low, low / table, 1.0)
    return np.asarray(np.maximum(over, under).max(axis=1, initial=1.0))
