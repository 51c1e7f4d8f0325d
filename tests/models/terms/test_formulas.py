from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.models.terms.formulas import parse_terms

NAMES = ("m", "n", "k")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("m*n*k + m*n", "1 + m*n*k + m*n"),
        ("k*n*m", "1 + m*n*k"),
        ("m^2*n + n**3:k", "1 + m^2*n + n^3*k"),
        ("m*m*m^-1", "1 + m"),
        ("n^0.5", "1 + n^0.5"),
        ("n^(1/2)*n^(-2)", "1 + 1/n^1.5"),
        ("n/m", "1 + n/m"),
        ("n*m^-1", "1 + n/m"),
        ("1/m", "1 + 1/m"),
        ("n*log2(m)/m", "1 + log2(m)*n/m"),
        ("n^2/(m*k)", "1 + n^2/(m*k)"),
        ("n^2/m/k", "1 + n^2/(m*k)"),
        ("n/m*k", "1 + n*k/m"),
        ("n/m^0.5 - 1", "0 + n/m^0.5"),
        ("n^(2/3)/m", "1 + n^(2/3)/m"),
        ("1/log2(n)", "1 + 1/log2(n)"),
        ("1*n", "1 + n"),
        ("log(n)*n^2", "1 + n^2*log(n)"),
        ("log2(m)^2", "1 + log2(m)^2"),
        ("exp(m)*n", "1 + exp(m)*n"),
        ("exp(m)^-0.5", "1 + 1/exp(m)^0.5"),
        ("exp(m)*exp(m)^2", "1 + exp(m)^3"),
        ("1", "1"),
        ("1 + m", "1 + m"),
        ("m + 1", "1 + m"),
        ("m - 1", "0 + m"),
        ("-1 + m", "0 + m"),
        ("0 + m", "0 + m"),
        ("m^0*n", "1 + n"),
        ("  m  *\tn ", "1 + m*n"),
        ("is(m, 2)*n*is(m,2) + is(k, 0.5)", "1 + is(m, 2)*n + is(k, 0.5)"),
    ],
)
def test_canonical_form(text, canonical):
    terms = parse_terms(text, NAMES)
    assert str(terms) == canonical
    assert parse_terms(canonical, NAMES) == terms
    assert terms.constant == canonical.startswith("1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m*n + mm", "column 7: unknown parameter 'mm', did you mean 'm'? (known: m, n, k)"),
        ("log(q)", "column 5: unknown parameter 'q' (known: m, n, k)"),
        (
            "exq(m)",
            "column 1: unknown function 'exq', did you mean 'exp'? (known: log, log2, exp, is)",
        ),
        ("sin(m)", "column 1: unknown function 'sin' (known: log, log2, exp, is)"),
        ("m +", "column 4: expected a parameter, got the end"),
        ("", "column 1: expected a parameter, got the end"),
        ("m n", "column 3: expected '*', '/', '+' or '-', got 'n'"),
        ("m^n", "column 3: expected an exponent, got 'n'"),
        ("m^(1/2", "column 7: expected ')', got the end"),
        ("m^(1/0)", "column 6: division by 0"),
        ("m^1e999", "column 3: the exponent is too large"),
        ("log m", "column 1: unknown parameter 'log' (known: m, n, k)"),
        ("2*m", "column 1: the fit finds the coefficients; write the term without 2"),
        ("m - n", "column 5: only the constant can be subtracted, as '- 1'"),
        ("m*n + n + n*m", "column 11: the term m*n is given twice"),
        ("is(m)", "column 5: expected ',', got ')'"),
        ("is(m, n)", "column 7: expected a number, got 'n'"),
        ("is(q, 1)", "column 4: unknown parameter 'q' (known: m, n, k)"),
        ("1/(m*n", "column 7: expected ')', got the end"),
        ("n/2", "column 3: expected a parameter, got '2'"),
        ("0/m", "column 2: expected '*', '/', '+' or '-', got '/'"),
        ("n/is(m, 1)", "column 3: is(...) is 0 or 1; it cannot divide"),
        ("m % n", "column 3: unexpected '%'"),
        ("__import__('os')", "column 1: unknown function '__import__' (known: log, log2, exp, is)"),
        ("0", "column 1: there are no terms"),
    ],
)
def test_errors_say_where(text, message):
    with pytest.raises(InputError) as caught:
        parse_terms(text, NAMES)
    assert str(caught.value) == f"terms '{text}': {message}"


def test_without_names_any_name_is_a_parameter():
    terms = parse_terms("cells^2 + level*cells")
    assert terms.names == ("cells", "level")
    assert str(terms) == "1 + cells^2 + cells*level"


def test_design_by_hand():
    terms = parse_terms("m^2*n + log2(k)*n^0.5 + m^-1", NAMES)
    table = np.array([[2.0, 9.0, 8.0], [1.0, 4.0, 2.0]])
    assert terms.design(table).tolist() == [[1.0, 36.0, 9.0, 0.5], [1.0, 4.0, 2.0, 1.0]]
    assert parse_terms("is(m, 2)*n", NAMES).design(table).tolist() == [[1.0, 9.0], [1.0, 0.0]]
    assert parse_terms("m - 1", NAMES).design(table).tolist() == [[2.0], [1.0]]
    assert terms.design(table[:0]).shape == (0, 4)


def test_the_exponent_of_an_exponential_is_its_rate():
    table = np.array([[1000.0], [0.0]])
    terms = parse_terms("exp(m)^0.01 + exp(m)^-1 - 1", ("m",))
    assert terms.design(table).tolist() == [[np.exp(10.0), 0.0], [1.0, 1.0]]
    with pytest.raises(InputError, match=r"the term exp\(m\) is not finite for m=1000"):
        parse_terms("exp(m)", ("m",)).design(table)


@pytest.mark.parametrize("text", ["log(m)", "m^-1", "n^400", "exp(n)^12"])
def test_terms_that_are_not_finite_are_named(text):
    table = np.array([[1.0, 1.0, 1.0], [0.0, 64.0, 1.0]])
    with pytest.raises(InputError, match=r"row 1: the term .* is not finite for (m=0|n=64)"):
        parse_terms(text, NAMES).design(table)


factors = st.builds(
    lambda name, function, exponent: (name, function, exponent),
    st.sampled_from(NAMES),
    st.sampled_from(["", "log", "log2", "exp"]),
    st.sampled_from(["", "^2", "**3", "^0.5", "^-1", "^(1/3)"]),
)


@given(st.lists(factors, min_size=1, max_size=4))
def test_a_product_is_the_product_of_its_factors(parts):
    table = np.array([[2.0, 3.0, 5.0], [7.0, 1.5, 2.5]])
    written = [f"{f}({name})" if f else name for name, f, _ in parts]
    text = "*".join(base + exponent for base, (_, _, exponent) in zip(written, parts, strict=True))
    expected = np.ones(2)
    for name, function, exponent in parts:
        values = table[:, NAMES.index(name)]
        base = {"": values, "log": np.log(values), "log2": np.log2(values), "exp": np.exp(values)}
        base = base[function]
        power = {"": 1, "^2": 2, "**3": 3, "^0.5": 0.5, "^-1": -1, "^(1/3)": 1 / 3}[exponent]
        expected = expected * base**power
    # Factors that cancel leave the constant.
    assert parse_terms(text, NAMES).design(table)[:, -1] == pytest.approx(expected)
