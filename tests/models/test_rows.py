from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tasksim.models.rows import describe_row, distinct_rows, find_rows, nearest_row, plain_number

VALUES = st.sampled_from([0.0, -0.0, 0.5, 1.0, 64.0, 1e300])


def tables(columns):
    return hnp.arrays(np.float64, st.tuples(st.integers(0, 12), st.just(columns)), elements=VALUES)


@given(tables(2))
def test_distinct_rows_are_those_of_numpy(table):
    rows, inverse = distinct_rows(table)
    expected = np.unique(table, axis=0) if len(table) else table
    assert (rows == expected).all()
    assert (rows[inverse] == table).all()


@given(tables(3), tables(3))
def test_find_rows_is_a_search_one_by_one(known, table):
    rows, _ = distinct_rows(known)
    listed = [tuple(row) for row in rows.tolist()]
    expected = [listed.index(tuple(row)) if tuple(row) in listed else -1 for row in table.tolist()]
    assert find_rows(rows, table).tolist() == expected


def test_kernels_without_parameters_have_one_row():
    rows, inverse = distinct_rows(np.empty((3, 0)))
    assert rows.shape == (1, 0)
    assert inverse.tolist() == [0, 0, 0]
    assert find_rows(rows, np.empty((2, 0))).tolist() == [0, 0]


def test_nearest_row_measures_each_column_by_its_range():
    known = np.array([[1.0, 1e6], [4.0, 1e6], [4.0, 9e6]])
    assert nearest_row(known, np.array([3.5, 1.1e6])).tolist() == [4.0, 1e6]


def test_rows_for_people():
    assert describe_row(("m", "x"), np.array([256.0, 0.1])) == "m=256, x=0.1"
    assert describe_row((), np.array([])) == ""
    assert repr(plain_number(2.0**60)) == "1.152921504606847e+18"
