"""Search for the terms of a linear model.

For each number of terms, sequential replacement finds the best set. The search is repeated in each
fold of a cross-validation without the configurations of the fold (Hastie, Tibshirani and Friedman,
The Elements of Statistical Learning, 2nd edition, 2009, section 7.10.2). The number of terms is the
smallest whose error is within one standard error of the minimum.

Best subsets (A. Miller, Subset Selection in Regression, 2nd edition, 2002, chapter 3): columns are
added one by one, and after each addition every chosen column may be replaced by a better one. All
candidates are evaluated at once from inner products: the samples are processed only once, and
leaving out a fold is a subtraction.

Errors are computed from normal equations: leaving out a fold is a subtraction, and each of hundreds
of terms is added to the others at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.terms.formulas import Term, Terms
from tasksim.models.terms.leastsquares import column_lengths
from tasksim.models.validation.crossvalidation import FOLDS, fold_of_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.base.arrays import Floats, Indices, Ints
    from tasksim.models.terms.candidates import CandidateTerms

__all__ = [
    "EQUAL_ERROR",
    "FLOOR_SHARE",
    "MAX_CONFIGURATIONS",
    "Additions",
    "Alternative",
    "Measurements",
    "Normal",
    "SearchResult",
    "TermErrors",
    "additions",
    "best_subsets",
    "coefficients",
    "error_of_terms",
    "mean_and_error",
    "means_and_errors",
    "repeated_folds",
    "search_terms",
]

MIN_INDEPENDENT_SHARE: Final = 1e-7
"""Minimum share of a column's squared length outside the space of the chosen columns: normal
equations have half the digits, so less is rounding."""
MIN_GAIN_SHARE: Final = 1e-12
"""Minimum gain, as a share of the response's squared length, to prefer another subset: less is
rounding."""
START_COUNT: Final = 3
"""Number of first columns that are tried. 1, 3 and 6 found the same 11 of 12 hidden sets, in 0.4 to
0.5 s; a second start helps if terms are nearly the same."""
MAX_REPLACEMENTS: Final = 20
"""Maximum number of replacements per column: 1 and 20 found the same 11 of 12 hidden sets."""


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal equations, as inner products of the columns and of the response.

    Columns in *free* are in every subset; with *positive*, the coefficients of the others must be
    positive.
    """

    cross: Floats
    right: Floats
    total: float
    free: tuple[int, ...] = ()
    positive: bool = False

    @classmethod
    def of(cls, design: Floats, response: Floats) -> Normal:
        """Return the equations of *design*, shape (rows, columns), whose rows are weighted."""
        return cls(design.T @ design, design.T @ response, float(response @ response))

    def without(self, other: Normal) -> Normal:
        """Return the equations without the rows of *other*."""
        return Normal(self.cross - other.cross, self.right - other.right, self.total - other.total)


@dataclass(frozen=True, eq=False)
class Additions:
    """The effects of adding each column to the chosen ones.

    Attributes
    ----------
    explained
        The part of the response's squared length that the chosen columns explain.
    gain
        float64 [columns], the decrease of the sum of squares; -inf if the column cannot be added.
    added
        float64 [columns], the coefficient of the added column.
    others
        float64 [chosen, columns], the resulting coefficients of the chosen ones.
    """

    explained: float
    gain: Floats
    added: Floats
    others: Floats


def coefficients(normal: Normal, chosen: Sequence[int]) -> Floats:
    """Return the least-squares coefficients of the columns *chosen*."""
    index = list(chosen)
    if not index:
        return np.zeros(0)
    return _solved(normal.cross[index][:, index], normal.right[index])


def additions(normal: Normal, chosen: Sequence[int]) -> Additions:
    """Return the effects of adding each column to *chosen*, all at once."""
    index = list(chosen)
    cross, diagonal = normal.cross[index], normal.cross.diagonal()
    sides = np.column_stack([normal.right[index], cross])
    solved = _solved(cross[:, index], sides)
    before, shares = solved[:, 0], solved[:, 1:]
    outside = diagonal - np.einsum("ij,ij->j", cross, shares)
    rest = normal.right - before @ cross
    possible = (outside > MIN_INDEPENDENT_SHARE * diagonal) & (diagonal > 0)
    possible[index] = False
    added = np.where(possible, rest, 0.0) / np.where(possible, outside, 1.0)
    others = before[:, None] - shares * added
    if normal.positive:
        bound = [row for row, column in enumerate(index) if column not in normal.free]
        possible &= (added > 0) & (others[bound] > 0).all(axis=0)
    explained = float(before @ normal.right[index])
    return Additions(explained, np.where(possible, rest * added, -np.inf), added, others)


