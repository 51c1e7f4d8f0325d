"""Blame: the parts of a makespan add up to it, and each cause is where it was made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import costs, graphs, platforms
from tiers import few

import tasksim
from tasksim.platform.description import Memory, Platform, Worker, class_of
from tasksim.run.blame import blame, class_prices
from tasksim.run.bounds import bounds
from tasksim.scenario.recorded import blame_of


def table_of(run, costs_s, platform):
    return blame(run, np.asarray(costs_s, float), np.array(class_of(platform), np.int64))


@settings(max_examples=few(60), deadline=None)
@given(data=st.data())
def test_parts_add_up_to_the_makespan_above_the_area_bound(data):
    graph, platform = data.draw(graphs()), data.draw(platforms())
    durations = [graph.parameters_of(task)["duration_s"] for task in range(len(graph))]
    costs_s = np.array([durations] * len(platform.classes)).reshape(
        len(platform.classes), len(graph)
    )
    run = tasksim.simulate(graph, platform, scheduler=data.draw(st.sampled_from(["eager", "lws"])))
    found = table_of(run, costs_s, platform)
    assert sum(s for _, s in found.rows()) == pytest.approx(run.makespan_s, abs=1e-12)
    workers = [len(group.workers) for group in platform.classes]
    assert found.bound_s == pytest.approx(bounds(graph, costs_s, workers).area_s, abs=1e-9)


@settings(max_examples=few(60), deadline=None)
@given(data=st.data())
def test_at_the_prices_all_tasks_cost_the_area_bound(data):
    graph, platform = data.draw(graphs(max_tasks=12)), data.draw(platforms())
    costs_s = np.array(data.draw(costs(graph, platform))).reshape(len(platform.classes), len(graph))
    workers = [len(group.workers) for group in platform.classes]
    price = class_prices(costs_s, workers)
    with np.errstate(invalid="ignore"):
        dear = np.where(np.isfinite(costs_s), costs_s * price[:, None], np.inf)
    assert price @ workers == pytest.approx(1.0)
    expected = bounds(graph, costs_s, workers).area_s
    assert dear.min(axis=0).sum() == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_a_kernel_on_the_wrong_worker_is_to_blame():
    """One task of 1 s on a GPU, or 4 s on a core; the core runs it, and the GPU waits."""
    builder = tasksim.GraphBuilder("one")
    builder.insert("gemm")
    workers = (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu0", "cuda", 0))
    platform = Platform("two", workers, (Memory(0, "ram"),))
    seconds = {"cpu:gemm": 4.0, "cuda:gemm": 1.0}
    run = tasksim.simulate(builder.build(), platform, durations=seconds, scheduler="eager")
    cpu = [group.architecture for group in platform.classes].index("cpu")
    costs_s = np.empty((2, 1))
    costs_s[cpu], costs_s[1 - cpu] = 4.0, 1.0
    found = table_of(run, costs_s, platform)
    assert found.bound_s == pytest.approx(0.8)
    on_core = run.tasks.worker[0] == 0
    assert found.placement_s["gemm"] == pytest.approx(0.0)
    assert found.unused_s == pytest.approx(3.2 if on_core else 0.2)
    assert found.end_s == 0.0


SMALL_SCENARIO = tasksim.Scenario(
    "cholesky tiles=5", workers=3, durations="potrf=1,trsm=3,syrk=3,gemm=6"
)


def test_the_losses_against_the_best_known_plan_add_up(tmp_path):
    best = tasksim.optimize(SMALL_SCENARIO, steps=500, method="annealing")
    best.save(tmp_path / "best")
    run = SMALL_SCENARIO.vary(scheduler="eager").solve()
    found = blame_of(run, Path("run"), tmp_path / "best")
    assert found.best.makespan_s == best.makespan_s < run.makespan_s
    assert found.best.bound_s == found.run.bound_s
    pairs = zip(found.run.rows(), found.best.rows(), strict=True)
    lost_s = sum(one - other for (_, one), (_, other) in pairs)
    assert lost_s == pytest.approx(run.makespan_s - best.makespan_s)


def test_what_tasks_of_a_native_run_cost_is_the_mean_of_their_configuration():
    run = tasksim.execute("fork-join width=6 duration=0.002", workers=2, scheduler="eager")
    found = blame_of(run, Path("run"))
    lengths_s = run.tasks.end_s - run.tasks.start_s
    assert found.best is None
    assert found.run.bound_s == pytest.approx(lengths_s.sum() / 2, rel=1e-6)
    assert found.run.durations_s == pytest.approx(0.0, abs=1e-9)
    assert sum(s for _, s in found.run.rows()) == pytest.approx(run.makespan_s)


def test_an_unknown_wait_for_data_is_part_of_the_queue(travelled):
    costs_s, classes = np.full((1, len(travelled)), 1.0), np.zeros(2, np.int64)
    found = blame(travelled, costs_s, classes)
    tasks = replace(travelled.tasks, popped_s=[])
    unknown = blame(replace(travelled, tasks=tasks), costs_s, classes)
    assert unknown.transfer_s is None
    assert unknown.queue_s == pytest.approx(found.queue_s + found.transfer_s)
    assert dict(unknown.rows())["idle for data or the runtime"] == unknown.queue_s
    assert sum(s for _, s in unknown.rows()) == pytest.approx(travelled.makespan_s)


def test_what_is_no_result_of_a_search_is_refused(tmp_path):
    run = SMALL_SCENARIO.solve()
    with pytest.raises(tasksim.InputError, match=r"has no plan\.csv; legal: a folder that"):
        blame_of(run, Path("run"), tmp_path)
    tasksim.optimize(SMALL_SCENARIO.vary({"graph.tiles": 4}), steps=1).save(tmp_path / "other")
    with pytest.raises(tasksim.InputError, match=r"plan\.csv: .*task"):
        blame_of(run, Path("run"), tmp_path / "other")
