import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.view.page.columns import PackedColumns, Ticks
from tests.view.page.unpacking import unpacked

whole = st.lists(st.integers(-(2**52), 2**52), max_size=50)


@given(whole, whole)
def test_whole_numbers_come_back(a, b):
    packed = PackedColumns()
    packed.whole("a", a)
    packed.whole("b", b, differences=True)
    packed.real("c", np.arange(5) / 4)
    found = unpacked(packed.layout, packed.text())
    assert found["a"].tolist() == a
    assert found["b"].tolist() == b
    assert found["c"].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_small_numbers_take_few_bytes():
    packed = PackedColumns()
    packed.whole("start", np.arange(10**6, 2 * 10**6, 10), differences=True)
    assert packed.layout[0]["width"] == 3  # for the first, which differs most from what is before
    assert len(packed.text()) < 2000


@pytest.mark.parametrize(
    ("until_s", "exponent"),
    [(0.0, -9), (1.0, -9), (3600.0, -9), (2e-3, -9), (5e-7, -13), (1e7, -7), (1e30, 16)],
)
def test_ticks_are_fine_enough_and_fit_into_doubles(until_s, exponent):
    ticks = Ticks(until_s)
    assert ticks.exponent == exponent
    assert ticks.of([until_s])[0] <= 2**53
    assert until_s == 0 or ticks.of([until_s])[0] >= 10**6
