"""Open requests: a datum that very many tasks ask for is no dearer, and nothing else changes."""

from __future__ import annotations

import pytest
from scripted import machine, replay_of

import tasksim
from tasksim import RW, GraphBuilder, R, W
from tasksim.engine.data import open_requests
from tasksim.schedulers.registry import create


def shared(tasks):
    """Tasks that all read one datum, and some that write it, with hints between."""
    builder = GraphBuilder("shared")
    datum = builder.handle("shared", size_bytes=50)
    for number in range(tasks):
        own = builder.handle(f"own{number}", size_bytes=3)
        builder.insert("gemm", RW(datum) if number % 40 == 0 else R(datum), W(own))
        if number % 25 == 0:
            builder.wont_use(datum)
    return builder.build()


def replayed(graph, scheduler, size):
    platform = machine(devices=2, cores=1, size=size, direct=size is None)
    costs = [[2.0] * len(graph) if c.architecture == "cuda" else [30.0] * len(graph)
             for c in platform.classes]  # fmt: skip
    replay = replay_of(graph, platform, create(scheduler), costs)
    makespan = replay.run(0)
    log = replay.node.memories.log
    return makespan, replay.ledger.worker, replay.ledger.start, log.task, log.source, log.end


@pytest.mark.parametrize("scheduler", ["dmda", "dmdas", "eager", "heteroprio"])
@pytest.mark.parametrize("size", [None, 200])
def test_a_run_is_the_same_whether_requests_are_kept_apart_by_task_or_not(
    scheduler, size, monkeypatch
):
    graph = shared(120)
    monkeypatch.setattr(open_requests, "MANY_REQUESTS", 10**9)
    together = replayed(graph, scheduler, size)
    monkeypatch.setattr(open_requests, "MANY_REQUESTS", 1)
    assert replayed(graph, scheduler, size) == together


def test_nothing_is_left_when_all_is_done(monkeypatch):
    monkeypatch.setattr(open_requests, "MANY_REQUESTS", 1)
    graph = tasksim.generate("cholesky", tiles=6, tile_size=1)
    platform = machine(devices=2, cores=1, size=100)
    replay = replay_of(graph, platform, create("dmda"), [[1.0] * len(graph)] * 3)
    replay.run(0)
    requests = replay.node.memories.requests
    assert (requests.of, requests._apart) == ({}, {})
