"""The ordered expected ends agree with looking at every worker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasksim.schedulers.expected import ExpectedEnds

TIMES = st.sampled_from([0.0, 1.0, 1.5, 2.0, 4.0])


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from(["ask", "change"]), st.integers(0, 4), TIMES, TIMES)),
)
def test_the_earliest_is_that_of_a_scan_over_all_workers(workers, steps):
    start, length = [0.0] * workers, [0.0] * workers
    ends = ExpectedEnds(tuple(range(workers)), start, length)
    now = 0.0
    for action, worker, first, second in steps:
        if action == "change":
            start[worker % workers], length[worker % workers] = now + first - 1.0, second
            ends.changed(worker % workers)
        else:
            now += first
        scan = min((max(start[w], now) + length[w], w) for w in range(workers))
        assert ends.earliest(now) == scan


def test_a_late_worker_is_expected_as_long_after_now_as_its_queue_takes():
    start, length = [1.0, 9.0], [2.0, 0.0]
    ends = ExpectedEnds((0, 1), start, length)
    assert ends.earliest(0.0) == (3.0, 0)
    assert ends.earliest(5.0) == (7.0, 0)
    assert ends.earliest(8.0) == (9.0, 1)


def test_of_free_workers_the_lowest_number():
    ends = ExpectedEnds((3, 5, 8), [0.0] * 9, [0.0] * 9)
    assert ends.earliest(2.0) == (2.0, 3)
