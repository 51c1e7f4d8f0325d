"""Lack of fit, the structure in residuals beyond noise.

Repeated configurations whose mean is far from the prediction appear as stripes in a plot of
residuals over fitted durations. If the means are a function of the known parameters, a term is
missing; otherwise a parameter is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.diagnosis.findings import Finding
from tasksim.models.quantiles import group_means
from tasksim.models.terms.formulas import parse_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.base.arrays import Floats, Indices
    from tasksim.models.diagnosis.findings import Residuals
    from tasksim.models.kernelmodel import KernelModel

__all__ = [
    "Explained",
    "Stripes",
    "candidate_basis",
    "candidate_terms",
    "explained",
    "missing",
    "neighbours_share",
    "smooth_basis",
    "stripes",
]

MIN_FREEDOM: Final = 10
"""Minimum degrees of freedom, samples minus configurations, to estimate the noise."""
NEIGHBOUR_COUNT: Final = 4
"""Number of neighbours: enough to halve the noise, few enough to be near."""
MAX_ROWS: Final = 5000
"""Maximum number of configurations compared with their neighbours: the share is then known to 1.5
%, in a tenth of a second."""


@dataclass(frozen=True, eq=False)
class Stripes:
    """The mean error of each configuration, and the spread of these means.

    Attributes
    ----------
    mean
        float64 [configurations]: relative error, measured - predicted.
    weights
        1 / variance of each mean, up to a constant factor.
    error
        The standard error of each mean by noise alone; NaN without repetitions.
    sd
        The standard deviation of the means beyond noise, relative; NaN without repetitions.
    noise
        The standard deviation of single observations within configurations, relative; NaN as sd.
    pvalue
        p-value of the F test for lack of fit, whose hypothesis is no stripes; NaN as sd.
    """

    mean: Floats
    weights: Floats
    error: Floats
    sd: float
    noise: float
    pvalue: float


@dataclass(frozen=True, eq=False)
class Explained:
    """The part of the mean errors of configurations that some columns explain.

    ``share`` of their variance (adjusted for the number of columns), ``sd`` of the explained
    part, ``pvalue`` of the F test, and the part ``left`` of the means.
    """

    share: float
    sd: float
    pvalue: float
    left: Floats


def stripes(res: Residuals, coefficients: int) -> Stripes:
    """Return the mean errors of configurations and the F test for lack of fit.

    N. R. Draper and H. Smith, Applied Regression Analysis, 1998, section 2.1. *coefficients* is
    the number of fitted ones. Samples of one run are correlated, so if runs are known and have
    configurations in common, their means are the observations.
    """
    values, group = _observations(res)
    count = np.bincount(group)
    mean = group_means(values, group)
    freedom = len(values) - len(count)
    above = len(count) - coefficients
    if freedom < MIN_FREEDOM or above < 1:
        unknown = np.full(len(count), np.nan)
        return Stripes(mean, np.ones(len(count)), unknown, np.nan, np.nan, np.nan)
    within = float(((values - mean[group]) ** 2).sum()) / freedom
    between = float((count * mean**2).sum()) / above
    pvalue = _f_survival(between, within, above, freedom)
    size = (count.sum() - (count**2).sum() / count.sum()) / max(len(count) - 1, 1)
    variance = max(0.0, (between - within) / max(size, 1e-12))
    weights = 1 / np.maximum(variance + within / count, 1e-300)
    error = np.sqrt(within / count)
    sd, noise = float(np.sqrt(variance)), float(np.sqrt(within))
    return Stripes(mean, weights / weights.mean(), error, sd, noise, pvalue)


def explained(
    mean: Floats, weights: Floats, basis: Floats, extra: Floats | None = None
) -> Explained | None:
    """Return the part of *mean* that *basis* explains, beyond its weighted average.

    With *extra*, the part that these columns explain beyond the basis. None if there are too
    few configurations.
    """
    root = np.sqrt(weights)
    center = float(np.average(mean, weights=weights))
    smaller = np.column_stack((np.ones(len(mean)), *([] if extra is None else [basis])))
    larger = np.column_stack((smaller, basis if extra is None else extra))
    left, before = _projected(mean - center, smaller, root)
    rest, after = _projected(mean - center, larger, root)
    used, freedom = after - before, len(mean) - after
    if used < 1 or freedom < max(5, after):
        return None
    total, unexplained = float((left**2).sum()), float((rest**2).sum())
    if total <= 0:
        return None
    share = 1 - (unexplained / freedom) / (total / (len(mean) - before))
    sd = float(np.sqrt(max(share, 0.0) * total / weights.sum()))
    pvalue = _f_survival((total - unexplained) / used, unexplained / freedom, used, freedom)
    return Explained(share, sd, pvalue, rest / root)


def smooth_basis(rows: Floats, scale_s: Floats) -> Floats:
    """Return columns that approximate any smooth function of the parameters.

    They are logarithms and their squares; with enough rows, products of them, and each
    parameter and its square relative to the scale of the errors, which a missing term
    leaves; and the inverse of the scale, which a missing constant leaves.
    """
    logs = [_standard(np.log1p(c) if c.min() <= 0 else np.log(c)) for c in rows.T if np.ptp(c) > 0]
    columns = [*logs, *(c**2 for c in logs)]
    pairs = [a * b for i, a in enumerate(logs) for b in logs[:i]]
    powers = [_standard(c**p / scale_s) for c in rows.T if np.ptp(c) > 0 for p in (1, 2)]
    for more in (pairs, powers):
        if len(rows) > 3 * (len(columns) + len(more)):
            columns += more
    if np.ptp(scale_s) > 0:
        columns.append(_standard(1 / scale_s))
    return np.column_stack(columns) if columns else np.empty((len(rows), 0))


def neighbours_share(rows: Floats, left: Floats) -> float:
    """Return the share of the variance of *left* that the nearest configurations predict.

    A step, such as at the size of a cache, is not smooth, but neighbours share it. At
    most 5000 configurations are used.
    """
    from scipy.spatial import KDTree

    varying = [_ranks(column) for column in rows.T if np.ptp(column) > 0]
    if not varying or len(rows) < 4 * NEIGHBOUR_COUNT:
        return 0.0
    places = np.column_stack(varying)
    asked = np.linspace(0, len(rows) - 1, min(len(rows), MAX_ROWS)).astype(np.intp)
    nearest = KDTree(places).query(places[asked], k=NEIGHBOUR_COUNT + 1)[1]
    others = nearest != asked[:, None]
    predicted = (left[nearest] * others).sum(axis=1) / others.sum(axis=1)
    total = float((left[asked] ** 2).sum())
    return 1 - float(((left[asked] - predicted) ** 2).sum()) / total if total > 0 else 0.0


def candidate_basis(values: Floats, scale_s: Floats) -> Floats:
    """Return columns for the possible effects of an ignored parameter on the errors."""
    return np.column_stack((_standard(values / scale_s), _standard(np.log1p(values))))


def candidate_terms(names: Sequence[str], present: Sequence[str]) -> list[str]:
    """Return the products of powers of *names* that may be missing, without those *present*."""
    texts = [f"{name}^{power}" if power > 1 else name for name in names for power in (1, 2, 3)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    for a, b in pairs:
        texts += [f"{a}*{b}", f"{a}^2*{b}", f"{a}*{b}^2"]
    texts += ["*".join(names)] if len(names) > 2 else []
    known = set(present)
    return [text for text in texts if str(parse_terms(f"0 + {text}", names).terms[0]) not in known]


def _observations(res: Residuals) -> tuple[Floats, Indices]:
    """Return the errors to compare: means by run if that leaves repetitions, otherwise samples."""
    runs = res.samples.runs
    if runs is None or (runs < 0).any():
        return res.relative, res.group
    key = res.group * (int(runs.max()) + 1) + runs
    cells, cell = np.unique(key, return_inverse=True)
    group = (cells // (int(runs.max()) + 1)).astype(np.intp)
    if (np.bincount(group) > 1).mean() < 0.5:
        return res.relative, res.group
    return group_means(res.relative, cell), group


def _f_survival(upper: float, lower: float, first: int, second: int) -> float:
    from scipy.stats import f

    return float(f.sf(upper / lower, first, second)) if lower > 0 else 0.0


def _projected(values: Floats, columns: Floats, root: Floats) -> tuple[Floats, int]:
    """Return the residuals of a weighted fit of the *columns*, times *root*, and their rank."""
    target = values * root
    coef, _, rank, _ = np.linalg.lstsq(columns * root[:, None], target, rcond=1e-9)
    return target - (columns * root[:, None]) @ coef, int(rank)


def _standard(values: Floats) -> Floats:
    spread = float(values.std())
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))


def _ranks(values: Floats) -> Floats:
    _, rank = np.unique(values, return_inverse=True)
    return np.asarray(rank / max(int(rank.max()), 1), dtype=np.float64)


TEST_LEVEL: Final = 1e-3
"""Significance level of each test; small, since many are made, and samples are not quite
independent."""
MIN_SD: Final = 0.02
"""Smallest relevant effect, as a standard deviation: smaller ones change makespans by less, and are
below the day-to-day variation of machines."""
MIN_STRIPES_SD: Final = 0.03
"""Smallest relevant stripes, as a standard deviation. It is larger than for a smooth effect, as the
only remedy is to look for the parameter."""
MIN_SHARE: Final = 0.1
"""Smallest relevant share of the remaining errors: a real effect below it is not worth measuring
another parameter. The test excludes chance."""
MIN_NEIGHBOUR_SHARE: Final = 0.3
"""Share of the variance above which neighbours share an error. It is -1/4 for unshared errors (the
mean of four others adds a quarter of the variance) and nearly 1 for shared ones: about the
middle."""
MAX_NAMED_TERMS: Final = 3
"""Maximum number of terms that an advice names: more would not be distinguishable."""


def missing(model: KernelModel, res: Residuals) -> list[Finding]:
    """Return findings about missing parts of *model*, from mean errors of configurations.

    First, errors that are smooth functions of the used parameters (a term is missing); then
    errors that columns ignored by the model explain beyond that (the column is missing); then
    errors beyond noise: a step if neighbours share them, otherwise an unrecorded
    parameter.
    """
    found = stripes(res, model.coefficient_count(res.columns(model.names_)))
    used = model.used_parameters()
    known = np.column_stack([np.empty((len(res.rows), 0)), *(res.quantities(n) for n in used)])
    scale = res.scale_s[np.unique(res.group, return_index=True)[1]]
    basis = smooth_basis(known, scale)
    smooth = explained(found.mean, found.weights, basis) if basis.shape[1] else None
    findings: list[Finding] = []
    left = found.mean - np.average(found.mean, weights=found.weights)
    if smooth is not None and smooth.pvalue < TEST_LEVEL and smooth.sd > MIN_SD:
        findings.append(_missing_term(model, res, found, smooth, scale))
        left = smooth.left
    parameter = _missing_parameter(model, res, found, basis, scale)
    if parameter is not None:
        return [parameter, *findings]
    return [*findings, *_left(res, found, known, left, bool(findings))]


def _missing_term(
    model: KernelModel, res: Residuals, found: Stripes, smooth: Explained, scale: Floats
) -> Finding:
    """Return a finding that names the terms that explain most of the errors, added one by one."""
    shares = []
    linear = model.linear()
    advice = "give the model another form, or use a linear model with terms, or history"
    if linear is not None:
        names = [name for name in model.used_parameters() if name not in res.samples.categories]
        rows = res.columns(model.names_)
        present = linear.terms.design(rows) / scale[:, None]
        present /= np.abs(present).max(axis=0)
        for text in candidate_terms(names, linear.term_names):
            column = parse_terms(f"0 + {text}", model.names_).design(rows) / scale[:, None]
            gain = explained(found.mean, found.weights, present, column / np.abs(column).max())
            if gain is not None and gain.pvalue < TEST_LEVEL:
                shares.append((gain.share, text))
        shares.sort(key=lambda pair: -pair[0])
        advice = f"try the terms {linear.terms} with one more{', such as ' if shares else ''}"
        advice += " or ".join(text for _, text in shares[:MAX_NAMED_TERMS])
    return Finding(
        "missing-term",
        "warning",
        f"errors follow the known parameters: {100 * smooth.sd:.1f} % (standard deviation) of the "
        "duration is a smooth function of them that the model lacks, so a term is missing",
        {"sd": smooth.sd, "share": smooth.share, "p_value": smooth.pvalue},
        advice,
        tuple(text for _, text in shares[:MAX_NAMED_TERMS]),
    )


def _missing_parameter(
    model: KernelModel, res: Residuals, found: Stripes, basis: Floats, scale: Floats
) -> Finding | None:
    """Return a finding about the ignored columns that explain errors, the best first."""
    used = model.used_parameters()
    ignored = [
        name
        for name, column in zip(res.samples.names, res.rows.T, strict=True)
        if name not in used and np.ptp(column) > 0
    ]
    hits = []
    for name in ignored:
        parts = [candidate_basis(part, scale) for part in res.quantities(name).T]
        gain = explained(found.mean, found.weights, basis, np.column_stack(parts))
        if gain is None:
            continue
        if gain.pvalue < TEST_LEVEL / len(ignored) and gain.share > MIN_SHARE and gain.sd > MIN_SD:
            hits.append((name, gain))
    if not hits:
        return None
    hits.sort(key=lambda hit: -hit[1].share)
    (name, best), *less = hits
    also = f" ({', '.join(other for other, _ in less)} less)" if less else ""
    advice = f"fit again with {name} among the parameters"
    if model.linear() is not None:
        advice += f", then leave out powers that are no longer needed: terms '{name} + ...'"
    return Finding(
        "missing-parameter",
        "warning",
        f"a parameter is missing: {name}, which the samples have and the model ignores, explains "
        f"{100 * best.share:.0f} % of the errors that the known parameters leave{also}",
        {"share": best.share, "sd": best.sd, "p_value": best.pvalue},
        advice,
        tuple(name for name, _ in hits),
    )


def _left(
    res: Residuals, found: Stripes, known: Floats, left: Floats, told: bool
) -> Iterator[Finding]:
    """Yield findings about errors that no column explains smoothly."""
    sd = _excess(found, left)
    if not sd > MIN_STRIPES_SD or not (np.isnan(found.pvalue) or found.pvalue < TEST_LEVEL):
        return
    shared = neighbours_share(known, left)
    evidence = {"sd": sd, "noise": found.noise, "p_value": found.pvalue, "neighbours": shared}
    if shared > MIN_NEIGHBOUR_SHARE:
        if told:
            return
        yield Finding(
            "step",
            "warning",
            f"errors of neighbouring configurations are similar ({100 * shared:.0f} % of their "
            f"variance, {100 * sd:.1f} % of the duration): a step or a local effect, such as a "
            "full cache, which the model cannot express",
            evidence,
            "fit the sides of the step apart, or use history for the configurations that matter",
        )
        return
    if np.isnan(found.pvalue):
        return
    worst = int(np.argmax(np.abs(left)))
    yield Finding(
        "missing-parameter",
        "warning",
        f"a parameter is missing: errors are stripes, configurations that were measured "
        f"repeatedly are off by {100 * sd:.1f} % (standard deviation) where noise is "
        f"{100 * found.noise:.1f} %, and the known parameters do not explain it; furthest: "
        f"{res.row_text(worst)}, {100 * found.mean[worst]:+.0f} %",
        evidence,
        "record what else the duration depends on (numbers of interactions, entries, "
        "iterations: an indirect parameter); higher exponents do not help",
    )


def _excess(found: Stripes, left: Floats) -> float:
    """Return the standard deviation of *left* beyond noise; 0 if it is not significant."""
    total = float((left**2).mean())
    if np.isnan(found.noise):
        return float(np.sqrt(total))
    noise = float((found.error**2).mean())
    doubt = 4 * np.sqrt(2 / len(left)) * noise
    return float(np.sqrt(total - noise)) if total - noise > doubt else 0.0
