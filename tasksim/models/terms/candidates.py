"""Candidate terms for the search of a regression.

By default, they are products of powers of the parameters: of one parameter, also with half-integer
exponents and with a logarithm; of several, with integer exponents or one logarithm. The terms of a
categorical parameter are effects of its levels: ``is(layout, 1)``, alone and times a product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.terms.formulas import Factor, Term, Terms, canonical, parse_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.base.arrays import Floats

__all__ = ["AUTO", "Candidates", "Lattice", "find_candidates", "lattice_terms"]

AUTO: Final = "auto"
RECOMMENDED_VALUES: Final = 5
"""Recommended number of values per parameter, the same as in Extra-P."""
MAX_LEVELS: Final = 20
"""Maximum number of levels: with more, each level has few samples, and the parameter is usually a
quantity."""
MAX_CORRELATION: Final = 0.999
"""Correlation above which two parameters are indistinguishable: at 0.999, 4 % of the spread of one
is independent of the other, less than any noise."""
MAX_CANDIDATES: Final = 1000
"""Maximum number of candidates: their normal equations take 8 MB per fold."""


@dataclass(frozen=True)
class Lattice:
    """The set of products of powers that are candidates.

    Attributes
    ----------
    exponents
        Exponents of terms with one parameter; products of several use the integer ones.
    logarithms
        Whether terms may have a factor ``log2`` of one of their parameters.
    order
        Maximum number of parameters of a product.
    degree
        Maximum sum of exponents.
    """

    exponents: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
    logarithms: bool = True
    order: int = 4
    degree: float = 4.0


DEFAULT: Final = Lattice()


@dataclass(frozen=True)
class Candidates:
    """Candidate terms, simple ones first, without the constant.

    *notes* are texts on the properties that the samples cannot determine.
    """

    terms: Terms
    notes: tuple[str, ...]


def lattice_terms(names: Sequence[str], lattice: Lattice = DEFAULT) -> list[Term]:
    """Return the products of powers of the parameters *names*, simple ones first.

    >>> few = Lattice(exponents=(1.0, 2.0), logarithms=False, order=2, degree=3.0)
    >>> [str(term) for term in lattice_terms(("m", "n"), few)]
    ['m', 'n', 'm^2', 'n^2', 'm*n', 'm*n^2', 'm^2*n']
    """
    return list(_sorted_lattice(tuple(names), lattice))


@lru_cache(maxsize=64)
def _sorted_lattice(names: tuple[str, ...], lattice: Lattice) -> tuple[Term, ...]:
    """Return the sorted terms, cached since every fold of a cross-validation needs them."""
    return tuple(sorted(dict.fromkeys(_lattice(names, lattice)), key=_complexity))


def find_candidates(
    names: Sequence[str],
    rows: Floats,
    *,
    given: str = AUTO,
    categorical: Sequence[str] = (),
    lattice: Lattice = DEFAULT,
) -> Candidates:
    """Return the candidates that are usable for the configurations *rows*.

    Terms are excluded if their parameters never change, if they are not finite (a logarithm
    of 0) or constant, or if they are logarithms of a parameter below 1. If the lattice would have
    more than 1000 terms, products of many parameters are excluded, too.

    Parameters
    ----------
    given
        ``"auto"``: the *lattice*; ``"m*n*k + m*n"``: these terms only;
        ``"auto + m^5"``: the lattice and these.
    categorical
        Parameters whose values are names instead of quantities.

    Raises
    ------
    InputError
        For a malformed term, an unknown parameter, and a categorical one with more than 20 levels.
    """
    if isinstance(categorical, str):
        raise InputError(f"categorical: expected a list of parameters, got '{categorical}'")
    for name in categorical:
        if name not in names:
            raise unknown("parameter", name, names, "categorical")
    numeric = [name for name in names if name not in categorical]
    varying = [n for n in numeric if np.ptp(rows[:, list(names).index(n)]) > 0]
    terms = _given(given, tuple(names))
    notes: list[str] = []
    if given == AUTO or given.startswith(f"{AUTO} +"):
        whole, order = _few(varying, lattice)
        if order < min(lattice.order, len(varying)):
            notes.append(
                f"with {len(varying)} parameters, products of over {order} are not candidates: "
                "name those that could be ('auto + a*b*c')"
            )
        levels = _level_terms(categorical, list(names), rows, whole)
        terms = list(dict.fromkeys([*whole, *levels, *terms]))
    usable = _usable(Terms(tuple(names), tuple(terms)), rows)
    return Candidates(usable, (*notes, *_notes(names, numeric, rows)))


def _few(names: Sequence[str], lattice: Lattice) -> tuple[list[Term], int]:
    """Return the terms of the lattice, and the highest order at which they are few enough."""
    for order in range(lattice.order, 0, -1):
        terms = lattice_terms(names, replace(lattice, order=order))
        if len(terms) <= MAX_CANDIDATES:
            break
    return terms, order


def _given(text: str, names: tuple[str, ...]) -> list[Term]:
    """Return the terms of *text* without the constant and without ``auto``."""
    text = text.removeprefix(AUTO).lstrip().removeprefix("+")
    return [t for t in parse_terms(text, names).terms if t.factors] if text.strip() else []


def _lattice(names: tuple[str, ...], lattice: Lattice) -> Iterator[Term]:
    whole = [e for e in lattice.exponents if float(e).is_integer()]
    for order in range(1, lattice.order + 1):
        for chosen in combinations(names, order):
            for powers in product(lattice.exponents if order == 1 else whole, repeat=order):
                if sum(powers) > lattice.degree:
                    continue
                factors = [Factor(n, "", e) for n, e in zip(chosen, powers, strict=True)]
                yield Term(tuple(factors))
                # Higher powers times a logarithm are too similar to the next power.
                if lattice.logarithms and max(powers) <= (2 if order == 1 else 1):
                    yield from _with_logarithm(factors, names)


def _with_logarithm(factors: list[Factor], names: tuple[str, ...]) -> Iterator[Term]:
    """Yield the product times a logarithm of one of its parameters, or with one replaced by it."""
    for index, factor in enumerate(factors):
        logarithm = Factor(factor.parameter, "log2")
        rest = [*factors[:index], *factors[index + 1 :]]
        yield canonical(Term((*rest, logarithm)), names)
        yield canonical(Term((*factors, logarithm)), names)


def _complexity(term: Term) -> tuple[float, ...]:
    """Return the sort key of terms: few parameters, no logarithms, small exponents first."""
    plain = [f.exponent for f in term.factors if not f.function]
    logs = len(term.factors) - len(plain)
    broken = sum(not float(e).is_integer() for e in plain)
    return (len({f.parameter for f in term.factors}), logs, broken, sum(plain))


def _level_terms(
    categorical: Sequence[str], names: list[str], rows: Floats, numeric: list[Term]
) -> Iterator[Term]:
    """Yield the effects of levels: of each alone, and times each product of integer powers."""
    plain = [t for t in numeric if all(not f.function and f.exponent % 1 == 0 for f in t.factors)]
    for name in categorical:
        levels = np.unique(rows[:, names.index(name)]).tolist()
        if len(levels) > MAX_LEVELS:
            raise InputError(
                f"categorical parameter '{name}' has {len(levels)} levels; at most {MAX_LEVELS} "
                "are legal: is it a quantity?"
            )
        for level, term in product(levels, [Term(), *plain]):
            factors = (*term.factors, Factor(name, "is", level=level))
            yield canonical(Term(factors), tuple(names))


def _usable(terms: Terms, rows: Floats) -> Terms:
    kept = []
    for term in terms.terms:
        values = term.evaluate(terms.names, rows)
        if np.isfinite(values).all() and np.ptp(values) > 0 and not _below_one(term, terms, rows):
            kept.append(term)
    return Terms(terms.names, tuple(kept))


def _below_one(term: Term, terms: Terms, rows: Floats) -> bool:
    """Return whether it has a logarithm of a parameter below 1, which is negative."""
    return any(
        f.function in ("log", "log2") and rows[:, terms.names.index(f.parameter)].min() < 1
        for f in term.factors
    )


def _notes(names: Sequence[str], numeric: Sequence[str], rows: Floats) -> Iterator[str]:
    columns = {name: rows[:, index] for index, name in enumerate(names)}
    for name, column in columns.items():
        count = len(np.unique(column))
        if count == 1:
            yield f"{name} is always {column[0]:.15g}: its effect is unknown"
        elif count < RECOMMENDED_VALUES and name in numeric:
            yield f"{name} has {count} different values: measure {RECOMMENDED_VALUES} or more"
    varying = [n for n in numeric if np.ptp(columns[n]) > 0]
    for a, b in combinations(varying, 2):
        if abs(np.corrcoef(columns[a], columns[b])[0, 1]) > MAX_CORRELATION:
            yield f"{a} and {b} vary together: their terms are indistinguishable"
