"""Exact means over slices of time."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.run.record import Run, TaskTable, WorkerInfo
from tasksim.run.slices import flop_rate, lack_of_ready, mean_sum, utilisation

TIME = st.integers(0, 20).map(float)
INTERVALS = st.lists(st.tuples(TIME, TIME, st.integers(1, 5)), max_size=15)


@given(INTERVALS)
def test_means_are_those_of_each_instant(things):
    start = np.array([min(a, b) for a, b, _ in things])
    end = np.array([max(a, b) for a, b, _ in things])
    weight = np.array([float(w) for *_, w in things])
    edges = np.array([0.0, 3.0, 4.0, 11.0, 20.0])
    instants = np.arange(0.5, 20)  # nothing changes but at whole seconds
    there = [
        sum(w for s, e, w in zip(start, end, weight, strict=True) if s < t < e) for t in instants
    ]
    expected = [np.mean(there[int(a) : int(b)]) for a, b in itertools.pairwise(edges)]
    assert mean_sum(start, end, edges, weight) == pytest.approx(expected)


def run_of(*rows, nodes=(0, 0)):
    """Rows: (worker, ready, start, end)."""
    worker, ready, start, end = zip(*rows, strict=True)
    zero = [0] * len(rows)
    table = TaskTable(
        range(len(rows)), zero, worker, zero, zero, ready, start, end, [-1] * len(rows)
    )
    workers = tuple(WorkerInfo(f"w{i}", "cpu", node) for i, node in enumerate(nodes))
    return Run("simulated", "g", {}, ("k",), workers, "p", "eager", 0, table)


RUN = run_of((0, 0, 0, 2), (1, 0, 1, 2), (0, 1, 3, 4))


def test_utilisation_is_the_share_of_each_worker():
    found = utilisation(RUN, np.array([0.0, 2.0, 4.0]))
    assert found.tolist() == [[1.0, 0.5], [0.5, 0.0]]


def test_ready_tasks_lack_where_they_are_fewer_than_workers():
    # One node of two workers: ready tasks are 1 until 1, then 1 until 3, then none.
    assert lack_of_ready(RUN, np.array([0.0, 1.0, 3.0, 4.0])).tolist() == [1, 1, 1]
    many = run_of(*[(0, 0, 2, 3)] * 3, (1, 0, 2, 3))
    assert lack_of_ready(many, np.array([0.0, 2.0, 3.0])).tolist() == [0, 1]
    apart = run_of(*[(0, 0, 2, 3)] * 3, (1, 0, 0, 3), nodes=(0, 1))
    assert lack_of_ready(apart, np.array([0.0, 2.0, 3.0])).tolist() == [1, 2]


def test_flop_count_evenly_over_their_task():
    rate = flop_rate(RUN, np.array([8.0, 3.0, np.nan]), np.array([0.0, 1.0, 2.0, 4.0]))
    assert rate.tolist() == [4.0, 7.0, 0.0]
    instant = dataclasses.replace(RUN, tasks=run_of((0, 0, 1, 1)).tasks)
    assert flop_rate(instant, np.array([5.0]), np.array([0.0, 2.0])).tolist() == [0.0]
