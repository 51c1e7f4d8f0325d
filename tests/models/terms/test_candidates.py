from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples
from tasksim.models.terms.candidates import Lattice, find_candidates, lattice_terms
from tasksim.models.terms.formulas import parse_terms
from tasksim.models.terms.screening import falling, screened

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
    assert not {"1/n", "k^400"} & set(found)
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


def duration(function, rows, noise=0.05, seed=0):
    return function(*rows.T) * np.random.default_rng(seed).lognormal(0.0, noise, len(rows))


def drawn(count, *ranges, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([np.round(2 ** rng.uniform(*bounds, count)) for bounds in ranges])


def test_parameters_with_which_durations_fall_may_be_divisors():
    rows = drawn(200, (4, 10), (0, 6), (3, 7))
    names = ("n", "p", "q")
    seconds = duration(lambda n, p, _: 1e-8 * n**2 / p + 1e-6 * np.log2(1 + p), rows)
    found = texts(find_candidates(names, rows, durations_s=seconds))
    wanted = {"1/p", "1/p^0.5", "n/p", "n^2/p", "n/p^0.5", "n*log2(n)/p", "n*log2(p)/p", "n*q/p"}
    assert wanted <= set(found)
    assert not [text for text in found if "/n" in text or "/q" in text or "/(" in text]
    assert not [text for text in texts(find_candidates(names, rows)) if "/" in text]


def test_two_divisors_and_products_of_three_over_one():
    rows = drawn(300, (4, 8), (4, 8), (4, 8), (0, 5), (0, 4))
    seconds = duration(lambda m, n, k, p, t: 1e-9 * m * n * k / (p * t), rows)
    found = texts(find_candidates(("m", "n", "k", "p", "t"), rows, durations_s=seconds))
    assert {"m*n*k/p", "m*n/(p*t)"} <= set(found)


def test_growth_and_no_effect_are_no_fall():
    rows = drawn(300, (4, 10), (0, 6))
    seconds = duration(lambda n, p: 1e-8 * n + 1e-7 * p, rows)
    found = find_candidates(("n", "p"), rows, durations_s=seconds)
    assert not [text for text in texts(found) if "/" in text and "(" not in text]
    assert falling(("n", "p"), rows, 1 / seconds) == ("n", "p")
    assert falling(("n", "p"), rows, duration(lambda n, _: 1e-8 * n, rows)) == ()
    u_shaped = duration(lambda n, p: 1e-8 * n * (30 / p + p), rows)
    assert falling(("n", "p"), rows, u_shaped) == ("p",)
    assert falling((), rows[:, :0], seconds) == ()
    assert falling(("n", "p"), rows - rows.max(axis=0), seconds) == ()
    assert falling(("n", "p"), rows[:2], seconds[:2]) == ()


def test_few_values_have_few_candidates():
    rows = np.array([[n, p] for n in (16, 32, 64, 128, 256, 512) for p in (1, 2)], float)
    seconds = duration(lambda n, p: 1e-6 * n / p, rows)
    found = texts(find_candidates(("n", "p"), rows, durations_s=seconds))
    assert {"p", "1/p", "n/p", "n^2/p", "n^(1/3)", "n^0.75", "n*log2(n)^2"} <= set(found)
    assert not [text for text in found if "log2(p)" in text or "p^" in text]
    coarse = texts(find_candidates(("n", "p"), rows[:8], durations_s=seconds[:8]))
    assert not {"n^(1/3)", "log2(n)^2"} & set(coarse)
    assert {"n^0.5", "log2(n)"} <= set(coarse)


def test_exponentials_are_candidates_for_many_close_values():
    def found(levels):
        rows = np.array(levels, float)[:, None]
        return texts(find_candidates(("level",), rows, durations_s=1e-6 * rows[:, 0]))

    assert "exp(level)" in found(range(2, 10))
    assert "exp(level)" not in found(range(2, 7))  # five values
    assert "exp(level)" not in found(np.linspace(2, 5, 8))
    assert "exp(level)" not in found(range(32, 256, 32))


def test_the_search_finds_an_exponential():
    levels = np.repeat(np.arange(1.0, 11.0), 4)
    noise = np.random.default_rng(1).lognormal(0.0, 0.02, len(levels))
    samples = Samples(("level",), levels[:, None], (1e-5 + 3e-8 * np.exp(levels)) * noise)
    assert LinearModel("auto").fit(samples).terms_ == ("1", "exp(level)")


def test_of_thousands_of_terms_those_that_help_are_candidates():
    names = tuple("abcdefghi")
    rows = drawn(400, *[(3, 9)] * 9)
    seconds = duration(lambda *c: 1e-9 * c[0] * c[4] * c[8] + 1e-7 * c[2] * c[3], rows)
    found = find_candidates(names, rows, durations_s=seconds)
    assert {"a*e*i", "c*d"} <= set(texts(found))
    assert len(found.terms) == 1000
    assert found.notes[0].startswith("1000 of 2")
    assert "/" not in "".join(texts(found))


def test_screening_keeps_as_many_as_it_is_asked_for():
    rows = drawn(100, (3, 9), (3, 9))
    seconds = duration(lambda m, n: 1e-9 * m * n**2 + 1e-8 * m, rows)
    terms = find_candidates(("m", "n"), rows).terms
    few = screened(terms, rows, seconds, 5)
    assert len(few) == 5
    assert {"m*n^2"} <= {str(term) for term in few.terms}
    assert set(few.terms) < set(terms.terms)
    assert screened(terms, rows, seconds, len(terms)) == terms
