"""Disturbance of a run: the shares that others took, the makespan alone, and files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.run.account import account
from tasksim.run.crowding import PULSE_WEIGHT
from tasksim.run.disturbance import others_share, worst_share
from tasksim.run.others import others_task_share
from tasksim.run.record import Disturbance
from tasksim.run.runfolder import load, save
from tasksim.run.samples import RecordedRun, measured
from tasksim.scenario.alone import alone_makespan_s, with_alone
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario


@pytest.mark.parametrize("share", [-0.1, 1.1, 1e300])
def test_a_displaced_share_in_a_file_is_a_share(make, tmp_path, share):
    told = Disturbance((0.0,), (0,), displaced_share=share)
    save(replace(make.losing([0.0], [0]), disturbance=told), tmp_path / "run")
    with pytest.raises(InputError, match=r"displaced_share: got .*; legal: 0 to 1"):
        load(tmp_path / "run")


@pytest.mark.parametrize("detour_s", [-1e-9, -1.0])
def test_a_detour_in_a_file_takes_time(make, tmp_path, detour_s):
    told = Disturbance((0.0,), (0,), detour_s=detour_s)
    save(replace(make.losing([0.0], [0]), disturbance=told), tmp_path / "run")
    with pytest.raises(InputError, match="detour_s: got "):
        load(tmp_path / "run")


def test_reads_in_a_file_take_no_less_than_the_least(make, tmp_path):
    told = Disturbance((0.0,), (0,), read_ratio=0.9)
    save(replace(make.losing([0.0], [0]), disturbance=told), tmp_path / "run")
    with pytest.raises(InputError, match=r"read_ratio: got 0\.9; legal: 1 or more"):
        load(tmp_path / "run")


def test_a_run_on_shared_cores_is_shorter_alone():
    graph = generate("chain", length=3, duration=1.0)
    run = tasksim.simulate(graph, workers=1)
    ones, zeros = np.ones(3), np.zeros(3, np.int32)
    tasks = replace(run.tasks, cpu_s=ones, preemptions=zeros, pulse=2 * ones)
    run = replace(run, kind="native", tasks=tasks, disturbance=Disturbance((0.0,), (0,), 0.0))
    alone_s = with_alone(run, graph).disturbance.alone_s
    assert alone_s == pytest.approx(3.0 / (1 + PULSE_WEIGHT), rel=1e-6)


def test_what_the_host_stole_counts_beyond_a_tick_of_its_clock(make):
    run = make.losing([0.0, 1.0], [0, 1])
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
        make.losing([0.0, 1.0], [0, 1]), disturbance=Disturbance((None,), (1,), 0.5, None)
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
    run = replace(make.losing([0.0], [0]), disturbance=Disturbance((1.0, 2.0), (1,)))
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
