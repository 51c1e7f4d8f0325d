"""Cost of far data in a simulation: exact numbers by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contended import Fixed
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs

from tasksim.base.errors import InputError
from tasksim.engine.pricing import Prices
from tasksim.engine.simulation import Simulation
from tasksim.formats.runs import load_run, save_run
from tasksim.graph.builder import RW, GraphBuilder, R, Scratch
from tasksim.graph.reuse import ReuseTracker
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.models.locality import Locality
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.platform.description import Memory, Platform, Worker
from tasksim.platform.parts import MemoryDomain
from tasksim.run.facts import run_facts
from tasksim.scenario.scenario import Scenario

RULES = ("charged", "mean")


class Library(ConstantLibrary):
    """Constant durations, and what far data cost."""

    def __init__(self, durations_s, localities):
        super().__init__(durations_s)
        self.localities = localities

    def locality(self, kernel, architecture):
        return self.localities.get(kernel)


FAR_LOCALITY = Locality(reach_bytes=150, seconds_per_far_byte=0.01, mean_far_share=0.5)
"""Of a task on 100 bytes, 0.5 s of the mean are for far data: near it takes so much less."""


def reading(*tiles, kernels=("task",), size_bytes=100):
    """Tasks that each read one tile, named by a letter."""
    builder = GraphBuilder("reading")
    handles = {name: builder.handle(name, size_bytes=size_bytes) for name in sorted(set(tiles))}
    for index, tile in enumerate(tiles):
        builder.insert(kernels[index % len(kernels)], R(handles[tile]), n=1)
    return builder.build()


def in_turn(graph, models, platform=None):
    """The durations of the tasks, run by one worker in order."""
    run = Simulation(graph, platform or Platform.identical(1), models, "eager").run(check=True)
    return run.tasks.duration_s.tolist()


def test_three_tasks_by_hand():
    models = Library({"task": 2.0}, {"task": FAR_LOCALITY})
    assert in_turn(reading("a", "a", "a"), models) == [2.5, 1.5, 1.5]
    # 100 bytes are between the two uses of a: within the reach of 150.
    assert in_turn(reading("a", "b", "a"), models) == [2.5, 2.5, 1.5]
    assert in_turn(reading("a", "b", "c"), models) == [2.5, 2.5, 2.5]


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_each_node_has_caches_of_its_own(engine):
    g = GraphBuilder("writing")
    a, b = (g.handle(name, size_bytes=100) for name in "ab")
    for tile in (a, b, a, b):
        g.insert("task", RW(tile), n=1)
    graph, models = g.build(), Library({"task": 2.0}, {"task": Locality(50, 0.01, 0.5)})
    assert in_turn(graph, models) == [2.5] * 4  # the other tile is used in between
    network = read_network("switch:bandwidth=1GB/s,latency=1us")
    cluster = Cluster.alike(Platform.identical(1), 2, network)
    run = Simulation(graph, cluster, models, "eager", owner="round-robin").run(engine=engine)
    assert run.tasks.duration_s[np.argsort(run.tasks.task)].tolist() == [2.5, 2.5, 1.5, 1.5]


def test_reusing_is_faster_than_walking():
    models = Library({"task": 2.0}, {"task": Locality(50, 0.01, 0.5)})
    reuses = Simulation(reading("a", "a", "b", "b"), Platform.identical(1), models).run()
    walks = Simulation(reading("a", "b", "a", "b"), Platform.identical(1), models).run()
    assert (reuses.makespan_s, walks.makespan_s) == (8.0, 10.0)


def test_at_the_share_that_was_measured_the_mean_remains():
    """Half of the tasks far, as in the samples: 2 s on average."""
    models = Library({"task": 2.0}, {"task": FAR_LOCALITY})
    times = in_turn(reading("a", "a", "b", "b", "c", "c"), models)
    assert sum(times) / len(times) == 2.0


def test_the_order_of_the_starts_decides_not_that_of_the_submission():
    builder = GraphBuilder("three")
    a, b = builder.handle("a", size_bytes=100), builder.handle("b", size_bytes=1000)
    builder.insert("task", R(a), n=1)
    builder.insert("task", R(b), priority=1, n=1)
    builder.insert("task", R(a), n=1)
    models = Library({"task": 20.0}, {"task": FAR_LOCALITY})
    graph, one = builder.build(), Platform.identical(1)
    walked = Simulation(graph, one, models, "eager").run().tasks.duration_s.tolist()
    assert walked == [20.5, 25.0, 20.5]
    reordered = Simulation(graph, one, models, "prio").run().tasks.duration_s.tolist()
    assert reordered == pytest.approx([20.5, 25.0, 19.5])


def test_what_one_worker_used_is_near_for_the_others():
    """The cache is shared."""
    models = Library({"task": 2.0}, {"task": FAR_LOCALITY})
    times = in_turn(reading("a", "a", "a"), models, Platform.identical(3))
    assert times == [2.5, 1.5, 1.5]


def test_the_speed_divides_what_far_data_cost():
    models = Library({"task": 2.0}, {"task": FAR_LOCALITY})
    fast = Platform("fast", (Worker(0, "f0", "fast", 0),), (Memory(0, "ram"),), speeds={"fast": 4})
    assert in_turn(reading("a", "a", "b"), models, fast) == [2.5 / 4, 1.5 / 4, 2.5 / 4]


def test_each_kernel_has_its_own_cost_and_reach():
    """As kernels have that were calibrated apart."""
    models = Library(
        {"near": 2.0, "far": 2.0, "none": 2.0},
        {"near": Locality(300, 0.01, 0.0), "far": Locality(150, 0.02, 0.0)},
    )
    times = in_turn(reading(*"abcabc", kernels=("near", "far", "none")), models)
    assert times == [3.0, 4.0, 2.0, 2.0, 4.0, 2.0]


def test_kernels_that_do_not_care_still_move_data_away():
    models = Library({"task": 2.0, "other": 1.0}, {"task": FAR_LOCALITY})
    graph = reading("a", "b", "c", "a", kernels=("task", "other", "other"))
    assert in_turn(graph, models) == [2.5, 1.0, 1.0, 2.5]


def test_some_of_a_duration_remains_whatever_the_share():
    """More is contained than there is: a tenth is left, and far data add the rest."""
    models = Library({"task": 0.1}, {"task": Locality(150, 0.01, 1.0)})
    assert in_turn(reading("a", "a"), models) == pytest.approx([0.1, 0.01])


def test_scratch_memory_is_never_far():
    builder = GraphBuilder("scratch")
    work = builder.handle("work", size_bytes=10**6)
    builder.insert("task", Scratch(work), n=1)
    models = Library({"task": 2.0}, {"task": FAR_LOCALITY})
    assert in_turn(builder.build(), models) == [2.0]


@pytest.mark.parametrize("locality", [None, Locality(150, 0.0, 0.5)])
def test_without_a_cost_nothing_is_split_off(locality):
    graph, platform = reading("a", "b"), Platform.identical(1)
    models = Library({"task": 2.0}, {"task": locality})
    prices = Prices(graph, platform, models)
    assert prices.means is prices.estimates
    assert prices.far is None


def test_far_data_cost_no_more_than_there_is_room_for():
    """With as many far data as in the mean, a task takes its mean, however steep the slope."""
    graph, platform = reading("a", "b"), Platform.identical(1)
    for slope in (1e-3, 1e-2, 1.0):
        models = Library({"task": 2.0}, {"task": Locality(1.0, slope, 1.0)})
        prices = Prices(graph, platform, models)
        near, charge = prices.means, prices.far.charge(graph)
        for task in range(2):
            assert near[0, task] >= 0.2 * (1 - 1e-12)
            assert near[0, task] + charge.extra_s(task, 0, 0) == pytest.approx(2.0)


@given(graphs(), st.sampled_from([4.0, 8.0, 20.0]), st.sampled_from([0.0, 0.25, 1.0]))
def test_near_plus_far_is_the_cost_of_each_task(graph, reach, share):
    """And the near part is the least that a task can cost."""
    platform = Platform.identical(1)
    slope = 0.01
    constants = dict.fromkeys(graph.kernels, 1.0)
    models = Library(constants, dict.fromkeys(graph.kernels, Locality(reach, slope, share)))
    prices = Prices(graph, platform, models)
    if prices.far is None:
        assert len(graph) == 0
        return
    near, charge = prices.means, prices.far.charge(graph)
    tracker = ReuseTracker(graph)
    for task in range(len(graph)):
        bytes_ = sum(8 for _, mode in graph.accesses_of(task) if mode.name != "SCRATCH")
        assert near[0, task] == pytest.approx(1.0 - slope * share * bytes_)
        read, written = tracker.far_bytes(task, reach, reach)
        assert charge.extra_s(task, 0, 0) == read * slope + written * slope


def updating(*tiles, reads="", size_bytes=100):
    """Tasks that each write one tile, named by a letter, and read those of *reads* before it."""
    builder = GraphBuilder("updating")
    handles = {
        name: builder.handle(name, size_bytes=size_bytes) for name in sorted({*tiles, *reads})
    }
    for tile in tiles:
        builder.insert("task", *(R(handles[name]) for name in reads), RW(handles[tile]), n=1)
    return builder.build()


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_data_become_far_in_proportion(engine):
    """From 100 bytes of others up to 300; and from none up to 400."""
    models = Library({"task": 3.0}, {"task": Locality(300, 0.01, 0.0, near_bytes=100)})
    graph, one = reading(*"aabababccaba"), Platform.identical(1)
    run = Simulation(graph, one, models, "eager").run(engine=engine)
    #  a    a    b    a    b    a    b    c    c    a    b    a
    # inf   0   inf  100  100  100  100  inf   0   300  300  100
    assert run.tasks.duration_s.tolist() == [4, 3, 4, 3, 3, 3, 3, 4, 3, 4, 4, 3]
    models = Library({"task": 3.0}, {"task": Locality(400, 0.01, 0.0, near_bytes=0)})
    run = Simulation(graph, one, models, "eager").run(engine=engine)
    quarters = [4, 0, 4, 1, 1, 1, 1, 4, 0, 3, 3, 1]
    assert run.tasks.duration_s.tolist() == [3 + quarter / 4 for quarter in quarters]


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_what_is_read_and_what_is_written_cost_apart(engine):
    locality = Locality(
        50, 0.01, 0.0, seconds_per_far_written_byte=0.002, mean_far_written_share=0.0
    )
    models = Library({"task": 3.0}, {"task": locality})
    one = Platform.identical(1)
    run = Simulation(updating("a", "a", reads="r"), one, models, "eager").run(engine=engine)
    assert run.tasks.duration_s.tolist() == pytest.approx([4.2, 3.0], abs=1e-9)
    # b does not wait for a, which is far again after it; r is used by all of them.
    run = Simulation(updating("a", "a", "b", reads="r"), one, models, "eager").run(engine=engine)
    assert run.tasks.duration_s.tolist() == pytest.approx([4.2, 3.2, 3.2], abs=1e-9)


def two_domains(*cache_bytes):
    """Two workers, each in a memory domain of its own."""
    domains = [
        MemoryDomain(f"socket{number}", (number,), cache_bytes=size)
        for number, size in enumerate(cache_bytes)
    ]
    return replace(Platform.identical(2), memory_domains=tuple(domains))


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_domains_with_caches_find_what_their_own_tasks_used(engine):
    """Two readers of one tile at once, twice: each domain has to bring it once."""
    models = Library({"task": 2.0}, {"task": Locality(1000, 0.01, 0.0)})
    graph = reading(*"aaaa")
    run = Simulation(graph, two_domains(1000, 1000), models, "eager").run(engine=engine)
    assert run.tasks.duration_s.tolist() == [3.0, 3.0, 2.0, 2.0]
    run = Simulation(graph, two_domains(None, None), models, "eager").run(engine=engine)
    assert run.tasks.duration_s.tolist() == [3.0, 2.0, 2.0, 2.0]  # they share one
    with pytest.raises(InputError, match="caches of cpu workers are of 1000 bytes, none, must be"):
        two_domains(1000, None)


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_what_another_domain_writes_leaves_the_cache(engine):
    """The tile goes to the other socket and back; then its second use there finds it."""
    builder = GraphBuilder("ping-pong")
    a = builder.handle("a", size_bytes=100)
    for _ in range(4):
        builder.insert("task", RW(a), n=1)
    models = Library({"task": 2.0}, {"task": Locality(1000, 0.01, 0.0)})
    pinned = Fixed([0, 1, 0, 0])
    run = Simulation(builder.build(), two_domains(1000, 1000), models, pinned).run(engine=engine)
    assert run.tasks.duration_s.tolist() == [3.0, 3.0, 3.0, 2.0]


def test_the_reach_grows_with_the_cache():
    known = Locality(200, 0.01, 0.0, near_bytes=100, cache_bytes=400)
    models = Library({"task": 2.0}, {"task": known})
    graph = reading(*"abba")  # 200 bytes between the uses of a
    for cache_bytes, last_s in ((200, 3.0), (400, 3.0), (600, 2.0 + 1 / 3), (800, 2.0)):
        platform = Platform.identical(1)
        domain = MemoryDomain("ram", (0,), cache_bytes=cache_bytes)
        times = in_turn(graph, models, replace(platform, memory_domains=(domain,)))
        assert times[-1] == pytest.approx(last_s, abs=1e-9)


@given(graphs(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_far_bytes_grow_as_the_reach_shrinks(graph, random, caches):
    """Nothing is far beyond all that is accessed; everything is far with no reach and one use."""
    order = list(range(len(graph)))
    random.shuffle(order)
    of = [random.randrange(caches) for _ in order]
    total = float(graph.handle_size.astype(float)[graph.access_handle].sum()) + 1.0
    before = None
    for reach in (2 * total, total, total / 2, total / 8, 0.0):
        tracker = ReuseTracker(graph, caches)
        far = [tracker.far_bytes(t, 0.0, reach, c) for t, c in zip(order, of, strict=True)]
        if before is not None:
            for (read, written), (less_read, less_written) in zip(far, before, strict=True):
                assert read >= less_read
                assert written >= less_written
        before = far


def test_a_run_knows_what_far_data_took(tmp_path):
    models = Library({"task": 2.0}, {"task": FAR_LOCALITY})
    graph, one = reading("a", "b", "c"), Platform.identical(1)
    run = Simulation(graph, one, models, "eager").run()
    assert run.far_data == pytest.approx((3.0, 1.5))
    assert dict(run_facts(run))["far data"] == (
        "40.0 % of the tasks' time, 20.0 % where the models were measured"
    )
    save_run(run, tmp_path / "run")
    assert load_run(tmp_path / "run").far_data == run.far_data
    as_measured = Simulation(reading("a", "a", "b", "b"), one, models, "eager").run()
    assert as_measured.far_data == pytest.approx((2.0, 2.0))
    assert "far data" not in dict(run_facts(as_measured))


def test_a_setting_leaves_each_task_its_mean():
    models = Library({"task": 2.0}, {"task": FAR_LOCALITY})
    graph, one = reading("a", "a", "b"), Platform.identical(1)
    run = Simulation(graph, one, models, "eager", far_data="mean").run()
    assert run.tasks.duration_s.tolist() == [2.0, 2.0, 2.0]
    assert run.far_data is None
    asked = Scenario(graph, platform=one, models=models, scheduler="eager")
    spans = [asked.vary({"engine.far_data": rule}).solve().makespan_s for rule in RULES]
    assert spans == [6.5, 6.0]
    with pytest.raises(InputError, match=r"unknown far_data 'off' \(known: charged, mean\)"):
        asked.vary({"engine.far_data": "off"}).solve()
