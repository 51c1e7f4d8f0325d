"""Candidate terms for the search of a regression.

By default, they are products of powers of the parameters: of one parameter, also with half-integer
exponents and with a logarithm; of several, with integer exponents or one logarithm. Kernels of one
or two parameters have the exponents of Extra-P's performance model normal form, too (A. Calotoiu
et al., SC 2013), and the exponential of a parameter with many values that are close together, as
levels of a tree are. Parameters with which durations fall may be divisors: ``n/p``,
``n*log2(p)/p``. The terms of a categorical parameter are effects of its levels: ``is(layout, 1)``,
alone and times a product.

A parameter with few values has few candidates: two values do not distinguish a power from another
one or from a logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import combinations, product
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.terms.formulas import Factor, Term, Terms, canonical, parse_terms
from tasksim.models.terms.screening import dividing, falling, screened, thinned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.base.arrays import Floats

__all__ = ["AUTO", "CandidateTerms", "Lattice", "find_candidates", "lattice_terms"]

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
MAX_SCREENED: Final = 12_000
"""Maximum number of terms among which those are screened: ten parameters of which two are divisors
have 9000, in 2 s."""
MAX_TABLE_VALUES: Final = 1 << 20
"""Maximum number of values of terms that are checked at once: they take 8 MB."""
MIN_POWER_VALUES: Final = 3
"""Number of values below which a parameter is in terms only as itself or its inverse: any shape
passes through two points."""
MIN_FINE_VALUES: Final = 6
"""Number of values from which quarters and thirds are exponents: fewer determine not more than the
coarser shapes do."""
MIN_FINE_RATIO: Final = 16.0
"""Ratio of the largest to the smallest value from which quarters and thirds are exponents: over a
factor of 16, powers whose exponents differ by a quarter differ by a factor of 2."""
MAX_FINE_PARAMETERS: Final = 2
"""Maximum number of parameters of a kernel with quarters and thirds as exponents."""
MIN_EXPONENTIAL_SPAN: Final = 4.0
"""Difference of the largest and the smallest value from which the exponential is a candidate: over
less, it is too similar to a power."""
MAX_EXPONENTIAL_SPAN: Final = 16.0
"""Difference up to which the exponential is a candidate: e^16 is 9 million, the range of durations
from a microsecond to 9 s. For sizes, of hundreds, it would overflow."""


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
        Maximum sum of exponents, but for those of divisors.
    fine
        Further exponents, of terms with one parameter; if there are any, the squares of logarithms
        are terms, too, alone and times integer powers, and so are exponentials, alone.
    """

    exponents: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
    logarithms: bool = True
    order: int = 4
    degree: float = 4.0
    fine: tuple[float, ...] = ()


DEFAULT_LATTICE: Final = Lattice()
FINE_EXPONENTS: Final = tuple(
    part / denominator
    for denominator in (3, 4)
    for part in range(1, 3 * denominator)
    if part % denominator and not (denominator == 4 and part % 2 == 0)
)
"""Thirds and quarters up to 3, as in Extra-P."""


@dataclass(frozen=True)
class CandidateTerms:
    """Candidate terms, simple ones first, without the constant.

    *notes* are texts on the properties that the samples cannot determine.
    """

    terms: Terms
    notes: tuple[str, ...]


def lattice_terms(
    names: Sequence[str], lattice: Lattice = DEFAULT_LATTICE, divisors: Sequence[str] = ()
) -> list[Term]:
    """Return the products of powers of the parameters *names*, simple ones first.

    *divisors*, which are among *names*, may have negative exponents.

    >>> few = Lattice(exponents=(1.0, 2.0), logarithms=False, order=2, degree=3.0)
    >>> [str(term) for term in lattice_terms(("m", "n"), few)]
    ['m', 'n', 'm^2', 'n^2', 'm*n', 'm*n^2', 'm^2*n']
    >>> [str(term) for term in lattice_terms(("n", "p"), few, ("p",)) if term.divisors]
    ['1/p', '1/p^0.5', '1/p^2', 'n/p', 'n/p^0.5', 'n/p^2', 'n^2/p', 'n^2/p^0.5', 'n^2/p^2']
    """
    return list(_sorted_lattice(tuple(names), lattice, tuple(divisors)))


