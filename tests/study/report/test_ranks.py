"""Ranks: Demšar's published example, SciPy's test, ties."""

import numpy as np
import pytest
from scipy import stats

from tasksim.study.report.ranks import critical_difference, rank_rows, rank_test

AUC = np.array(
    # J. Demšar, Journal of Machine Learning Research 7 (2006), table 6: C4.5, C4.5+m, C4.5+cf,
    # C4.5+m+cf on 14 data sets. In "voting" the last two differ beyond the digits printed.
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9752, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


def test_the_published_example():
    """Average ranks, F_F = 3.69 (from chi² = 9.28 without correction for ties), CD = 1.25."""
    test = rank_test(-AUC, NAMES)
    ranks = dict(zip(test.schedulers, test.ranks, strict=True))
    assert {n: round(r, 3) for n, r in ranks.items()} == {
        "C4.5+m+cf": 1.964,
        "C4.5+m": 2.0,
        "C4.5+cf": 2.893,
        "C4.5": 3.143,
    }
    n, k = AUC.shape
    plain = 12 * n / (k * (k + 1)) * (sum(r**2 for r in test.ranks) - k * (k + 1) ** 2 / 4)
    assert round(plain, 2) == 9.28
    assert test.chi_square >= plain
    assert round((n - 1) * plain / (n * (k - 1) - plain), 2) == 3.69
    assert test.p_value < 0.05
    assert round(test.critical_difference, 2) == 1.25
    assert round(critical_difference(k, n, 0.90), 2) == 1.12
    # At 95 % the test is not powerful enough to tell any two apart (section 3.2.2 there).
    assert test.alike == (tuple(test.schedulers),)


@pytest.mark.parametrize(
    ("k", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (10, 3.164)],
)
def test_critical_values_are_those_of_the_table(k, q):
    """Table 5(a) there, made of quantiles with three decimals."""
    assert critical_difference(k, 1) / np.sqrt(k * (k + 1) / 6) == pytest.approx(q, abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_friedman_is_that_of_scipy(seed):
    values = np.random.default_rng(seed).integers(0, 4, size=(12, 5)).astype(float)
    expected = stats.friedmanchisquare(*values.T)
    assert rank_test(values, list("abcde")).chi_square == pytest.approx(expected.statistic)


def test_without_ties_the_statistic_is_that_of_the_paper():
    values = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [2.0, 1.0, 3.0], [1.0, 2.0, 3.0]])
    test = rank_test(values, ["a", "b", "c"])
    assert test.ranks == (1.25, 2.0, 2.75)
    chi_square = 12 * 4 / 12 * (1.25**2 + 2.0**2 + 2.75**2 - 12)
    assert test.chi_square == pytest.approx(chi_square)
    assert test.f == pytest.approx(3 * chi_square / (8 - chi_square))


def test_all_the_same():
    test = rank_test(np.zeros((10, 3)), ["a", "b", "c"])
    assert (test.ranks, test.p_value, test.differ) == ((2.0, 2.0, 2.0), 1.0, False)
    assert test.alike == (("a", "b", "c"),)


def test_all_blocks_agree():
    test = rank_test(np.tile([1.0, 2.0, 3.0], (10, 1)), ["a", "b", "c"])
    assert (test.p_value, test.f, test.differ) == (0.0, np.inf, True)
    assert test.alike == (("a", "b"), ("b", "c"))


@pytest.mark.parametrize("shape", [(1, 4), (5, 2), (0, 3)])
def test_too_little_for_a_test(shape):
    test = rank_test(np.ones(shape), list("abcd"[: shape[1]]))
    assert (test.chi_square, test.p_value, test.differ) == (None, None, False)


def test_ties_within_rounding_share_their_ranks():
    assert rank_rows(np.array([[1e-12, 0.0, 1.0]])).tolist() == [[1.5, 1.5, 3.0]]
