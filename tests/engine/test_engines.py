"""The engines that make copies: which copies exclude each other, and in which order they go."""

from __future__ import annotations

import pytest

from tasksim.engine.clock import Clock
from tasksim.engine.data.engines import Copy, CopyEngines
from tasksim.engine.data.network import Network
from tasksim.platform.description import Link, Memory, Platform, Route, Worker

RAM, GPU0, GPU1, GPU2 = range(4)


def machine(shared=True):
    """Main memory and three devices; every way has a link of its own, of 1 byte per second."""
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    return Platform(
        name="engines",
        workers=(Worker(0, "cpu0", "cpu", 0),),
        memories=tuple(Memory(i, f"m{i}") for i in range(4)),
        links=tuple(Link(i, f"l{i}", None, 1.0, shared=shared) for i in range(len(pairs))),
        routes=tuple(Route(a, b, (i,)) for i, (a, b) in enumerate(pairs)),
    )


def times(copies, serialised=True, shared=True, first_use=0):
    """Ask for *copies* (pair, size) at once, in order; return their starts and ends in seconds."""
    env = Clock()
    engines = CopyEngines(
        env,
        Network(env, machine(shared)),
        [False, True, True, True],
        serialised=serialised,
        first_use=first_use,
    )
    found = {}

    def done(copy):
        found[copy.value] = (copy.started / 1e9, env.now / 1e9)

    for number, (pair, size) in enumerate(copies):
        engines.ask(Copy(pair, size, done, number))
    env.run()
    return [found[number] for number in range(len(copies))]


@pytest.mark.parametrize("serialised", [True, False])
def test_copies_between_the_same_two_memories_go_one_by_one_in_order(serialised):
    pair = (RAM, GPU0)
    found = times([(pair, 3), (pair, 1), (pair, 2)], serialised)
    assert found == [(0, 3), (3, 4), (4, 6)]


def test_copies_on_links_that_are_not_shared_do_not_wait():
    pair = (RAM, GPU0)
    found = times([(pair, 3), (pair, 1), (pair, 2)], serialised=False, shared=False)
    assert found == [(0, 3), (0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("first", "second", "excludes"),
    [
        ((RAM, GPU0), (GPU0, RAM), False),  # both directions of a device and main memory
        ((RAM, GPU0), (RAM, GPU1), False),
        ((GPU0, RAM), (GPU1, RAM), False),
        ((GPU0, GPU1), (GPU1, GPU0), True),  # the reverse of a direct copy
        ((GPU0, GPU1), (RAM, GPU0), True),  # into the source of a direct copy
        ((GPU0, GPU1), (RAM, GPU1), True),  # into its target
        ((RAM, GPU0), (GPU0, GPU1), True),  # and the other way round
        ((RAM, GPU1), (GPU0, GPU1), True),
        ((GPU0, GPU1), (GPU2, GPU0), True),
        ((GPU0, GPU1), (GPU1, GPU2), True),  # the second is direct, the first leads into its end
        ((GPU0, GPU1), (GPU0, GPU2), False),  # two copies out of one device
        ((GPU0, GPU1), (GPU0, RAM), False),  # what leaves is not in the way
        ((GPU0, GPU1), (GPU1, RAM), False),
        ((GPU0, GPU1), (RAM, GPU2), False),
    ],
)
def test_which_copies_exclude_each_other(first, second, excludes):
    """Rules 1 to 3 of StarPU's simulated CUDA devices; without them, only the same pair waits."""
    assert times([(first, 2), (second, 1)]) == [(0, 2), (2, 3) if excludes else (0, 1)]
    assert times([(first, 2), (second, 1)], serialised=False) == [(0, 2), (0, 1)]


def test_a_copy_waits_for_those_that_wait_themselves():
    """The third excludes the second only, which waits for the first."""
    found = times([((GPU0, GPU1), 2), ((GPU1, GPU0), 1), ((RAM, GPU0), 1)])
    assert found == [(0, 2), (2, 3), (3, 4)]


def test_a_copy_that_nothing_excludes_overtakes():
    found = times([((RAM, GPU0), 5), ((RAM, GPU0), 1), ((RAM, GPU1), 1)])
    assert found == [(0, 5), (5, 6), (0, 1)]


def test_the_first_copy_between_two_memories_starts_later():
    found = times([((RAM, GPU0), 1), ((RAM, GPU0), 1), ((GPU0, RAM), 1)], first_use=500_000_000)
    assert found == [(0.5, 1.5), (1.5, 2.5), (0.5, 1.5)]


def test_what_is_asked_for_later_waits_for_what_is_under_way():
    env = Clock()
    engines = CopyEngines(
        env, Network(env, machine()), [False, True, True, True], serialised=True, first_use=0
    )
    ended = []
    engines.ask(Copy((GPU0, GPU1), 2, lambda _: ended.append(("first", env.now / 1e9)), None))
    late = Copy((RAM, GPU1), 1, lambda _: ended.append(("late", env.now / 1e9)), None)
    env.alarm(10**9, lambda _: engines.ask(late))
    env.run()
    assert ended == [("first", 2.0), ("late", 3.0)]
