"""Threads of StarPU-SimGrid: for which questions they are, and runs that are possible."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compiled_core import needs_core
from scripted import machine

from tasksim import GraphBuilder, InputError
from tasksim.engine.question import can_be_threads
from tasksim.engine.simulation import Simulation
from tasksim.models.kinds.given import GivenDurations
from tasksim.platform.costs import Overheads
from tasksim.schedulers.central import Eager
from tasksim.schedulers.registry import create

STARPU = Overheads(
    submission_s=1e-6, push_s=1e-6, fetch_s=1e-6, progress_s=1e-6, kernel_s=1e-5, copy_s=1e-5
)


@pytest.mark.parametrize(
    ("scheduler", "overheads", "as_threads"),
    [
        ("eager", STARPU, True),
        ("prio", STARPU, True),
        ("ws", STARPU, True),
        ("lws", STARPU, False),
        ("dmda", STARPU, False),
        ("eager", replace(STARPU, push_s=0.0), False),
        ("eager", replace(STARPU, push_s=1e-10), False),
        ("eager", replace(STARPU, wakeup_s=1e-6), False),
        ("eager", replace(STARPU, start_s=1e-6), False),
    ],
)
def test_threads_are_for_schedulers_and_costs_that_they_know(scheduler, overheads, as_threads):
    platform = replace(machine(devices=1, cores=2), overheads=overheads)
    assert can_be_threads(platform, create(scheduler)) is as_threads


def pair():
    g = GraphBuilder("pair")
    first = g.insert("task", duration_s=1e-3)
    g.insert("task", after=[first], duration_s=1e-3)
    return g.build()


@pytest.mark.parametrize("scheduler", [needs_core(name) for name in ("eager", "prio", "ws")])
@pytest.mark.parametrize("devices", [0, 1])
def test_two_tasks_with_all_that_lies_between(scheduler, devices):
    """Submission and push 1 us each, a poll of 1 us until the pop; then the same at the end."""
    graph = pair()
    platform = replace(machine(devices=devices, cores=1), overheads=STARPU)
    asked = Simulation(
        graph, platform, GivenDurations(graph), scheduler, simultaneous_pushes="blind"
    )
    run = asked.run(check=True)
    assert run.makespan_s == pytest.approx(2e-3, rel=0.03)


def test_simpys_engine_says_that_it_has_no_threads():
    graph = pair()
    platform = replace(machine(devices=1, cores=1), overheads=STARPU)
    asked = Simulation(graph, platform, GivenDurations(graph), "eager", simultaneous_pushes="blind")
    with pytest.raises(InputError, match=r"scheduler eager .* only the compiled core"):
        asked.run(engine="simpy")


def test_a_scheduler_of_ones_own_needs_no_threads():
    class Mine(Eager):
        pass

    graph = pair()
    platform = replace(machine(devices=1, cores=1), overheads=STARPU)
    asked = Simulation(graph, platform, GivenDurations(graph), Mine(), simultaneous_pushes="blind")
    run = asked.run(engine="simpy")
    assert run.makespan_s == pytest.approx(2e-3, rel=0.03)
