"""Source code of a fitted linear form: a function in C or Python.

Programs that choose block sizes or schedule tasks can use it without tasksim: the function takes
the parameters and returns the predicted duration in seconds, equal to the model's ``predict``
up to rounding.
"""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Final, Literal

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.models.forms import LinearForm
    from tasksim.models.terms.formulas import Factor

__all__ = ["LANGUAGES", "Language", "c_source", "python_source", "source"]

Language = Literal["c", "python"]

LANGUAGES: Final = ("c", "python")
MAX_PRODUCT_EXPONENT: Final = 8
"""Largest integer exponent written as a product in C, which is faster than pow and as exact."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_C_WORDS: Final = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch "
    "typedef union unsigned void volatile while fmax log log2 pow sqrt"
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
    formula = form.formula()
    names = _checked_names(form, name, "c")
    body = _sum(form, _c_factor, "\n        ")
    unused = [n for n in names if not any(n == f.parameter for t in _terms(form) for f in t[0])]
    lines = [
        "#include <math.h>",
        "",
        f"/* Predicted duration in seconds: {formula} */",
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
    formula = form.formula()
    names = _checked_names(form, name, "python")
    body = _sum(form, _python_factor, "\n        ")
    lines = [
        *(["import math", "", ""] if "math." in body else []),
        f"def {name}({', '.join(f'{n}: float' for n in names)}) -> float:",
        f'    "Return the predicted duration in seconds: {formula}."',
        "    return max(",
        f"        {form.floor_s!r},",
        f"        {body},",
        "    )",
        "",
    ]
    return "\n".join(lines)


def _checked_names(form: LinearForm, name: str, language: Language) -> tuple[str, ...]:
    for what, text in [("function", name), *(("parameter", n) for n in form.names)]:
        if not _IDENTIFIER.fullmatch(text) or text in _RESERVED[language]:
            raise InputError(
                f"{what} '{text}' cannot be a name in {'C' if language == 'c' else 'Python'}: "
                "it must consist of letters, digits and _, and must not be a reserved word"
            )
    if name in form.names:
        raise InputError(f"function '{name}' has the name of a parameter; choose another")
    return form.names


def _terms(form: LinearForm) -> list[tuple[tuple[Factor, ...], float]]:
    return [(t.factors, c) for t, c in zip(form.terms.terms, form.coef.tolist(), strict=True)]


def _sum(form: LinearForm, factor: Callable[[Factor], str], separator: str) -> str:
    pieces = []
    for factors, coefficient in _terms(form):
        product = " * ".join([repr(abs(coefficient)), *map(factor, factors)])
        pieces.append(("- " if coefficient < 0 else "+ ") + product)
    text = separator.join(pieces)
    return f"-{text[2:]}" if text.startswith("- ") else text.removeprefix("+ ")


def _c_factor(factor: Factor) -> str:
    if factor.function == "is":
        return f"({factor.parameter} == {factor.level:.17g})"
    base = f"{factor.function}({factor.parameter})" if factor.function else factor.parameter
    exponent = factor.exponent
    if exponent == 0.5:
        return f"sqrt({base})"
    if exponent in range(1, MAX_PRODUCT_EXPONENT + 1):
        return " * ".join([base] * int(exponent))
    return f"pow({base}, {exponent!r})"


def _python_factor(factor: Factor) -> str:
    if factor.function == "is":
        return f"({factor.parameter} == {factor.level:.17g})"
    base = f"math.{factor.function}({factor.parameter})" if factor.function else factor.parameter
    exponent = factor.exponent
    if exponent == 1:
        return base
    text = str(int(exponent)) if exponent.is_integer() else repr(exponent)
    return f"{base}**{text}" if exponent > 0 else f"{base} ** ({text})"
