"""Lack of fit: structure in residuals beyond noise.

Repeated configurations whose mean is far from the prediction appear as stripes in a plot of
residuals over fitted durations. If the means are a function of the known parameters, a term is
missing; otherwise a parameter is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.groups import group_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.models.diagnosis.residuals import Residuals

__all__ = [
    "Explained",
    "Stripes",
    "candidate_basis",
    "candidate_terms",
    "explained",
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

    mean: NDArray[np.float64]
    weights: NDArray[np.float64]
    error: NDArray[np.float64]
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
    left: NDArray[np.float64]
    freedom: int


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
    between, pvalue = _between(mean, count, above, within, freedom)
    size = (count.sum() - (count**2).sum() / count.sum()) / max(len(count) - 1, 1)
    variance = max(0.0, (between - within) / max(size, 1e-12))
    weights = 1 / np.maximum(variance + within / count, 1e-300)
    error = np.sqrt(within / count)
    sd, noise = float(np.sqrt(variance)), float(np.sqrt(within))
    return Stripes(mean, weights / weights.mean(), error, sd, noise, pvalue)


def explained(
    mean: NDArray[np.float64],
    weights: NDArray[np.float64],
    basis: NDArray[np.float64],
    extra: NDArray[np.float64] | None = None,
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
    return Explained(share, sd, pvalue, rest / root, freedom)


def smooth_basis(rows: NDArray[np.float64], scale_s: NDArray[np.float64]) -> NDArray[np.float64]:
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


def neighbours_share(rows: NDArray[np.float64], left: NDArray[np.float64]) -> float:
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


def candidate_basis(
    values: NDArray[np.float64], scale_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return columns for the possible effects of an ignored parameter on the errors."""
    return np.column_stack((_standard(values / scale_s), _standard(np.log1p(values))))


def candidate_terms(names: Sequence[str], present: Sequence[str]) -> list[str]:
    """Return the products of powers of *names* that may be missing, without those *present*."""
    from tasksim.models.terms.formulas import parse_terms

    texts = [f"{name}^{power}" if power > 1 else name for name in names for power in (1, 2, 3)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    for a, b in pairs:
        texts += [f"{a}*{b}", f"{a}^2*{b}", f"{a}*{b}^2"]
    texts += ["*".join(names)] if len(names) > 2 else []
    known = set(present)
    return [text for text in texts if str(parse_terms(f"0 + {text}", names).terms[0]) not in known]


def _observations(res: Residuals) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
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


def _between(
    mean: NDArray[np.float64], count: NDArray[np.intp], above: int, within: float, freedom: int
) -> tuple[float, float]:
    between = float((count * mean**2).sum()) / above
    return between, _f_survival(between, within, above, freedom)


def _f_survival(upper: float, lower: float, first: int, second: int) -> float:
    from scipy.stats import f

    return float(f.sf(upper / lower, first, second)) if lower > 0 else 0.0


def _projected(
    values: NDArray[np.float64], columns: NDArray[np.float64], root: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """Return the residuals of a weighted fit of the *columns*, times *root*, and their rank."""
    target = values * root
    coef, _, rank, _ = np.linalg.lstsq(columns * root[:, None], target, rcond=1e-9)
    return target - (columns * root[:, None]) @ coef, int(rank)


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = float(values.std())
    standard: NDArray[np.float64] = (values - values.mean()) / (spread if spread > 0 else 1.0)
    return standard


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, rank = np.unique(values, return_inverse=True)
    return np.asarray(rank / max(int(rank.max()), 1), dtype=np.float64)
