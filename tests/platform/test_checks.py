"""Rules that every platform keeps, however it was made."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.platform.costs import Allocation, Copying
from tasksim.platform.description import (
    Device,
    Link,
    Memory,
    Overheads,
    Platform,
    Route,
    Worker,
    check_platform,
)

GOOD_PLATFORM = Platform.identical(2)
SECOND = Memory(1, "gpu")
BUS = Link(0, "bus", None, 1e9)
TWO_MEMORIES = replace(
    GOOD_PLATFORM,
    memories=(*GOOD_PLATFORM.memories, SECOND),
    links=(BUS,),
    routes=(Route(0, 1, (0, 0)), Route(1, 0, (0,))),
)


@given(st.integers(1, 300))
def test_identical_workers_are_consistent(n):
    check_platform(Platform.identical(n))


def with_worker(**changes) -> Platform:
    return replace(
        GOOD_PLATFORM,
        workers=(GOOD_PLATFORM.workers[0], replace(GOOD_PLATFORM.workers[1], **changes)),
    )


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: replace(GOOD_PLATFORM, workers=()), "has no workers"),
        (lambda: with_worker(id=2), "worker cpu1 has number 2, must be 1"),
        (lambda: with_worker(name="cpu0"), "two of its worker names are 'cpu0'"),
        (lambda: with_worker(memory=3), "worker cpu1 uses memory 3, which does not exist"),
        (lambda: with_worker(memory=-1), "worker cpu1 uses memory -1, which does not exist"),
        (lambda: with_worker(node=1), "worker cpu1 uses a memory of another node"),
        (lambda: with_worker(core=-1), "worker cpu1 is bound to core -1, must be 0 or more"),
        (
            lambda: replace(
                GOOD_PLATFORM, workers=tuple(replace(w, core=3) for w in GOOD_PLATFORM.workers)
            ),
            "worker cpu1 is bound to core 3, as is cpu0",
        ),
        (
            lambda: replace(GOOD_PLATFORM, memories=(Memory(0, "ram"), Memory(1, "other", 2))),
            "the nodes of its memories are [0, 2], must be consecutive from 0",
        ),
        (
            lambda: replace(GOOD_PLATFORM, speeds={"cpu": 0.0}),
            "architecture cpu has speed 0.0, must be positive",
        ),
        (
            lambda: replace(GOOD_PLATFORM, overheads=Overheads(task_s=-1.0)),
            "task costs -1.0 s, must be 0 or more",
        ),
        (
            lambda: replace(GOOD_PLATFORM, memories=(Memory(0, "ram", 0, 0.0),)),
            "memory ram has size 0.0, must be positive",
        ),
        (
            lambda: replace(GOOD_PLATFORM, links=(Link(0, "bus", (0, 1), 1e9),)),
            "link bus must be between two memories (got (0, 1))",
        ),
        (
            lambda: replace(
                GOOD_PLATFORM,
                memories=(*GOOD_PLATFORM.memories, SECOND),
                links=(Link(0, "bus", (0, 1), 0.0),),
            ),
            "link bus has bandwidth 0.0, must be positive",
        ),
        (
            lambda: replace(
                TWO_MEMORIES, links=(replace(BUS, measured_bandwidth_bytes_per_s=math.inf),)
            ),
            "link bus has measured bandwidth inf, must be positive",
        ),
        (
            lambda: replace(TWO_MEMORIES, links=(replace(BUS, measured_latency_s=-1.0),)),
            "measured latency of link bus costs -1.0 s, must be 0 or more",
        ),
        (
            lambda: replace(TWO_MEMORIES, links=(replace(BUS, latency_s=math.nan),)),
            "latency of link bus costs nan s, must be 0 or more",
        ),
        (
            lambda: replace(TWO_MEMORIES, routes=(*TWO_MEMORIES.routes, Route(0, 2, (0,)))),
            "route 2 must be from one memory to another (got (0, 2))",
        ),
        (
            lambda: replace(TWO_MEMORIES, routes=(*TWO_MEMORIES.routes, Route(1, 1, (0,)))),
            "route 2 must be from one memory to another (got (1, 1))",
        ),
        (
            lambda: replace(TWO_MEMORIES, routes=(*TWO_MEMORIES.routes, Route(0, 1, (0,)))),
            "there are two routes from ram to gpu",
        ),
        (
            lambda: replace(TWO_MEMORIES, routes=(Route(0, 1, ()), TWO_MEMORIES.routes[1])),
            "route 0 crosses no link",
        ),
        (
            lambda: replace(TWO_MEMORIES, routes=(Route(0, 1, (1,)), TWO_MEMORIES.routes[1])),
            "route 0 crosses link 1, which does not exist",
        ),
        (
            lambda: replace(
                TWO_MEMORIES,
                workers=(GOOD_PLATFORM.workers[0], replace(GOOD_PLATFORM.workers[1], memory=1)),
                routes=TWO_MEMORIES.routes[:1],
            ),
            "no route leads from gpu to ram, not even over one other memory",
        ),
        (
            lambda: replace(GOOD_PLATFORM, devices={"cpu": Device(17)}),
            "architecture cpu has pipeline 17, must be a whole number from 0 to 16",
        ),
        (
            lambda: replace(GOOD_PLATFORM, devices={"cpu": Device(1.5)}),
            "architecture cpu has pipeline 1.5, must be a whole number from 0 to 16",
        ),
        (
            lambda: replace(GOOD_PLATFORM, overheads=Overheads(copy_s=math.nan)),
            "copy costs nan s, must be 0 or more",
        ),
        (
            lambda: replace(GOOD_PLATFORM, allocation=Allocation(free_s=-1.0)),
            "free costs -1.0 s, must be 0 or more",
        ),
        (
            lambda: replace(GOOD_PLATFORM, allocation=Allocation(usable=1.5)),
            "1.5 of each memory is usable, must be more than 0 and at most 1",
        ),
        (
            lambda: replace(GOOD_PLATFORM, allocation=Allocation(unit_bytes=0.0)),
            "the unit of allocations is 0.0, must be positive",
        ),
        (
            lambda: replace(GOOD_PLATFORM, allocation=Allocation(largest_bytes=-1.0)),
            "the largest of allocations is -1.0, must be 0 or more",
        ),
        (
            lambda: replace(GOOD_PLATFORM, allocation=Allocation(chunk_bytes=2.0**20)),
            "the largest of allocations is 4194304.0, must be at most the chunk",
        ),
        (
            lambda: replace(GOOD_PLATFORM, copying=Copying(prefetches=0)),
            "the limit of prefetches is 0, must be a whole number and at least 1",
        ),
        (
            lambda: replace(GOOD_PLATFORM, copying=Copying(contention=math.inf)),
            "the contention of copies is inf, must be 0 or more",
        ),
    ],
)
def test_what_is_refused(make, what):
    with pytest.raises(InputError) as refused:
        make()
    assert str(refused.value) == f"platform identical-2: {what}"


def test_all_at_once():
    with pytest.raises(InputError) as refused:
        Platform("p", (Worker(1, "a", "cpu", 4),), (Memory(0, "ram"),))
    assert str(refused.value).splitlines() == [
        "platform p: worker a has number 1, must be 0",
        "platform p: worker a uses memory 4, which does not exist",
    ]


def test_memories_that_no_worker_uses_need_no_way():
    assert replace(TWO_MEMORIES, routes=()).route(0, 1) is None


def test_a_platform_made_by_hand_may_have_no_links_at_all():
    workers = (GOOD_PLATFORM.workers[0], replace(GOOD_PLATFORM.workers[1], memory=1))
    assert replace(TWO_MEMORIES, workers=workers, links=(), routes=()).route(0, 1) is None


def test_of_several_links_between_two_memories_the_first_is_the_way():
    links = (BUS, *(replace(BUS, id=i, name=f"way{i}", between=(1, 0)) for i in (1, 2)))
    platform = replace(TWO_MEMORIES, links=links, routes=())
    assert platform.route(0, 1) == platform.route(1, 0) == (1,)


def test_a_route_comes_before_a_link_between_the_two():
    between = Link(1, "direct", (1, 0), 2e9)
    platform = replace(TWO_MEMORIES, links=(BUS, between), routes=TWO_MEMORIES.routes[:1])
    assert platform.route(0, 1) == (0, 0)
    assert platform.route(1, 0) == (1,)
