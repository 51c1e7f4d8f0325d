"""Disturbance of a run: what its tasks would have taken had nobody else had the cores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasksim.base.errors import InputError
from tasksim.run.disturbance import (
    Disturbance,
    blocking_kernels,
    disturbance_summary,
    undisturbed_s,
)
from tasksim.run.runfolder import load, save


def a_run(make, lost_s, preemptions):
    """Return a run of tasks of 1 s on one worker, which lost some more."""
    rows, now = [], 0.0
    for lost in lost_s:
        rows.append((1, 0, 0.0, 0.0, now, now + 1.0 + lost, -1))
        now += 1.0 + lost
    run = make.run(rows, workers=("cpu0",))
    tasks = replace(run.tasks, cpu_s=[1.0] * len(lost_s), preemptions=preemptions)
    return replace(run, kind="native", tasks=tasks)


def test_a_task_that_was_interrupted_takes_its_processor_time(make):
    run = a_run(make, [0.0, 2.0, 0.0], [0, 3, 0])
    assert undisturbed_s(run) == pytest.approx([1.0, 1.0, 1.0])
    assert blocking_kernels(run) == []


def test_a_kernel_that_waits_without_interruption_blocks(make):
    run = a_run(make, [1.0, 1.0, 1.0], [0, 0, 0])
    assert undisturbed_s(run) == pytest.approx([2.0, 2.0, 2.0])
    assert blocking_kernels(run) == ["gemm"]


def test_a_kernel_that_blocks_still_waits_when_it_is_interrupted(make):
    run = a_run(make, [1.0, 1.0, 1.0, 4.0], [0, 0, 0, 2])
    assert undisturbed_s(run) == pytest.approx([2.0, 2.0, 2.0, 2.0])


def test_what_the_host_took_is_no_waiting(make):
    run = a_run(make, [0.0, 0.0, 0.5], [0, 0, 0])
    for steal_s, own_s in ((0.5, 1.0), (None, 1.0), (0.0, 1.5)):
        found = replace(run, disturbance=Disturbance((0.0,), (0,), steal_s))
        assert undisturbed_s(found) == pytest.approx([1.0, 1.0, own_s])


def test_without_processor_times_tasks_take_what_they_took(make):
    run = make.run([(1, 0, 0, 0, 0, 2.5, -1)])
    assert undisturbed_s(run).tolist() == [2.5]
    assert disturbance_summary(run) is None


def test_the_account_in_a_sentence(make):
    run = replace(a_run(make, [0.0, 1.0], [0, 1]), disturbance=Disturbance((1.0,), (1,)))
    assert disturbance_summary(run) == (
        "others had the cores for 1 s (33.3 % of one worker), 1 of 2 tasks were preempted"
    )


def test_it_is_kept_with_the_run(make, tmp_path):
    run = replace(
        a_run(make, [0.0, 1.0], [0, 1]), disturbance=Disturbance((None,), (1,), 0.5, None)
    )
    save(run, tmp_path / "run")
    found = load(tmp_path / "run")
    assert found.disturbance == run.disturbance
    assert found.tasks == run.tasks


def test_a_file_without_it_says_that_nobody_knows(make, tmp_path):
    run = make.run([(1, 0, 0, 0, 0, 2.5, -1)])
    save(run, tmp_path / "run")
    assert "cpu_s" not in (tmp_path / "run" / "tasks.parquet").read_bytes().decode("latin-1")
    assert load(tmp_path / "run").tasks == run.tasks


def test_of_other_workers_it_is_refused(make, tmp_path):
    run = replace(a_run(make, [0.0], [0]), disturbance=Disturbance((1.0, 2.0), (1,)))
    save(run, tmp_path / "run")
    with pytest.raises(InputError, match=r"run.json:\d+:\d+: .*got 2 values; the run has 1 work"):
        load(tmp_path / "run")
