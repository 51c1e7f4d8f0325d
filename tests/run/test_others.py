"""Time that others took from a native run, in tasks and between them, over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasksim.run.disturbance import (
    BEAT_EXPONENTS,
    others_between_s,
    others_curve,
    others_percent,
    others_s,
)
from tasksim.run.record import Disturbance


def a_run(make, waited_s=(3.0, 1.0)):
    """Return two workers: one loses 2 of the 4 s of its task, the other ends after 5 s of 8."""
    rows = [(0, 0, 0.0, 0.0, 0.0, 4.0, -1), (0, 1, 0.0, 0.0, 0.0, 5.0, -1)]
    rows.append((0, 0, 0.0, 0.0, 6.0, 8.0, -1))
    run = make.run(rows, workers=("cpu0", "cpu1"))
    tasks = replace(run.tasks, cpu_s=[2.0, 5.0, 2.0], preemptions=[1, 0, 0])
    told = Disturbance(waited_s, (1, 0))
    return replace(run, kind="native", tasks=tasks, disturbance=told)


def test_what_others_took_in_tasks_and_between_them(make):
    run = a_run(make)
    assert others_s(run) == pytest.approx([2.0, 0.0, 0.0])
    assert others_between_s(run) == pytest.approx([1.0, 1.0])
    assert others_percent(run) == pytest.approx([100 * 3 / 8, 100 / 8])


def test_what_others_took_on_the_same_processor_is_taken_from_its_worker(make):
    run = a_run(make)
    tasks = replace(run.tasks, pulse=[1.0, 1.0, 1.0], beat=[1.25, 1.0, 1.0])
    slowed_s = 2.0 - 2.0 / 1.25 ** BEAT_EXPONENTS[0]
    found = others_percent(replace(run, tasks=tasks))
    assert found == pytest.approx([100 * (3 + slowed_s) / 8, 100 / 8])


def test_over_time_it_adds_up_to_all_that_workers_waited(make):
    """cpu0 lacks half of its core in a task and in a gap, cpu1 a third of its in the end."""
    edges = np.array([0.0, 4.0, 5.0, 6.0, 8.0])
    found = others_curve(a_run(make), edges)
    assert found == pytest.approx(np.array([0.5, 0.5, 0.5 + 1 / 3, 1 / 3]) / 2)
    assert 2 * found @ np.diff(edges) == pytest.approx(4.0)


def test_what_nobody_knows_is_nothing(make):
    known = a_run(make, (None, 1.0))
    assert others_between_s(known) == pytest.approx([0.0, 1.0])
    assert np.isnan(others_percent(known)).tolist() == [True, False]
    run = make.run([(0, 0, 0.0, 0.0, 0.0, 4.0, -1)])
    assert np.isnan(others_percent(run)).all()
    assert others_curve(run, np.array([0.0, 1.0, 4.0])).tolist() == [0.0, 0.0]


def test_no_core_is_lost_twice(make):
    """More than a worker's whole gap is lost, where threads wait before their first task."""
    assert others_curve(a_run(make, (9.0, 9.0)), np.array([4.0, 5.0, 6.0])).tolist() == [0.5, 1.0]
