"""The overheads that are fitted to native runs."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.calibration.fit_runs import Gaps, gaps, measured_overheads
from tasksim.platform.description import Overheads
from tasksim.run.record import Run, TaskTable, WorkerInfo


def run(rows, workers=2):
    """A run of rows (worker, submitted, ready, start, end, released by), in milliseconds."""
    worker, submitted, ready, start, end, released_by = zip(*rows, strict=True)
    return Run(
        kind="native",
        graph_name="drawn",
        graph_arguments={},
        kernel_names=("task",),
        workers=tuple(WorkerInfo(f"cpu{i}", "cpu") for i in range(workers)),
        platform="drawn",
        scheduler="eager",
        seed=0,
        tasks=TaskTable(
            task=range(len(rows)),
            kernel=[0] * len(rows),
            worker=worker,
            priority=[0] * len(rows),
            submitted_s=[1e-3 * t for t in submitted],
            ready_s=[1e-3 * t for t in ready],
            start_s=[1e-3 * t for t in start],
            end_s=[1e-3 * t for t in end],
            released_by=released_by,
        ),
    )


FORK = run(
    [
        # worker, submitted, ready, start, end, released by
        (0, 0.0, 0.0, 1.0, 11.0, -1),
        (0, 0.5, 11.1, 11.2, 20.0, 0),  # its own successor: 0.2 after its end
        (1, 1.0, 11.1, 11.7, 21.0, 0),  # worker 1 slept: 0.7 after the end of task 0
        (0, 1.5, 11.1, 20.4, 30.0, 0),  # was ready when worker 0 ended: 0.4
        (1, 2.5, 30.1, 30.8, 40.0, 3),  # worker 1 slept again: 0.8 after the end of task 3
        (1, 2.5, 2.5, 3.0, 4.0, -1),  # its first: nothing was before
    ]
)


def test_gaps_by_what_caused_them():
    found = gaps(FORK)
    assert sorted(found.task) == pytest.approx([0.2e-3, 0.4e-3])
    assert sorted(found.wakeup) == pytest.approx([0.7e-3, 0.8e-3])
    assert sorted(found.submission) == pytest.approx([0, 0.5e-3, 0.5e-3, 0.5e-3, 1e-3])


def test_gaps_know_how_many_tasks_were_released():
    found = gaps(FORK)
    assert sorted(zip(found.task, found.task_releases, strict=True)) == [
        (pytest.approx(0.2e-3), 3),  # after the first task, which released three
        (pytest.approx(0.4e-3), 0),
    ]
    assert sorted(zip(found.wakeup, found.wakeup_releases, strict=True)) == [
        (pytest.approx(0.7e-3), 2),  # the second of those three
        (pytest.approx(0.8e-3), 1),
    ]


def test_costs_are_means_and_the_wakeup_comes_on_top():
    measured = measured_overheads([gaps(FORK)])
    assert measured.task_s == pytest.approx(0.3e-3)
    assert measured.wakeup_s == pytest.approx(0.75e-3 - 0.3e-3)
    assert measured.submission_s == pytest.approx(0.5e-3)
    assert measured.push_s == 0  # nothing can be said of so few


def made_up(task_s, release_s, rare_s=0.0, count=1000):
    """Gaps of tasks that release none to three others, one in fifty of them held up."""
    rng = np.random.default_rng(0)
    releases = rng.integers(0, 4, count).astype(float)
    task = task_s + release_s * releases + 1e-7 * rng.random(count)
    task[::50] += rare_s
    none = np.empty(0)
    return Gaps(task, releases, none, none, none)


def test_releases_cost_what_they_add_to_a_gap():
    measured = measured_overheads([made_up(2e-6, 1e-6)])
    assert measured.push_s == pytest.approx(1e-6, rel=0.01)
    assert measured.task_s == pytest.approx(2.05e-6, rel=0.01)


def test_the_mean_stays_the_mean_though_some_gaps_are_long():
    long = made_up(2e-6, 1e-6, rare_s=1e-3)
    measured = measured_overheads([long])
    assert measured.push_s == pytest.approx(1e-6, rel=0.05)
    mean_s = measured.task_s + measured.push_s * long.task_releases.mean()
    assert mean_s == pytest.approx(long.task.mean())


def test_what_hardly_matters_is_part_of_the_task():
    measured = measured_overheads([made_up(20e-6, 1e-7)])
    assert measured.push_s == 0
    assert measured.task_s == pytest.approx(20.2e-6, rel=0.01)


def test_all_runs_count_together():
    slow = [(0, 0, 0, 1, 2, -1)] + [(0, i, i, 10 * i, 10 * i + 1, -1) for i in range(1, 6)]
    together = measured_overheads([gaps(FORK), gaps(run(slow))])
    assert together.task_s == pytest.approx(44.6e-3 / 7)  # of 0.2, 0.4, 8, 9, 9, 9, 9
    assert together.submission_s == pytest.approx(0.75e-3)


def test_a_task_that_waits_for_its_submission_is_no_gap_of_the_runtime():
    """The worker was idle: there was nothing to do."""
    found = gaps(run([(0, 0.0, 0.0, 0.1, 1.0, -1), (0, 5.0, 5.0, 5.1, 6.0, -1)]))
    assert (len(found.task), len(found.wakeup)) == (0, 0)


def test_a_wakeup_quicker_than_a_task_costs_nothing():
    rows = [
        (0, 0.0, 0.0, 1.0, 2.0, -1),
        (0, 0.0, 0.0, 3.0, 4.0, -1),  # 1.0 after the end before
        (1, 0.0, 0.0, 1.0, 1.5, -1),
        (1, 0.0, 2.0, 2.25, 4.0, 0),  # 0.25 after the end that released it
    ]
    assert measured_overheads([gaps(run(rows))]) == Overheads(0.0, pytest.approx(1e-3), 0.0)


@pytest.mark.parametrize("runs", [[], [gaps(run([(0, 0, 0, 1, 2, -1)]))]])
def test_runs_without_gaps_tell_nothing(runs):
    assert measured_overheads(runs) == Overheads()
