"""Conditions between parameters, such as ``64 <= ranks*threads <= 128``.

::

    condition  = comparison { "and" comparison }
    comparison = sum OPERATOR sum { OPERATOR sum }        OPERATOR: < <= > >= == !=
    sum        = product { ("+" | "-") product }
    product    = factor { ("*" | "/" | "%") factor }
    factor     = ["-"] (NUMBER | PARAMETER | "(" sum ")")

A parameter whose values are names is compared with one of them: ``layout == row``. Conditions are
parsed and evaluated here; nothing in them is Python.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, nearest
from tasksim.base.tokenparser import TokenParser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.base.arrays import Bools, Floats

    Columns = Mapping[str, Floats]
    Term = Callable[[Columns], Floats]

__all__ = ["Condition", "parse_condition"]

MAX_CHARACTERS: Final = 500
"""Longest condition, in characters: nested brackets are parsed by nested calls."""
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|!=|[-+*/%()<>])|(?P<end>$)|(?P<other>.))"
)
_COMPARISONS: Final = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_OPERATIONS: Final = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.mod,
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A condition between parameters.

    Attributes
    ----------
    text
        As it was given.
    parameters
        The parameters in it.
    comparisons
        Functions of columns by name; the condition holds where all return True.
    """

    text: str
    parameters: tuple[str, ...]
    comparisons: tuple[Callable[[Columns], Bools], ...]

    def holds(self, columns: Columns) -> Bools:
        """Return for which rows of the *columns* the condition holds."""
        with np.errstate(all="ignore"):  # n/0 is no number, for which no comparison holds
            found = [comparison(columns) for comparison in self.comparisons]
        holds: Bools = np.logical_and.reduce(found)
        return holds

    def __str__(self) -> str:
        return self.text


def parse_condition(
    text: str, names: Sequence[str], categories: Mapping[str, Sequence[str]] | None = None
) -> Condition:
    """Return the condition in *text*.

    Parameters
    ----------
    text
        For example ``64 <= ranks*threads <= 128 and n % 8 == 0``.
    names
        The parameters.
    categories
        Parameter whose values are names -> these names, whose numbers its column holds.

    Raises
    ------
    InputError
        With the column, what was got, what is legal, and the nearest name.

    Examples
    --------
    >>> condition = parse_condition("64 <= ppn*tpp <= 128", ("ppn", "tpp"))
    >>> columns = {"ppn": np.array([8, 8, 16]), "tpp": np.array([4, 8, 16])}
    >>> condition.holds(columns).tolist()
    [False, True, False]
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"condition of {len(text)} characters; legal: at most {MAX_CHARACTERS}")
    return _Parser(text, names, categories or {}).parse()


@dataclass(frozen=True)
class _Sum:
    """A side of a comparison.

    *word* is its name if it is a name alone; *unknown* are names of no parameter, with their places
    in the text.
    """

    value: Term
    begin: int
    word: str | None
    unknown: tuple[tuple[str, int], ...]


class _Parser(TokenParser):
    """A parser of conditions."""

    def __init__(
        self, text: str, names: Sequence[str], categories: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(text, "condition", _TOKEN)
        self.names, self.categories = tuple(names), categories
        self.used: list[str] = []
        self.unknown: list[tuple[str, int]] = []
        self.comparisons: list[Callable[[Columns], Bools]] = []

    def parse(self) -> Condition:
        self._comparison()
        while self.token == "and":
            self._advance()
            self._comparison()
        if self.kind != "end":
            raise self._expected("'and', an operator, or the end")
        return Condition(self.text, tuple(dict.fromkeys(self.used)), tuple(self.comparisons))

    def _comparison(self) -> None:
        left = self._sum()
        if self.token not in _COMPARISONS:
            raise self._expected("a comparison, < <= > >= == or !=")
        while self.token in _COMPARISONS:
            sign = self._advance()
            right = self._sum()
            self._compare(sign, left, right)
            left = right

    def _compare(self, sign: str, left: _Sum, right: _Sum) -> None:
        compare = _COMPARISONS[sign]
        for one, other in ((left, right), (right, left)):
            if one.word is not None and one.word in self.categories:
                self._compare_name(sign, one.word, other)
                return
        for name, at in (*left.unknown, *right.unknown):
            raise self._unknown(name, at)
        self.comparisons.append(lambda columns: compare(left.value(columns), right.value(columns)))

    def _compare_name(self, sign: str, name: str, other: _Sum) -> None:
        known = list(self.categories[name])
        if sign not in ("==", "!="):
            raise self._error(other.begin, f"{name} holds names; legal: == and !=")
        if other.word not in known:
            near = nearest(other.word or "", known)
            raise self._error(
                other.begin, f"{name} is compared with one of its names{near} ({', '.join(known)})"
            )
        code, compare = float(known.index(other.word)), _COMPARISONS[sign]
        self.used.append(name)
        self.comparisons.append(lambda columns: compare(columns[name], code))

    def _sum(self) -> _Sum:
        begin, word = self.at, self.token if self.kind == "name" else None
        self.unknown = []
        value = self._products()
        alone = word is not None and self.text[begin : self.end].strip() == word
        return _Sum(value, begin, word if alone else None, tuple(self.unknown))

    def _products(self) -> Term:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/", "%"), self._factor))

    def _chain(self, signs: tuple[str, ...], part: Callable[[], Term]) -> Term:
        value = part()
        while self.token in signs:
            value = _combined(self._advance(), value, part())
        return value

    def _factor(self) -> Term:
        if self.token == "-":
            self._advance()
            inner = self._factor()
            return lambda columns: np.negative(inner(columns))
        if self.token == "(":
            self._advance()
            inner = self._products()
            if self.token != ")":
                raise self._expected("')'")
            self._advance()
            return inner
        if self.kind == "number":
            number = np.float64(self._advance())
            return lambda columns: np.asarray(number)  # noqa: ARG005
        if self.kind == "name" and self.token != "and":
            return self._parameter()
        raise self._expected("a number, a parameter, or '('")

    def _parameter(self) -> Term:
        begin, name = self.at, self._advance()
        if name in self.categories:  # as a number; _compare takes it where it is one by itself
            self.unknown.append((name, begin))
        elif name not in self.names:  # perhaps a category, as _compare knows
            self.unknown.append((name, begin))
            return lambda columns: np.asarray(np.nan)  # noqa: ARG005
        self.used.append(name)
        return lambda columns: np.asarray(columns[name], dtype=np.float64)

    def _unknown(self, name: str, at: int) -> InputError:
        if name in self.categories:
            return self._error(at, f"{name} holds names; legal: {name} == NAME, or !=")
        near = nearest(name, self.names)
        return self._error(at, f"unknown parameter '{name}'{near} (known: {', '.join(self.names)})")


def _combined(sign: str, left: Term, right: Term) -> Term:
    operation = _OPERATIONS[sign]
    return lambda columns: np.asarray(operation(left(columns), right(columns)))
