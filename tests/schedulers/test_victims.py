"""Work stealing: whom a thief robs, against the plain definition; and many workers."""

from __future__ import annotations

import random
import tracemalloc
from types import SimpleNamespace

import pytest
from tiers import LONG

import tasksim
from tasksim.platform.description import Worker
from tasksim.schedulers.ws import LocalityWorkStealing, Victims


def by_definition(workers, robbable, thief):
    """Sort all others by distance; equals in the order that follows the thief."""
    count, own = len(workers), workers[thief]
    others = [(thief + step) % count for step in range(1, count)]
    near = sorted(
        others, key=lambda w: (workers[w].node != own.node, workers[w].memory != own.memory)
    )
    return [worker for worker in near if worker in robbable]


@pytest.mark.parametrize("seed", range(60))
def test_the_nearest_come_first(seed):
    rng = random.Random(seed)
    nodes, memories, count = rng.randint(1, 3), rng.randint(1, 5), rng.randint(1, 20)
    workers = [
        Worker(k, f"w{k}", "cpu", rng.randrange(memories), node=rng.randrange(nodes))
        for k in range(count)
    ]
    victims, robbable = Victims(workers), set()
    for _ in range(60):
        worker = rng.randrange(count)
        (victims.discard if worker in robbable else victims.add)(worker)
        robbable ^= {worker}
        assert victims.all == sorted(robbable)
        thief = rng.randrange(count)
        if thief in robbable:  # who asks has nothing to be robbed of
            continue
        assert list(victims.from_nearest(thief)) == by_definition(workers, robbable, thief)
        from_here = [w for w in [*range(thief, count), *range(thief)] if w in robbable]
        assert list(victims.from_number(thief)) == from_here


def test_a_hundred_thousand_workers_take_memory_each_and_not_each_pair():
    platform = tasksim.Platform.identical(100_000)
    assert platform.classes  # made once, with the platform
    view = SimpleNamespace(
        workers=platform.workers, classes=platform.classes, class_of=[0] * 100_000
    )
    tracemalloc.start()
    try:
        LocalityWorkStealing().attach(view, random.Random(0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 100_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheduler", ["lws", "dmdas", "modular-heft", *(["ws", "heteroprio"] if LONG else [])]
)
def test_as_many_workers_as_no_machine_has(scheduler):
    """A cost for each pair of them would take minutes, and more memory than there is."""
    count = 100_000 if LONG else 30_000
    graph = tasksim.generate("cholesky", tiles=3)
    models = tasksim.ConstantLibrary(dict.fromkeys(graph.kernels, 1.0))
    run = tasksim.simulate(graph, tasksim.Platform.identical(count), models, scheduler)
    assert run.makespan_s == 7.0
    assert max(run.tasks.worker) < count
