"""Closed forms of fitted models, as a sum of terms, a power law or measured means.

A kind of model returns the forms it has from
:meth:`~tasksim.models.kernelmodel.KernelModel.linear`,
``power`` and ``means``. Diagnosis, reports, source code and exporters ask for the form they need
instead of the kind, so that kinds of other packages are supported, too.

A linear form can be written as source code, a function in C or Python. Programs that choose block
sizes or schedule tasks can use it without tasksim: the function takes the parameters and returns
the predicted duration in seconds, equal to the model's ``predict`` up to rounding.
"""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.models.terms.formulas import Factor, Terms

__all__ = [
    "LANGUAGES",
    "Language",
    "LinearForm",
    "MeansForm",
    "PowerForm",
    "c_source",
    "checked_names",
    "python_source",
    "source",
]


@dataclass(frozen=True, eq=False)
class LinearForm:
    """A duration as a sum of coefficients times terms, with the statistics of the coefficients.

    Parameters
    ----------
    terms : Terms
        The terms, over the names of the parameters.
    coef : ndarray, shape (terms,)
        The coefficients, in seconds per unit of the term.
    intervals : ndarray, shape (terms, 2)
        Their 95 % confidence intervals; NaN if unknown.
    pvalues : ndarray, shape (terms,)
        p-values of the hypothesis that a coefficient is 0; NaN if unknown.
    floor_s : float
        Lower bound of predictions, in seconds.
    domain : mapping, default={}
        Parameter -> lowest and highest value measured. For a term with a pole at 0, the lowest
        value replaces 0.
    rsquared, rsquared_adj : float, default=nan
        R² and adjusted R² of the fit.
    """

    terms: Terms
    coef: Floats
    intervals: Floats
    pvalues: Floats
    floor_s: float
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rsquared: float = float("nan")
    rsquared_adj: float = float("nan")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in the order of columns."""
        return self.terms.names

    @property
    def term_names(self) -> tuple[str, ...]:
        """The terms as text; the constant is ``"1"``."""
        return tuple(map(str, self.terms.terms))

    @property
    def used_parameters(self) -> tuple[str, ...]:
        """The parameters that occur in a term."""
        used = {factor.parameter for term in self.terms.terms for factor in term.factors}
        return tuple(name for name in self.names if name in used)

    def formula(self, digits: int = 6) -> str:
        """Return the formula, in seconds, as text: ``1.2e-06 + 3.4e-11*m*n*k - 5e-09*m``."""
        pairs = zip(self.term_names, self.coef.tolist(), strict=True)
        products = [(v, f"{abs(v):.{digits}g}{_times(name)}") for name, v in pairs]
        return _signed_sum(products, " ")

    def raw(self, table: Floats) -> Floats:
        """Return the sum of the terms per row of *table*, which may be negative."""
        return np.asarray(self.terms.design(table) @ self.coef)

    def predict(self, table: Floats) -> Floats:
        """Return the duration per row of *table*: the sum of the terms, at least the floor."""
        return np.maximum(self.raw(self._without_poles(table)), self.floor_s)

    def floored(self, table: Floats) -> Bools:
        """Return which rows of *table* are raised to the floor."""
        return np.asarray(self.raw(self._without_poles(table)) < self.floor_s)

    def elasticities(self, table: Floats) -> Floats:
        """Return d ln duration / d ln coefficient, shape (rows, terms): the share of each term."""
        expected = self.predict(table)[:, None]
        return np.asarray(self.terms.design(self._without_poles(table)) * self.coef / expected)

    def _without_poles(self, table: Floats) -> Floats:
        """Replace 0 in *table* by the lowest measured value where a term has a pole at 0."""
        for factor in (factor for term in self.terms.terms for factor in term.factors):
            column = self.names.index(factor.parameter)
            zero = table[:, column] == 0
            if factor.has_pole and zero.any() and factor.parameter in self.domain:
                table = table.copy()
                table[zero, column] = self.domain[factor.parameter][0]
        return table


@dataclass(frozen=True)
class PowerForm:
    """A duration as a power law of one parameter, a·x^b + c.

    Parameters
    ----------
    a_s, b, c_s : float
        Factor and constant in seconds; the exponent has no unit.
    constant : bool
        Whether the law has a constant; if not, *c_s* is 0.
    """

    a_s: float
    b: float
    c_s: float
    constant: bool


@dataclass(frozen=True, eq=False)
class MeansForm:
    """The mean duration of each measured configuration.

    Parameters
    ----------
    rows : ndarray, shape (configurations, parameters)
        The configurations.
    mean_s, deviation_s : ndarray, shape (configurations,)
        Mean and standard deviation of the samples, in seconds.
    count : ndarray of int, shape (configurations,)
        Number of samples.
    by_size : bool, default=False
        Whether the only parameter is the size of the data in bytes, whatever its name.
    footprints, flops : tuple, default=()
        StarPU's footprint and flops per configuration, None if unknown; empty if unknown for
        all.
    """

    rows: Floats
    mean_s: Floats
    deviation_s: Floats
    count: Ints
    by_size: bool = False
    footprints: tuple[int | None, ...] = ()
    flops: tuple[float | None, ...] = ()


Language = Literal["c", "python"]

LANGUAGES: Final = ("c", "python")
MAX_PRODUCT_EXPONENT: Final = 8
"""Largest integer exponent written as a product in C, which is faster than pow and as exact."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_C_WORDS: Final = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch "
    "typedef union unsigned void volatile while exp fmax log log2 pow sqrt"
)
_RESERVED: Final = {
    "c": frozenset(_C_WORDS.split()),
    "python": frozenset([*keyword.kwlist, "max", "math", "float"]),
}


