"""Non-uniform memory in the clock: homes of data, distances, bandwidths, to the last digit."""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from contended import Fixed, non_uniform, on_one_memory, slowing, sockets
from equal import disagreement
from hypothesis import given, settings
from hypothesis import strategies as st
from questions import drawn_question
from tiers import LONG, few

from tasksim.base.errors import TasksimError
from tasksim.core.library import status
from tasksim.engine.choice import replayed
from tasksim.engine.question import ClusterQuestion, NodeQuestion, Question
from tasksim.engine.slowing import slowing_of
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R, Scratch, W
from tasksim.graph.distribution.parts import distribute
from tasksim.models.contention import Contention
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.network.load import read_network
from tasksim.platform.parts import NumaKernel
from tasksim.run.numa import NumaUse
from tasksim.schedulers.registry import create

needs_core_alone = pytest.mark.skipif(not status().available, reason=status().why)
SCHEDULERS = ("eager", "prio", "lws", "numa-lws", "dmda", "dmdas", "heteroprio", "random", "heft")
MEMORY_CONTENTION = {"use": Contention(memory_share=0.5)}
"""Half of a task is memory access; its data have a home from tasks that only compute."""


def using(*tasks, sizes=(8, 8)):
    """Return a graph of tasks on the data x and y, each a kernel and its accesses."""
    builder = GraphBuilder("using")
    data = {name: builder.handle(name, size) for name, size in zip("xy", sizes, strict=True)}
    for kernel, accesses in tasks:
        builder.insert(kernel, *(mode(data[name]) for mode, name in accesses))
    return builder.build()


def ran(graph, platform, owner, known=MEMORY_CONTENTION, seconds=1.0, scheduler=None):
    """Return start and end of each task, and the accesses between domains.

    *owner*: the worker of each task.
    """
    costs = np.full((1, len(graph)), seconds)
    policy = Fixed(owner) if scheduler is None else create(scheduler)
    slows = slowing(graph, platform, **known)
    found = replayed(
        Question(graph, platform, policy, costs, costs, slowing=slows), 0, "simpy"
    ).replay.records()
    table = found["tasks"]
    return list(zip(table.start_s.tolist(), table.end_s.tolist(), strict=True)), found.get("numa")


MAKE_X, USE_X = ("make", [(W, "x")]), ("use", [(R, "x")])


def test_data_are_at_home_where_they_are_written_first():
    graph = using(MAKE_X, USE_X)
    near, use = ran(graph, sockets(2, 1), [0, 0])
    assert near == [(0.0, 1.0), (1.0, 2.0)]
    assert use == NumaUse(("numa0", "numa1"), ((16.0, 0.0), (0.0, 0.0)), (0.0, 0.0))
    # Accesses to the other socket take 20 instead of 10: half of the second becomes a whole one.
    far, use = ran(graph, sockets(2, 1), [0, 1])
    assert far == [(0.0, 1.0), (1.0, 2.5)]
    assert use == NumaUse(("numa0", "numa1"), ((8.0, 0.0), (8.0, 0.0)), (0.0, 0.5))
    assert (use.remote_bytes, use.remote_share, use.total_extra_s) == (8.0, 0.5, 0.5)
    # The home stays, whoever writes later.
    back, _ = ran(using(MAKE_X, ("use", [(RW, "x")]), USE_X), sockets(2, 1), [0, 1, 0])
    assert back == [(0.0, 1.0), (1.0, 2.5), (2.5, 3.5)]


def test_data_that_nobody_wrote_are_at_home_where_they_are_read_first():
    graph = using(USE_X, USE_X)
    assert ran(graph, sockets(2, 1), [0, 1])[0] == [(0.0, 1.0), (0.0, 1.5)]
    # Worker 0 asks first.
    assert ran(graph, sockets(2, 1), [1, 0])[0] == [(0.0, 1.5), (0.0, 1.0)]


def test_a_task_of_no_length_gives_its_data_a_home():
    graph = using(MAKE_X, USE_X)
    found, _ = ran(graph, sockets(2, 1), [1, 0], seconds=np.array([[0.0, 1.0]]))
    assert found == [(0.0, 0.0), (0.0, 1.5)]


@pytest.mark.parametrize(("sizes", "share"), [((8, 8), 0.5), ((24, 8), 0.75), ((0, 8), 0.0)])
def test_the_share_of_remote_bytes_counts(sizes, share):
    graph = using(MAKE_X, ("make", [(W, "y")]), ("use", [(R, "x"), (RW, "y")]), sizes=sizes)
    (*_, (begin, end)), use = ran(graph, sockets(2, 1), [0, 1, 1])
    assert end - begin == 1.0 + 0.5 * share
    assert use.accessed_bytes[1][0] == sizes[0]


