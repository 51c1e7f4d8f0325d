"""Work stealing with memory domains: where tasks go, and whom a thief robs."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

import tasksim
from tasksim.core.library import status
from tasksim.graph.builder import RW, GraphBuilder, R, Scratch, W
from tasksim.platform.description import Platform
from tasksim.platform.parts import MemoryDomain, Numa, NumaKernel
from tasksim.schedulers.numa_lws import NumaWorkStealing

ENGINES = [
    "simpy",
    pytest.param("compiled", marks=pytest.mark.skipif(not status().available, reason="no core")),
]


def sockets(count, each, placement="first_touch", kernels=("make", "use")):
    """A machine of some sockets; kernels wait for memory half of their time."""
    flat = Platform.identical(count * each)
    domains = tuple(
        MemoryDomain(f"numa{n}", tuple(range(n * each, (n + 1) * each))) for n in range(count)
    )
    none = dict.fromkeys(kernels, NumaKernel(memory_share=0.5))
    rows = [[10.0 if n == k else 21.0 for k in range(count)] for n in range(count)]
    return replace(flat, memory_domains=domains, numa=Numa(rows, placement=placement, kernels=none))


def attached(graph, platform, pusher=None):
    """A scheduler of *graph*, as if worker *pusher* released what is pushed."""
    placement = platform.numa.placement if platform.numa else ""
    view = SimpleNamespace(
        graph=graph, workers=platform.workers, classes=platform.classes, pusher=pusher,
        class_of=[0] * len(platform.workers), memory_domains=platform.memory_domains,
        placement=placement, able=[1] * len(graph), can_run=lambda task, worker: True,
        priority=[0] * len(graph),
    )  # fmt: skip
    scheduler = NumaWorkStealing()
    scheduler.attach(view, random.Random(0))
    return scheduler


def two_data(*accesses, sizes):
    """A task that makes x, one that makes y, and one with *accesses* to them."""
    builder = GraphBuilder("two")
    data = {name: builder.handle(name, size) for name, size in zip("xy", sizes, strict=True)}
    builder.insert("make", W(data["x"]))
    builder.insert("make", W(data["y"]))
    builder.insert("use", *(mode(data[name]) for mode, name in accesses))
    return builder.build()


@pytest.mark.parametrize(
    ("accesses", "sizes", "owner"),
    [
        ([(RW, "x"), (R, "y")], (8, 80), 2),  # y is at home in the second socket
        ([(RW, "x"), (R, "y")], (80, 8), 1),
        ([(RW, "x"), (R, "y")], (8, 8), 1),  # a tie leaves it where it was released
        ([(RW, "x"), (Scratch, "y")], (8, 80), 1),  # scratch data have no home
    ],
)
def test_a_task_goes_where_most_of_its_data_are(accesses, sizes, owner):
    scheduler = attached(two_data(*accesses, sizes=sizes), sockets(2, 2), pusher=1)
    scheduler.started(0, 0)
    scheduler.started(1, 3)
    assert scheduler.owner_of(2) == owner


def test_it_goes_to_the_shortest_queue_there():
    scheduler = attached(two_data((R, "y"), sizes=(8, 8)), sockets(2, 2), pusher=1)
    scheduler.started(1, 3)
    scheduler._waiting[2] = 1
    assert scheduler.owner_of(2) == 3


@pytest.mark.parametrize(
    ("placement", "owner"), [("numa0", 1), ("numa1", 2), ("interleaved", 1), ("first_touch", 1)]
)
def test_a_placement_in_one_domain_is_the_home_of_all(placement, owner):
    graph = two_data((R, "y"), sizes=(8, 8))
    scheduler = attached(graph, sockets(2, 2, placement), pusher=1)
    assert scheduler.owner_of(2) == owner
    scheduler.started(1, 3)  # only the first touch makes a home
    assert scheduler.owner_of(2) == (2 if placement == "first_touch" else owner)


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_of_a_stencil_stay_on_the_socket_of_their_blocks(engine):
    machine = sockets(2, 4, kernels=("pack", "relax"))
    run = {
        name: tasksim.simulate(
            "jacobi block_rows=8 block_columns=8 iterations=6", machine, scheduler=name,
            engine=engine, durations={"pack": 1e-4, "relax": 1e-3}, seed=1,
        )
        for name in ("lws", "numa-lws")
    }  # fmt: skip
    assert run["numa-lws"].numa.remote_share < 0.02 < 0.2 < run["lws"].numa.remote_share


@pytest.mark.parametrize("thief", range(6))
def test_a_thief_robs_its_own_domain_first(thief):
    scheduler = attached(tasksim.generate("chain", length=1), sockets(3, 2))
    for worker in range(6):
        if worker != thief:
            scheduler._victims.add(worker)
    neighbour = thief + 1 if thief % 2 == 0 else thief - 1
    others = [(thief + step) % 6 for step in range(1, 6)]
    others.remove(neighbour)
    assert list(scheduler._in_order(thief)) == [neighbour, *others]


@pytest.mark.parametrize("seed", range(20))
def test_without_domains_it_is_lws(seed):
    graph = tasksim.generate("random-layered", layers=6, width=9, seed=seed, size_bytes=8)
    flat = Platform.identical(random.Random(seed).randint(1, 5))
    found = [
        tasksim.simulate(graph, flat, scheduler=name, seed=seed) for name in ("lws", "numa-lws")
    ]
    assert found[0].tasks.worker.tolist() == found[1].tasks.worker.tolist()
    assert found[0].tasks.start_s.tolist() == found[1].tasks.start_s.tolist()
