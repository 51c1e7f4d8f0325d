"""What-if questions whose answers have a known direction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import machine, play, tasks
from strategies import costs, graphs, platforms
from tiers import few

from tasksim.base.errors import InputError
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.models.kinds.given import ConstantLibrary, GivenDurations
from tasksim.run.bounds import bounds

DURATIONS_S = {"potrf": 2.0, "gemm": 1.0, "task": 3.0}
LIBRARY = ConstantLibrary(DURATIONS_S)


@st.composite
def chains(draw):
    """Tasks one after the other, each on the datum of all and on one of its own or an old one."""
    g = GraphBuilder("chain")
    common = g.handle("common", size_bytes=draw(st.sampled_from([0, 1, 4])))
    own = [g.handle(f"x{i}", size_bytes=size) for i, size in enumerate([1, 2, 3])]
    for _ in range(draw(st.integers(1, 10))):
        other = draw(st.sampled_from(own))
        g.insert(
            draw(st.sampled_from(sorted(DURATIONS_S))),
            RW(common),
            draw(st.sampled_from([R, RW]))(other),
        )
    return g.build()


@st.composite
def one_worker_each(draw):
    """A machine on which a chain runs without choice: one device."""
    overheads = draw(
        st.sampled_from([{}, {"kernel_s": 0.125, "copy_s": 0.125}, {"progress_s": 0.0625}])
    )
    return machine(
        cores=0,
        size=draw(st.sampled_from([None, 8, 12, 40])),
        pipeline=draw(st.integers(1, 3)),
        latency=draw(st.sampled_from([0.0, 0.5])),
        **overheads,
    )


def makespan_s(graph, platform, scheduler="eager"):
    return Simulation(graph, platform, LIBRARY, scheduler).run(check=True).makespan_s


def relinked(platform, **changes):
    """The machine with these fields of every link multiplied."""
    links = [
        replace(link, **{name: getattr(link, name) * factor for name, factor in changes.items()})
        for link in platform.links
    ]
    return replace(platform, links=tuple(links))


LINKS = [{"bandwidth_bytes_per_s": 2.0}, {"bandwidth_bytes_per_s": 1.3}, {"latency_s": 0.5}]


@settings(max_examples=few(60), deadline=None)
@given(chains(), one_worker_each(), st.sampled_from(LINKS))
def test_better_links_never_make_a_chain_longer(graph, platform, better):
    assert makespan_s(graph, relinked(platform, **better)) <= makespan_s(graph, platform) + 1e-6


@settings(max_examples=few(60), deadline=None)
@given(chains(), one_worker_each(), st.sampled_from([1.5, 2.0, 10.0]))
def test_a_faster_device_never_makes_a_chain_longer(graph, platform, speed):
    faster = replace(platform, speeds={"cuda": speed})
    assert makespan_s(graph, faster) <= makespan_s(graph, platform) + 1e-6


@settings(max_examples=few(60), deadline=None)
@given(chains(), one_worker_each())
def test_more_memory_never_makes_a_chain_longer(graph, platform):
    roomy = replace(
        platform, memories=(platform.memories[0], replace(platform.memories[1], size_bytes=None))
    )
    assert makespan_s(graph, roomy) <= makespan_s(graph, platform) + 1e-6


@settings(max_examples=few(60), deadline=None)
@given(chains(), one_worker_each())
def test_an_infinitely_fast_bus_leaves_the_kernels(graph, platform):
    free = replace(
        relinked(platform, bandwidth_bytes_per_s=1e12, latency_s=0.0),
        overheads=type(platform.overheads)(),
    )
    work = sum(DURATIONS_S[graph.kernel_of(task)] for task in range(len(graph)))
    assert makespan_s(graph, free) == pytest.approx(work, abs=1e-6)


@given(st.data(), graphs(), platforms())
def test_bounds_never_get_worse_with_more_workers_or_faster_ones(data, graph, platform):
    table = np.array(data.draw(costs(graph, platform))).reshape(len(platform.classes), len(graph))
    counts = [len(group.workers) for group in platform.classes]
    before = bounds(graph, table, counts)
    more = bounds(graph, table, [count + 1 for count in counts])
    faster = bounds(graph, table / 2, counts)
    for after in (more, faster):
        assert after.critical_path_s <= before.critical_path_s * (1 + 1e-9)
        assert after.area_s <= before.area_s * (1 + 1e-9)


@pytest.mark.parametrize("scheduler", ["dmda", "dmdas", "eager", "prio", "lws"])
def test_a_second_device_helps_a_large_cholesky(scheduler):
    """Tiles of 8 bytes that take less to copy than to work on."""
    library = ConstantLibrary(dict.fromkeys(["potrf", "trsm", "syrk", "gemm"], 1.0))
    graph = generate("cholesky", tiles=8, tile_size=1)
    one, two = (
        Simulation(graph, machine(devices=n, cores=0, bandwidth=80.0), library, scheduler)
        .run()
        .makespan_s
        for n in (1, 2)
    )
    assert two < 0.75 * one


def test_a_bus_that_is_too_slow_makes_devices_useless():
    """On 100 times slower links, dmda leaves all tasks to the core, which is 10 times slower."""
    graph = tasks(*[(1, [(RW, 0)])] * 5, sizes=(10,))
    table = {}
    for bandwidth in (10.0, 0.01):
        platform = replace(machine(bandwidth=bandwidth), speeds={"cpu": 0.1, "cuda": 1.0})
        run = Simulation(graph, platform, GivenDurations(graph), "dmda").run(check=True)
        table[bandwidth] = run.tasks.worker.tolist()
    assert table == {10.0: [0] * 5, 0.01: [1] * 5}


def test_less_memory_than_one_task_needs_is_refused_not_slow():
    with pytest.raises(InputError, match="at once"):
        play(tasks((1, [(R, 0), (R, 1)])), machine(cores=0, size=5.9), {0: [0]})
