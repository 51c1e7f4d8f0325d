"""Search for the terms of a linear model.

For each number of terms, sequential replacement finds the best set
(:mod:`tasksim.models.terms.subsets`). The search is repeated in each fold of a cross-validation
without the configurations of the fold (Hastie, Tibshirani and Friedman, The Elements of
Statistical Learning, 2nd edition, 2009, section 7.10.2). The number of terms is the smallest
whose error is within one standard error of the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.terms.formulas import Term, Terms
from tasksim.models.terms.subsets import best_subsets, coefficients
from tasksim.models.terms.termerrors import (
    EQUAL_ERROR,
    MAX_CONFIGURATIONS,
    TermErrors,
    mean_and_error,
    means_and_errors,
    repeated_folds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.models.terms.candidates import Candidates
    from tasksim.models.terms.termerrors import Measurements

__all__ = ["Alternative", "Found", "search_terms"]

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
ROUNDS: Final = 2
"""Number of searches; the second has weights by the predictions of the first. With 1 to 3 rounds,
11 or 12 of 12 hidden sets were found from 100 configurations."""


@dataclass(frozen=True)
class Alternative:
    """Terms that could replace *term*: the samples cannot distinguish them.

    *instead* are pairs of a term and the cross-validated MLogQ with it, the best first; *without*
    is the error of the model without any, if it is also within one standard error. If *term* is
    None, one of them may be missing: the samples do not determine whether and which.
    """

    term: Term | None
    instead: tuple[tuple[Term, float], ...]
    without: float | None


@dataclass(frozen=True)
class Found:
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
        What the samples cannot determine, as text.
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
    candidates: Candidates,
    *,
    most_terms: int = MAX_TERMS,
    positive: bool = True,
    folds: int = 5,
    seed: int = 0,
) -> Found:
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
    folds, seed
        Number of folds, and seed, of the cross-validation.

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
    few = measured.thinned(thin, seed=seed)
    parts = repeated_folds(len(few.rows), folds, seed)
    # Twice as many training configurations as terms, so that the fit has residuals.
    most = min(most_terms, (len(few.rows) - max(map(len, parts))) // 2)
    search = _Search(few, Terms(candidates.terms.names, (Term(), *candidates.terms.terms)), parts)
    return search.run(most, candidates.notes, positive=positive)


class _Search(TermErrors):
    """Subsets of terms; the constant is the first column."""

    def run(self, most: int, notes: tuple[str, ...], *, positive: bool) -> Found:
        """Return the result of the search."""
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
        within one standard error of the difference.
        """
        terms = self.terms.terms
        for column in [c for c in chosen if _oddness(terms[c])]:
            rest = tuple(c for c in chosen if c != column)
            errors = self.errors_with_each(rest, positive=positive)
            mean, spread = means_and_errors(errors - self.errors_of(chosen)[:, None])
            near = mean <= np.maximum(spread, EQUAL_ERROR)
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
        self, chosen: tuple[int, ...], errors: NDArray[np.float64], *, positive: bool
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

    def near(self, errors: NDArray[np.float64], bound: float) -> tuple[tuple[Term, float], ...]:
        """Return the terms whose error is at most *bound*, the best first."""
        order = np.argsort(errors, kind="stable").tolist()
        return tuple((self.terms.terms[i], float(errors[i])) for i in order if errors[i] <= bound)


def _oddness(term: Term) -> int:
    """Return the number of factors that are logarithms or have fractional exponents."""
    return sum(f.function in ("log", "log2") or f.exponent % 1 != 0 for f in term.factors)


def parsimonious(errors: NDArray[np.float64]) -> int:
    """Return the first row of *errors* whose mean is within a standard error of the least mean.

    Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984.
    """
    best = int(np.argmin(errors.mean(axis=1)))
    mean, spread = mean_and_error(errors[best])
    return int(np.argmax(errors.mean(axis=1) <= mean + max(spread, EQUAL_ERROR)))
