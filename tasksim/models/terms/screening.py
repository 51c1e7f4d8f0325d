"""Screening of candidate terms by the durations, before the search of a regression.

Sure independence screening, iterated (J. Fan and J. Lv, Journal of the Royal Statistical Society B
70, 2008): of thousands of terms, those are kept whose parts outside the space of the terms chosen
so far correlate most with the residuals; then the best is chosen, and so on.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.terms.formulas import Terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.base.arrays import Floats

__all__ = ["dividing", "falling", "screened", "thinned"]

MAX_ROWS: Final = 1024
"""Maximum number of configurations, drawn at random: 12,000 terms then take 100 MB."""
CHOSEN_COUNT: Final = 8
"""Number of terms that are chosen one after the other; kernels have one to four."""
MIN_OUTSIDE_SHARE: Final = 1e-6
"""Minimum share of a term's squared length outside the space of the chosen terms: less is
rounding, or what no samples distinguish."""
MIN_FALL: Final = 0.05
"""Minimum fall of the logarithm of the duration with a parameter; less, no ratio would explain."""
MIN_FALL_DEVIATIONS: Final = 2.0
"""Minimum fall in standard deviations of the residuals, which have the misfit of the polynomial in
them: sums that only grow, such as n + p, have polynomials that fall by one or less."""
MIN_FALLING_SHARE: Final = 0.05
"""Minimum share of the configurations at which durations fall: n/p + p falls for large n only."""
GRID_POINTS: Final = 9
"""Number of values of a parameter over which a fall is looked for: its quantiles, by eighths."""
MIN_HELP: Final = 25.0
"""Minimum reduction of the sum of squares by a ratio, in variances of the residuals: the best of
hundreds of columns of noise reduces it by 12."""
MIN_REST: Final = 1e-20
"""Sum of squared relative errors below which all is explained: it is rounding."""
MAX_CHOSEN_SHARE: Final = 0.25
"""Maximum number of chosen terms, as a share of the configurations, so that residuals are left."""
MIN_ROWS_PER_COEFFICIENT: Final = 3
"""Minimum number of configurations per coefficient of a polynomial, so that residuals are left."""


def falling(names: Sequence[str], rows: Floats, durations_s: Floats) -> tuple[str, ...]:
    """Return the parameters with which durations fall somewhere, as with p in n/p + log2(p).

    The logarithm of the duration is fitted as a polynomial of those of the parameters *names*, the
    columns of *rows*: linear for few configurations, else up to their cubes.
    """
    rows, durations_s = thinned(rows, durations_s)
    count, size = rows.shape
    positive = (rows > 0).all(axis=0)
    if not size or not positive.any():
        return ()
    logs = np.where(positive, np.log(np.where(positive, rows, 1.0)), rows)
    spread = logs.std(axis=0)
    logs = (logs - logs.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    powers = _powers(size, count)
    if count <= len(powers):
        return ()
    design = np.column_stack([_product(logs, power) for power in powers])
    response = np.log(durations_s)
    coef = np.asarray(np.linalg.lstsq(design, response, rcond=None)[0], dtype=np.float64)
    rest = response - design @ coef
    deviation = float(np.sqrt(rest @ rest / (count - len(powers))))
    least = max(MIN_FALL, MIN_FALL_DEVIATIONS * deviation)
    found = []
    for index in np.flatnonzero(positive & (spread > 0)).tolist():
        falls = _falls(logs, powers, coef, index)
        if (falls > least).mean() >= MIN_FALLING_SHARE:
            found.append(names[index])
    return tuple(found)


def _falls(logs: Floats, powers: Sequence[tuple[int, ...]], coef: Floats, index: int) -> Floats:
    """Return how far the polynomial falls for each row while the variable *index* grows."""
    points = np.unique(np.quantile(logs[:, index], np.linspace(0, 1, GRID_POINTS)))
    moved = logs.copy()
    highest = np.full(len(logs), -np.inf)
    falls = np.zeros(len(logs))
    for point in points:
        moved[:, index] = point
        value = np.column_stack([_product(moved, power) for power in powers]) @ coef
        highest = np.maximum(highest, value)
        falls = np.maximum(falls, highest - value)
    return falls


def _powers(size: int, count: int) -> list[tuple[int, ...]]:
    """Return the products of a polynomial of *size* variables that *count* values determine.

    Each product is a list of variables: (0, 1) is x0·x1.
    """
    powers: list[tuple[int, ...]] = [(), *((i,) for i in range(size))]
    # A logarithm over a power first rises, then falls, and may rise again.
    for more in (
        [(i, i) for i in range(size)],
        list(combinations(range(size), 2)),
        [(i, i, i) for i in range(size)],
    ):
        if count < MIN_ROWS_PER_COEFFICIENT * (len(powers) + len(more)):
            break
        powers += more
    return powers


def _product(logs: Floats, power: tuple[int, ...]) -> Floats:
    return np.asarray(logs[:, list(power)].prod(axis=1))


def dividing(
    names: Sequence[str],
    terms_with: Callable[[tuple[str, ...]], Terms],
    rows: Floats,
    durations_s: Floats,
) -> tuple[str, ...]:
    """Return those of *names* whose ratios help to predict the durations.

    *terms_with* returns the terms with the given divisors. A divisor is taken if one of its terms
    reduces the residuals of the best others by more than chance does; the most helpful is first.
    """
    chosen: tuple[str, ...] = ()
    known = terms_with(())
    columns = _columns(known, rows, durations_s)
    while left := [name for name in names if name not in chosen]:
        basis, rest = _greedy(columns)[:2]
        helped = {}
        for name in left:
            further = terms_with((*chosen, name))
            added = tuple(set(further.terms) - set(known.terms))
            fresh = _columns(Terms(known.names, added), rows, durations_s)
            explained = float(_gains(fresh, basis, rest).max(initial=0.0)) ** 2
            helped[name] = explained / max(float(rest @ rest) - explained, MIN_REST)
        best = max(left, key=lambda name: helped[name])
        if helped[best] * max(len(rest) - basis.shape[1] - 1, 0) < MIN_HELP:
            break
        chosen = (*chosen, best)
        known = terms_with(chosen)
        columns = _columns(known, rows, durations_s)
    return tuple(name for name in names if name in chosen)


def screened(terms: Terms, rows: Floats, durations_s: Floats, most: int) -> Terms:
    """Return *most* of the *terms*: those that predict best alone, or beside the best of others.

    Errors are relative, and only positive coefficients count.
    """
    kept = np.zeros(len(terms), dtype=bool)
    every = _greedy(_columns(terms, rows, durations_s))[2]
    share = -(-most // len(every))
    for gains in every:
        order = np.argsort(-gains, kind="stable")
        kept[order[~kept[order]][: min(share, most - int(kept.sum()))]] = True
    return Terms(terms.names, tuple(t for t, keep in zip(terms.terms, kept, strict=True) if keep))


def _columns(terms: Terms, rows: Floats, durations_s: Floats) -> Floats:
    """Return the terms relative to the durations, as columns of length 1; the last is 1."""
    rows, durations_s = thinned(rows, durations_s)
    design = np.column_stack([terms.design(rows), np.ones(len(rows))]) / durations_s[:, None]
    return np.asarray(design / np.linalg.norm(design, axis=0))


def _greedy(columns: Floats) -> tuple[Floats, Floats, list[Floats]]:
    """Choose the constant, which is last, then columns that reduce the residuals most.

    Return an orthonormal basis of the chosen columns, the residuals of 1, and the gain of each
    column but the constant before each choice.
    """
    basis = np.empty((len(columns), 0))
    rest = np.ones(len(columns))
    every = []
    best = columns.shape[1] - 1
    for _ in range(max(1, min(CHOSEN_COUNT, int(MAX_CHOSEN_SHARE * len(columns))))):
        column = columns[:, best] - basis @ (basis.T @ columns[:, best])
        length = np.linalg.norm(column)
        if length > 0:
            basis = np.column_stack([basis, column / length])
        rest = rest - basis @ (basis.T @ rest)
        gains = _gains(columns[:, :-1], basis, rest)
        every.append(gains)
        if not len(gains) or not gains.max() > 0:
            break
        best = int(np.argmax(gains))
    return basis, rest, every


def _gains(columns: Floats, basis: Floats, rest: Floats) -> Floats:
    """Return the length of *rest* along the part of each column outside the *basis*."""
    outside = 1 - ((basis.T @ columns) ** 2).sum(axis=0)
    possible = outside > MIN_OUTSIDE_SHARE
    gains = (rest @ columns) / np.sqrt(np.where(possible, outside, 1.0))
    return np.where(possible, gains, -np.inf)


def thinned(rows: Floats, durations_s: Floats) -> tuple[Floats, Floats]:
    """Return at most 1024 of the configurations, drawn at random."""
    if len(rows) <= MAX_ROWS:
        return rows, durations_s
    drawn = np.sort(np.random.default_rng(0).choice(len(rows), MAX_ROWS, replace=False))
    return rows[drawn], durations_s[drawn]
