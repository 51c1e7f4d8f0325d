"""Disturbance of a run: what its tasks would have taken had nobody else had the cores."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.run.account import account
from tasksim.run.disturbance import (
    BEAT_EXPONENTS,
    BUSY_PULSE,
    COLD_S_PER_BYTE,
    COLD_SHARES,
    DETOUR_S,
    DETOUR_S_PER_BYTE,
    DETOUR_SHARES,
    DISPLACEMENT_WEIGHTS,
    MAX_BEAT,
    MAX_COLD_SHARE,
    MAX_DETOUR_SHARE,
    MAX_TWIN_PULSE,
    PULSE_WEIGHT,
    PULSE_WEIGHTS,
    _later_shares,
    blocking_kernels,
    crowded_share,
    crowding,
    crowding_at,
    crowding_weights,
    disturbance_account,
    disturbance_summary,
    others_between_s,
    others_share,
    others_task_share,
    undisturbed_s,
    with_core_s,
    worst_share,
)
from tasksim.run.facts import run_facts
from tasksim.run.record import Disturbance
from tasksim.run.runfolder import load, save
from tasksim.run.samples import RecordedRun, measured
from tasksim.scenario.alone import alone_makespan_s, with_alone
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario


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


def test_a_task_takes_less_without_others_on_the_same_processor(make):
    run = a_run(make, [0.0, 0.0, 1.0, 0.0, 0.0], [0, 0, 1, 0, 0])
    tasks = replace(run.tasks, pulse=[1.0, 1.5, 1.8, 100.0, np.nan])
    run = replace(run, tasks=tasks, disturbance=Disturbance((1.0,), (1,), 0.0))
    weight = PULSE_WEIGHTS["gemm"]
    factors = [1.0, 1 + 0.5 * weight, 1 + 0.8 * weight, 1 + weight, 1.0]
    assert crowding(run) == pytest.approx(factors)
    assert with_core_s(run) == pytest.approx([1.0] * 5)
    assert undisturbed_s(run) == pytest.approx(np.divide(1.0, factors))
    # Time without a core is one thing, time on a shared core another.
    assert others_between_s(run) == pytest.approx([0.0])
    share = disturbance_account(run)["crowded_share"]
    assert share == pytest.approx(1 - (np.divide([1, 1, 2, 1, 1], factors)).sum() / 6)
    assert f"took {100 * share:.0f} % of the tasks' time" in disturbance_summary(run)


def test_a_slower_clock_slows_tasks_and_what_the_other_hyper_thread_costs(make):
    run = a_run(make, [0.0] * 5, [0] * 5)
    pulse, beat = [1.0, 1.0, 2.0, 2.0, np.nan], [1.1, 9.9, 1.2, np.nan, 1.1]
    tasks = replace(run.tasks, pulse=pulse, beat=beat)
    idle, busy = BEAT_EXPONENTS
    slower = np.power([1.1, MAX_BEAT, 1.2, 1.0, 1.1], [idle, idle, busy, busy, idle])
    full = 1 + PULSE_WEIGHTS["gemm"]
    factors = slower * [1.0, 1.0, full, full, 1.0]
    assert crowding(replace(run, tasks=tasks)) == pytest.approx(factors)


def test_others_on_the_processor_cost_kernels_that_fill_their_core_most():
    builder = tasksim.GraphBuilder("one task per kernel")
    kernels = ["P2P_in", "gemm", "L2P", "somebody's"]
    for kernel in kernels:
        builder.insert(kernel)
    run = tasksim.simulate(builder.build(), workers=1, durations=dict.fromkeys(kernels, 1.0))
    tasks = replace(run.tasks, cpu_s=np.ones(4), preemptions=np.zeros(4, int), pulse=np.full(4, 2))
    found = dict(zip(kernels, crowding(replace(run, kind="native", tasks=tasks)), strict=True))
    assert found["P2P_in"] < 1.1 < found["somebody's"] < found["gemm"] < found["L2P"] < 2.0
    assert found["somebody's"] == pytest.approx(1 + PULSE_WEIGHT)


def test_only_kernels_that_slow_their_like_pay_for_pulses_beyond_two():
    gemm, p2p = crowding_weights(["gemm", "P2P_in"])
    pulse, beat = np.array([2.0, MAX_TWIN_PULSE, 9.0]), np.full(3, np.nan)
    assert np.ptp(crowding_at(pulse, beat, gemm)) == 0.0
    alike = crowding_at(pulse, beat, p2p)
    assert alike[1] > 1.4 * alike[0]
    assert alike[2] == alike[1]


@pytest.mark.parametrize("share", [-0.1, 1.1, 1e300])
def test_a_displaced_share_in_a_file_is_a_share(make, tmp_path, share):
    told = Disturbance((0.0,), (0,), displaced_share=share)
    save(replace(a_run(make, [0.0], [0]), disturbance=told), tmp_path / "run")
    with pytest.raises(InputError, match=r"displaced_share: got .*; legal: 0 to 1"):
        load(tmp_path / "run")


@pytest.mark.parametrize(("displaced_share", "expected"), [(None, 0.0), (0.0, 0.0), (0.5, 0.5)])
def test_data_that_others_displace_lengthen_the_tasks_that_need_them(
    make, displaced_share, expected
):
    run = a_run(make, [0.0, 0.0], [0, 0])
    told = Disturbance((0.0,), (0,), displaced_share=displaced_share)
    run = replace(run, tasks=replace(run.tasks, pulse=[1.0, np.nan]), disturbance=told)
    assert crowding(run) == pytest.approx([1.0 + expected * DISPLACEMENT_WEIGHTS["gemm"], 1.0])
    assert (crowding(replace(run, kernel_names=("potrf", "P2P_in"))) == 1.0).all()


@pytest.mark.parametrize("detour_s", [-1e-9, -1.0])
def test_a_detour_in_a_file_takes_time(make, tmp_path, detour_s):
    told = Disturbance((0.0,), (0,), detour_s=detour_s)
    save(replace(a_run(make, [0.0], [0]), disturbance=told), tmp_path / "run")
    with pytest.raises(InputError, match="detour_s: got "):
        load(tmp_path / "run")


def passed_on(kernel, size_bytes, **fields):
    """Return a graph and a run of it: the second of its workers uses what the first has written."""
    builder = tasksim.GraphBuilder("passed on")
    datum = builder.handle("datum", size_bytes=size_bytes)
    builder.insert("somebody's", tasksim.W(datum))
    builder.insert(kernel, tasksim.R(datum))
    builder.insert(kernel, tasksim.R(datum))
    graph = builder.build()
    run = tasksim.simulate(graph, workers=1, durations={"somebody's": 1.0, kernel: 1.0})
    tasks = replace(run.tasks, worker=[0, 1, 1], cpu_s=np.ones(3), preemptions=np.zeros(3, int))
    told = Disturbance((0.0, 0.0), (0, 0), **fields)
    workers = (run.workers[0], replace(run.workers[0], name="cpu1"))
    run = replace(run, kind="native", workers=workers, tasks=tasks, disturbance=told)
    return graph, run


@pytest.mark.parametrize("detours", [None, 0.0, 1.0, 2.5])
def test_data_of_another_worker_cost_more_after_a_detour(detours):
    detour_s = None if detours is None else detours * DETOUR_S
    graph, run = passed_on("gemm", 1e9, detour_s=detour_s)
    cost_s = (detours or 0.0) * DETOUR_S_PER_BYTE * 1e9
    assert undisturbed_s(run, graph) == pytest.approx([1.0, 1.0 - cost_s, 1.0])
    assert (undisturbed_s(run) == 1.0).all()  # nobody knows who wrote what


def test_a_detour_is_told_and_what_it_costs_is_not_in_the_makespan_alone():
    graph, run = passed_on("geqrt", 1e9, detour_s=DETOUR_S)
    assert "data took 160 ns longer between them" in disturbance_summary(run)
    assert disturbance_account(run)["detour_s"] == DETOUR_S
    first_s, _, last_s = undisturbed_s(run, graph)
    # Alone, both workers read at once what the first has written.
    assert with_alone(run, graph).disturbance.alone_s == pytest.approx(first_s + last_s)
    _, near = passed_on("geqrt", 1e9, detour_s=10e-9)
    assert "longer" not in disturbance_summary(near)


def test_kernels_that_share_more_pay_more_for_detours():
    graph, run = passed_on("geqrt", 1e9, detour_s=DETOUR_S)
    shared = DETOUR_SHARES["geqrt"][0]
    both = DETOUR_S_PER_BYTE * 1e9 + shared
    assert undisturbed_s(run, graph) == pytest.approx([1.0, 1.0 - both, 1.0 - shared])


def test_a_detour_costs_a_quarter_of_a_task_at_most():
    graph, run = passed_on("gemm", 1e12, detour_s=DETOUR_S)
    assert undisturbed_s(run, graph) == pytest.approx([1.0, 1.0 - MAX_DETOUR_SHARE, 1.0])


def test_a_kernel_that_waits_does_not_mind_others_on_the_processor(make):
    run = a_run(make, [1.0, 1.0, 1.0], [0, 0, 0])
    told = Disturbance((0.0,), (0,), displaced_share=1.0)
    run = replace(run, tasks=replace(run.tasks, pulse=[2.0] * 3), disturbance=told)
    assert undisturbed_s(run) == pytest.approx([2.0, 2.0, 2.0])


def test_without_pulses_nobody_knows_of_others_on_the_processor(make):
    run = replace(a_run(make, [0.0], [0]), disturbance=Disturbance((0.0,), (0,)))
    assert crowded_share(run) is None
    assert "same processor" not in disturbance_summary(run)


def test_a_run_on_shared_cores_is_shorter_alone():
    graph = generate("chain", length=3, duration=1.0)
    run = tasksim.simulate(graph, workers=1)
    ones, zeros = np.ones(3), np.zeros(3, np.int32)
    tasks = replace(run.tasks, cpu_s=ones, preemptions=zeros, pulse=2 * ones)
    run = replace(run, kind="native", tasks=tasks, disturbance=Disturbance((0.0,), (0,), 0.0))
    alone_s = with_alone(run, graph).disturbance.alone_s
    assert alone_s == pytest.approx(3.0 / (1 + PULSE_WEIGHT), rel=1e-6)


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
        "had the cores for 1 s (33.3 % of one worker), 1 of 2 tasks were preempted"
    )


def test_the_account_as_json_and_among_the_facts(make):
    told = Disturbance((1.0,), (4,), steal_s=0.0, alone_s=2.5, pressure_s=1.5)
    run = replace(a_run(make, [0.0, 1.0], [0, 1]), disturbance=told)
    account = disturbance_account(run)
    assert account["others_s"] == 1.0
    assert account["others_share"] == pytest.approx(1 / 3)
    assert account["preempted_tasks"] == 1
    assert (account["waited_s"], account["preemptions"]) == ({"cpu0": 1.0}, {"cpu0": 4})
    assert (account["blocking_kernels"], account["alone_s"]) == ([], 2.5)
    assert account["pressure_s"] == 1.5
    facts = dict(run_facts(run))
    assert facts["others"].startswith("had the cores for 1 s (33.3 % of one worker), 1 of 2 tasks")
    assert facts["alone"].startswith("2.5 s (")
    unknown = make.run([(1, 0, 0, 0, 0, 2.5, -1)])
    assert disturbance_account(unknown) is None
    assert not {"others", "alone"} & dict(run_facts(unknown)).keys()


def test_a_limit_is_said(make):
    run = replace(a_run(make, [0.0], [0]), disturbance=Disturbance((0.0,), (0,), None, 0.25))
    assert disturbance_summary(run).endswith("; a limit on processor time held it up for 250 ms")


def test_what_the_host_stole_counts_beyond_a_tick_of_its_clock(make):
    run = a_run(make, [0.0, 1.0], [0, 1])
    for steal_s, share in ((None, 0.0), (0.01, 0.0), (0.31, 0.1)):
        found = replace(run, disturbance=Disturbance((0.0,), (0,), steal_s))
        assert others_share(found) == pytest.approx(share)
    assert others_share(run) == 0.0


def test_a_thread_of_the_run_itself_is_no_other():
    told = Disturbance((3.0, None, 1.0), (1, 2, 3), 0.5)
    assert told.without(1.0).waited_s == (2.25, None, 0.75)
    assert told.without(5.0).waited_s == (0.0, None, 0.0)
    assert told.without(1.0).preemptions == (1, 2, 3)
    assert Disturbance((0.0,), (0,)).without(1.0).waited_s == (0.0,)


@pytest.fixture
def chain(make):
    """A chain of three tasks of 1 s, and a run of it, the second task held up for 2 s."""
    graph = generate("chain", length=3, duration=1.0)
    rows = [(0, 0, 0.0, 0.0, 0.0, 1.0, -1), (0, 0, 0.0, 1.0, 1.0, 4.0, 0)]
    rows.append((0, 0, 0.0, 4.0, 4.0, 5.0, 1))
    run = make.run(rows, workers=("cpu0",), kernels=graph.kernels)
    tasks = replace(run.tasks, cpu_s=[1.0, 1.0, 1.0], preemptions=[0, 5, 0])
    told = Disturbance((2.0,), (5,), 0.0)
    return graph, replace(run, kind="native", tasks=tasks, disturbance=told)


def test_alone_it_takes_what_its_tasks_do(chain):
    graph, run = chain
    assert alone_makespan_s(run, graph) == pytest.approx(3.0)
    assert with_alone(run, graph).disturbance.alone_s == pytest.approx(3.0)


def test_a_simulation_with_durations_that_contain_the_time_of_others_says_so(chain, tmp_path):
    graph, run = chain
    save(replace(run, graph=graph), tmp_path / "run")

    def said(durations=None):
        scenario = Scenario(str(tmp_path / "run"), workers=1, durations=durations)
        return resolve(scenario).advice("disturbed")["disturbed"]

    assert others_task_share(run) == pytest.approx(0.4)
    assert said() == said("measured") == said("means")
    assert "others had the cores for 40 % of the recorded tasks' time" in said()[0]
    assert said("alone") == []


def test_the_account_of_a_makespan_has_what_others_took(chain):
    graph, run = chain
    found = account(run, graph)
    assert (found.replayed_s, found.others_s) == (5.0, pytest.approx(2.0))
    simulated = replace(run, kind="simulated", tasks=replace(run.tasks, cpu_s=[np.nan] * 3))
    assert account(simulated, graph).others_s is None


def test_samples_of_recorded_runs_leave_out_what_others_took(chain, tmp_path):
    graph, run = chain
    (tasks,) = measured([RecordedRun(tmp_path, run, graph)])
    assert tasks.durations_s == pytest.approx([1.0, 1.0, 1.0])


def test_alone_is_not_known_under_a_scheduler_of_ones_own(chain):
    graph, run = chain
    own = replace(run, scheduler="my.module:Lifo")
    assert with_alone(own, graph) is own


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


@pytest.mark.parametrize(("workers", "of_all"), [(2, 0.15), (16, 0.3 / 16)])
def test_of_a_worker_others_take_the_same_share_on_any_number_of_cores(make, workers, of_all):
    rows = [(1, 0, worker, 0, 0, 2.0, -1) for worker in range(workers)]
    run = make.run(rows, workers=tuple(f"cpu{worker}" for worker in range(workers)))
    waited = Disturbance((0.6, *[0.0] * (workers - 1)), (1,) * workers)
    run = replace(run, disturbance=waited)
    assert others_share(run) == pytest.approx(of_all)
    assert worst_share(run) == pytest.approx(0.3)
    stolen = replace(run, disturbance=replace(waited, steal_s=0.01 + 0.02 * workers))
    assert worst_share(stolen) == pytest.approx(0.31)
    assert worst_share(replace(run, disturbance=None)) == 0.0


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
        a_run(make, [1.0], [1]), disturbance=Disturbance((1.0,), (1,), cache_bytes=cache_bytes)
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
    run = replace(a_run(make, [1.0], [1]), disturbance=Disturbance((1.0,), (1,)))
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
