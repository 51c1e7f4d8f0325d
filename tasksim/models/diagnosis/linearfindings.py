"""Findings about the terms, the precision and the influential samples of a linear form."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.diagnosis.findings import MIN_CORRELATION, Finding, correlation
from tasksim.models.rows import describe_row
from tasksim.models.terms.leastsquares import column_lengths, variance_inflation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.base.arrays import Bools, Floats
    from tasksim.models.diagnosis.findings import Residuals
    from tasksim.models.forms import LinearForm

__all__ = ["Influence", "influence", "linear_findings", "stars"]

MAX_INFLATION: Final = 100.0
"""Variance inflation above which terms are indistinguishable: an interval ten times wider than
necessary. Books say 10, but m and m^2 over a range of 4 to 64 inflate each other by 11 to 37,
three powers by some hundreds, and they still predict well."""
MAX_HALF_INTERVAL: Final = 0.1
"""Half-width of the 95 % confidence interval of a mean above which it is imprecise: the error above
which a model is inaccurate."""
MIN_SHIFT: Final = 0.05
"""Relative change of predictions below which a configuration is not influential."""
SIGNIFICANCE_LEVEL: Final = 1e-3
"""Significance level of the test of all configurations together."""
POINT_COUNT: Final = 2000
"""Number of points in the box: a share of 1 %, from which it is a warning, is estimated as 0.8 to
1.2 %."""
MAX_CORNER_PARAMETERS: Final = 10
"""Maximum number of parameters for which all corners of the box, 1024, are used."""


def linear_findings(form: LinearForm, res: Residuals, inf: Influence) -> Iterator[Finding]:
    """Yield the findings about terms and coefficients of *form*."""
    yield from negative_predictions(form, res)
    yield from _collinear(form, res, inf)
    yield from _influential(res, inf)
    yield from _precision(form, res, inf)
    yield from _coefficients(form)


def negative_predictions(form: LinearForm, res: Residuals) -> Iterator[Finding]:
    """Yield a finding if the formula is too small to be a duration.

    It is a warning for measured configurations, or for 1 % or more of the
    box of the domain; a note for less of it.
    """
    rows = res.columns(form.names)
    named = np.array([name in res.samples.categories for name in form.names], dtype=bool)
    measured, box = form.floored(rows), form.floored(_box_points(rows, named))
    if not measured.any() and not box.any():
        return
    count, share = int(measured.sum()), float(box.mean())
    if count:
        row = describe_row(form.names, rows[int(np.argmax(measured))], res.samples.categories)
        where = f"for {count} of the {len(rows)} measured configurations (such as {row})"
    else:
        where = (
            f"in {100 * share:.1f} % of the box of the domain, though for none that was measured"
        )
    yield Finding(
        "negative-predictions",
        "warning" if count or share >= 0.01 else "note",
        f"the formula is negative or next to nothing {where}; the least duration is taken",
        {"configurations": count, "share_of_box": share},
        "fit relative errors (weights 'relative'), or leave out terms with negative coefficients",
    )


def _box_points(rows: Floats, named: Bools) -> Floats:
    """Return the corners of the box of *rows*, and inner points, uniform in the logarithms.

    *named* columns hold categories.
    """
    box = np.column_stack((rows.min(axis=0), rows.max(axis=0)))
    logs = np.log(np.maximum(box, 1e-300))
    places = np.random.default_rng(0).random((POINT_COUNT, len(box)))
    even = box[:, 0] + places * (box[:, 1] - box[:, 0])
    inside = np.exp(logs[:, 0] + places * (logs[:, 1] - logs[:, 0]))
    points = np.where(box[:, 0] > 0, inside, even)
    points = np.where(named, np.rint(even), points)
    points = np.asarray(np.clip(points, box[:, 0], box[:, 1]), dtype=np.float64)
    if len(box) > MAX_CORNER_PARAMETERS:
        return points
    return np.concatenate((points, np.array(list(product(*box))).reshape(-1, len(box))))


def _collinear(form: LinearForm, res: Residuals, inf: Influence) -> Iterator[Finding]:
    """Yield a finding if coefficients represent one effect, and none of them is determined.

    Powers of one parameter are always correlated; that is a warning only if coefficients
    are not significant, or the parameters themselves are nearly the same.
    """
    inflated = [i for i, factor in enumerate(inf.vif) if factor > MAX_INFLATION]
    if len(inflated) < 2:
        return
    lost = [form.term_names[i] for i in inflated if form.pvalues[i] > 0.05]
    pair = _nearly_same(form, res, inflated)
    terms = tuple(form.term_names[i] for i in inflated)
    worst = float(inf.vif[inflated].max())
    why = f"; {', '.join(lost)}: not significant" if lost else ""
    if pair is not None:
        why = f"; {pair[0]} and {pair[1]} are nearly proportional in all samples"
    yield Finding(
        "collinear",
        "warning" if lost or pair else "note",
        f"the samples hardly distinguish {', '.join(terms)}: variance inflation up to "
        f"{worst:.3g}{why}",
        {"vif": worst, "terms": len(terms), "not_significant": len(lost)},
        "measure configurations in which the parameters vary independently, or leave terms "
        "out; predictions between the samples are good all the same",
        terms,
    )


def _nearly_same(form: LinearForm, res: Residuals, terms: list[int]) -> tuple[str, str] | None:
    """Return the first two parameters in the given *terms* that are correlated, yet not equal."""
    names = {f.parameter for i in terms for f in form.terms.terms[i].factors}
    ordered = [n for n in form.names if n in names and n not in res.samples.categories]
    for pair in combinations(ordered, 2):
        if abs(correlation(*res.columns(pair).T)) > MIN_CORRELATION:
            return pair
    return None


def _influential(res: Residuals, inf: Influence) -> Iterator[Finding]:
    """Yield a finding per configuration that changes the fit substantially.

    Its error must be significant, corrected for the number of configurations, and leaving it out
    must change some prediction by 5 % or more.
    """
    from scipy.stats import t

    limit = t.isf(SIGNIFICANCE_LEVEL / 2 / len(res.rows), max(inf.freedom - 1, 1))
    shift = np.nan_to_num(inf.group_shift)
    odd = (shift > MIN_SHIFT) & (np.abs(inf.group_studentized) > limit)
    for index in np.argsort(-shift).tolist()[:3]:
        if not odd[index]:
            continue
        yield Finding(
            "influential",
            "warning",
            f"one configuration decides: without {res.row_text(index)}, predictions change by up "
            f"to {100 * shift[index]:.0f} % (Cook's distance {inf.group_cook[index]:.3g})",
            {
                "shift": float(shift[index]),
                "cook": float(inf.group_cook[index]),
                "studentized": float(inf.group_studentized[index]),
                "leverage": float(inf.group_leverage[index]),
            },
            "measure it again; if it stays, measure others near it, or leave it out",
        )


def _precision(form: LinearForm, res: Residuals, inf: Influence) -> Iterator[Finding]:
    terms, rows = len(form.coef), len(res.rows)
    worst = int(np.argmax(inf.precision))
    half = float(inf.precision[worst])
    if rows < 2 * terms:
        yield Finding(
            "few-configurations",
            "warning",
            f"{terms} coefficients were fitted to {rows} configurations: any {rows} "
            "durations are fitted nearly as well",
            {"coefficients": terms, "configurations": rows},
            f"measure {3 * terms} configurations or more, or leave terms out",
        )
    if half > MAX_HALF_INTERVAL:
        yield Finding(
            "imprecise",
            "warning",
            f"the mean duration is known to ±{100 * half:.0f} % only for {res.row_text(worst)} "
            "(95 % interval)",
            {"half_interval": half, "median": float(np.median(inf.precision))},
            "measure more samples, above all there",
        )


def _coefficients(form: LinearForm) -> Iterator[Finding]:
    """Yield notes about coefficients that are negative or not significant."""
    unsure = tuple(t for t, p in zip(form.term_names, form.pvalues, strict=True) if p > 0.1)
    if unsure:
        yield Finding(
            "not-significant",
            "note",
            f"{_coefficient_of(unsure)}: not significantly different from 0",
            {"terms": len(unsure)},
            "a model without them predicts as well here, and extrapolates better",
            unsure,
        )
    negative = tuple(t for t, c in zip(form.term_names, form.coef, strict=True) if c < 0)
    if negative:
        be = "are" if len(negative) > 1 else "is"
        yield Finding(
            "negative-coefficient",
            "note",
            f"{_coefficient_of(negative)} {be} negative: work that takes less than "
            "no time, which is right only between the samples",
            {"terms": len(negative)},
            "look for another combination of terms if the model must extrapolate",
            negative,
        )


def _coefficient_of(terms: tuple[str, ...]) -> str:
    names = ", ".join("the constant" if term == "1" else term for term in terms)
    return f"the coefficient{'s' if len(terms) > 1 else ''} of {names}"


@dataclass(frozen=True, eq=False)
class Influence:
    """The influence of each sample, and of each configuration, on the coefficients.

    All numbers are of the weighted fit of the model. Per sample: ``leverage`` (the diagonal of
    the hat matrix), ``studentized`` (externally studentised residual) and ``cook`` (Cook's
    distance; R. D. Cook, Technometrics 19, 1977). Per configuration, the same for leaving out
    all of its samples (``rows`` of the residuals): ``group_leverage``, ``group_studentized``,
    ``group_cook``, and ``group_shift``, the largest relative change of any prediction.

    ``vif`` is per term (NaN for the constant), ``precision`` per
    configuration: half the 95 % confidence interval of its mean, relative.
    """

    leverage: Floats
    studentized: Floats
    cook: Floats
    group_leverage: Floats
    group_studentized: Floats
    group_cook: Floats
    group_shift: Floats
    vif: Floats
    precision: Floats
    freedom: int


def influence(form: LinearForm, res: Residuals) -> Influence:
    """Return the influences of the samples of *res* on *form*."""
    from scipy.stats import t

    weight = np.ones(len(res.samples)) if res.absolute else res.predicted_s**-2
    design = form.terms.design(res.columns(form.names))
    whole = design[res.group] * np.sqrt(weight)[:, None]
    basis, _ = np.linalg.qr(whole / column_lengths(whole))
    error = (res.samples.durations_s - res.predicted_s) * np.sqrt(weight)
    samples, terms = basis.shape
    freedom = samples - terms
    variance = float((error**2).sum()) / freedom
    leverage = np.minimum((basis**2).sum(axis=1), 1 - 1e-12)
    inner = error / np.sqrt(np.maximum(variance * (1 - leverage), 1e-300))
    cook = inner**2 * leverage / (terms * (1 - leverage))
    # All samples of a configuration have the same row of the basis, so leaving them out is a
    # rank-one downdate.
    first = np.unique(res.group, return_index=True)[1]
    count, total = np.bincount(res.group), np.bincount(res.group, error)
    rows, scale = basis[first], res.scale_s[first] * np.sqrt(weight[first])
    group_leverage = np.minimum(count * (rows**2).sum(axis=1), 1 - 1e-12)
    mean = total / np.sqrt(np.maximum(variance * count * (1 - group_leverage), 1e-300))
    change = rows * (total / (1 - group_leverage))[:, None]
    group_cook = (change**2).sum(axis=1) / (terms * max(variance, 1e-300))
    # Changes of predictions are computed without each of the most influential configurations.
    shift = np.full(len(rows), np.nan)
    for index in np.argsort(-group_cook)[:10].tolist():
        shift[index] = float(np.abs(rows @ change[index] / scale).max())
    by_row = np.bincount(res.group, weight).astype(np.float64)
    return Influence(
        leverage,
        _external(inner, freedom),
        cook,
        group_leverage,
        _external(mean, freedom),
        group_cook,
        shift,
        variance_inflation(design, by_row, constant=form.terms.constant),
        np.sqrt(variance * leverage[first]) * t.ppf(0.975, freedom) / scale,
        freedom,
    )


def stars(pvalue: float) -> str:
    """Return the stars of a p-value: ``* p<0.1, ** p<0.05, *** p<0.01``.

    >>> [stars(p) for p in (0.2, 0.07, 0.02, 0.001)]
    ['', '*', '**', '***']
    """
    return "*" * sum(pvalue < limit for limit in (0.1, 0.05, 0.01))


def _external(inner: Floats, freedom: int) -> Floats:
    """Return externally studentised residuals from internally studentised ones."""
    left = np.maximum(freedom - inner**2, 1e-12)
    return np.asarray(inner * np.sqrt(max(freedom - 1, 1) / left))
