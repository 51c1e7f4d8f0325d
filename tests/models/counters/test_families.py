"""Families of counters: accesses beyond a cache, products of parameters, weights."""

import numpy as np
import pytest

from tasksim.base.documents.json_document import JsonNode, to_data
from tasksim.base.errors import InputError
from tasksim.models.counters.families import CounterFunction, accesses, chosen_function, hits


def sizes(count=24, seed=0):
    return np.exp(np.random.default_rng(seed).uniform(np.log(64), np.log(1024), (count, 2)))


def test_accesses_beyond_a_cache_begin_where_it_is_full():
    table = sizes()
    lines = table.prod(axis=1) / 4
    found = chosen_function(table, np.maximum(lines - 2**14, 0), weights=1 / lines)
    assert found.describe().endswith("beyond a bound")
    further = np.array([[100.0, 100.0], [256.0, 256.0], [2000.0, 1000.0]])
    assert found(further) == pytest.approx([0, 0, 5e5 - 2**14], rel=1e-6, abs=1)


def test_products_need_fewer_samples_than_there_are_products():
    table = np.column_stack([sizes(14), sizes(14, 1)[:, 0]])
    m, n, k = table.T
    found = chosen_function(table, m * n * k / 2 + 3 * m * n + 100)
    assert found.family == "products"
    further = np.array([[2000.0, 50.0, 700.0]])
    assert found(further) == pytest.approx([35e6 + 3e5 + 100], rel=1e-3)


def test_nothing_ever_is_a_constant():
    found = chosen_function(sizes(), np.zeros(24), weights=np.ones(24))
    assert found.describe() == "polynomial of degree 0"
    assert found(sizes()).tolist() == [0.0] * 24


def test_functions_are_read_back():
    table = sizes()
    found = chosen_function(table, np.maximum(table.prod(axis=1) - 1e5, 0))
    again = CounterFunction.from_json(JsonNode(to_data(found.to_json())), 2)
    assert again(table).tolist() == found(table).tolist()


def test_a_level_answers_what_reaches_it_less_what_goes_beyond():
    n = np.linspace(10, 100, 30)[:, None]
    counted = {"l1_hits": 8 * n[:, 0], "l2_hits": 2 * n[:, 0], "memory_accesses": n[:, 0]}
    for by in ("cv", "r2"):
        columns = accesses(counted, ["l1", "l2", "memory"], by)
        functions = {name: chosen_function(n, column, by) for name, column in columns.items()}
        found = hits(functions, ["l1", "l2", "memory"], n)
        assert list(found) == ["l1", "l2", "memory"]
        for level, column in zip(found.values(), counted.values(), strict=True):
            assert level == pytest.approx(column)


RANKS = np.array([4.0, 9, 16, 25])[:, None]
MORE_RANKS = np.array([64.0, 256, 1024])[:, None]


@pytest.mark.parametrize(
    ("count", "family"),
    [
        (lambda p: 40 * (p - np.sqrt(p)), "sum of x^0.5, x"),  # messages to neighbours in a grid
        (lambda p: 76_800 * (np.sqrt(p) - 1), "sum of 1, x^0.5"),  # bytes of their borders
        (lambda p: 3 * p * np.log2(p) + 5, "sum of 1, x log x"),
        (lambda p: 392 * p + 20 * np.sqrt(p) + 12, "sum of 1, x^0.5, x"),  # points of a block
    ],
)
def test_counts_of_blocks_and_borders_are_exact_from_four_samples(count, family):
    found = chosen_function(RANKS, count(RANKS[:, 0]))
    assert found.describe() == family
    assert found(MORE_RANKS) == pytest.approx(count(MORE_RANKS[:, 0]), rel=1e-6)
    again = CounterFunction.from_json(JsonNode(to_data(found.to_json())), 1)
    assert again(MORE_RANKS).tolist() == found(MORE_RANKS).tolist()


def test_sums_do_not_follow_noise_of_few_samples():
    noise = 1 + 0.02 * np.array([1, -1, 1, -1])
    work = 1e6 / RANKS
    found = chosen_function(work, (3 * work[:, 0] + 1e3) * noise)
    beyond = np.array([[1e3], [1e7]])
    assert found(beyond) == pytest.approx(3 * beyond[:, 0] + 1e3, rel=0.3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"terms": [[0.7, 0]]}, "exponents"),
        ({"terms": [[1.0]]}, "terms"),
        ({"terms": []}, "exponents"),
        ({"coef": [1.0]}, "coef"),
    ],
)
def test_terms_that_are_none_are_refused(change, said):
    data = to_data(chosen_function(RANKS, 40 * (RANKS[:, 0] - np.sqrt(RANKS[:, 0]))).to_json())
    with pytest.raises(InputError, match=said):
        CounterFunction.from_json(JsonNode(data | change), 1)