def test_scratch_memory_and_no_data_at_all_are_local():
    graph = using(("use", [(Scratch, "x")]), ("use", [(Scratch, "x")]), ("use", []))
    found, use = ran(graph, sockets(2, 1), [0, 1, 0])
    assert found == [(0.0, 1.0), (0.0, 1.0), (1.0, 2.0)]
    assert use.remote_bytes == 0.0


def test_the_distance_is_from_the_task_to_the_data():
    platform = sockets(2, 1)
    numa = replace(platform.numa, distances=((10.0, 30.0), (5.0, 4.0)))
    graph = using(MAKE_X, ("make", [(W, "y")]), ("use", [(R, "y")]), ("use", [(R, "x")]))
    found, _ = ran(graph, replace(platform, numa=numa), [0, 1, 0, 1])
    assert found[2:] == [(1.0, 3.0), (1.0, 2.125)]


@pytest.mark.parametrize(
    ("placement", "ends"), [("interleaved", (1.25, 1.25)), ("numa0", (1.0, 1.5)),
                            ("numa1", (1.5, 1.0))],
)  # fmt: skip
def test_data_may_be_placed(placement, ends):
    graph = using(USE_X, ("use", [(R, "y")]))
    found, _ = ran(graph, sockets(2, 1, placement=placement), [0, 1])
    assert found == [(0.0, end) for end in ends]


def test_a_full_memory_gives_way_to_the_nearest():
    graph = using(MAKE_X, ("make", [(W, "y")]), ("use", [(R, "x")]), ("use", [(R, "y")]))
    platform = sockets(3, 1, sizes=(12.0, None, None))
    distances = ((10.0, 40.0, 20.0), (40.0, 10.0, 40.0), (20.0, 40.0, 10.0))
    platform = replace(platform, numa=replace(platform.numa, distances=distances))
    found, use = ran(graph, platform, [0, 0, 0, 0])
    assert found[2:] == [(2.0, 3.0), (3.0, 4.5)]
    assert use.accessed_bytes[0] == (16.0, 0.0, 16.0)
    # Where nothing has room, data are where they would have been.
    small = sockets(2, 1, sizes=(12.0, 4.0))
    assert ran(graph, small, [0, 0, 0, 0])[0][3] == (3.0, 4.0)


def test_a_cache_keeps_what_is_far():
    graph = using(MAKE_X, USE_X, USE_X, USE_X)
    everywhere = sockets(2, 1, cache_bytes=8.0)
    assert ran(graph, everywhere, [0, 1, 1, 1])[0][1:] == [(1.0, 2.5), (2.5, 3.5), (3.5, 4.5)]
    # Eight bytes of something else in between: they are all that the cache reaches.
    between = using(MAKE_X, USE_X, ("make", [(W, "y")]), USE_X)
    assert ran(between, everywhere, [0, 1, 1, 1])[0][3] == (3.5, 4.5)
    twice = using(MAKE_X, USE_X, ("make", [(W, "y")]), ("make", [(W, "y")]), USE_X)
    assert ran(twice, everywhere, [0, 1, 1, 1, 1])[0][4] == (4.5, 6.0)
    # What another socket writes has left.
    written = using(MAKE_X, USE_X, ("make", [(RW, "x")]), USE_X)
    found, use = ran(written, everywhere, [0, 1, 0, 1])
    assert found[3] == (3.5, 5.0)
    assert use.accessed_bytes == ((16.0, 0.0), (16.0, 0.0))


def test_the_bandwidth_of_a_memory_is_shared_by_all_that_access_it():
    asking = {"use": Contention(8.0, 1.0)}
    made = [MAKE_X, ("make", [(W, "y")])]
    both = [("use", [(R, "x")]), ("use", [(R, "y")])]
    near = sockets(2, 2, 8.0, distance=10.0)
    # Each socket's core asks for all that its memory gives.
    assert ran(using(*made, *both), near, [0, 2, 0, 2], asking)[0][2:] == [(1.0, 2.0)] * 2
    # Both data on one socket: each gets half.
    assert ran(using(*made, *both), near, [0, 0, 0, 2], asking)[0][2:] == [(2.0, 4.0)] * 2
    # Two cores of a socket, but one's data on the other: nobody waits, as they would if both were.
    found, use = ran(using(*made, *both), near, [0, 2, 0, 1], asking)
    assert found[2:] == [(1.0, 2.0)] * 2
    assert use.extra_s == (-2.0, 0.0)
    # Two cores get more than one: where two half tasks ask, as where one whole does.
    wide = sockets(2, 2, 8.0, 16.0, distance=10.0)
    assert ran(using(*made, *both), wide, [0, 0, 0, 2], asking)[0][2:] == [(2.0, 3.0)] * 2


