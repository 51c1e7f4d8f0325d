"""Recorded runs replayed: their graph, where they ran, and what each task took there."""

from dataclasses import replace

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.run.measured import MeasuredDurations

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


@pytest.fixture
def noisy(tmp_path):
    """A run whose tasks all took differently long, in its folder."""
    run = tasksim.simulate("cholesky tiles=6", "xeon-2c", noise="model", seed=7)
    tasksim.save_run(run, tmp_path / "noisy")
    return tmp_path / "noisy"


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_measured_durations_repeat_the_run(noisy, engine):
    """The same durations, platform and scheduler: the same run, by both engines."""
    recorded = tasksim.load_run(noisy)
    again = tasksim.simulate(str(noisy), durations="measured", engine=engine)
    assert np.allclose(again.tasks.duration_s, recorded.tasks.duration_s, atol=1e-8)
    assert again.makespan_s == pytest.approx(recorded.makespan_s, rel=1e-6)


def test_a_run_in_memory_is_replayed(noisy):
    run = tasksim.load_run(noisy)
    again = tasksim.simulate(run, durations="measured")
    assert again.makespan_s == pytest.approx(run.makespan_s, rel=1e-6)


def test_measured_is_what_is_taken_where_nothing_else_is_said(tmp_path):
    g = tasksim.GraphBuilder("two")
    g.insert("work", after=[g.insert("work")])
    run = tasksim.simulate(g.build(), workers=1, durations={"work": 2.0})
    tasksim.save_run(run, tmp_path / "two")
    assert tasksim.simulate(tmp_path / "two", workers=1).makespan_s == 4.0


def test_the_graph_of_a_program_is_kept_with_its_run(tmp_path):
    """A graph that was made in Python has no name: the run folder has it."""
    g = tasksim.GraphBuilder("two")
    g.insert("work", after=[g.insert("work")])
    graph = g.build()
    run = tasksim.simulate(graph, workers=1, durations={"work": 2.0})
    tasksim.save_run(run, tmp_path / "two")
    loaded = tasksim.load_run(tmp_path / "two")
    assert loaded == run
    assert loaded.graph.same_as(graph)
    assert tasksim.load_graph(str(tmp_path / "two")).same_as(graph)
    assert tasksim.simulate(tmp_path / "two", durations="measured").makespan_s == 4.0


def test_means_are_those_of_configurations_on_each_architecture():
    g = tasksim.GraphBuilder("sizes")
    for n in (1, 1, 2):
        g.insert("work", n=n)
    graph = g.build()
    run = tasksim.simulate(graph, workers=1, durations={"work": 1.0})
    tasks = run.tasks
    ends = [1.0, 4.0, 9.0]  # 1 s, 3 s and 5 s
    run = _with_times(run, [0.0, 1.0, 4.0], ends)
    assert tasks.task.tolist() == [0, 1, 2]
    platform = tasksim.Platform.identical(1)
    assert MeasuredDurations(run, graph).seconds(graph, platform).tolist() == [[1.0, 3.0, 5.0]]
    means = MeasuredDurations(run, graph, "means").seconds(graph, platform)
    assert means.tolist() == [[2.0, 2.0, 5.0]]


def test_other_architectures_take_means_of_what_ran_there(tmp_path):
    """The duration of a task elsewhere is unknown: the mean of its kernel there is taken."""
    text = "version: 1\nworkers: {gpu: {count: 1}, cpu: {count: 1}}\n"
    (tmp_path / "both.yaml").write_text(text)
    g = tasksim.GraphBuilder("five")
    for _ in range(4):
        g.insert("work")
    graph = g.build()
    both = tmp_path / "both.yaml"
    run = tasksim.simulate(graph, both, durations="gpu:work=1,cpu:work=3", scheduler="eager")
    assert run.tasks.worker.tolist() == [0, 1, 0, 0]
    table = MeasuredDurations(run, graph).seconds(graph, tasksim.load_platform(both))
    assert table.tolist() == [[1.0, 1.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0]]


