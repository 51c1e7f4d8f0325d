"""Sums that do not depend on the version of Python."""

from tasksim.base.sums import total


def test_each_addition_is_rounded():
    assert total([1e16, 1.0, 1.0]) == 1e16  # a compensated sum is 1e16 + 2
    assert total([0.1] * 3) == 0.1 + 0.1 + 0.1


def test_of_nothing_it_is_zero():
    assert total([]) == 0.0
