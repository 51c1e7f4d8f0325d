"""Homes of data at the start."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasksim.base.errors import InputError
from tasksim.engine.simulation import Simulation
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.models.kinds.given import GivenDurations
from tasksim.platform.description import Device, Link, Memory, Overheads, Platform, Worker
from tasksim.schedulers.registry import names
from tasksim.schedulers.static import Problem, plan

MEMORIES = (Memory(0, "ram"), Memory(1, "gpu"))
WORKERS = (Worker(0, "cpu0", "cpu", 0), Worker(1, "cuda0", "cuda", 1))
BOX = Platform("box", WORKERS, MEMORIES, links=(Link(0, "pci", (0, 1), 1e9),))


def reading(home):
    g = GraphBuilder("reading")
    g.insert("task", R(g.handle("x", size_bytes=10**9, home=home)), duration_s=1.0)
    return g.build()


@pytest.mark.parametrize(("home", "worker"), [(0, 0), (1, 1)])
def test_tasks_run_where_their_data_are_at_home(home, worker):
    graph = reading(home)
    run = Simulation(graph, BOX, GivenDurations(graph), "dmda").run(check=True)
    assert run.tasks.worker.tolist() == [worker]
    assert run.makespan_s == 1.0


def test_a_home_that_is_none_of_the_memories_is_told():
    graph = reading(2)
    with pytest.raises(InputError) as caught:
        Simulation(graph, BOX, GivenDurations(graph), "dmda").run()
    assert str(caught.value) == (
        "graph reading: datum #0 is at home in memory 2; platform box has 0 ram, 1 gpu"
    )


@pytest.mark.parametrize("scheduler", names(bare=True))
@pytest.mark.parametrize("overheads", [Overheads(), Overheads(progress_s=1e-6)])
def test_on_one_memory_all_data_are_there(scheduler, overheads):
    """Also those of a graph that was made for a machine with devices."""
    graph = reading(3)
    platform = replace(Platform.identical(2), overheads=overheads)
    run = Simulation(graph, platform, GivenDurations(graph), scheduler).run()
    assert run.makespan_s == pytest.approx(1.0, abs=1e-4)


def test_plans_for_one_memory_copy_nothing():
    made = plan("heft", Problem.of(reading(3), Platform.identical(2), [[1.0]]))
    assert made.makespan_s == 1.0


def test_what_is_written_elsewhere_at_once_is_not_written_back():
    g = GraphBuilder("hint")
    x = g.handle("x", size_bytes=1)
    for _ in range(18):
        g.insert("task", duration_s=1e-5)
    g.insert("task", W(x), duration_s=1e-5)
    g.wont_use(x)
    g.insert("task", duration_s=1e-5)
    g.insert("task", W(x), duration_s=1e-5)
    graph = g.build()
    workers = (Worker(0, "gpu0", "cuda", 1), Worker(1, "gpu1", "cuda", 2))
    memories = (Memory(0, "ram"), Memory(1, "m0"), Memory(2, "m1"))
    links = (Link(0, "link0", (0, 1), 1e5), Link(1, "link1", (0, 2), 1e5))
    devices = {"cuda": Device(pipeline=1)}
    platform = Platform("two", workers, memories, links=links, devices=devices)
    run = Simulation(graph, platform, GivenDurations(graph), "random").run(check=True)
    assert run.tasks.worker[[18, 20]].tolist() == [1, 0]
    assert len(run.transfers) == 0
