"""Numbers of the views of data."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.run.metrics import idle_time
from tasksim.run.recordtables import MemoryTable, TransferTable
from tasksim.view.timeseries import (
    arrival_rates,
    idle_spans,
    overlap_depths,
    overlap_levels,
    pairs,
    thinned,
    used_curve,
)


def table(*rows):
    """Rows: (source, target, bytes, start, end)."""
    source, target, size, start, end = zip(*rows, strict=True)
    zero = [0] * len(rows)
    return TransferTable(zero, source, target, size, start, start, end, zero, zero)


def test_directions_of_a_pair_are_neighbours():
    moved = table(*((s, t, 1, 0.0, 1.0) for s, t in [(2, 0), (0, 1), (1, 2), (1, 0), (0, 1)]))
    found = [(source, target, rows.tolist()) for source, target, rows in pairs(moved)]
    assert found == [(0, 1, [1, 4]), (1, 0, [3]), (2, 0, [0]), (1, 2, [2])]
    assert pairs(TransferTable.empty()) == []


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), max_size=30))
def test_what_overlaps_has_different_levels(intervals):
    start = np.array([begin for begin, _ in intervals], dtype=float)
    end = start + np.array([length for _, length in intervals], dtype=float)
    levels = overlap_levels(start, end)
    depths = overlap_depths(start, end, levels)
    for i in range(len(start)):
        at_once = (start < end[i]) & (end > start[i])
        at_once[i] = False
        assert levels[i] not in levels[at_once]
        assert (depths[at_once] == depths[i]).all()
        assert levels[i] < depths[i]
    for moment in np.unique(start):  # as few levels as possible
        running = (start <= moment) & (moment < end)
        assert levels[running].max() < max(
            ((start <= at) & (at < end)).sum() for at in np.unique(start)
        )


def test_bytes_arrive_evenly_while_they_are_copied():
    moved = table((0, 1, 80, 0.0, 4.0), (0, 1, 10, 1.0, 2.0), (1, 0, 7, 3.0, 3.0))
    rates = arrival_rates(moved, 3, np.array([0.0, 1.0, 2.0, 4.0]))
    assert rates[1] == pytest.approx([20, 30, 20])
    assert rates[0] == pytest.approx([0, 0, 3.5])
    assert not rates[2].any()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 99)), min_size=1))
def test_all_bytes_arrive(copies):
    moved = table(*((0, 1, size, begin, begin + takes) for begin, takes, size in copies))
    edges = np.linspace(-1, 19, 14)
    arrived = (arrival_rates(moved, 2, edges) * np.diff(edges)).sum()
    assert arrived == pytest.approx(sum(size for *_, size in copies))


def test_idle_spans_are_those_that_the_metrics_count(make):
    run = make.hybrid(tasks=200, copies=150)
    spans = idle_spans(run)
    lengths = {
        reason: np.bincount(worker, end - begin, minlength=len(run.workers))
        for reason, (worker, begin, end) in spans.items()
    }
    idle = idle_time(run)
    assert idle.transfer_s.sum() > 0
    assert lengths["transfer"] == pytest.approx(idle.transfer_s)
    assert lengths["dependency"] == pytest.approx(idle.dependency_s)
    assert lengths["queue"] == pytest.approx(idle.queue_s)


def test_a_worker_waits_for_its_task_then_for_its_data(make):
    run = make.rows([(0, 0, 0.0, 1.0), (0, 0, 5.0, 6.0)], 1)
    tasks = dataclasses.replace(run.tasks, ready_s=[0.0, 2.0], popped_s=[0.0, 3.0])
    moved = dataclasses.replace(table((0, 0, 8, 2.0, 4.5)), task=[1])
    spans = idle_spans(dataclasses.replace(run, tasks=tasks, transfers=moved))
    times = {k: (begin.tolist(), end.tolist()) for k, (_, begin, end) in spans.items()}
    assert times == {
        "dependency": ([1.0], [2.0]),
        "queue": ([2.0, 4.5], [3.0, 5.0]),
        "transfer": ([3.0], [4.5]),
    }


def test_the_use_of_a_memory_is_a_step_function_over_the_run():
    used = MemoryTable([1.0, 1.5, 2.0], [1, 0, 1], [10, 99, 4])
    times, sizes = used_curve(used, 1, 3.0)
    assert (times.tolist(), sizes.tolist()) == ([0, 1, 2, 3], [0, 10, 4, 4])
    times, sizes = used_curve(used, 2, 3.0)
    assert (times.tolist(), sizes.tolist()) == ([0, 3], [0, 0])


def test_thinning_keeps_what_happens_at_one_instant():
    times = np.repeat(np.arange(100.0), 200)
    count = np.tile(np.arange(200), 100)
    x, y = thinned(times, count, bins=50)
    assert (y.min(), y.max(), y[-1]) == (0, 199, 199)
    assert len(x) <= 4 * 51
