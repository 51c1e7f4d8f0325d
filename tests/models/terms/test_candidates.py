from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.terms.candidates import Lattice, find_candidates, lattice_terms
from tasksim.models.terms.formulas import parse_terms

RNG = np.random.default_rng(0)
ROWS = np.column_stack([RNG.integers(2, 200, (60, 3)).astype(float), np.arange(60) % 3])
NAMES = ("m", "n", "k", "layout")


def texts(candidates):
    return [str(term) for term in candidates.terms.terms]


@pytest.mark.parametrize(
    "wanted",
    [
        "m*n*k + m*n + m*k + n*k",
        "m^2*n + n^3*k + m*n^2*k",
        "m^0.5 + n^1.5 + k^2.5",
        "log2(n) + n*log2(n) + n^2*log2(n) + m*n*log2(n) + m*log2(n)",
    ],
)
def test_what_kernels_need_is_among_the_candidates(wanted):
    found = texts(find_candidates(NAMES[:3], ROWS[:, :3]))
    assert set(map(str, parse_terms(wanted, NAMES[:3]).terms[1:])) <= set(found)


def test_candidates_are_canonical_different_and_simple_ones_first():
    terms = lattice_terms(("m", "n", "k"))
    names = [str(term) for term in terms]
    assert len(set(names)) == len(names)
    assert [str(t) for t in parse_terms(" + ".join(names), ("m", "n", "k")).terms[1:]] == names
    assert names[:3] == ["m", "n", "k"]
    assert names.index("m*n") < names.index("m*log2(m)*n") < names.index("m*n*k")


def test_limits_of_the_lattice():
    few = Lattice(exponents=(1.0, 2.0), logarithms=False, order=2, degree=3)
    assert all(len(t.factors) <= 2 for t in lattice_terms(NAMES, few))
    assert all(sum(f.exponent for f in t.factors) <= 3 for t in lattice_terms(NAMES, few))


def test_given_terms_alone_and_besides():
    assert texts(find_candidates(NAMES, ROWS, given="m*n*k + m*n")) == ["m*n*k", "m*n"]
    found = texts(find_candidates(NAMES, ROWS, given="auto + m^5"))
    assert found[-1] == "m^5"
    assert "m*n*k" in found
    with pytest.raises(InputError, match="column 1: unknown parameter 'q'"):
        find_candidates(NAMES, ROWS, given="q + m")


def test_levels_of_categorical_parameters():
    found = texts(find_candidates(NAMES, ROWS, categorical=("layout",)))
    assert {"is(layout, 0)", "is(layout, 2)", "m*n*is(layout, 1)"} <= set(found)
    assert not {"layout", "m*layout"} & set(found)
    many = np.column_stack([ROWS[:, :3], np.arange(60)])
    with pytest.raises(InputError, match="'layout' has 60 levels; at most 20"):
        find_candidates(NAMES, many, categorical=("layout",))
    with pytest.raises(InputError, match="expected a list of parameters, got 'layout'"):
        find_candidates(NAMES, ROWS, categorical="layout")
    with pytest.raises(InputError, match="unknown parameter 'layuot', did you mean 'layout'"):
        find_candidates(NAMES, ROWS, categorical=("layuot",))


def test_terms_that_mean_nothing_are_left_out():
    rows = ROWS[:, :3].copy()
    rows[:, 0] = 64
    rows[0, 1] = 0
    found = texts(find_candidates(("m", "n", "k"), rows, given="auto + n^-1 + k^400"))
    assert not [text for text in found if "m" in text or "log2(n)" in text]
    assert not {"n^-1", "k^400"} & set(found)
    assert "k*log2(k)" in found


def test_many_parameters_have_products_of_few():
    names = tuple("abcdefghij")
    rows = np.random.default_rng(0).integers(2, 99, (50, 10)).astype(float)
    found = find_candidates(names, rows, given="auto + a*b*c")
    assert len(found.terms) <= 1001
    assert found.notes[0].startswith("with 10 parameters, products of over 2 are not candidates")
    assert {"a*b", "a*b*c", "i^2*j"} <= set(texts(found))
    assert "a*b*d" not in texts(found)


def test_notes_say_what_samples_cannot_tell():
    rows = np.column_stack(
        [np.full(12, 64.0), np.arange(12.0), 2 * np.arange(12.0) + 1, ROWS[:12, 3]]
    )
    notes = find_candidates(NAMES, rows).notes
    assert notes == (
        "m is always 64: its effect is unknown",
        "layout has 3 different values: measure 5 or more",
        "n and k vary together: their terms are indistinguishable",
    )
