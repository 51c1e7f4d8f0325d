"""Axes of tensors: cells, points, and weights between points."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.documents.json_document import FormatError, JsonNode, to_data
from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.tensor.grid import make_axis, read_axis

DECADES = np.array([1.0, 3.0, 10.0, 100.0, 1000.0])


def test_logarithmic_cells_have_equal_ratios():
    axis = make_axis("n", DECADES, "log", 3)
    assert axis.edges == pytest.approx([1, 10, 100, 1000])
    assert axis.points == pytest.approx([10**0.5, 10**1.5, 10**2.5])
    assert axis.cell(np.array([1.0, 9.9, 10.1, 999.0, 1000.0])).tolist() == [0, 0, 1, 2, 2]


def test_weights_have_signs_in_the_end_zones_and_nothing_is_beyond_inside():
    axis = make_axis("n", DECADES, "log", 3)
    place = axis.place(np.array([1.0, 10.0**0.5, 10.0, 10**1.5, 1000.0]))
    assert place.index.tolist() == [0, 0, 0, 1, 1]
    assert place.weight == pytest.approx([-0.5, 0, 0.5, 0, 1.5])
    assert place.beyond.tolist() == [0] * 5


def test_what_is_beyond_is_measured_on_the_scale_from_the_end():
    axis = make_axis("n", DECADES, "log", 3)
    place = axis.place(np.array([0.1, 1e4, 0.0]))
    assert place.weight == pytest.approx([-0.5, 1.5, -0.5])
    assert place.beyond == pytest.approx(np.log([0.1, 10, 1e-3]))
    uniform = make_axis("n", np.arange(11.0), "uniform", 5).place(np.array([12.0]))
    assert uniform.beyond == pytest.approx(10 * np.log([1.2]))


def test_own_values_are_points():
    axis = make_axis("n", np.array([64.0, 256.0, 128.0, 64.0]), "own", 99)
    assert axis.points.tolist() == [64, 128, 256]
    assert axis.place(np.array([64.0, 256.0])).weight == pytest.approx([0, 1])
    assert axis.place(np.array([2 * 64 * 2**0.5])).weight == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("values", "kind", "logarithmic", "count"),
    [
        ([1, 2, 3], "numerical", True, 3),
        (range(100), "numerical", False, 8),
        (range(1, 101), "numerical", True, 8),
        (range(50, 101), "numerical", True, 8),
        ([7, 7], "numerical", True, 1),
    ],
)
def test_automatic_grids(values, kind, logarithmic, count):
    axis = make_axis("n", np.array(values, dtype=float), "automatic", 8)
    assert (axis.kind, axis.logarithmic, len(axis)) == (kind, logarithmic, count)


@pytest.mark.parametrize("spacing", ["own", "log", "uniform", "automatic"])
def test_values_that_differ_by_rounding_are_one(spacing):
    axis = make_axis("n", np.array([1e6, np.nextafter(1e6, 2e6)]), spacing, 8)
    assert axis.points.tolist() == [1e6]
    assert np.isfinite(axis.place(np.array([1e6, 2e6])).weight).all()


def test_ordinal_values_are_not_interpolated():
    axis = make_axis("order", np.array([1.0, 2.0, 8.0]), "ordinal", 9)
    place = axis.place(np.array([1.1, 3.9, 4.1, 100.0]))
    assert place.index.tolist() == [0, 1, 2, 2]
    assert place.weight.tolist() == place.beyond.tolist() == [0] * 4
    assert axis.covers(np.array([2.0, 2.5])).tolist() == [True, False]


def test_a_category_that_was_not_measured_is_refused():
    axis = make_axis("layout", np.array([0.0, 3.0, 5.0]), "categorical", 9)
    assert axis.cell(np.array([5.0, 0.0])).tolist() == [2, 0]
    with pytest.raises(OutOfDomainError, match=r"layout=4: no such category.*measured: 0, 3, 5"):
        axis.place(np.array([3.0, 4.0]))


def test_edges_can_be_given():
    axis = make_axis("n", np.array([5.0, 20.0]), [1, 10, 100], 99)
    assert axis.edges.tolist() == [1, 10, 100]
    assert axis.points == pytest.approx([10**0.5, 10**1.5])


@pytest.mark.parametrize(
    ("spacing", "message"),
    [
        ("logg", "unknown spacing of parameter 'n' 'logg', did you mean 'log'"),
        ("log", "parameter 'n': a logarithmic grid needs values above 0, got 0"),
        ([1, 1, 2], "two numbers or more that ascend"),
        ([[1, 2]], "two numbers or more that ascend"),
        ({"a": 1}, "two numbers or more that ascend"),
        ([1, 9], "the grid of parameter 'n' is 1 to 9, but samples have 0 to 9"),
    ],
)
def test_grids_that_are_none(spacing, message):
    with pytest.raises(InputError, match=message):
        make_axis("n", np.arange(10.0), spacing, 3)


@given(
    values=st.lists(st.floats(1, 1e6), min_size=2, max_size=20, unique=True),
    spacing=st.sampled_from(["log", "uniform", "own", "automatic"]),
    cells=st.integers(1, 30),
)
def test_every_value_is_in_a_cell_and_axes_survive_files(values, spacing, cells):
    table = np.array(values)
    axis = make_axis("n", table, spacing, cells)
    cell = axis.cell(table)
    assert (axis.edges[cell] <= table * (1 + 1e-8)).all()
    assert (table <= axis.edges[cell + 1] * (1 + 1e-8)).all()
    assert (np.diff(axis.points) > 0).all()
    again = read_axis(JsonNode(json.loads(json.dumps(to_data(axis.to_json())))))
    assert (again.points == axis.points).all()
    assert (again.place(table).weight == axis.place(table).weight).all()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "other"),
        ("logarithmic", 1),
        ("points", [2, 1]),
        ("points", []),
        ("edges", [3, 2, 1]),
        ("edges", [0, 1, 4]),
    ],
)
def test_axes_in_files_are_checked(key, value):
    data = to_data(make_axis("n", np.array([1.0, 3.0]), "own", 9).to_json())
    with pytest.raises(FormatError):
        read_axis(JsonNode({**data, key: value}))
