"""The search for the terms of a linear model.

For each number of terms the best set is found by sequential replacement
(:mod:`tasksim.models.subsets`), once more in each fold of a cross-validation, whose configurations
the search there does not see (Hastie, Tibshirani and Friedman, The Elements of Statistical
Learning, 2nd edition, 2009, section 7.10.2). The number of terms is the smallest whose error is
within one standard error of the least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.crossvalidation import fold_of_each
from tasksim.models.subsets import Normal, additions, best_subsets, coefficients
from tasksim.models.terms import Term, Terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.models.candidates import Candidates

__all__ = ["Alternative", "Found", "Measurements", "cross_validated", "search_terms"]

MOST_TERMS: Final = 6
MOST_CONFIGURATIONS: Final = 4096
LEAST_CONFIGURATIONS: Final = 4
FLOOR: Final = 0.1
ENOUGH: Final = 500
MOST_WAYS: Final = 10
ROUNDS: Final = 3
EXACT: Final = 1e-6
"""Errors nearer to each other than this are equal: predictions that are exact but for rounding."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Distinct configurations, how long each takes, and what its error counts.

    *relative*: errors are relative to the duration, and absolute otherwise.
    """

    rows: NDArray[np.float64]
    durations_s: NDArray[np.float64]
    counts: NDArray[np.int64]
    relative: bool = True

    def thinned(self, most: int = MOST_CONFIGURATIONS, seed: int = 0) -> Measurements:
        """Return at most *most* of the configurations, drawn at random."""
        if len(self.rows) <= most:
            return self
        drawn = np.random.default_rng(seed).choice(len(self.rows), most, replace=False)
        kept = np.sort(drawn)
        return replace(
            self,
            rows=self.rows[kept],
            durations_s=self.durations_s[kept],
            counts=self.counts[kept],
        )


@dataclass(frozen=True)
class Alternative:
    """Terms that could stand for *term*: the samples do not tell which it is.

    *instead* are pairs of a term and the cross-validated MLogQ with it, the best first; *without*
    is that of the model without any, if that too is within one standard error. Where *term* is
    None, they could be there besides: the samples do not tell whether one is, and which.
    """

    term: Term | None
    instead: tuple[tuple[Term, float], ...]
    without: float | None


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes
    ----------
    terms
        The constant, unless it would be negative, and the others, of the largest share of the
        predictions first.
    mlogq, standard_error
        Cross-validated, the search included.
    by_count
        Of 0, 1, 2, ... terms besides the constant, the cross-validated MLogQ.
    alternatives
        Of terms that others could stand for.
    notes
        What the samples cannot tell, for people.
    """

    terms: Terms
    mlogq: float
    standard_error: float
    by_count: tuple[float, ...]
    alternatives: tuple[Alternative, ...]
    notes: tuple[str, ...]

    def to_data(self) -> dict[str, Any]:
        """Return what a report says of it, as plain data."""
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
    candidates: Candidates,
    *,
    most_terms: int = MOST_TERMS,
    positive: bool = True,
    folds: int = 5,
    seed: int = 0,
) -> Found:
    """Return the terms that predict configurations best that were not measured.

    Parameters
    ----------
    measured
        Of more than 4096 configurations, so many are drawn at random.
    candidates
        The terms to choose from.
    most_terms
        The most terms besides the constant.
    positive
        Whether terms must have positive coefficients, as costs have. The constant is left out
        if it would be negative.
    folds, seed
        Of the cross-validation.

    Raises
    ------
    InputError
        For fewer than 4 configurations, and options that make no sense.
    """
    if not isinstance(most_terms, int) or isinstance(most_terms, bool) or most_terms < 1:
        raise InputError(f"most_terms must be a whole number of at least 1, got {most_terms!r}")
    if len(measured.rows) < LEAST_CONFIGURATIONS:
        raise InputError(
            "the search for terms needs samples of at least "
            f"{LEAST_CONFIGURATIONS} configurations (different parameters), "
            f"got {len(measured.rows)}: measure more, or name the terms"
        )
    few = measured.thinned(seed=seed)
    parts = repeated_folds(len(few.rows), folds, seed)
    most = min(most_terms, (len(few.rows) - max(map(len, parts))) // 2)
    search = _Search(few, Terms(candidates.terms.names, (Term(), *candidates.terms.terms)), parts)
    return search.run(most, candidates.notes, positive=positive)


def cross_validated(
    measured: Measurements, terms: Terms, *, folds: int = 5, seed: int = 0
) -> tuple[float, float]:
    """Return the cross-validated MLogQ of given *terms*, and its standard error.

    NaN where there are too few configurations to leave some out.
    """
    few = measured.thinned(seed=seed)
    count = len(few.rows)
    if count < max(2, len(terms) + 1):
        return float("nan"), float("nan")
    parts = repeated_folds(count, folds, seed)
    if count - max(map(len, parts)) < len(terms):
        parts = list(np.arange(count, dtype=np.intp)[:, None])
    search = _Search(few, terms, parts)
    every = tuple(range(len(terms)))
    search.refer(every)
    return mean_and_error(search.errors_of(every))


def repeated_folds(configurations: int, count: int, seed: int) -> list[NDArray[np.intp]]:
    """Return the configurations of each fold; of few, of several ways to make folds.

    With tens of configurations, which of them are in one fold decides much.
    """
    ways = max(1, min(MOST_WAYS, ENOUGH // configurations))
    of_each = [fold_of_each(configurations, count, seed + way) for way in range(ways)]
    return [np.flatnonzero(of == fold) for of in of_each for fold in range(of.max() + 1)]


def mean_and_error(errors: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of *errors* and its standard error, NaN for a single one."""
    mean, spread = means_and_errors(errors[:, None])
    return float(mean[0]), float(spread[0])


def means_and_errors(
    errors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of each column, and its standard error, NaN for a single row."""
    count = len(errors)
    possible = np.isfinite(errors).all(axis=0)
    mean = np.where(possible, errors.mean(axis=0), np.inf)
    if count < 2:
        return mean, np.full(len(mean), np.nan)
    spread = np.where(possible, errors, 0.0).std(axis=0, ddof=1) / count**0.5
    return mean, np.asarray(spread)


class _Search:
    """The columns of all candidates, and the folds; each configuration is in as many of them."""

    def __init__(
        self, measured: Measurements, terms: Terms, folds: Sequence[NDArray[np.intp]]
    ) -> None:
        self.measured = measured
        self.terms = terms
        design = terms.design(measured.rows)
        length = np.linalg.norm(design, axis=0)
        self.design = design / np.where(length == 0, 1.0, length)
        self.folds = folds
        self.ways = sum(map(len, folds)) // len(design)
        self.reference = measured.durations_s

    def run(self, most: int, notes: tuple[str, ...], *, positive: bool) -> Found:
        """Return what is found; the first column is the constant."""
        chosen: tuple[int, ...] = ()
        for _ in range(ROUNDS):
            before = chosen
            subset, errors = self.choose(most, positive=positive)
            chosen = self.with_constant(subset, positive=positive)
            self.refer(chosen)
            if chosen == before:
                break
        chosen = self.plain(chosen, positive=positive)
        mlogq, standard_error = mean_and_error(errors[len(subset)])
        ordered = self.by_share(chosen)
        return Found(
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

    def choose(self, most: int, *, positive: bool) -> tuple[tuple[int, ...], NDArray[np.float64]]:
        """Return the best subset, and errors[count, configuration] of each number of terms."""
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
        """Return *subset* with the constant, unless that would be negative."""
        whole, _ = self.equations((0,), positive=positive)
        columns = (0, *subset)
        if positive and subset and coefficients(whole, columns)[0] < 0:
            return subset
        return columns

    def refer(self, chosen: Sequence[int]) -> None:
        """Let errors be relative to what the columns *chosen* predict, within a factor 2."""
        whole, _ = self.equations((), positive=False)
        fitted = self.design[:, list(chosen)] @ coefficients(whole, chosen)
        durations = self.measured.durations_s
        self.reference = np.clip(fitted, durations / 2, durations * 2)

    def equations(self, free: tuple[int, ...], *, positive: bool) -> tuple[Normal, list[Normal]]:
        """Return the normal equations of all rows, and per fold those of all others."""
        weight = np.sqrt(self.measured.counts)
        if self.measured.relative:
            weight = weight / self.reference
        design, response = self.design * weight[:, None], self.measured.durations_s * weight
        whole = Normal.of(design, response, free, positive=positive)
        parts = [Normal.of(design[f], response[f], free, positive=positive) for f in self.folds]
        return whole, [whole.without(part) for part in parts]

    def errors(self, predicted: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return abs(ln(predicted / measured)), shape of *predicted* (rows, ...)."""
        durations = self.measured.durations_s
        floored = np.maximum(predicted, FLOOR * durations.min())
        measured = durations[rows].reshape(-1, *[1] * (predicted.ndim - 1))
        result: NDArray[np.float64] = np.abs(np.log(floored / measured))
        return result

    def errors_of(self, chosen: Sequence[int]) -> NDArray[np.float64]:
        """Return the cross-validated error of each configuration with the columns *chosen*."""
        result = np.zeros(len(self.design))
        for fold, training in zip(self.folds, self.equations((), positive=False)[1], strict=True):
            predicted = self.design[fold][:, list(chosen)] @ coefficients(training, chosen)
            result[fold] += self.errors(predicted, fold) / self.ways
        return result

    def by_share(self, chosen: Sequence[int]) -> tuple[int, ...]:
        """Return *chosen*, of the largest share of the predictions first, the constant first."""
        whole, _ = self.equations((), positive=False)
        parts = self.design[:, list(chosen)] * coefficients(whole, chosen)
        share = np.abs(parts / self.reference[:, None]).mean(axis=0)
        order = sorted(range(len(chosen)), key=lambda i: (chosen[i] != 0, -share[i]))
        return tuple(chosen[i] for i in order)

    def plain(self, chosen: tuple[int, ...], *, positive: bool) -> tuple[int, ...]:
        """Return *chosen* without logarithms and broken exponents that are not needed.

        A term that has some gives way to the best that has fewer and predicts as well but for
        one standard error of the difference.
        """
        terms = self.terms.terms
        for column in [c for c in chosen if _oddness(terms[c])]:
            rest = tuple(c for c in chosen if c != column)
            errors = self.errors_with_each(rest, positive=positive)
            mean, spread = means_and_errors(errors - self.errors_of(chosen)[:, None])
            near = mean <= np.maximum(spread, EXACT)
            less = [_oddness(term) < _oddness(terms[column]) for term in terms]
            near &= np.array(less) & ~np.isin(np.arange(len(terms)), (0, *chosen))
            if near.any():
                chosen = tuple(sorted((*rest, int(np.argmin(np.where(near, mean, np.inf))))))
        return chosen

    def alternatives(self, chosen: tuple[int, ...], *, positive: bool) -> Iterator[Alternative]:
        """Yield, for each term that others could stand for, those."""
        mlogq, standard_error = mean_and_error(self.errors_of(chosen))
        bound = mlogq + standard_error
        for column in [c for c in chosen if c != 0]:
            rest = tuple(c for c in chosen if c != column)
            instead = self.errors_with_each(rest, positive=positive).mean(axis=0)
            instead[[0, column]] = np.inf
            without = float(self.errors_of(rest).mean())
            near = self.near(instead, bound)
            if near or without <= bound:
                term = self.terms.terms[column]
                yield Alternative(term, near, without if without <= bound else None)

    def besides(
        self, chosen: tuple[int, ...], errors: NDArray[np.float64], *, positive: bool
    ) -> Iterator[Alternative]:
        """Yield the terms of which one may be missing, if *errors* with one more are smaller.

        By more than one standard error of the difference, that is.
        """
        if len(errors) < 2:
            return
        less, spread = mean_and_error(errors[0] - errors[1])
        if less <= max(spread, EXACT):
            return
        now, standard_error = mean_and_error(self.errors_of(chosen))
        further = self.errors_with_each(chosen, positive=positive).mean(axis=0)
        further[0] = np.inf
        near = self.near(further, min(now, further.min() + standard_error))
        if near:
            yield Alternative(None, near, now)

    def near(self, errors: NDArray[np.float64], bound: float) -> tuple[tuple[Term, float], ...]:
        """Return the terms whose error is at most *bound*, the best first."""
        order = np.argsort(errors, kind="stable").tolist()
        return tuple((self.terms.terms[i], float(errors[i])) for i in order if errors[i] <= bound)

    def errors_with_each(self, rest: tuple[int, ...], *, positive: bool) -> NDArray[np.float64]:
        """Return errors[configuration, column] of *rest* and each column, cross-validated.

        Infinite where a column cannot be added.
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


def _oddness(term: Term) -> int:
    """Return how many factors are logarithms or have broken exponents."""
    return sum(f.function in ("log", "log2") or f.exponent % 1 != 0 for f in term.factors)


def parsimonious(errors: NDArray[np.float64]) -> int:
    """Return the first row of *errors* whose mean is within one standard error of the least mean.

    Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984.
    """
    best = int(np.argmin(errors.mean(axis=1)))
    mean, spread = mean_and_error(errors[best])
    return int(np.argmax(errors.mean(axis=1) <= mean + max(spread, EXACT)))
