"""The account of selective runs against the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from selective_account import DURATIONS_S, account

import tasksim
from tasksim.engine.batch import totals
from tasksim.engine.simulation import Simulation
from tasksim.kernels.program import bind
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.native.this_machine import this_machine
from tasksim.platform.description import Platform
from tasksim.schedulers.central import Eager
from tasksim.selective.execute import execute_selectively
from tasksim.selective.policies import Chooser, Rules, policy_of
from tasksim.selective.statistics import Statistics, signatures


@pytest.mark.parametrize("scheduler", ["eager", "lws", "prio", "dmda", "ws"])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_account_is_the_simulators(scheduler, workers, share):
    graph = tasksim.generate("cholesky", tiles=6)
    seconds = [DURATIONS_S[graph.kernel_of(task)] for task in range(len(graph))]
    skipped = np.random.default_rng(1).random(len(graph)) < share
    done, tasks, paths = account(graph, scheduler, workers, seconds, skipped)
    said = tasksim.simulate(graph, workers=workers, durations=DURATIONS_S, scheduler=scheduler)
    assert done.member.ledger.makespan_s() == said.makespan_s
    table = done.table()
    assert table.start_s.tolist() == said.tasks.start_s.tolist()
    assert table.worker.tolist() == said.tasks.worker.tolist()
    assert paths.longest.end_s == said.makespan_s
    effort = done.effort
    assert effort.executed == (~skipped).sum()
    assert effort.skipped + effort.accompanied == skipped.sum()
    assert len(tasks.tasks) == effort.executed + effort.accompanied
    took_s = np.where(skipped, 0.0, seconds)
    assert effort.busiest_s == np.bincount(table.worker, took_s).max()
    assert effort.executed_s == took_s.sum()


def test_what_is_executed_after_something_was_skipped_is_made_safe():
    graph = tasksim.generate("chain", length=3)
    _, tasks, _ = account(graph, "eager", 1, [1.0] * 3, [False, True, False])
    assert tasks.tasks == [(0, False), (2, True)]


class Restless(Eager):
    """Wakes all workers for ever after the last task."""

    ended = 0

    def finished(self, task, worker):
        self.ended += 1

    def pop(self, worker):
        if self.ended == 3:
            for other in range(2):
                self.view.wake(other)
        return super().pop(worker)


def test_nobody_asks_after_the_last_task():
    graph = tasksim.generate("chain", length=3)
    done, _, _ = account(graph, Restless(), 2, [1.0] * 3, [True, False, True])
    assert done.table().end_s.tolist() == [1.0, 2.0, 3.0]


def known(graph, seconds):
    """Return statistics that know every kernel of *graph* to the last bit."""
    statistics = Statistics()
    for signature in signatures(graph)[0]:
        for _ in range(2):
            statistics.add(signature, seconds[signature.kernel])
    return statistics


@pytest.mark.parametrize("scheduler", ["eager", "lws", "prio", "ws"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_where_all_is_known_it_is_a_simulation(scheduler, workers, runtime):
    graph = tasksim.generate("cholesky", tiles=6, tile_size=8)
    done = execute_selectively(
        bind(graph, workers),
        this_machine(workers),
        scheduler,
        policy="eager",
        statistics=known(graph, DURATIONS_S),
        pin=False,
        runtime=runtime,
    )
    said = tasksim.simulate(graph, workers=workers, durations=DURATIONS_S, scheduler=scheduler)
    assert done.effort.executed == 0
    for column in ("start_s", "end_s", "ready_s", "worker", "released_by"):
        assert getattr(done.run.tasks, column).tolist() == getattr(said.tasks, column).tolist()
    assert done.path.end_s == said.makespan_s


@pytest.mark.parametrize("policy", ["online", "shares"])
def test_how_often_the_tolerance_is_kept(policy):
    """Durations are drawn; the truth is a run of tasks that take what they take in the mean."""
    graph = tasksim.generate("cholesky", tiles=10)
    mean = np.array([DURATIONS_S[graph.kernel_of(task)] for task in range(len(graph))])
    truth_s = tasksim.simulate(graph, workers=2, durations=DURATIONS_S, scheduler="lws").makespan_s
    errors, rng = [], np.random.default_rng(3)
    for _ in range(40):
        seconds = (mean * rng.lognormal(-0.02, 0.2, len(mean))).tolist()
        rules = Rules(policy_of(policy), Statistics(), 0.04, *signatures(graph), 2)
        done, _, _ = account(graph, "lws", 2, seconds, None, Chooser(rules))
        errors.append(abs(done.member.ledger.makespan_s() / truth_s - 1))
    within = np.mean(np.array(errors) <= 0.04)
    if policy == "shares":
        assert within >= 0.85
    else:  # it is bold: the errors of what is charged the same mean do not cancel
        assert within < 0.6


@pytest.mark.parametrize("policy", ["conditional", "local", "online", "eager", "shares"])
def test_predictions_are_not_biased_by_first_touches(policy):
    """Durations are drawn, those of first touches 12 % longer; the truth is known."""
    graph = tasksim.generate("cholesky", tiles=10)
    found, of_task = signatures(graph, apart=True)
    mean = np.array(
        [DURATIONS_S[found[p].kernel] * (1.12 if found[p].touches else 1) for p in of_task]
    )
    rng, platform = np.random.default_rng(1), Platform.identical(2)
    models = ConstantLibrary(DURATIONS_S)
    item = Simulation(graph, platform, models, "lws", drawn=lambda: mean[None, :])
    (truth,) = totals([item])
    biases = {}
    for apart in (True, False):
        said = []
        for _ in range(10):
            seconds = (mean * rng.lognormal(-(0.05**2) / 2, 0.05, len(mean))).tolist()
            signed = signatures(graph, apart=apart)
            chooser = Chooser(Rules(policy_of(policy), Statistics(), 0.05, *signed, 2))
            done, _, _ = account(graph, "lws", 2, seconds, None, chooser, signed[1])
            said.append(done.member.ledger.makespan_s() / truth.makespan_s - 1)
        biases[apart] = np.mean(said)
    assert abs(biases[True]) < 0.015
    assert biases[False] > 0.02
