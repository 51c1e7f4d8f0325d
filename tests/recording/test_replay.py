"""Replays of recordings made by hand, whose times are known to the second."""

import threading

import pytest

import tasksim
from tasksim.graph.taskgraph import MAIN_THREAD
from tasksim.recording.log import RecordedTask, RecordingLog
from tasksim.recording.recorded import Recorded
from tasksim.recording.replayable import (
    costs,
    main_threads_lost_s,
    platform_like,
    workers_lost_s,
)

WORKERS = [threading.Thread(name=name) for name in ("a", "b", "c", "program")]


def log_of(*rows):
    """Rows: (kernel, worker, submitted, start, end, rows before)."""
    log = RecordingLog()
    for place, (kernel, worker, submitted, start, end, before) in enumerate(rows):
        log.tasks.append(
            RecordedTask(
                (kernel, kernel),
                submitted,
                (place, 0),
                after=[log.tasks[other] for other in before],
                start_s=start,
                end_s=end,
                worker=WORKERS[worker],
            )
        )
    return log


def four_tasks():
    """Two workers, two tasks of a second each, and a tenth of a second before every task."""
    return log_of(
        ("work", 0, 10.0, 10.1, 11.1, []),
        ("work", 1, 10.0, 10.1, 11.1, []),
        ("work", 0, 10.0, 11.2, 12.2, []),
        ("work", 1, 10.0, 11.2, 12.2, []),
    )


def test_what_is_lost_between_tasks_is_charged():
    recorded = Recorded(four_tasks(), "four", 3.0)
    run = recorded.run
    assert run.makespan_s == pytest.approx(2.2)
    assert workers_lost_s(run) == pytest.approx(0.4)
    assert recorded.replayable.platform().overheads.task_s == pytest.approx(0.1)
    assert recorded.replayable.simulate().makespan_s == pytest.approx(2.2)
    assert recorded.replayable.simulate(workers=4).makespan_s == pytest.approx(1.1)
    assert recorded.replayable.simulate(workers=1).makespan_s == pytest.approx(4.4)


def test_a_worker_that_has_nothing_to_do_loses_nothing():
    """A chain on two workers: one waits while the other works, and half a second is lost."""
    log = log_of(
        ("work", 0, 0.0, 0.0, 1.0, []),
        ("work", 1, 0.0, 1.5, 2.5, [0]),
    )
    recorded = Recorded(log, "chain", 3.0)
    assert workers_lost_s(recorded.run) == pytest.approx(0.5)
    assert recorded.run.tasks.released_by.tolist() == [-1, 0]
    assert recorded.replayable.simulate().makespan_s == pytest.approx(2.5)


def test_one_worker_is_lost_where_one_task_is_ready():
    """Three workers, two idle for a second, one task that could run: one second is lost."""
    log = log_of(
        ("work", 0, 0.0, 0.0, 2.0, []),
        ("work", 1, 1.0, 2.0, 3.0, []),
        ("work", 2, 0.0, 0.0, 1.0, []),
    )
    assert workers_lost_s(Recorded(log, "three", 3.0).run) == pytest.approx(1.0)


def program_log():
    """A task, a second in which the program looks at it, and another task."""
    return log_of(
        ("work", 0, 0.0, 0.0, 1.0, []),
        (MAIN_THREAD, 3, 0.0, 1.25, 2.25, [0]),
        ("work", 0, 2.25, 2.25, 3.25, [1]),
    )


def test_the_program_itself_is_a_worker_that_does_nothing_else():
    recorded = Recorded(program_log(), "program", 4.0)
    run = recorded.run
    assert [worker.architecture for worker in run.workers] == ["cpu", "main"]
    assert [worker.name for worker in run.workers] == ["a", "program, submitting"]
    for workers in (1, 8):
        again = recorded.replayable.simulate(workers)
        kind = [again.workers[n].architecture for n in again.tasks.worker]
        assert kind == ["cpu", "main", "cpu"]
    assert recorded.replayable.simulate(8).makespan_s >= 3.0  # its second is no one else's


def test_the_moment_until_the_program_goes_on_is_charged():
    log = program_log()
    log.tasks[1].handed_s = 0.5  # it waits from then on; the task ends at 1, it goes on at 1.25
    recorded = Recorded(log, "program", 4.0)
    assert main_threads_lost_s(recorded.run) == pytest.approx(0.25)
    assert recorded.replayable.platform().overheads.task_s == pytest.approx(0.25 / 3)
    assert recorded.replayable.simulate().makespan_s == pytest.approx(3.25)


def test_submission_is_serial():
    """Two seconds of submitting four tasks: however many workers there are, no less."""
    log = four_tasks()
    log.submission_s = 8.0
    recorded = Recorded(log, "four", 3.0)
    assert recorded.replayable.platform().overheads.submission_s == pytest.approx(2.0)
    assert recorded.replayable.simulate(100).makespan_s == pytest.approx(3 * 2 + 1.1)


def test_bounds_know_who_can_run_what():
    bounds = Recorded(program_log(), "program", 4.0).run.bounds
    assert bounds["critical_path_s"] == pytest.approx(3.0)
    assert bounds["area_s"] == pytest.approx(2.0)


def test_costs_are_those_of_the_run():
    run = Recorded(four_tasks(), "four", 3.0).run
    platform = platform_like(run, costs(run, 0.5), workers=3)
    assert [worker.name for worker in platform.workers] == ["cpu0", "cpu1", "cpu2"]
    assert (platform.overheads.submission_s, platform.overheads.wakeup_s) == (0.5, 0.0)
    assert tasksim.simulate(run, platform, durations="measured").makespan_s > 1.5


@pytest.mark.parametrize(("cpu_s", "told"), [(4.0, False), (2.2, True), (1.5, True), (0.5, False)])
def test_tasks_that_hold_the_lock_are_told(cpu_s, told):
    """Two workers that are busy 4 s of 4.2, and a program that has a core for 2.2 s, or others."""
    log = four_tasks()
    log.cpu_s = cpu_s
    for task in log.tasks:
        task.cpu_s = 0.5
    notes = Recorded(log, "four", 3.0).notes
    assert [note.partition(" cores: ")[0] for note in notes] == (
        [f"2 workers had tasks 95 % of the time, but the program used {cpu_s / 2.1:.2f}"]
        if told
        else []
    )
    assert all(note.endswith("they had cores for 2 s in all, one after another") for note in notes)