@lru_cache(maxsize=64)
def _sorted_lattice(
    names: tuple[str, ...], lattice: Lattice, divisors: tuple[str, ...]
) -> tuple[Term, ...]:
    """Return the sorted terms, cached since every fold of a cross-validation needs them."""
    found = dict(_ranked(names, lattice, ()))
    for chosen in [(name,) for name in divisors] + list(combinations(divisors, 2)):
        found.update(_ranked(names, lattice, chosen))
    return tuple(term for term, _ in sorted(found.items(), key=itemgetter(1)))


@lru_cache(maxsize=128)
def _ranked(
    names: tuple[str, ...], lattice: Lattice, below: tuple[str, ...]
) -> tuple[tuple[Term, tuple[float, ...]], ...]:
    """Return terms with their sort keys: those without a divisor, over one, or over two.

    They are cached since the search for divisors asks for the same ones beside others.
    """
    if not below:
        terms = _lattice(names, lattice)
    elif len(below) == 1:
        terms = _ratios(names, lattice, below[0])
    else:
        above = _numerators(names, lattice, below, lattice.order - 2)
        terms = (_over(term, names, *((name, 1.0) for name in below)) for term in above)
    return tuple((term, _complexity(term)) for term in terms)


def find_candidates(
    names: Sequence[str],
    rows: Floats,
    *,
    durations_s: Floats | None = None,
    given: str = AUTO,
    categorical: Sequence[str] = (),
    categories: Mapping[str, tuple[str, ...]] | None = None,
) -> CandidateTerms:
    """Return the candidates that are usable for the configurations *rows*.

    Terms are excluded if their parameters never change, if they are not finite (a logarithm
    of 0) or constant, if they are logarithms of a parameter below 1, or if the parameter has too
    few values for them. Of more than 1000 terms, those that help most to predict the durations
    are candidates; if these are not known, products of many parameters are excluded.

    Parameters
    ----------
    durations_s
        Mean duration of each configuration. With them, parameters with which durations fall may
        be divisors.
    given
        ``"auto"``: those of :data:`DEFAULT_LATTICE`; ``"m*n*k + m*n"``: these terms only;
        ``"auto + m^5"``: those and these.
    categorical
        Parameters whose values are names instead of quantities.
    categories
        Parameter -> the names of its categories, for those whose columns hold their numbers.

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
    terms = _given(given, tuple(names), categories or {})
    notes: list[str] = []
    if given == AUTO or given.startswith(f"{AUTO} +"):
        found = _automatic(tuple(names), numeric, rows, durations_s, notes)
        plain = list(found.terms)
        levels = _level_terms(categorical, list(names), rows, plain, categories or {})
        found = Terms(found.names, tuple(dict.fromkeys([*plain, *levels])))
        if durations_s is not None and len(found) > MAX_CANDIDATES:
            notes.append(
                f"{MAX_CANDIDATES} of {len(found)} candidates were searched, those that predict "
                "best alone or beside others"
            )
            found = screened(_usable(found, rows), rows, durations_s, MAX_CANDIDATES)
        terms = list(dict.fromkeys([*found.terms, *terms]))
    usable = _usable(Terms(tuple(names), tuple(terms)), rows)
    return CandidateTerms(usable, (*notes, *_notes(names, numeric, rows)))


def _automatic(
    names: tuple[str, ...],
    numeric: Sequence[str],
    rows: Floats,
    durations_s: Floats | None,
    notes: list[str],
) -> Terms:
    """Return the terms of the lattice that *rows* determine; note in *notes* which are left out."""
    columns = {name: rows[:, index] for index, name in enumerate(names)}
    varying = [name for name in numeric if np.ptp(columns[name]) > 0]
    fine = 0 < len(varying) <= MAX_FINE_PARAMETERS
    lattice = replace(DEFAULT_LATTICE, fine=FINE_EXPONENTS) if fine else DEFAULT_LATTICE
    most = MAX_CANDIDATES if durations_s is None else MAX_SCREENED
    few = rows if durations_s is None else thinned(rows, durations_s)[0]

    def terms_with(divisors: tuple[str, ...]) -> Terms:
        whole, order = _few(varying, lattice, divisors, most)
        orders.append(order)
        # Most terms are those of the call before, with other divisors.
        fresh = [t for t in whole if t not in checked]
        checked.update(dict.fromkeys(fresh, False))
        determined = [t for t in fresh if all(map(enough, t.factors))]
        checked.update(dict.fromkeys(_usable(Terms(names, tuple(determined)), few).terms, True))
        return Terms(names, tuple(t for t in whole if checked[t]))

    @cache
    def enough(factor: Factor) -> bool:
        return _enough(factor, values[factor.parameter])

    checked: dict[Term, bool] = {}
    orders: list[int] = []
    values = {name: _Values.of(column) for name, column in columns.items()}
    divisors: tuple[str, ...] = ()
    if durations_s is not None:
        maybe = falling(varying, rows[:, [names.index(n) for n in varying]], durations_s)
        divisors = dividing(maybe, terms_with, rows, durations_s)
    found = terms_with(divisors)
    if orders[-1] < min(lattice.order, len(varying)):
        notes.append(
            f"with {len(varying)} parameters, products of over {orders[-1]} are not candidates: "
            "name those that could be ('auto + a*b*c')"
        )
    return found


@dataclass(frozen=True)
class _Values:
    """The number of different values of a parameter; ratio and difference of largest and least."""

    count: int
    ratio: float
    span: float

    @classmethod
    def of(cls, column: Floats) -> _Values:
        low, high = float(column.min()), float(column.max())
        return cls(len(np.unique(column)), high / low if low > 0 else 0.0, high - low)


def _few(
    names: Sequence[str], lattice: Lattice, divisors: Sequence[str], most: int
) -> tuple[list[Term], int]:
    """Return at most *most* terms of the lattice, and the highest order that allows this."""
    for order in range(lattice.order, 0, -1):
        terms = lattice_terms(names, replace(lattice, order=order), divisors)
        if len(terms) <= most:
            break
    return terms, order


def _enough(factor: Factor, values: _Values) -> bool:
    """Return whether the parameter has enough values for the power or logarithm *factor*."""
    if not factor.function and abs(factor.exponent) == 1:
        return True
    if values.count < MIN_POWER_VALUES:
        return False
    if factor.function == "exp":
        spanned = MIN_EXPONENTIAL_SPAN <= values.span <= MAX_EXPONENTIAL_SPAN
        return values.count >= MIN_FINE_VALUES and spanned
    squared_logarithm = factor.function and factor.exponent != 1
    if (2 * factor.exponent) % 1 == 0 and not squared_logarithm:
        return True
    return values.count >= MIN_FINE_VALUES and values.ratio >= MIN_FINE_RATIO


def _given(
    text: str, names: tuple[str, ...], categories: Mapping[str, tuple[str, ...]]
) -> list[Term]:
    """Return the terms of *text* without the constant and without ``auto``."""
    text = text.removeprefix(AUTO).lstrip().removeprefix("+")
    if not text.strip():
        return []
    return [term for term in parse_terms(text, names, categories).terms if term.factors]


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
    if lattice.fine:
        yield from _finer(names, lattice)


def _with_logarithm(factors: list[Factor], names: tuple[str, ...]) -> Iterator[Term]:
    """Yield the product times a logarithm of one of its parameters, or with one replaced by it."""
    for index, factor in enumerate(factors):
        logarithm = Factor(factor.parameter, "log2")
        rest = [*factors[:index], *factors[index + 1 :]]
        yield canonical(Term((*rest, logarithm)), names)
        yield canonical(Term((*factors, logarithm)), names)


def _finer(names: tuple[str, ...], lattice: Lattice) -> Iterator[Term]:
    """Yield terms of one parameter: further exponents, squares of logarithms, exponentials."""
    for name in names:
        plain = [Factor(name, "", exponent) for exponent in lattice.fine]
        yield from (Term((factor,)) for factor in plain)
        logarithm = Factor(name, "log2")
        squared = replace(logarithm, exponent=2.0)
        yield Term((squared,))
        yield Term((Factor(name, "exp"),))
        for exponent in lattice.exponents:
            if exponent % 1 == 0:
                yield canonical(Term((Factor(name, "", exponent), squared)), names)


def _ratios(names: tuple[str, ...], lattice: Lattice, divisor: str) -> Iterator[Term]:
    """Yield products over a power of the *divisor*.

    Products of more than one parameter, and of logarithms, are divided by the parameter or by its
    square root, as the panels of matrices on a square of processes are.
    """
    for above in _numerators(names, lattice, (divisor,), lattice.order - 1):
        plain = all(not f.function for f in above.factors)
        yield _over(above, names, (divisor, 1.0))
        if plain and len(above.factors) < lattice.order - 1:
            yield _over(above, names, (divisor, 0.5))
        if plain and len(above.factors) <= 1:
            yield _over(above, names, (divisor, 2.0))
        if plain and lattice.logarithms:
            logarithm = Factor(divisor, "log2")
            yield _over(Term((*above.factors, logarithm)), names, (divisor, 1.0))


def _numerators(
    names: tuple[str, ...], lattice: Lattice, divisors: tuple[str, ...], order: int
) -> Iterator[Term]:
    """Yield 1, and the products of at most *order* parameters other than *divisors*."""
    yield Term()
    others = tuple(name for name in names if name not in divisors)
    whole = tuple(e for e in lattice.exponents if e % 1 == 0)
    yield from _lattice(others, replace(lattice, exponents=whole, order=order, fine=()))


def _over(above: Term, names: tuple[str, ...], *divisors: tuple[str, float]) -> Term:
    below = [Factor(name, "", -exponent) for name, exponent in divisors]
    return canonical(Term((*above.factors, *below)), names)


def _complexity(term: Term) -> tuple[float, ...]:
    """Return the sort key of terms: few parameters, no functions, small exponents first."""
    exponentials = logs = fine = broken = total = 0.0
    for factor in term.factors:
        exponent = abs(factor.exponent)
        if not factor.function:
            total += exponent
            broken += exponent % 1 != 0
            fine += (2 * exponent) % 1 != 0
        else:
            exponentials += factor.function == "exp"
            logs += factor.exponent
    parameters = len({f.parameter for f in term.factors})
    return (parameters, exponentials, logs, fine, broken, total)


def _level_terms(
    categorical: Sequence[str],
    names: list[str],
    rows: Floats,
    numeric: list[Term],
    categories: Mapping[str, tuple[str, ...]],
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
            known = categories.get(name)
            category = None if known is None else known[int(level)]
            factors = (*term.factors, Factor(name, "is", level=level, category=category))
            yield canonical(Term(factors), tuple(names))


def _usable(terms: Terms, rows: Floats) -> Terms:
    """Return the terms that are finite, vary, and have no logarithm of a value below 1."""
    lowest = dict(zip(terms.names, rows.min(axis=0).tolist(), strict=True))
    legal = [
        term
        for term in terms.terms
        if all(lowest[f.parameter] >= 1 for f in term.factors if f.function in ("log", "log2"))
    ]
    kept: list[Term] = []
    known: dict[Factor, Floats] = {}
    size = max(1, MAX_TABLE_VALUES // len(rows))
    for begin in range(0, len(legal), size):
        some = legal[begin : begin + size]
        table = np.ones((len(some), len(rows)))
        with np.errstate(all="ignore"):
            for values, term in zip(table, some, strict=True):
                for factor in term.factors:
                    if factor not in known:
                        column = rows[:, terms.names.index(factor.parameter)]
                        known[factor] = factor.evaluate(column)
                    values *= known[factor]
            good = np.isfinite(table).all(axis=1) & (np.ptp(table, axis=1) > 0)
        kept += [term for term, is_good in zip(some, good.tolist(), strict=True) if is_good]
    return Terms(terms.names, tuple(kept))


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
