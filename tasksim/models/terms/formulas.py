"""Terms of a regression as text, such as ``"m*n*k + m^2*log(n)"``.

::

    terms   = ["0 +"] term { "+" term } ["- 1"]
    term    = ("1" | factor) { ("*" | ":") factor | "/" divisor }
    divisor = factor | "(" factor { ("*" | ":") factor } ")"
    factor  = (NAME | ("log" | "log2" | "exp") "(" NAME ")") [("^" | "**") exponent]
            | "is" "(" NAME "," (NUMBER | CATEGORY | STRING) ")"
    exponent = ["-"] NUMBER | "(" ["-"] NUMBER ["/" NUMBER] ")"

A constant, ``1``, is added unless there is ``- 1`` or ``0 +``. ``is(layout, 2)`` is 1 if the
parameter is 2 and 0 otherwise: the effect of a level of a categorical parameter. Where the names of
its categories are known, ``is(layout, row)`` is 1 for the one of that name, in quotes if it
is no word: ``is(layout, "row-major")``. A divisor is a factor with a negative exponent: ``n/p`` and
``n*p^-1`` are the same term. The exponent of an exponential is its rate: ``exp(n)^0.01`` is
exp(0.01 n), which does not overflow where exp(n) would.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.base.errors import InputError, listed, nearest
from tasksim.base.tokenparser import TokenParser
from tasksim.models.categories import UNSEEN_CATEGORY, code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.base.arrays import Floats

__all__ = ["Factor", "Term", "Terms", "canonical", "parse_terms"]

MAX_DENOMINATOR: Final = 12
"""Largest denominator of an exponent that is written as a fraction, such as 1/3, which has no end
as a decimal number; there are few such exponents."""

TermFunction = Literal["", "log", "log2", "exp", "is"]

_FUNCTIONS: Final[dict[TermFunction, Callable[[Floats], Floats]]] = {
    "": lambda values: values,
    "log": np.log,
    "log2": np.log2,
}
"""Functions whose power is a factor."""
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)"
    r'|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<sign>\*\*|[-+*:^()/,])|(?P<end>$)|(?P<other>.))"
)
_WORD: Final = re.compile(r"[^\W\d]\w*|\d+(\.\d+)?")
"""Names of categories that need no quotes."""


@dataclass(frozen=True, order=True)
class Factor:
    """A power of a parameter, of its logarithm or exponential, or an indicator of a *level*."""

    parameter: str
    function: TermFunction = ""
    exponent: float = 1.0
    level: float = 0.0
    category: str | None = field(default=None, compare=False)
    """The name of the category whose number is the level."""

    def __str__(self) -> str:
        if self.function == "is":
            level = f"{self.level:.15g}" if self.category is None else self.category
            return f"is({self.parameter}, {level if _WORD.fullmatch(level) else json.dumps(level)})"
        base = f"{self.function}({self.parameter})" if self.function else self.parameter
        return base if self.exponent == 1 else f"{base}^{_exponent_text(self.exponent)}"

    @property
    def inverse(self) -> Factor:
        """The factor with the opposite exponent."""
        return replace(self, exponent=-self.exponent)

    @property
    def has_pole(self) -> bool:
        """Whether the factor is infinite at 0."""
        return self.function in ("log", "log2") or (not self.function and self.exponent < 0)

    def evaluate(self, values: Floats) -> Floats:
        """Return the factor for each of *values*; infinite or NaN where it is undefined."""
        if self.function == "is":
            return np.asarray(values == self.level, dtype=np.float64)
        with np.errstate(all="ignore"):
            if self.function == "exp":
                return np.exp(values if self.exponent == 1 else self.exponent * values)
            base = _FUNCTIONS[self.function](values)
            power: Floats = base if self.exponent == 1 else base**self.exponent
        return power


@dataclass(frozen=True)
class Term:
    """A product of factors; without factors, the constant 1."""

    factors: tuple[Factor, ...] = ()

    def __str__(self) -> str:
        text = "*".join(map(str, self.numerator)) or "1"
        if not self.divisors:
            return text
        below = "*".join(map(str, self.divisors))
        return f"{text}/{below}" if len(self.divisors) == 1 else f"{text}/({below})"

    @property
    def numerator(self) -> tuple[Factor, ...]:
        """The factors with positive exponents."""
        return tuple(f for f in self.factors if f.exponent > 0)

    @property
    def divisors(self) -> tuple[Factor, ...]:
        """The factors with negative exponents, with the sign of these reversed."""
        return tuple(f.inverse for f in self.factors if f.exponent < 0)

    def evaluate(self, names: tuple[str, ...], parameters: Floats) -> Floats:
        """Return the term for each row of *parameters*, whose columns are *names*."""
        result = np.ones(len(parameters))
        with np.errstate(all="ignore"):
            for factor in self.factors:
                result *= factor.evaluate(parameters[:, names.index(factor.parameter)])
        return result


@dataclass(frozen=True)
class Terms:
    """The terms of a regression, over the parameters *names*.

    Equivalent texts give equal terms, except for their order.

    >>> terms = parse_terms("n*m^2 + m*k*m", ("m", "n", "k"))
    >>> str(terms)
    '1 + m^2*n + m^2*k'
    >>> terms.design(np.array([[2.0, 3.0, 5.0]])).tolist()
    [[1.0, 12.0, 20.0]]
    """

    names: tuple[str, ...]
    terms: tuple[Term, ...]

    def __str__(self) -> str:
        constant = "" if Term() in self.terms else "0 + "
        return constant + " + ".join(map(str, self.terms))

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def constant(self) -> bool:
        """Whether the constant 1 is one of the terms."""
        return Term() in self.terms

    def design(self, parameters: Floats) -> Floats:
        """Return the value of each term for each row of *parameters*, shape (rows, terms).

        Raises
        ------
        InputError
            If a term is not finite: a logarithm or a negative power of 0, or an overflow, as of an
            exponential.
        """
        result = np.ones((len(parameters), len(self.terms)))
        # Hundreds of terms of a search share tens of factors.
        known: dict[Factor, Floats] = {}
        with np.errstate(all="ignore"):
            for column, term in enumerate(self.terms):
                for factor in term.factors:
                    if factor not in known:
                        values = parameters[:, self.names.index(factor.parameter)]
                        known[factor] = factor.evaluate(values)
                    result[:, column] *= known[factor]
        if not np.isfinite(result).all():
            row, column = np.argwhere(~np.isfinite(result))[0].tolist()
            term = self.terms[column]
            used = ", ".join(
                f"{f.parameter}={parameters[row, self.names.index(f.parameter)]:g}"
                for f in term.factors
            )
            raise InputError(f"row {row}: the term {term} is not finite for {used}")
        return result


def parse_terms(
    text: str,
    names: Sequence[str] | None = None,
    categories: Mapping[str, tuple[str, ...]] | None = None,
) -> Terms:
    """Parse the terms in *text*.

    Parameters
    ----------
    text
        Products of powers of parameters: ``"m*n*k + m^2 + n^0.5*log(m)"``.
    names
        The known parameters; by default, any name is allowed.
    categories
        Parameter -> the names of its categories, which only ``is`` accepts.

    Raises
    ------
    InputError
        With the column, what was got and what was expected, and the nearest name.

    Examples
    --------
    >>> str(parse_terms("n*is(layout, row)", ("n", "layout"), {"layout": ("col", "row")}))
    '1 + n*is(layout, row)'
    """
    return _Parser(text, None if names is None else tuple(names), categories or {}).parse()


class _Parser(TokenParser):
    """A parser of terms."""

    def __init__(
        self,
        text: str,
        names: tuple[str, ...] | None,
        categories: Mapping[str, tuple[str, ...]],
    ) -> None:
        super().__init__(text, "terms", _TOKEN)
        self.names = names
        self.categories = categories
        self.seen: list[str] = []

    def parse(self) -> Terms:
        found: list[tuple[Term, int]] = []
        constant = True
        sign = self._advance() if self.token in ("+", "-") else "+"
        while True:
            begin = self.at
            term = self._term()
            if sign == "-" and term != Term():
                raise self._error(begin, "only the constant can be subtracted, as '- 1'")
            if sign == "-" or term is None:
                constant = False
            else:
                found.append((term, begin))
            if self.kind == "end":
                break
            if self.token not in ("+", "-"):
                raise self._expected("'*', '/', '+' or '-'")
            sign = self._advance()
        return self._finished(found, constant)

    def _finished(self, found: list[tuple[Term, int]], constant: bool) -> Terms:
        names = self.names if self.names is not None else tuple(dict.fromkeys(self.seen))
        ordered = [(canonical(term, names), begin) for term, begin in found]
        terms = [Term()] if constant else []
        for index, (term, begin) in enumerate(ordered):
            if term in [earlier for earlier, _ in ordered[:index]]:
                raise self._error(begin, f"the term {term} is given twice")
            if term not in terms:
                terms.append(term)
        if not terms:
            raise self._error(0, "there are no terms")
        return Terms(names, tuple(terms))

    def _term(self) -> Term | None:
        """Parse a term; return None for ``0``, which means no constant."""
        if self.kind == "number":
            if self.token not in ("0", "1"):
                raise self._error(
                    self.at,
                    f"the fit finds the coefficients; write the term without {self.token}",
                )
            if self._advance() == "0":
                return None
            factors = []
            if self.token not in ("*", ":", "/"):
                return Term()
        else:
            factors = [self._factor()]
        while self.token in ("*", ":", "/"):
            if self._advance() == "/":
                factors.extend(factor.inverse for factor in self._divisors())
            else:
                factors.append(self._factor())
        return Term(tuple(factors))

    def _divisors(self) -> list[Factor]:
        """Parse what follows a ``/``: a factor, or several in parentheses."""
        if self.token != "(":
            return [self._divisor()]
        self._advance()
        factors = [self._divisor()]
        while self.token in ("*", ":"):
            self._advance()
            factors.append(self._divisor())
        self._expect(")")
        return factors

    def _divisor(self) -> Factor:
        begin = self.at
        factor = self._factor()
        if factor.function == "is":
            raise self._error(begin, "is(...) is 0 or 1; it cannot divide")
        return factor

    def _factor(self) -> Factor:
        begin, name = self.at, self._name()
        function: TermFunction = ""
        if self.token == "(":
            function = self._function(name, begin)
            begin, name = self.at, self._name()
            if function == "is":
                return self._level(name, begin)
            self._expect(")")
        self._check_name(name, begin)
        if name in self.categories:
            first = self.categories[name][0]
            raise self._error(
                begin, f"'{name}' has categories, which are no numbers: write is({name}, {first})"
            )
        self.seen.append(name)
        return Factor(name, function, self._exponent())

    def _function(self, name: str, begin: int) -> TermFunction:
        known: tuple[TermFunction, ...] = ("log", "log2", "exp", "is")
        for function in known:
            if name == function:
                self._advance()
                return function
        near = nearest(name, known)
        raise self._error(begin, f"unknown function '{name}'{near} (known: {', '.join(known)})")

    def _level(self, name: str, begin: int) -> Factor:
        self._check_name(name, begin)
        self.seen.append(name)
        self._expect(",")
        known = self.categories.get(name, ())
        if self.kind not in (("name", "number", "string") if known else ("number",)):
            raise self._expected("a category" if known else "a number")
        at, text = self.at, self.token
        if not known:
            level = float(self._advance())
            self._expect(")")
            return Factor(name, "is", level=level)
        if self.kind == "string":
            try:
                text = json.loads(text)
            except ValueError:
                raise self._error(at, f"{text} is no text in quotes") from None
        level = code_of(text, known)
        if level == UNSEEN_CATEGORY:
            raise self._error(
                at, f"'{name}' has no category '{text}'{nearest(text, known)} ({listed(known)})"
            )
        self._advance()
        self._expect(")")
        return Factor(name, "is", level=level, category=known[int(level)])

    def _name(self) -> str:
        if self.kind != "name":
            raise self._expected("a parameter")
        return self._advance()

    def _check_name(self, name: str, begin: int) -> None:
        if self.names is not None and name not in self.names:
            known = ", ".join(self.names) or "none"
            near = nearest(name, self.names)
            raise self._error(begin, f"unknown parameter '{name}'{near} (known: {known})")

    def _exponent(self) -> float:
        if self.token not in ("^", "**"):
            return 1.0
        self._advance()
        if self.token != "(":
            return self._signed()
        self._advance()
        value = self._signed()
        if self.token == "/":
            self._advance()
            begin, divisor = self.at, self._signed()
            if divisor == 0:
                raise self._error(begin, "division by 0")
            value /= divisor
        self._expect(")")
        return value

    def _signed(self) -> float:
        sign = -1.0 if self.token == "-" else 1.0
        if sign < 0:
            self._advance()
        if self.kind != "number":
            raise self._expected("an exponent")
        begin, value = self.at, float(self._advance())
        if not math.isfinite(value):
            raise self._error(begin, "the exponent is too large")
        return sign * value

    def _expect(self, token: str) -> None:
        if self.token != token:
            raise self._expected(f"'{token}'")
        self._advance()


def _exponent_text(exponent: float) -> str:
    """Return *exponent* as a decimal number, or as a fraction if only that is exact."""
    text = f"{exponent:.12g}"
    if float(text) == exponent:
        return text
    fraction = Fraction(exponent).limit_denominator(MAX_DENOMINATOR)
    return f"({fraction})" if float(fraction) == exponent else repr(exponent)


def canonical(term: Term, names: tuple[str, ...]) -> Term:
    """Return *term* with equal factors merged, in the order of *names*."""
    keys = [(names.index(f.parameter), f.function, f.level) for f in term.factors]
    if len(set(keys)) == len(keys) and all(f.exponent and f.function != "is" for f in term.factors):
        # A search makes thousands of products, most of which have no equal factors.
        placed = sorted(zip(keys, term.factors, strict=True), key=itemgetter(0))
        return Term(tuple(factor for _, factor in placed))
    powers: dict[tuple[int, str, TermFunction, float], float] = {}
    categories = {(f.parameter, f.level): f.category for f in term.factors}
    for f in term.factors:
        key = (names.index(f.parameter), f.parameter, f.function, f.level)
        # An indicator is 0 or 1, and so are its powers.
        powers[key] = 1.0 if f.function == "is" else powers.get(key, 0.0) + f.exponent
    factors = [
        Factor(name, function, exponent, level, categories[name, level])
        for (_, name, function, level), exponent in sorted(powers.items())
        if exponent != 0
    ]
    return Term(tuple(factors))