def test_speeds_are_relative_to_those_of_the_recorded_platform(tmp_path):
    text = "version: 1\narch: {cpu: {speed: 0.5}}\nworkers: {cpu: {count: 1}}\n"
    (tmp_path / "slow.yaml").write_text(text)
    run = tasksim.simulate("cholesky tiles=2", tmp_path / "slow.yaml", DURATIONS_S)
    assert run.makespan_s == 16.0
    again = tasksim.simulate(run, durations="measured")
    assert again.makespan_s == 16.0
    fast = tasksim.simulate(run, durations="measured", changes=["platform.arch.cpu.speed=1"])
    assert fast.makespan_s == 8.0


def test_a_recorded_assignment_and_order_is_followed(tmp_path):
    run = tasksim.simulate("cholesky tiles=6", workers=3, models=DURATIONS_S, scheduler="random")
    tasksim.save_run(run, tmp_path / "run")
    again = tasksim.simulate(
        tmp_path / "run", durations="measured", scheduler=f"static:file={tmp_path / 'run'}"
    )
    assert again.tasks == run.tasks


def test_the_platform_of_a_run_folder_is_where_it_ran(noisy):
    assert tasksim.load_platform(noisy).name == "xeon-2c"
    changed = tasksim.load_platform(noisy, settings=["platform.workers.cpu.count=5"])
    assert len(changed.workers) == 5


def test_scenarios_of_runs_are_written_and_read(noisy):
    scenario = tasksim.Scenario(str(noisy), durations="measured")
    assert tasksim.Scenario.from_json(scenario.to_json()).solve() == scenario.solve()
    assert scenario.fingerprint != scenario.vary(durations="means").fingerprint


def test_measured_durations_of_what_is_no_run():
    with pytest.raises(InputError, match="not a recorded run; legal: a run folder"):
        tasksim.simulate("cholesky tiles=2", workers=1, durations="measured")


def test_tasks_that_ran_only_elsewhere_cannot_run(tmp_path):
    text = "version: 1\nworkers: {gpu: {count: 1}}\n"
    (tmp_path / "other.yaml").write_text(text)
    run = tasksim.simulate("cholesky tiles=2", workers=1, models=DURATIONS_S)
    with pytest.raises(InputError, match="ran on cpu only; platform other has gpu"):
        tasksim.simulate(run, tmp_path / "other.yaml", durations="measured")


def test_a_platform_that_was_made_in_python_has_to_be_named():
    platform = tasksim.Platform.identical(2)
    run = tasksim.simulate("cholesky tiles=2", platform, DURATIONS_S)
    with pytest.raises(InputError, match="was made in Python; give"):
        tasksim.simulate(run, durations="measured")
    assert tasksim.simulate(run, platform, durations="measured").makespan_s == run.makespan_s


def _with_times(run, starts, ends):
    from dataclasses import replace

    return replace(run, tasks=replace(run.tasks, start_s=starts, end_s=ends))


def test_a_native_run_is_replayed_with_what_its_runtime_took():
    """The time between its tasks is charged in the mean, by kind: nothing else is lost."""
    from tasksim.run.account import runtime_costs

    graph = tasksim.generate("chain", length=50, duration=0.0)
    run = tasksim.execute(graph, workers=1)
    # As if between two tasks 10 us had passed, and once, when the system took the core, 1 ms.
    passed_s = np.where(np.arange(50) == 20, 1e-3, 1e-5)
    start_s = np.cumsum(passed_s) + 1e-4 * np.arange(50)
    tasks = replace(
        run.tasks,
        submitted_s=np.zeros(50), ready_s=np.r_[0, start_s[:-1] + 1e-4], popped_s=start_s,
        start_s=start_s, end_s=start_s + 1e-4,
    )  # fmt: skip
    run = replace(run, tasks=tasks)
    assert runtime_costs(run, graph).task_s == pytest.approx(passed_s.mean())
    again = tasksim.simulate(run, durations="measured")
    assert again.makespan_s == pytest.approx(run.makespan_s, rel=1e-3)


def test_a_run_is_a_pandas_frame(noisy):
    run = tasksim.load_run(noisy)
    assert run.to_pandas().equals(run.frame())
