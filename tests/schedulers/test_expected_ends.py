"""The ordered expected ends agree with looking at every worker."""

from __future__ import annotations

import random
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.schedulers.expected_ends import (
    MAX_SCANNED_WORKERS,
    Ends,
    ExpectedEnds,
    expected_ends,
)

KINDS = pytest.mark.parametrize("kind", [ExpectedEnds, Ends])


@KINDS
@given(workers=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_the_earliest_is_that_of_a_scan_over_all_workers(kind, workers, seed):
    draw = random.Random(seed)
    start, length = [0.0] * workers, [0.0] * workers
    ends, now = kind(tuple(range(workers)), start, length), 0.0
    for _ in range(60):
        if draw.random() < 0.5:
            worker = draw.randrange(workers)
            start[worker] = now + draw.choice([-1.0, 0.0, 1.0, 3.0])
            length[worker] = draw.choice([0.0, 0.0, 1.0, 1.5, 2.0])
            ends.changed(worker)
        else:
            now += draw.choice([0.0, 0.5, 1.0])
        limit = draw.choice([-inf, now, now + 1.0, now + 2.5, inf])
        all_ends = [max(start[w], now) + length[w] for w in range(workers)]
        chosen = min(range(workers), key=lambda w: (max(all_ends[w], limit), w))
        assert ends.earliest(now, limit) == (all_ends[chosen], chosen)
        assert ends.latest(now) == max(all_ends)


@KINDS
def test_a_late_worker_is_expected_as_long_after_now_as_its_queue_takes(kind):
    start, length = [1.0, 9.0], [2.0, 0.0]
    ends = kind((0, 1), start, length)
    assert ends.earliest(0.0) == (3.0, 0)
    assert ends.earliest(5.0) == (7.0, 0)
    assert ends.earliest(8.0) == (9.0, 1)


@KINDS
def test_of_free_workers_the_lowest_number(kind):
    ends = kind((3, 5, 8), [0.0] * 9, [0.0] * 9)
    assert ends.earliest(2.0) == (2.0, 3)


@KINDS
def test_up_to_the_limit_the_lowest_number(kind):
    ends = kind((3, 5, 8), [0.0] * 9, [0.0, 0.0, 0.0, 4.0, 0.0, 3.0, 0.0, 0.0, 2.0])
    assert ends.earliest(0.0, limit=2.5) == (2.0, 8)
    assert ends.earliest(0.0, limit=3.0) == (3.0, 5)
    assert ends.earliest(0.0, limit=9.0) == (4.0, 3)


def test_many_workers_are_kept_ordered_and_few_are_looked_at():
    start, length = [0.0] * (MAX_SCANNED_WORKERS + 1), [0.0] * (MAX_SCANNED_WORKERS + 1)
    assert type(expected_ends(tuple(range(MAX_SCANNED_WORKERS)), start, length)) is Ends
    assert isinstance(
        expected_ends(tuple(range(MAX_SCANNED_WORKERS + 1)), start, length), ExpectedEnds
    )
