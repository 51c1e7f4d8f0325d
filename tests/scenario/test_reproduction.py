"""Recorded runs simulated again: the same bit by bit, or what differs and why."""

import dataclasses
import json
import math

import numpy as np
import pytest

import tasksim
from tasksim import RW, GraphBuilder
from tasksim.scenario.reproduction import Change, reproduce

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


@pytest.fixture
def run():
    return tasksim.simulate("cholesky tiles=3", workers=2, durations=DURATIONS_S, scheduler="lws")


def edited(run, **columns):
    return dataclasses.replace(run, tasks=dataclasses.replace(run.tasks, **columns))


def test_a_run_of_this_version_is_the_same(run):
    found = run.reproduce()
    assert found.same
    assert (found.columns, found.first_difference, found.changes) == ({}, None, ())


@pytest.mark.parametrize(
    "asked",
    [
        {"graph": "cholesky tiles=3", "platform": "xeon-2c", "noise": "model", "seed": 4},
        {"graph": "lu tiles=3", "platform": "xeon-2c", "scheduler": "dmdas:beta=2"},
        {
            "graph": "cholesky tiles=3",
            "workers": 2,
            "durations": DURATIONS_S,
            "nodes": 2,
            "network": "switch:bandwidth=4GB/s,latency=1us",
        },
        {"graph": "cholesky tiles=3", "platform": "unrelated-4", "durations": DURATIONS_S},
    ],
)
def test_runs_of_models_noise_options_and_nodes_are_the_same(asked, tmp_path):
    tasksim.save_run(tasksim.Scenario(**asked).solve(), tmp_path / "run")
    assert tasksim.load_run(tmp_path / "run").reproduce().same


def test_a_kept_graph_is_used_as_it_is(tmp_path):
    builder = GraphBuilder("own")
    x = builder.handle("x", size_bytes=8)
    for _ in range(3):
        builder.insert("work", RW(x))
    made = tasksim.simulate(builder.build(), workers=1, durations={"work": 1.0})
    tasksim.save_run(made, tmp_path / "run")
    assert tasksim.load_run(tmp_path / "run").reproduce().same


def test_a_time_that_differs_in_its_last_bit_is_told(run):
    late = run.tasks.end_s.copy()
    late[4] = np.nextafter(late[4], math.inf)
    found = edited(run, end_s=late).reproduce()
    assert not found.same
    assert found.columns == {"tasks.end_s": 1}
    assert found.first_difference.endswith(f"{run.label(4)} ends on {worker_of(run, 4)}")


def worker_of(run, task):
    return run.workers[run.tasks.worker[task]].name


def test_the_first_event_that_differs_is_named(run):
    worker = run.tasks.worker.copy()
    worker[0] = 1 - worker[0]
    found = edited(run, worker=worker).reproduce()
    assert found.columns == {"tasks.worker": 1}
    assert found.first_difference.startswith("at 0 s: potrf #0 is popped on ")


def test_columns_that_were_not_recorded_then_are_not_compared(run):
    earlier = edited(run, popped_s=np.full(len(run), np.nan))
    found = earlier.reproduce()
    assert found.same
    assert found.not_recorded == ("tasks.popped_s",)


def test_changed_versions_are_told_though_the_run_is_the_same(run):
    then = dataclasses.replace(run, versions={**run.versions, "numpy": "1.0"})
    found = then.reproduce()
    assert found.same
    assert found.changes == (Change("version", "numpy", "1.0", run.versions["numpy"]),)


def test_another_graph_is_told_with_its_tasks(run):
    config = json.loads(json.dumps(run.config))
    config["graph"]["settings"][0] = "tiles=4"
    found = dataclasses.replace(run, config=config).reproduce()
    assert not found.same
    assert Change("graph", "tiles", "3", "4") in found.changes
    assert Change("graph", "tasks", "10", "20") in found.changes


def test_a_changed_platform_file_is_named(tmp_path):
    path = tmp_path / "here.yaml"
    path.write_text("version: 1\nworkers: {cpu: {count: 2}}\n")
    tasksim.save_run(
        tasksim.Scenario("cholesky tiles=3", platform=path, durations=DURATIONS_S).solve(),
        tmp_path / "run",
    )
    path.write_text("version: 1\nworkers: {cpu: {count: 3}}\n")
    found = tasksim.load_run(tmp_path / "run").reproduce()
    told = {(change.what, change.name) for change in found.changes}
    assert {("file", str(path)), ("platform", "workers of cpu")} <= told
    assert found.columns["workers"] == 1


def test_both_engines_reproduce_a_run(run):
    assert reproduce(run, engine="simpy").same


def test_native_runs_and_lost_scenarios_are_refused(run):
    with pytest.raises(tasksim.InputError, match="run: a native run cannot be repeated"):
        dataclasses.replace(run, kind="native").reproduce()
    with pytest.raises(tasksim.InputError, match="run: the run has no scenario to repeat"):
        dataclasses.replace(run, config={}).reproduce()


def test_a_scenario_that_has_no_meaning_any_more_says_which_run(run, tmp_path):
    config = json.loads(json.dumps(run.config))
    config["platform"] = {"name": "gone", "path": None, "workers": None, "set": []}
    with pytest.raises(
        tasksim.InputError, match=r"^old: this version cannot replay its scenario: .*gone"
    ):
        reproduce(dataclasses.replace(run, config=config), "old")


def test_nothing_that_a_run_names_is_imported(run):
    config = json.loads(json.dumps(run.config))
    config["graph"]["name"] = "os:system"
    with pytest.raises(tasksim.InputError, match="nothing is imported"):
        dataclasses.replace(run, config=config).reproduce()
    with pytest.raises(tasksim.InputError, match="trust: got 1"):
        run.reproduce(trust=1)