def source(form: LinearForm, language: str, name: str = "duration_s") -> str:
    """Return the source of a function *name* that makes the predictions of *form*.

    Raises the errors of :func:`c_source`, and :exc:`InputError` for another language.
    """
    if language == "c":
        return c_source(form, name)
    if language == "python":
        return python_source(form, name)
    raise unknown("language", language, LANGUAGES)


def c_source(form: LinearForm, name: str = "duration_s") -> str:
    """Return C99 source: ``double name(double m, double n)``, in seconds.

    Raises
    ------
    InputError
        If *name* or a parameter is not a legal name in C.

    Examples
    --------
    >>> from tasksim.models.kinds.linear import LinearModel
    >>> model = LinearModel.from_coefficients(("m", "n"), {"1": 1e-6, "m^2*n": 2e-9})
    >>> print(c_source(model.linear(), "gemm_s"))
    #include <math.h>
    <BLANKLINE>
    /* Predicted duration in seconds: 1e-06 + 2e-09*m^2*n */
    double gemm_s(double m, double n)
    {
        return fmax(1e-11, 1e-06
            + 2e-09 * m * m * n);
    }
    <BLANKLINE>
    """
    # A name of a category must not end the comment.
    formula = form.formula().replace("*/", "* /")
    names = checked_names(form.names, name, "c")
    body = _sum(form, "c")
    unused = [n for n in names if n not in form.used_parameters]
    lines = [
        "#include <math.h>",
        "",
        f"/* Predicted duration in seconds: {formula}{_numbers(form).replace('*/', '* /')} */",
        f"double {name}({', '.join(f'double {n}' for n in names) or 'void'})",
        "{",
        *(f"    (void){n};" for n in unused),
        f"    return fmax({form.floor_s!r}, {body});",
        "}",
        "",
    ]
    return "\n".join(lines)