def test_the_way_between_two_memories_is_shared_in_each_direction():
    asking = {"use": Contention(8.0, 1.0)}
    graph = using(MAKE_X, USE_X, USE_X)
    ways = sockets(2, 2, distance=10.0, bandwidths_bytes_per_s=((inf, 2.0), (4.0, inf)))
    assert ran(graph, ways, [0, 2, 0], asking)[0][1:] == [(1.0, 3.0), (1.0, 2.0)]
    assert ran(graph, ways, [0, 2, 3], asking)[0][1:] == [(1.0, 5.0)] * 2
    assert ran(graph, ways, [2, 0, 2], asking)[0][1:] == [(1.0, 5.0), (1.0, 2.0)]
    # The distance is in the bandwidth: what is slower of the two counts.
    far = sockets(2, 2, distance=15.0, bandwidths_bytes_per_s=((inf, 2.0), (4.0, inf)))
    assert ran(graph, far, [0, 2, 0], asking)[0][1] == (1.0, 3.0)
    farther = sockets(2, 2, distance=35.0, bandwidths_bytes_per_s=((inf, 2.0), (4.0, inf)))
    assert ran(graph, farther, [0, 2, 0], asking)[0][1] == (1.0, 4.5)


def test_tasks_of_other_domains_change_the_rate_of_those_that_run():
    asking = {"use": Contention(8.0, 1.0)}
    graph = using(MAKE_X, USE_X, USE_X)
    platform = sockets(2, 1, 8.0, distance=10.0)
    seconds = np.array([[1.0, 1.0, 3.0]])
    # Both at half their rate from 1 to 3, when the first has ended; the other has 2 left.
    found, _ = ran(graph, platform, [0, 0, 1], asking, seconds)
    assert found[1:] == [(1.0, 3.0), (1.0, 5.0)]


def test_measured_neighbours_and_distances_add_up():
    """Two of a kind take 1.25 times as long; a remote one besides what its accesses take."""
    known = {"use": Contention(0.0, 0.5, {"use": (1.25,)})}
    graph = using(MAKE_X, ("make", [(W, "y")]), USE_X, ("use", [(R, "y")]))
    found, _ = ran(graph, sockets(2, 2), [0, 2, 0, 1], known, np.array([[1.0, 1.0, 4.0, 4.0]]))
    # The one at home takes 1.25 times as long while both run, 5 in all; the other 1.75 times: it
    # has done 20/7 of its 4 by then, the rest takes 1.5 times as long.
    assert found[2] == (1.0, 6.0)
    assert found[3][1] == pytest.approx(6.0 + 1.5 * (4.0 - 5.0 / 1.75), abs=1e-8)


def test_kernels_of_the_platform_come_before_those_of_the_models():
    graph = using(MAKE_X, USE_X)
    platform = sockets(2, 1, kernels={"use": NumaKernel(0.25, 3.0)})
    found = slowing_of(graph, platform, ConstantLibrary({"make": 1.0, "use": 1.0}))
    assert found.kinds.share == [0.0, 0.25]
    assert found.kinds.demand == [0.0, 3.0]
    # Without any kernel that waits for memory nothing is slower: the clock is as ever.
    unknown = replace(platform, numa=replace(platform.numa, kernels={}))
    assert slowing_of(graph, unknown, ConstantLibrary({"make": 1.0, "use": 1.0})) is None


def test_four_sockets_of_cholesky():
    """One core per socket, all data in the first: each task takes as long as its accesses."""
    graph = generate("cholesky", tiles=4)
    known = {name: Contention(memory_share=0.2) for name in graph.kernels}
    platform = sockets(4, 1, distance=25.0, placement="numa0")
    found, _ = ran(graph, platform, [task % 4 for task in range(len(graph))], known)
    assert [round(end - begin, 9) for begin, end in found] == [
        1.0 if task % 4 == 0 else 1.3 for task in range(len(graph))
    ]


@needs_core_alone
@pytest.mark.parametrize("seed", range(4000 if LONG else 120))
def test_both_engines_agree(seed):
    scheduler = SCHEDULERS[seed % len(SCHEDULERS)]
    question = non_uniform(drawn_question(seed, scheduler), random.Random(seed))
    assert disagreement(question, seed) is None


