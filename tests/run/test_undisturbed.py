"""Durations of tasks without others: interruptions, cold data and detours are left out."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

import tasksim
from tasksim.run.crowding import BUSY_PULSE, COLD_SHARES, DETOUR_S, DETOUR_SHARES
from tasksim.run.disturbance import blocking_kernels
from tasksim.run.others import disturbance_summary
from tasksim.run.record import Disturbance
from tasksim.run.undisturbed import (
    COLD_S_PER_BYTE,
    DETOUR_S_PER_BYTE,
    MAX_COLD_SHARE,
    MAX_DETOUR_SHARE,
    _later_shares,
    undisturbed_s,
    with_core_s,
)


def test_a_task_that_was_interrupted_takes_its_processor_time(make):
    run = make.losing([0.0, 2.0, 0.0], [0, 3, 0])
    assert undisturbed_s(run) == pytest.approx([1.0, 1.0, 1.0])
    assert blocking_kernels(run) == []


def test_a_kernel_that_waits_without_interruption_blocks(make):
    run = make.losing([1.0, 1.0, 1.0], [0, 0, 0])
    assert undisturbed_s(run) == pytest.approx([2.0, 2.0, 2.0])
    assert blocking_kernels(run) == ["gemm"]


def test_a_kernel_that_blocks_still_waits_when_it_is_interrupted(make):
    run = make.losing([1.0, 1.0, 1.0, 4.0], [0, 0, 0, 2])
    assert undisturbed_s(run) == pytest.approx([2.0, 2.0, 2.0, 2.0])


def test_what_the_host_took_is_no_waiting(make):
    run = make.losing([0.0, 0.0, 0.5], [0, 0, 0])
    for steal_s, own_s in ((0.5, 1.0), (None, 1.0), (0.0, 1.5)):
        found = replace(run, disturbance=Disturbance((0.0,), (0,), steal_s))
        assert undisturbed_s(found) == pytest.approx([1.0, 1.0, own_s])


def test_without_processor_times_tasks_take_what_they_took(make):
    run = make.run([(1, 0, 0, 0, 0, 2.5, -1)])
    assert undisturbed_s(run).tolist() == [2.5]
    assert disturbance_summary(run) is None


@pytest.mark.parametrize(("spread", "cost_s"), [(0.02, 1e-4), (0.02, 0.0), (0.7, 0.0)])
def test_what_interruptions_cost_in_caches_is_left_out(make, spread, cost_s):
    """Others take a core now and then, and the task that has it needs its data again.

    A long task is interrupted more often than a short one, which is no cost of interruptions.
    """
    rng = np.random.default_rng(1)
    alone = 1e-3 * np.exp(spread * rng.standard_normal(4000))
    preempted = rng.random(4000) < 1.0 - np.exp(-alone / 4e-3)
    cpu = alone + cost_s * preempted
    ends = np.cumsum(cpu + 3e-3 * preempted)
    rows = [
        (1, 0, 0.0, 0.0, end - taken - 3e-3 * held, end, -1)
        for end, taken, held in zip(ends, cpu, preempted, strict=True)
    ]
    run = make.run(rows, workers=("cpu0",))
    tasks = replace(run.tasks, cpu_s=cpu, preemptions=preempted.astype(np.int32))
    run = replace(run, kind="native", tasks=tasks, disturbance=Disturbance((9.0,), (9,), 0.0))
    found = undisturbed_s(run)
    # Tasks that differ by 70 % tell costs of later tasks to some percent of a task.
    assert found.mean() == pytest.approx(alone.mean(), rel=0.002 if spread < 0.1 else 0.005)
    assert found[preempted] == pytest.approx(alone[preempted], abs=1e-5)
    assert found[~preempted] == pytest.approx(alone[~preempted], abs=1e-6 if spread < 0.1 else 2e-5)


@pytest.mark.parametrize("cost_s", [3e-5, 0.0])
def test_the_tasks_after_an_interrupted_one_pay_for_it_too(make, cost_s):
    """The next task of the worker needs its data again, that after it half as much of them."""
    rng = np.random.default_rng(3)
    alone = 4e-4 * np.exp(0.05 * rng.standard_normal(3000))
    preempted = rng.random(3000) < 0.1
    since = np.full(3000, 99)
    for task in range(1, 3000):
        since[task] = 1 if preempted[task - 1] else since[task - 1] + 1
    pays = ~preempted & (since <= 10)
    cpu = alone + np.where(pays, cost_s / since, 0.0) + 1e-4 * preempted
    ends = np.cumsum(cpu + 3e-3 * preempted)
    rows = [
        (1, 0, 0.0, 0.0, end - taken - 3e-3 * held, end, -1)
        for end, taken, held in zip(ends, cpu, preempted, strict=True)
    ]
    run = make.run(rows, workers=("cpu0",))
    tasks = replace(run.tasks, cpu_s=cpu, preemptions=preempted.astype(np.int32))
    found = undisturbed_s(replace(run, kind="native", tasks=tasks))
    assert found.mean() == pytest.approx(alone.mean(), rel=0.003)
    assert found[pays].mean() == pytest.approx(alone[pays].mean(), rel=0.004)
    assert found[preempted].mean() == pytest.approx(alone[preempted].mean(), rel=0.02)


def test_tasks_of_other_workers_do_not_pay(make):
    rows = [(1, n % 2, 0.0, 0.0, 1.0 * (n // 2), 1.0 * (n // 2) + 1.0, -1) for n in range(60)]
    run = make.run(rows, workers=("cpu0", "cpu1"))
    first = run.tasks.worker == 0
    held = first & (run.tasks.start_s % 3 == 0)
    shares = _later_shares(
        replace(run, tasks=replace(run.tasks, preemptions=held.astype(np.int32)))
    )
    assert not shares[~first].any()
    assert shares[first][:5] == pytest.approx([0.0, 1.0, 0.5, 0.0, 1.0])


@pytest.mark.parametrize(
    ("cache_bytes", "near_share"),
    [
        (1e9, 1.0),
        (1e6, 1.0),
        (2e6 / 3, 0.5),  # half of the data would be near without others
        (5e5, 0.0),  # nothing would be
        (None, 1.0),
    ],
)
def test_data_that_left_the_cache_while_others_had_the_core_are_no_work(
    make, cache_bytes, near_share
):
    data_bytes = 1e6
    builder = tasksim.GraphBuilder("one task")
    builder.insert("somebody's", tasksim.RW(builder.handle("a", int(data_bytes))))
    graph = builder.build()
    run = replace(
        make.losing([1.0], [1]), disturbance=Disturbance((1.0,), (1,), cache_bytes=cache_bytes)
    )
    near_others_share = 0.5 * near_share
    of_gemm = near_others_share * fmean(COLD_SHARES["gemm"])
    assert undisturbed_s(run, graph) == pytest.approx([1.0 - of_gemm])
    run = replace(run, kernel_names=("potrf", "somebody's"))
    by_bytes_s = near_others_share * fmean(COLD_S_PER_BYTE) * data_bytes
    assert undisturbed_s(run, graph) == pytest.approx([1.0 - by_bytes_s])


@pytest.mark.parametrize(
    ("pulse", "busy_share"),
    [(1.0, 0.0), ((1.0 + BUSY_PULSE) / 2, 0.5), (BUSY_PULSE, 1.0), (9.0, 1.0)],
)
def test_cold_data_cost_more_beside_busy_hyper_threads(make, pulse, busy_share):
    builder = tasksim.GraphBuilder("one task")
    builder.insert("gemm", tasksim.RW(builder.handle("a", 1_000_000)))
    run = replace(make.losing([1.0], [1]), disturbance=Disturbance((1.0,), (1,)))
    run = replace(run, tasks=replace(run.tasks, pulse=[pulse]))
    beside_idle, beside_busy = COLD_SHARES["gemm"]
    share = beside_idle + busy_share * (beside_busy - beside_idle)
    assert with_core_s(run, builder.build()) == pytest.approx([1.0 - 0.5 * share])


def test_cold_data_cost_a_part_of_a_task_at_most(make):
    builder = tasksim.GraphBuilder("one task")
    builder.insert("somebody's", tasksim.RW(builder.handle("a", 2**25)))
    rows = [(1, 0, 0.0, 0.0, 0.0, 2e-3, -1)]
    run = make.run(rows, workers=("cpu0",))
    tasks = replace(run.tasks, cpu_s=np.array([1e-3]), preemptions=np.array([1], np.int32))
    run = replace(run, kind="native", tasks=tasks, disturbance=Disturbance((1e-3,), (1,)))
    run = replace(run, kernel_names=("potrf", "somebody's"))
    found = undisturbed_s(run, builder.build())
    assert found == pytest.approx([1e-3 * (1.0 - 0.5 * fmean(MAX_COLD_SHARE))])


@pytest.mark.parametrize("detours", [None, 0.0, 1.0, 2.5])
def test_data_of_another_worker_cost_more_after_a_detour(make, detours):
    detour_s = None if detours is None else detours * DETOUR_S
    graph, run = make.passed_on("gemm", 1e9, detour_s=detour_s)
    cost_s = (detours or 0.0) * DETOUR_S_PER_BYTE * 1e9
    assert undisturbed_s(run, graph) == pytest.approx([1.0, 1.0 - cost_s, 1.0])
    assert (undisturbed_s(run) == 1.0).all()  # nobody knows who wrote what


def test_kernels_that_share_more_pay_more_for_detours(make):
    graph, run = make.passed_on("geqrt", 1e9, detour_s=DETOUR_S)
    shared = DETOUR_SHARES["geqrt"][0]
    both = DETOUR_S_PER_BYTE * 1e9 + shared
    assert undisturbed_s(run, graph) == pytest.approx([1.0, 1.0 - both, 1.0 - shared])


def test_a_detour_costs_a_quarter_of_a_task_at_most(make):
    graph, run = make.passed_on("gemm", 1e12, detour_s=DETOUR_S)
    assert undisturbed_s(run, graph) == pytest.approx([1.0, 1.0 - MAX_DETOUR_SHARE, 1.0])
