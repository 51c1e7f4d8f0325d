"""Where data are at first."""

from __future__ import annotations

import pytest

from tasksim.base.errors import InputError
from tasksim.engine.simulate import simulate
from tasksim.graph.builder import GraphBuilder, R
from tasksim.models.given import GivenDurations
from tasksim.platform.description import Link, Memory, Platform, Worker

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
    run = simulate(graph, BOX, GivenDurations(graph), "dmda", check=True)
    assert run.tasks.worker.tolist() == [worker]
    assert run.makespan_s == 1.0


def test_a_home_that_is_none_of_the_memories_is_told():
    graph = reading(2)
    with pytest.raises(InputError) as caught:
        simulate(graph, BOX, GivenDurations(graph), "dmda")
    assert str(caught.value) == (
        "graph reading: datum #0 is at home in memory 2; platform box has 0 ram, 1 gpu"
    )