def best_subsets(normal: Normal, most: int) -> list[tuple[int, ...]]:
    """Return good subsets of 0, 1, ..., at most *most* columns besides the free ones.

    For each size it is the best one found from several first columns; they need not be nested.
    The list is shorter if no more columns can be added.
    """
    judged = _Judged(normal)
    gain = additions(normal, normal.free).gain
    first = np.argsort(-gain, kind="stable")[: START_COUNT if most > 0 else 0]
    best: list[tuple[float, tuple[int, ...]]] = [(judged.explained(()), ())]
    for start in first[gain[first] > 0].tolist():
        judged.keep_better(best, judged.path(start, most))
    for size in range(len(best) - 1, 1, -1):
        judged.keep_better(best, [judged.fewer(best[size][1])])
    return [subset for _, subset in best]


class _Judged:
    """Subsets of the columns of normal equations, with cached results.

    Paths to the best subsets often cross, so results for a subset are reused.
    """

    def __init__(self, normal: Normal) -> None:
        self.normal = normal
        self._explained: dict[tuple[int, ...], float] = {}
        self._additions: dict[tuple[int, ...], tuple[float, int, float]] = {}

    def explained(self, chosen: Sequence[int]) -> float:
        """Return the squared length of the response that *chosen* and the free ones explain."""
        key = tuple(chosen)
        if key not in self._explained:
            index = [*self.normal.free, *key]
            found = self.normal.right[index] @ coefficients(self.normal, index)
            self._explained[key] = float(found)
        return self._explained[key]

    def best_addition(self, chosen: Sequence[int]) -> tuple[float, int, float]:
        """Return the part explained by *chosen*, the best column to add, and its gain."""
        key = tuple(chosen)
        if key not in self._additions:
            found = additions(self.normal, (*self.normal.free, *key))
            best = int(np.argmax(found.gain))
            self._additions[key] = found.explained, best, float(found.gain[best])
        return self._additions[key]

    def keep_better(
        self, best: list[tuple[float, tuple[int, ...]]], found: list[tuple[float, tuple[int, ...]]]
    ) -> None:
        """Update *best*, which has one subset per size, with the better ones in *found*."""
        for explained, subset in found:
            size = len(subset)
            if size == len(best):
                best.append((explained, subset))
            elif explained > best[size][0] + MIN_GAIN_SHARE * self.normal.total:
                best[size] = (explained, subset)

    def fewer(self, subset: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        """Return *subset* without the least useful column, improved by replacements."""
        smaller = [[c for c in subset if c != column] for column in subset]
        chosen = max(smaller, key=self.explained)
        self.replace(chosen)
        return self.explained(chosen), tuple(sorted(chosen))

    def path(self, start: int, most: int) -> list[tuple[float, tuple[int, ...]]]:
        """Return the subsets of sizes 1, 2, ... grown from the column *start*."""
        chosen = [start]
        path: list[tuple[float, tuple[int, ...]]] = [(self.explained(chosen), (start,))]
        while len(chosen) < most:
            _, column, gain = self.best_addition(chosen)
            if not gain > 0:
                break
            chosen.append(column)
            self.replace(chosen)
            path.append((self.explained(chosen), tuple(sorted(chosen))))
        return path

    def replace(self, chosen: list[int]) -> None:
        """Replace columns of *chosen*, one at a time, until no replacement explains more."""
        unchanged = 0
        explained = self.explained(chosen)
        for turn in range(MAX_REPLACEMENTS * len(chosen)):
            place = turn % len(chosen)
            rest, column, gain = self.best_addition(chosen[:place] + chosen[place + 1 :])
            if rest + gain > explained + MIN_GAIN_SHARE * self.normal.total:
                chosen[place], explained, unchanged = column, rest + gain, 0
            else:
                unchanged += 1
            if unchanged == len(chosen):
                break


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Return the solution; the shortest one if columns coincide without a fold."""
    try:
        solution = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        solution = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)


FLOOR_SHARE: Final = 0.1
"""Lower bound of predictions, as a share of the shortest measured duration: a formula may be
negative beyond the samples, and has no logarithm then."""
EQUAL_ERROR: Final = 1e-6
"""Difference below which errors count as equal: predictions that are exact up to rounding."""

MAX_CONFIGURATIONS: Final = 4096
"""Maximum number of configurations, drawn at random: a mean error is then known to about 1 %, in
bounded time."""
AVERAGED_ERRORS: Final = 300
"""Number of errors to average: with fewer configurations, several partitions into folds are used.
With 0, 100, 300 and 900 the same 8 or 9 of 12 hidden sets were found from 40: it stabilises the
printed error, for a third of a second at most."""
MAX_PARTITIONS: Final = 10
"""Maximum number of partitions: ten are nearly all there are for five configurations."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Distinct configurations with their mean durations and numbers of samples.

    With *relative*, errors are relative to the duration; otherwise they are absolute.
    """

    rows: Floats
    durations_s: Floats
    counts: Ints
    relative: bool = True

    def thinned(self, most: int = MAX_CONFIGURATIONS) -> Measurements:
        """Return at most *most* of the configurations, drawn at random."""
        if len(self.rows) <= most:
            return self
        drawn = np.random.default_rng(0).choice(len(self.rows), most, replace=False)
        kept = np.sort(drawn)
        return replace(
            self,
            rows=self.rows[kept],
            durations_s=self.durations_s[kept],
            counts=self.counts[kept],
        )


def error_of_terms(measured: Measurements, terms: Terms) -> tuple[float, float]:
    """Return the cross-validated MLogQ of given *terms*, and its standard error.

    Both are NaN if there are too few configurations to leave some out.
    """
    few = measured.thinned()
    count = len(few.rows)
    if count < max(2, len(terms) + 1):
        return float("nan"), float("nan")
    parts = repeated_folds(count)
    if count - max(map(len, parts)) < len(terms):
        parts = list(np.arange(count, dtype=np.intp)[:, None])
    held = TermErrors(few, terms, parts)
    every = tuple(range(len(terms)))
    held.refer(every)
    return mean_and_error(held.errors_of(every))


def repeated_folds(configurations: int) -> list[Indices]:
    """Return the configurations of each fold; for few configurations, of several partitions.

    With tens of configurations, the error depends strongly on the partition.
    """
    ways = max(1, min(MAX_PARTITIONS, AVERAGED_ERRORS // configurations))
    of_each = [fold_of_each(configurations, FOLDS, way) for way in range(ways)]
    return [np.flatnonzero(of == fold) for of in of_each for fold in range(of.max() + 1)]


def mean_and_error(errors: Floats) -> tuple[float, float]:
    """Return the mean of *errors* and its standard error, NaN for a single one."""
    mean, spread = means_and_errors(errors[:, None])
    return float(mean[0]), float(spread[0])


def means_and_errors(errors: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each column and its standard error, NaN for a single row."""
    count = len(errors)
    possible = np.isfinite(errors).all(axis=0)
    mean = np.where(possible, errors.mean(axis=0), np.inf)
    if count < 2:
        return mean, np.full(len(mean), np.nan)
    spread = np.where(possible, errors, 0.0).std(axis=0, ddof=1) / count**0.5
    return mean, np.asarray(spread)


class TermErrors:
    """Design of all terms, and folds; every configuration is in the same number of folds."""

    def __init__(self, measured: Measurements, terms: Terms, folds: Sequence[Indices]) -> None:
        self.measured = measured
        self.terms = terms
        design = terms.design(measured.rows)
        self.design = design / column_lengths(design)
        self.folds = folds
        self.ways = sum(map(len, folds)) // len(design)
        self.reference = measured.durations_s
        self.cached: list[Normal] = []

    def refer(self, chosen: Sequence[int]) -> None:
        """Make errors relative to the predictions of the columns *chosen*, within a factor of 2."""
        whole, _ = self.equations((), positive=False)
        fitted = self.design[:, list(chosen)] @ coefficients(whole, chosen)
        durations = self.measured.durations_s
        self.reference = np.clip(fitted, durations / 2, durations * 2)
        self.cached = []

    def equations(self, free: tuple[int, ...], *, positive: bool) -> tuple[Normal, list[Normal]]:
        """Return the normal equations of all rows, and for each fold those of the other rows."""
        if not self.cached:
            weight = np.sqrt(self.measured.counts)
            if self.measured.relative:
                weight = weight / self.reference
            design, response = self.design * weight[:, None], self.measured.durations_s * weight
            whole = Normal.of(design, response)
            parts = [Normal.of(design[fold], response[fold]) for fold in self.folds]
            self.cached = [whole, *(whole.without(part) for part in parts)]
        first, *others = (replace(n, free=free, positive=positive) for n in self.cached)
        return first, others

    def errors(self, predicted: Floats, rows: Indices) -> Floats:
        """Return abs(ln(predicted / measured)), in the shape of *predicted* (rows, ...)."""
        durations = self.measured.durations_s
        floored = np.fmax(predicted, FLOOR_SHARE * durations.min())
        measured = durations[rows].reshape(-1, *[1] * (predicted.ndim - 1))
        return np.asarray(np.abs(np.log(floored / measured)))

    def errors_of(self, chosen: Sequence[int]) -> Floats:
        """Return the cross-validated error of each configuration with the columns *chosen*."""
        result = np.zeros(len(self.design))
        for fold, training in zip(self.folds, self.equations((), positive=False)[1], strict=True):
            predicted = self.design[fold][:, list(chosen)] @ coefficients(training, chosen)
            result[fold] += self.errors(predicted, fold) / self.ways
        return result

    def errors_with_each(self, rest: tuple[int, ...], *, positive: bool) -> Floats:
        """Return errors[configuration, column] of *rest* plus each column, cross-validated.

        They are infinite if a column cannot be added.
        """
        free = tuple(c for c in rest if c == 0)
        whole, trainings = self.equations(free, positive=positive)
        total = np.zeros((len(self.design), len(self.terms)))
        for fold, training in zip(self.folds, trainings, strict=True):
            found = additions(replace(training, positive=False), rest)
            design = self.design[fold]
            predicted = design[:, list(rest)] @ found.others + design * found.added
            total[fold] += self.errors(predicted, fold) / self.ways
        total[:, ~np.isfinite(additions(whole, rest).gain)] = np.inf
        return total


MAX_TERMS: Final = 6
"""Default maximum number of terms: kernels have one to four. More follow noise, and each requires
another search in every fold."""
MIN_CONFIGURATIONS: Final = 4
"""Minimum number of configurations: half of them, two, determine one term and leave one to test
it."""
MIN_ROWS: Final = 512
"""Minimum number of configurations used, whatever the number of candidates: of hidden sets of up to
four terms, 99 of 100 were found from 300."""
MAX_DESIGN_VALUES: Final = 2_000_000
"""Maximum number of elements of the design, 16 MB: it is processed once per fold."""
PLAIN_ERRORS: Final = 2.0
"""Number of standard errors of the difference within which a plain term is preferred: the best of
many odd ones seems better than it is, and the samples would have to show it."""
SEARCH_ROUNDS: Final = 2
"""Number of searches; the second has weights by the predictions of the first. With 1 to 3 rounds,
11 or 12 of 12 hidden sets were found from 100 configurations."""


@dataclass(frozen=True)
class Alternative:
    """Replacements of *term* that the samples cannot distinguish from it.

    *instead* are pairs of a term and the cross-validated MLogQ with it, the best first; *without*
    is the error of the model without any, if it is also within one standard error. If *term* is
    None, one of them may be missing: the samples do not determine whether and which.
    """

    term: Term | None
    instead: tuple[tuple[Term, float], ...]
    without: float | None


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Attributes
    ----------
    terms
        The constant, unless it would be negative, and the other terms in order of decreasing
        share of the predictions.
    mlogq, standard_error
        Cross-validated, including the search.
    by_count
        The cross-validated MLogQ with 0, 1, 2, ... terms besides the constant.
    alternatives
        Terms that could replace others.
    notes
        Properties that the samples cannot determine, as text.
    """

    terms: Terms
    mlogq: float
    standard_error: float
    by_count: tuple[float, ...]
    alternatives: tuple[Alternative, ...]
    notes: tuple[str, ...]

    def to_data(self) -> dict[str, Any]:
        """Return the entries of a report, as plain data."""
        return {
            "cv_mlogq": self.mlogq,
            "cv_standard_error": self.standard_error,
            "cv_mlogq_by_terms": list(self.by_count),
            "alternatives": [
                {
                    "term": None if a.term is None else str(a.term),
                    "instead": [{"term": str(t), "cv_mlogq": value} for t, value in a.instead],
                    "without": a.without,
                }
                for a in self.alternatives
            ],
            "notes": list(self.notes),
        }


def search_terms(
    measured: Measurements,
    candidates: CandidateTerms,
    *,
    most_terms: int = MAX_TERMS,
    positive: bool = True,
) -> SearchResult:
    """Return the terms that best predict unmeasured configurations.

    Parameters
    ----------
    measured
        The measurements; at most 4096 configurations are drawn at random, or down to 512 with many
        candidates.
    candidates
        The candidate terms.
    most_terms
        Maximum number of terms besides the constant.
    positive
        Whether terms must have positive coefficients, as costs have. The constant is left out
        if it would be negative.

    Raises
    ------
    InputError
        For fewer than 4 configurations, and for illegal options.
    """
    if not isinstance(most_terms, int) or isinstance(most_terms, bool) or most_terms < 1:
        raise InputError(f"most_terms must be a whole number of at least 1, got {most_terms!r}")
    if len(measured.rows) < MIN_CONFIGURATIONS:
        raise InputError(
            "the search for terms needs samples of at least "
            f"{MIN_CONFIGURATIONS} configurations (different parameters), "
            f"got {len(measured.rows)}: measure more, or name the terms"
        )
    thin = max(MIN_ROWS, min(MAX_CONFIGURATIONS, MAX_DESIGN_VALUES // (1 + len(candidates.terms))))
    few = measured.thinned(thin)
    parts = repeated_folds(len(few.rows))
    # Twice as many training configurations as terms, so that the fit has residuals.
    most = min(most_terms, (len(few.rows) - max(map(len, parts))) // 2)
    search = _Search(few, Terms(candidates.terms.names, (Term(), *candidates.terms.terms)), parts)
    return search.run(most, candidates.notes, positive=positive)


class _Search(TermErrors):
    """Subsets of terms; the constant is the first column."""

    def run(self, most: int, notes: tuple[str, ...], *, positive: bool) -> SearchResult:
        """Return the result of the search."""
        chosen: tuple[int, ...] = ()
        for _ in range(SEARCH_ROUNDS):
            before = chosen
            subset, errors = self.choose(most, positive=positive)
            chosen = self.with_constant(subset, positive=positive)
            self.refer(chosen)
            if chosen == before:
                break
        chosen = self.plain(chosen, positive=positive)
        mlogq, standard_error = mean_and_error(errors[len(subset)])
        ordered = self.by_share(chosen)
        return SearchResult(
            terms=Terms(self.terms.names, tuple(self.terms.terms[i] for i in ordered)),
            mlogq=mlogq,
            standard_error=standard_error,
            by_count=tuple(errors.mean(axis=1).tolist()),
            alternatives=(
                *self.alternatives(ordered, positive=positive),
                *self.besides(ordered, errors[len(subset) :], positive=positive),
            ),
            notes=notes,
        )

    def choose(self, most: int, *, positive: bool) -> tuple[tuple[int, ...], Floats]:
        """Return the best subset, and errors[count, configuration] for each number of terms."""
        whole, trainings = self.equations((0,), positive=positive)
        errors = np.zeros((most + 1, len(self.design)))
        for fold, training in zip(self.folds, trainings, strict=True):
            subsets = best_subsets(training, most)
            for count in range(most + 1):
                subset = (0, *subsets[min(count, len(subsets) - 1)])
                predicted = self.design[fold][:, list(subset)] @ coefficients(training, subset)
                errors[count, fold] += self.errors(predicted, fold) / self.ways
        subsets = best_subsets(whole, most)
        return subsets[min(parsimonious(errors), len(subsets) - 1)], errors

    def with_constant(self, subset: tuple[int, ...], *, positive: bool) -> tuple[int, ...]:
        """Return *subset* with the constant, unless it would be negative."""
        whole, _ = self.equations((0,), positive=positive)
        columns = (0, *subset)
        if positive and subset and coefficients(whole, columns)[0] < 0:
            return subset
        return columns

    def by_share(self, chosen: Sequence[int]) -> tuple[int, ...]:
        """Return *chosen* by decreasing share of the predictions, with the constant first."""
        whole, _ = self.equations((), positive=False)
        parts = self.design[:, list(chosen)] * coefficients(whole, chosen)
        share = np.abs(parts / self.reference[:, None]).mean(axis=0)
        order = sorted(range(len(chosen)), key=lambda i: (chosen[i] != 0, -share[i]))
        return tuple(chosen[i] for i in order)

    def plain(self, chosen: tuple[int, ...], *, positive: bool) -> tuple[int, ...]:
        """Return *chosen* without unneeded logarithms and fractional exponents.

        A term with any of these is replaced by the best term with fewer of them, if its error is
        within two standard errors of the difference.
        """
        terms = self.terms.terms
        for column in [c for c in chosen if _oddness(terms[c])]:
            rest = tuple(c for c in chosen if c != column)
            errors = self.errors_with_each(rest, positive=positive)
            mean, spread = means_and_errors(errors - self.errors_of(chosen)[:, None])
            near = mean <= np.maximum(PLAIN_ERRORS * spread, EQUAL_ERROR)
            less = [_oddness(term) < _oddness(terms[column]) for term in terms]
            near &= np.array(less) & ~np.isin(np.arange(len(terms)), (0, *chosen))
            if near.any():
                chosen = tuple(sorted((*rest, int(np.argmin(np.where(near, mean, np.inf))))))
        return chosen

    def alternatives(self, chosen: tuple[int, ...], *, positive: bool) -> Iterator[Alternative]:
        """Yield, for each term that others could replace, these alternatives."""
        mlogq, standard_error = mean_and_error(self.errors_of(chosen))
        bound = mlogq + standard_error
        for column in [c for c in chosen if c != 0]:
            rest = tuple(c for c in chosen if c != column)
            instead = self.errors_with_each(rest, positive=positive).mean(axis=0)
            # The constant and the term itself are not alternatives.
            instead[[0, column]] = np.inf
            without = float(self.errors_of(rest).mean())
            near = self.near(instead, bound)
            if near or without <= bound:
                term = self.terms.terms[column]
                yield Alternative(term, near, without if without <= bound else None)

    def besides(
        self, chosen: tuple[int, ...], errors: Floats, *, positive: bool
    ) -> Iterator[Alternative]:
        """Yield terms of which one may be missing, if *errors* with one more term are smaller.

        The reduction must exceed one standard error of the difference.
        """
        if len(errors) < 2:
            return
        less, spread = mean_and_error(errors[0] - errors[1])
        if less <= max(spread, EQUAL_ERROR):
            return
        now, standard_error = mean_and_error(self.errors_of(chosen))
        further = self.errors_with_each(chosen, positive=positive).mean(axis=0)
        further[0] = np.inf
        near = self.near(further, min(now, further.min() + standard_error))
        if near:
            yield Alternative(None, near, now)

    def near(self, errors: Floats, bound: float) -> tuple[tuple[Term, float], ...]:
        """Return the terms whose error is at most *bound*, the best first."""
        order = np.argsort(errors, kind="stable").tolist()
        return tuple((self.terms.terms[i], float(errors[i])) for i in order if errors[i] <= bound)


def _oddness(term: Term) -> int:
    """Return the number of factors that are logarithms or have fractional exponents.

    Divisions by squares count, too; exponentials, squares of logarithms, quarters and thirds count
    twice.
    """
    oddness = 0
    for factor in term.factors:
        if factor.function == "exp":
            oddness += 2
        elif factor.function in ("log", "log2"):
            oddness += 1 if factor.exponent == 1 else 2
        elif factor.exponent % 1 == 0:
            oddness += factor.exponent < -1
        else:
            oddness += 1 if (2 * factor.exponent) % 1 == 0 else 2
    return oddness


def parsimonious(errors: Floats) -> int:
    """Return the first row of *errors* whose mean is within a standard error of the least mean.

    Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984.
    """
    best = int(np.argmin(errors.mean(axis=1)))
    mean, spread = mean_and_error(errors[best])
    return int(np.argmax(errors.mean(axis=1) <= mean + max(spread, EQUAL_ERROR)))
