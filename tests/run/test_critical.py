import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.run.critical import practical_critical_path


def steps(run):
    return [(s.task, s.reason, s.waited_s) for s in practical_critical_path(run).steps]


def test_a_dependency_with_a_wait(small):
    # Task 2 was ready at 2, its worker free, yet it started at 3.
    assert steps(small) == [(0, "start", 0.0), (2, "dependency", 1.0)]


def test_a_busy_worker(make):
    run = make.run(
        [
            (0, 0, 0, 0, 0, 2, -1),
            (1, 1, 0, 0, 0, 1, -1),
            (1, 0, 0, 1, 2.5, 4, 1),
        ]
    )
    assert steps(run) == [(0, "start", 0.0), (2, "worker", 0.5)]


def test_a_dependency_that_ran_on_the_same_worker_is_a_dependency(make):
    run = make.run([(0, 0, 0, 0, 0, 2, -1), (1, 0, 0, 2, 2, 4, 0)])
    assert steps(run) == [(0, "start", 0.0), (1, "dependency", 0.0)]


def test_a_late_submission(make):
    run = make.run([(0, 0, 1, 1, 1.25, 2, -1), (1, 1, 3, 3, 3, 4, -1)])
    assert steps(run) == [(1, "submission", 3.0)]


def test_summaries(small):
    path = practical_critical_path(small)
    assert path.kernel_s == {"potrf": 2.0, "gemm": 3.0}
    assert path.reason_tasks == {"start": 1, "dependency": 1}
    assert path.waited_s == {"start": 0.0, "dependency": 1.0}
    assert path.to_json()["steps"][1] == {
        "task": 2,
        "reason": "dependency",
        "waited_s": 1.0,
        "transfer_s": 0.0,
    }


def test_an_empty_run_has_no_path(make):
    assert practical_critical_path(make.run([])).steps == ()


def test_tasks_that_take_no_time_do_not_lead_in_a_circle(make):
    # At 1 s, task 1 runs on cpu0 after task 0, which depends on it by nothing but time.
    run = make.run([(0, 0, 0, 1, 1, 1, 1), (1, 0, 0, 0.5, 1, 1, -1), (1, 1, 0, 0, 0, 0.5, -1)])
    assert steps(run)[-1][0] == 0


@given(seed=st.integers(0, 1000), workers=st.integers(1, 5), tiles=st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_the_path_adds_up_to_the_makespan(make, seed, workers, tiles):
    graph = make.cholesky(tiles)
    run = make.schedule(graph, workers, np.random.default_rng(seed).uniform(0.1, 2, len(graph)))
    path = practical_critical_path(run)
    total = sum(path.kernel_s.values()) + sum(path.waited_s.values())
    assert total == pytest.approx(run.makespan_s)
    assert len({s.task for s in path.steps}) == len(path.steps)
    # First come, first served never leaves a worker idle while a task is ready.
    assert sum(path.waited_s.values()) == pytest.approx(0.0, abs=1e-9)


def test_data_on_the_way(travelled):
    path = practical_critical_path(travelled)
    assert [(s.task, s.reason, s.waited_s, s.transfer_s) for s in path.steps] == [
        (0, "start", 0.0, 0.0),
        (1, "dependency", 1.0, 1.0),
        (2, "dependency", 1.0, 1.0),
        (3, "dependency", 1.75, 1.25),
    ]
    assert path.waited_s == {"start": 0.0, "dependency": 0.5, "transfer": 3.25}
    assert path.to_json()["steps"][3]["transfer_s"] == 1.25
    assert sum(path.kernel_s.values()) + sum(path.waited_s.values()) == travelled.makespan_s