@needs_core_alone
@pytest.mark.parametrize("seed", range(400 if LONG else 24))
def test_both_engines_agree_on_nodes(seed):
    draw = random.Random(seed)
    asked = non_uniform(drawn_question(seed, "prio"), draw)
    nodes = draw.randint(2, 4)
    owners = [draw.randrange(nodes) for _ in range(asked.graph.handles)]
    network = read_network("switch:bandwidth=1MB/s,latency=5us,model=hockney").sized(nodes)

    def records(engine):
        cut = distribute(asked.graph, owners, nodes)
        priced = asked.costs, asked.estimates, asked.slowing
        each = [NodeQuestion(asked.platform, create("prio"), *priced) for _ in range(nodes)]
        try:
            replay = replayed(ClusterQuestion(cut, each, network), seed, engine).replay
        except TasksimError as error:
            return repr(error)
        found = replay.records()
        assert len(found["numa"].domains) == 2 * nodes
        return found["tasks"].start_s.tobytes(), found["tasks"].end_s.tobytes(), found["numa"]

    assert records("simpy") == records("auto")


@st.composite
def assigned(draw):
    """A graph on few data, who runs which task, what each takes, what its accesses take."""
    builder = GraphBuilder("drawn")
    data = [builder.handle(f"x{n}", draw(st.integers(0, 9))) for n in range(3)]
    for _ in range(draw(st.integers(1, 8))):
        used = draw(st.lists(st.sampled_from(range(3)), max_size=3, unique=True))
        modes = [draw(st.sampled_from((R, W, RW))) for _ in used]
        accesses = (mode(data[n]) for mode, n in zip(modes, used, strict=True))
        builder.insert(draw(st.sampled_from("ab")), *accesses)
    graph = builder.build()
    owner = [draw(st.integers(0, 3)) for _ in range(len(graph))]
    seconds = np.array([[draw(st.integers(0, 10**6)) * 1e-6 for _ in range(len(graph))]])
    known = {
        name: Contention(draw(st.floats(0, 20)), draw(st.floats(0, 1)),
                         draw(st.dictionaries(st.sampled_from("ab"), st.just((1.5, 1.6)))))
        for name in "ab"
    }  # fmt: skip
    return graph, owner, seconds, known


PLACEMENTS = ("first_touch", "interleaved", "numa1")


@settings(max_examples=few(60), deadline=None)
@given(assigned(), st.sampled_from(PLACEMENTS), st.sampled_from([0.0, 5.0]))
def test_equal_distances_without_bandwidths_are_none_at_all(asked, placement, cache_bytes):
    graph, owner, seconds, known = asked
    flat = sockets(2, 2, distance=10.0, placement=placement, cache_bytes=cache_bytes)
    found, use = ran(graph, flat, owner, known, seconds)
    assert found == ran(graph, replace(flat, numa=None), owner, known, seconds)[0]
    assert use.extra_s == (0.0, 0.0)


@settings(max_examples=few(60), deadline=None)
@given(assigned(), st.sampled_from(PLACEMENTS), st.sampled_from([(), (9.0,), (9.0, 12.0)]))
def test_one_domain_is_contention_as_ever(asked, placement, curve):
    graph, owner, seconds, known = asked
    alone = sockets(1, 4, *curve, placement="numa0" if placement == "numa1" else placement)
    found, _ = ran(graph, alone, owner, known, seconds)
    assert found == ran(graph, on_one_memory(4, *curve), owner, known, seconds)[0]


@settings(max_examples=few(60), deadline=None)
@given(assigned(), st.sampled_from([10.0, 15.0, 30.0]), st.sampled_from([0.0, 5.0]))
def test_nothing_ends_earlier_for_a_distance_nor_later_for_a_cache(asked, distance, cache_bytes):
    """This holds if each worker has its tasks in order, and no bandwidth is shared."""
    graph, owner, seconds, known = asked
    none = [end for _, end in ran(graph, sockets(2, 2, distance=10.0), owner, {}, seconds)[0]]
    share = {name: replace(it, beside={}) for name, it in known.items()}
    far, use = ran(graph, sockets(2, 2, distance=distance), owner, share, seconds)
    cached = sockets(2, 2, distance=distance, cache_bytes=cache_bytes)
    with_cache, less = ran(graph, cached, owner, share, seconds)
    assert all(end >= before for (_, end), before in zip(far, none, strict=True))
    assert max(end for _, end in far) <= distance / 10.0 * sum(seconds[0]) + 1e-6
    assert less.total_extra_s <= use.total_extra_s + 1e-9 * len(graph)
    assert len(with_cache) == len(far)
    assert sum(map(sum, use.accessed_bytes)) == sum(map(sum, less.accessed_bytes))


def test_the_use_of_a_run_without_accesses():
    use = NumaUse(("numa0",), ((0.0,),), (0.0,))
    assert (use.remote_bytes, use.remote_share) == (0.0, 0.0)
