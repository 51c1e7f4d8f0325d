"""dask: what the last end released comes first, and among it, and below it, priorities."""

import numpy as np
import pytest

import tasksim
from tasksim.core.library import status
from tasksim.graph.builder import GraphBuilder

ENGINES = ["simpy", *(["compiled"] if status().available else [])]


def order(graph, engine, workers=1):
    """Return the tasks in the order of their start."""
    run = tasksim.simulate(graph, workers=workers, scheduler="dask", engine=engine, check=True)
    return np.lexsort((run.tasks.worker, run.tasks.start_s)).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_depth_first(engine):
    """Three sources with two successors each: each source's successors come before the next one."""
    g = GraphBuilder("three")
    sources = [g.insert("work", duration_s=1, priority=9 - n) for n in range(3)]
    for source in sources:
        g.insert("work", duration_s=1, after=[source], priority=1)
        g.insert("work", duration_s=1, after=[source], priority=5)
    assert order(g.build(), engine) == [0, 4, 3, 1, 6, 5, 2, 8, 7]


@pytest.mark.parametrize("engine", ENGINES)
def test_sources_by_priority_also_when_they_are_submitted_late(engine):
    g = GraphBuilder("late")
    first = g.insert("work", duration_s=1)
    g.insert("work", duration_s=1, priority=1)
    g.insert("work", duration_s=1, priority=2)
    g.insert("work", duration_s=1, after=[first], priority=-1)
    platform = tasksim.Platform(
        "slow",
        (tasksim.Worker(0, "cpu0", "cpu", 0),),
        (tasksim.Memory(0, "ram"),),
        overheads=tasksim.Overheads(submission_s=0.1),
    )
    run = tasksim.simulate(g.build(), platform, scheduler="dask", engine=engine)
    assert np.argsort(run.tasks.start_s).tolist() == [0, 3, 2, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_ends_of_several_workers(engine):
    """Of two that end at once, the later one's successors are on top."""
    g = GraphBuilder("two")
    one, two = (g.insert("work", duration_s=1) for _ in range(2))
    for source in (one, one, two, two):
        g.insert("work", duration_s=1, after=[source])
    assert order(g.build(), engine, workers=2) == [0, 1, 4, 5, 2, 3]
