"""Contention in the clock: tasks slow each other down, to the last digit, in both engines."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from contended import Fixed, on_one_memory, slowed, slowing
from equal import disagreement
from hypothesis import given, settings
from hypothesis import strategies as st
from questions import drawn_question
from tiers import LONG, few

from tasksim import Platform
from tasksim.base.errors import TasksimError
from tasksim.core.library import status
from tasksim.engine.choice import replayed
from tasksim.engine.question import ClusterQuestion, NodeQuestion, Question
from tasksim.engine.slowing import busy_estimates
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.graph.distribution.parts import distribute
from tasksim.models.contention import Contention
from tasksim.network.load import read_network
from tasksim.schedulers.registry import create

needs_core_alone = pytest.mark.skipif(not status().available, reason=status().why)
SCHEDULERS = ("eager", "prio", "lws", "dmda", "dmdas", "heteroprio", "random", "heft")


def side_by_side(*chains):
    """Return a graph of chains of kernels, each on its own datum."""
    builder = GraphBuilder("side-by-side")
    for number, kernels in enumerate(chains):
        datum = builder.handle(f"x{number}", 8)
        for kernel in kernels:
            builder.insert(kernel, RW(datum))
    return builder.build()


def ran(graph, platform, seconds, known, scheduler="eager"):
    """Return start and end of each task."""
    costs = np.array([seconds] * len(platform.classes))
    policy = create(scheduler) if isinstance(scheduler, str) else scheduler
    slows = slowing(graph, platform, **known)
    question = Question(graph, platform, policy, costs, costs, slowing=slows)
    table = replayed(question, 0, "simpy").replay.records()["tasks"]
    return list(zip(table.start_s.tolist(), table.end_s.tolist(), strict=True))


def test_two_tasks_that_overlap_in_part():
    graph = side_by_side("a", "b")
    known = {"a": Contention(beside={"b": (2.0,)}), "b": Contention(beside={"a": (1.25,)})}
    # b ends after .5 * 1.25; meanwhile a has done half of .625, the rest of 1 is done alone.
    assert ran(graph, on_one_memory(2), [1.0, 0.5], known) == [(0.0, 1.3125), (0.0, 0.625)]


def test_a_task_that_follows_slows_on():
    graph = side_by_side("a", "bc")
    known = {
        "a": Contention(beside={"b": (2.0,), "c": (4.0,)}),
        "b": Contention(beside={"a": (1.0,)}),
        "c": Contention(beside={"a": (2.0,)}),
    }
    # b: 1 s. a has .5 done; beside c, 2 s long, it does another .25 of the 1 that it is.
    # Then c has ended (1 s of work at half the rate), a has .25 left.
    found = ran(graph, on_one_memory(2), [1.0, 1.0, 0.5], known)
    assert found == [(0.0, 2.25), (0.0, 1.0), (1.0, 2.0)]


def test_the_last_that_was_measured_and_then_the_bandwidth():
    graph = side_by_side("a", "a", "a")
    # Three ask for 30 of 15: all of the time that is memory's, half, takes twice as long.
    known = {"a": Contention(10.0, 0.5)}
    assert ran(graph, on_one_memory(3, 10.0, 15.0), [1.0] * 3, known)[0] == (0.0, 1.5)
    # Measured for two; what three ask beyond two, 1.5 - 7/6, comes on top.
    known = {"a": Contention(10.0, 0.5, {"a": (1.25,)})}
    assert ran(graph, on_one_memory(3, 10.0, 15.0), [1.0] * 3, known)[0][1] == pytest.approx(
        1.25 + 1.5 - 7 / 6, abs=1e-9
    )
    # Without a bandwidth the last number stays.
    assert ran(graph, on_one_memory(3), [1.0] * 3, known)[0] == (0.0, 1.25)
    known = {"a": Contention(beside={"a": (1.25, 1.5)})}
    assert ran(graph, on_one_memory(3), [1.0] * 3, known)[0] == (0.0, 1.5)


def test_different_neighbours_count_by_their_mean():
    graph = side_by_side("a", "b", "c")
    known = {"a": Contention(beside={"b": (1.5, 2.0), "c": (1.0, 3.0)})}
    assert ran(graph, on_one_memory(3), [1.0, 9.0, 9.0], known)[0] == (0.0, 2.5)


def test_domains_do_not_see_each_other():
    graph = side_by_side("a", "a", "a", "a")
    whole = on_one_memory(4)
    numa = tuple(
        replace(whole.memory_domains[0], name=f"numa{n}", workers=(2 * n, 2 * n + 1))
        for n in range(2)
    )
    known = {"a": Contention(beside={"a": (1.5, 2.0, 4.0)})}
    assert ran(graph, whole, [1.0] * 4, known)[3] == (0.0, 4.0)
    apart = replace(whole, memory_domains=numa)
    assert [end for _, end in ran(graph, apart, [1.0] * 4, known)] == [1.5] * 4


def test_schedulers_believe_durations_alone_unless_they_are_told():
    graph = side_by_side("a", "b")
    known = {"a": Contention(beside={"a": (2.0,), "b": (1.0,)})}
    costs = np.array([[3.0, 1.0]])
    platform = on_one_memory(2)
    slows = slowing(graph, platform, **known)
    assert busy_estimates(slows, graph, platform, costs) is costs
    told = on_one_memory(2, known=True)
    # Three quarters of the time are a's: beside those it takes twice as long.
    assert busy_estimates(slowing(graph, told, **known), graph, told, costs).tolist() == [
        [3.0 * 1.75, 1.0]
    ]


def test_threads_leave_contention_to_the_routines():
    asked = drawn_question(1, "eager")
    question = replace(asked, simultaneous_pushes="blind", slowing=slowed(asked, random).slowing)
    assert not question.needs_threads
    assert question.needs_machine


@needs_core_alone
@pytest.mark.parametrize("seed", range(4000 if LONG else 120))
def test_both_engines_agree(seed):
    scheduler = SCHEDULERS[seed % len(SCHEDULERS)]
    question = slowed(drawn_question(seed, scheduler), random.Random(seed))
    assert disagreement(question, seed) is None


@needs_core_alone
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("workers", [2, 5])
def test_who_ends_at_one_instant_may_be_woken_by_the_others(scheduler, workers):
    """A push at the end of a task wakes a worker whose own ends then, and pushes meanwhile."""
    graph = generate("cholesky", tiles=9)
    costs = np.ones((1, len(graph)))
    known = {name: Contention(beside={name: (1.5, 2.0)}) for name in graph.kernels}
    platform = on_one_memory(workers)
    slows = slowing(graph, platform, **known)
    question = Question(graph, platform, create(scheduler), costs, costs, slowing=slows)
    assert disagreement(question) is None


@needs_core_alone
@pytest.mark.parametrize("seed", range(400 if LONG else 24))
def test_both_engines_agree_on_nodes(seed):
    draw = random.Random(seed)
    asked = slowed(drawn_question(seed, "prio"), draw)
    nodes = draw.randint(2, 4)
    owners = [draw.randrange(nodes) for _ in range(asked.graph.handles)]
    network = read_network("switch:bandwidth=1MB/s,latency=5us,model=hockney").sized(nodes)

    def answer(engine):
        cut = distribute(asked.graph, owners, nodes)
        each = [
            NodeQuestion(
                asked.platform, create("prio"), asked.costs, asked.estimates, asked.slowing
            )
            for _ in range(nodes)
        ]
        try:
            replay = replayed(ClusterQuestion(cut, each, network), seed, engine).replay
        except TasksimError as error:
            return repr(error)
        table = replay.records()["tasks"]
        return table.start_s.tobytes(), table.end_s.tobytes(), table.worker.tobytes()

    assert answer("simpy") == answer("auto")


@st.composite
def assigned(draw):
    """Chains of kernels, who runs which task, what each takes alone, what slows it."""
    chains = draw(st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=5))
    graph = side_by_side(*chains)
    workers = draw(st.integers(1, 4))
    owner = [draw(st.integers(0, workers - 1)) for _ in range(len(graph))]
    seconds = [draw(st.integers(0, 10**6)) * 1e-6 for _ in range(len(graph))]
    factors = st.lists(st.floats(1, 5), min_size=1, max_size=4).map(tuple)
    known = {
        name: Contention(
            draw(st.floats(0, 20)),
            draw(st.floats(0, 1)),
            draw(st.dictionaries(st.sampled_from("abc"), factors)),
        )
        for name in "abc"
    }
    return graph, owner, seconds, known, draw(st.sampled_from([(), (9.0,), (9.0, 12.0)]))


@settings(max_examples=few(60), deadline=None)
@given(assigned())
def test_work_is_done_once_and_nothing_is_faster(asked):
    graph, owner, seconds, known, curve = asked
    platform = on_one_memory(max(owner) + 1, *curve)
    alone = ran(graph, platform, seconds, {}, Fixed(owner))
    found = ran(graph, platform, seconds, known, Fixed(owner))
    assert all(end >= before for (_, end), (_, before) in zip(found, alone, strict=True))
    slows = slowing(graph, platform, **known)
    times = sorted({time for each in found for time in each})
    done = [0.0] * len(graph)
    for begin, end in pairwise(times):
        running = [t for t, (s, e) in enumerate(found) if s <= begin and e >= end]
        counts = [0] * len(slows.kinds)
        for task in running:
            counts[int(graph.kernel[task])] += 1
        for task in running:
            kind = int(graph.kernel[task])
            done[task] += (end - begin) / slows.stretches(0, counts)[kind]
    # Ends are whole nanoseconds, of which there is one per change of rate.
    assert done == pytest.approx(seconds, abs=1e-9 * (2 + len(times)))


def test_one_worker_is_as_ever():
    graph = side_by_side("ab", "ba")
    known = {"a": Contention(9.0, 1.0, {"b": (3.0,)})}
    assert ran(graph, on_one_memory(1), [1.0] * 4, known) == ran(
        graph, Platform.identical(1), [1.0] * 4, {}
    )
