"""Emulated selective runs: tasks that take drawn durations, and nothing to execute."""

import numpy as np
import pytest
from selective_account import DURATIONS_S

import tasksim
from tasksim.base.errors import InputError
from tasksim.native.this_machine import this_machine
from tasksim.platform.description import Platform
from tasksim.scenario.scenario import Scenario
from tasksim.selective.emulation import emulate_fully, emulate_selectively
from tasksim.selective.statistics import Statistics, signatures
from tasksim.tuning.autotune import SelectiveSettings, autotune
from tasksim.tuning.emulated import Emulated
from tasksim.tuning.over import axes_of, candidates


def mean_s(graph):
    return np.array([[DURATIONS_S[graph.kernel_of(task)] for task in range(len(graph))]])


@pytest.mark.parametrize("scheduler", ["eager", "lws", "prio", "dmda", "ws"])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_full_run_is_the_simulators(scheduler, workers):
    graph = tasksim.generate("cholesky", tiles=6)
    done = emulate_fully(graph, this_machine(workers), scheduler, mean_s(graph))
    said = tasksim.simulate(graph, workers=workers, durations=DURATIONS_S, scheduler=scheduler)
    assert done.run.tasks.start_s.tolist() == said.tasks.start_s.tolist()
    assert done.run.tasks.worker.tolist() == said.tasks.worker.tolist()
    assert done.effort.executed == len(graph)
    assert done.effort.executed_s == mean_s(graph).sum()
    # As no worker waits for more than another task, it takes its makespan for real.
    assert done.wall_s == done.run.makespan_s


def test_a_run_that_skips_takes_as_long_as_what_it_executes():
    graph = tasksim.generate("cholesky", tiles=6)
    platform, seconds = Platform.identical(1), mean_s(graph)
    done = emulate_selectively(graph, platform, "lws", seconds, policy="conditional", tolerance=0.1)
    # Two samples without scatter make a kernel known.
    assert done.effort.executed == 2 * 4
    assert done.effort.skipped == len(graph) - 8
    assert done.wall_s == done.effort.executed_s == done.effort.busiest_s == 2 * 12.5
    assert done.run.makespan_s == seconds.sum()
    apriori = emulate_selectively(graph, platform, "lws", seconds, policy="apriori")
    assert apriori.wall_s > seconds.sum()


def test_what_is_known_before_is_not_executed():
    graph = tasksim.generate("cholesky", tiles=4)
    known = Statistics()
    for signature in signatures(graph)[0]:
        known.add(signature, DURATIONS_S[signature.kernel])
        known.add(signature, DURATIONS_S[signature.kernel])
    done = emulate_selectively(
        graph, Platform.identical(2), "eager", 7.0 * mean_s(graph), policy="eager",
        statistics=known,
    )  # fmt: skip
    said = tasksim.simulate(graph, workers=2, durations=DURATIONS_S, scheduler="eager")
    assert (done.effort.executed, done.wall_s) == (0, 0.0)
    assert done.run.makespan_s == said.makespan_s


BASE_SCENARIO = Scenario(
    "cholesky", ["n=96"], workers=4, durations="potrf=1us,trsm=3us,syrk=3us,gemm=6us"
)


def test_a_tuning_of_emulated_runs_repeats():
    some = candidates(BASE_SCENARIO, axes_of(["tile_size=8,12,16", "scheduler=eager,lws"]))
    told = SelectiveSettings("online", 0.05)
    made = [
        autotune(some, by="emulation", selection=told, judge=2, site=Emulated(some, told, 0.1))
        for _ in range(2)
    ]
    one, other = made
    assert [t.values for t in one.tuned.tried] == [t.values for t in other.tuned.tried]
    assert one.wall_s == other.wall_s < sum(r.full[0].wall_s for (r,) in one.runs.values())
    assert 0 < one.mean_error < 0.2
    assert one.speedup > 1
    (ran,) = one.of(one.tuned.best)
    assert ran.full[0].makespan_s != ran.full[1].makespan_s
    assert 0 < ran.busiest_s < ran.full[0].busiest_s


def test_without_scatter_predictions_are_exact():
    some = candidates(BASE_SCENARIO, axes_of(["tile_size=8,12"]))
    found = autotune(
        some, by="emulation", selection=SelectiveSettings("conditional", 0.01), judge=1
    )
    assert found.mean_error == 0.0
    assert found.regret == 0.0


def test_what_cannot_be_emulated_is_refused():
    some = candidates(BASE_SCENARIO, axes_of(["tile_size=8"]))
    with pytest.raises(InputError, match="scatter=2; legal: from 0 to 1"):
        Emulated(some, SelectiveSettings(), 2.0)
    cluster = BASE_SCENARIO.vary(nodes=2, network="switch:bandwidth=1GB/s,latency=1us")
    with pytest.raises(InputError, match="emulation is for one node"):
        autotune(candidates(cluster, axes_of(["tile_size=8"])), by="emulation")