def python_source(form: LinearForm, name: str = "duration_s") -> str:
    """Return Python source: ``def name(m, n)``, for scalars, in seconds.

    Raises
    ------
    InputError
        If *name* or a parameter is not a legal name in Python.

    Examples
    --------
    >>> from tasksim.models.kinds.linear import LinearModel
    >>> model = LinearModel.from_coefficients(("m", "n"), {"1": 1e-6, "m^2*n": 2e-9})
    >>> print(python_source(model.linear(), "gemm_s"))
    def gemm_s(m: float, n: float) -> float:
        "Return the predicted duration in seconds: 1e-06 + 2e-09*m^2*n."
        return max(
            1e-11,
            1e-06
            + 2e-09 * m**2 * n,
        )
    <BLANKLINE>
    """
    # A name of a category must not end the docstring.
    formula = json.dumps(f"{form.formula()}.{_numbers(form)}", ensure_ascii=False)[1:-1]
    names = checked_names(form.names, name, "python")
    body = _sum(form, "python")
    lines = [
        *(["import math", "", ""] if "math." in body else []),
        f"def {name}({', '.join(f'{n}: float' for n in names)}) -> float:",
        f'    "Return the predicted duration in seconds: {formula}"',
        "    return max(",
        f"        {form.floor_s!r},",
        f"        {body},",
        "    )",
        "",
    ]
    return "\n".join(lines)


def _numbers(form: LinearForm) -> str:
    """Return what the numbers of categories in *form* mean, in parentheses; "" without any."""
    meanings = dict.fromkeys(
        f"{factor.parameter} {factor.level:g} is {factor.category}"
        for term in form.terms.terms
        for factor in term.factors
        if factor.category is not None
    )
    # Escaped as in JSON, so that no name has a line end.
    text = json.dumps("; ".join(meanings), ensure_ascii=False)[1:-1]
    return f" ({text})" if text else ""


def checked_names(names: Sequence[str], name: str, language: Language) -> tuple[str, ...]:
    """Return the *names* of parameters of a function *name* if all are legal in the *language*.

    Raises :exc:`InputError` otherwise.
    """
    for what, text in [("function", name), *(("parameter", n) for n in names)]:
        if not _IDENTIFIER.fullmatch(text) or text in _RESERVED[language]:
            raise InputError(
                f"{what} '{text}' cannot be a name in {'C' if language == 'c' else 'Python'}: "
                "it must consist of letters, digits and _, and must not be a reserved word"
            )
    if name in names:
        raise InputError(f"function '{name}' has the name of a parameter; choose another")
    return tuple(names)


def _sum(form: LinearForm, language: Language) -> str:
    """Return the sum of the terms in a *language*, one term per line."""
    products = []
    for term, coefficient in zip(form.terms.terms, form.coef.tolist(), strict=True):
        above = [_factor_text(factor, language) for factor in term.numerator]
        text = " * ".join([repr(abs(coefficient)), *above])
        for factor in term.divisors:
            divisor = _factor_text(factor, language)
            text += f" / ({divisor})" if " * " in divisor else f" / {divisor}"
        products.append((coefficient, text))
    return _signed_sum(products, "\n        ")


def _times(term: str) -> str:
    """Return the text of *term* after its coefficient: ``*n/p``, or ``/p`` for ``1/p``."""
    return term.removeprefix("1") if term == "1" or term.startswith("1/") else f"*{term}"


def _signed_sum(products: Sequence[tuple[float, str]], separator: str) -> str:
    """Return the sum of *products*, each with its coefficient, whose sign it takes."""
    text = separator.join(("- " if c < 0 else "+ ") + product for c, product in products)
    return f"-{text[2:]}" if text.startswith("- ") else text.removeprefix("+ ")


def _factor_text(factor: Factor, language: Language) -> str:
    if factor.function == "is":
        return f"({factor.parameter} == {factor.level:.17g})"
    module = "math." if language == "python" else ""
    exponent = factor.exponent
    if factor.function == "exp":
        rate = "" if exponent == 1 else f"{exponent!r} * "
        return f"{module}exp({rate}{factor.parameter})"
    base = f"{module}{factor.function}({factor.parameter})" if factor.function else factor.parameter
    if language == "python":
        if exponent == 1:
            return base
        return f"{base}**{int(exponent) if exponent.is_integer() else repr(exponent)}"
    if exponent == 0.5:
        return f"sqrt({base})"
    if exponent in range(1, MAX_PRODUCT_EXPONENT + 1):
        return " * ".join([base] * int(exponent))
    return f"pow({base}, {exponent!r})"
