"""Clusters on the core: what SimPy's engine gives, to the last bit; nonsense is refused."""

from __future__ import annotations

import ctypes
import random

import numpy as np
import pytest
import threaded
from compiled_core import needs_core
from questions import drawn_question
from thread_digests import digest, digests
from tiers import LONG

from tasksim.base.errors import InputError, TasksimError
from tasksim.core import interface
from tasksim.engine.choice import replayed
from tasksim.engine.compiled.cluster import CompiledCluster
from tasksim.engine.locality import FarCosts, FarPart
from tasksim.engine.question import ClusterQuestion, NodeQuestion
from tasksim.graph.distribution.parts import distribute
from tasksim.network.load import read_network
from tasksim.runtime.flat import Refused
from tasksim.schedulers.registry import create

NETWORKS = (
    "switch:bandwidth=1MB/s,latency=5us,model=ideal",
    "switch:bandwidth=1MB/s,latency=5us,model=hockney",
    "switch:bandwidth=200kB/s,latency=20us,model=smpi",
    "switch:bandwidth=1MB/s,latency=1us,model=lv08",
    "backbone:bandwidth=1MB/s,latency=2us,backbone_bandwidth=2MB/s,backbone_latency=1us,model=cm02",
)
"""Slow, for data of some bytes: a message takes as long as a task."""
DYNAMIC = ("eager", "prio", "random", "ws", "lws", "dm", "dmda", "dmdas", "heteroprio",
           "graph_test", "modular-eager", "modular-dmdas", "modular-heft")  # fmt: skip


def drawn_cluster(seed, scheduler):
    """Return what *seed* asks both engines: two to five nodes that are alike, data anywhere."""
    draw = random.Random(seed)
    asked = drawn_question(seed, scheduler)
    nodes = draw.randint(2, 5)
    far = drawn_far(asked, random.Random(seed + 1))
    owners = [draw.randrange(nodes) for _ in range(asked.graph.handles)]
    cut = distribute(asked.graph, owners, nodes)
    questions = [
        NodeQuestion(asked.platform, create(scheduler), asked.costs, asked.estimates, far=far)
        for _ in range(nodes)
    ]
    network = read_network(draw.choice(NETWORKS)).sized(nodes)
    cores = draw.choice((None, None, 1, 2, 3))
    return ClusterQuestion(cut, questions, network, asked.simultaneous_pushes, cores)


def drawn_nodes_of_threads(seed, scheduler):
    """Return what *seed* asks of nodes whose workers are threads: they have devices."""
    draw = random.Random(seed)
    asked = threaded.drawn_question(seed, scheduler)
    while len(asked.platform.memories) == 1:
        seed += 1000
        asked = threaded.drawn_question(seed, scheduler)
    nodes = draw.randint(2, 4)
    owners = [draw.randrange(nodes) for _ in range(asked.graph.handles)]
    cut = distribute(asked.graph, owners, nodes)
    questions = [
        NodeQuestion(asked.platform, create(scheduler), asked.costs, asked.estimates)
        for _ in range(nodes)
    ]
    network = read_network(draw.choice(NETWORKS)).sized(nodes)
    return ClusterQuestion(cut, questions, network, asked.simultaneous_pushes, None)


def drawn_far(asked, draw):
    """Return what far data cost, where they cost anything: half of the time."""
    if draw.random() < 0.5:
        return None
    shape = asked.costs.shape
    generator = np.random.default_rng(draw.randrange(1 << 30))
    sizes = max(float(asked.graph.handle_size.max(initial=1)), 1.0)
    reach = generator.integers(0, 4, shape) * sizes
    most = np.nanmax(asked.costs, initial=1.0, where=asked.costs < 1e9) / sizes
    read, written = generator.random(shape) * most, generator.random(shape) * most
    costs = FarCosts(reach * generator.random(shape), reach, read, written)
    cache_of = None
    if draw.random() < 0.5:
        workers = asked.platform.workers
        cache_of = tuple(draw.randrange(min(3, len(workers))) for _ in workers)
    return FarPart(costs, np.zeros(shape), cache_of)


def answer(seed, scheduler, engine, drawn=drawn_cluster):
    """Return all that came out, each column as its bytes; or the error, in words."""
    try:
        done = replayed(drawn(seed, scheduler), seed, engine)
    except TasksimError as error:
        return {"error": str(error)}
    found = {}
    for name, table in done.replay.records().items():
        if hasattr(table, "columns"):
            for column, values in zip(table.dtypes, table.columns(), strict=True):
                found[f"{name}.{column}"] = values.tobytes()
        else:
            found[name] = table
    return found


@pytest.mark.parametrize("scheduler", [needs_core(name) for name in DYNAMIC])
def test_clusters_that_are_drawn_end_alike_on_both_engines(scheduler):
    compared = 0
    for seed in range(100 if LONG else 8):
        simpy = answer(seed, scheduler, "simpy")
        core = answer(seed, scheduler, "auto")  # what the core refuses, SimPy's engine answers
        assert core == simpy, seed
        compared += "error" not in simpy
    assert compared > 3


@pytest.mark.parametrize("scheduler", [needs_core(name) for name in threaded.SCHEDULERS])
def test_nodes_of_threads_end_as_they_did(scheduler):
    known = digests()["clusters"][scheduler]
    for seed, expected in enumerate(known):
        found = answer(seed, scheduler, "compiled", drawn_nodes_of_threads)
        assert digest(found) == expected, seed
    assert sum(expected != "error" for expected in known) > 3


@pytest.mark.parametrize("scheduler", [needs_core("lws")])
def test_the_core_says_that_it_has_replayed(scheduler):
    assert replayed(drawn_cluster(3, scheduler), 0).engine == "compiled"
    assert replayed(drawn_cluster(3, scheduler), 0, "simpy").why == "asked for"


@pytest.mark.parametrize("scheduler", [needs_core("lws")])
def test_a_scheduler_of_ones_own_is_replayed_by_simpy(scheduler):
    class Own(type(create("eager"))):
        name = "own"

    question = drawn_cluster(5, "eager")
    nodes = [node._replace(scheduler=Own()) for node in question.nodes]
    done = replayed(question._replace(nodes=nodes), 0)
    assert (done.engine, done.why) == ("simpy", "scheduler own is no policy of the core")
    with pytest.raises(InputError, match="compiled engine does not replay this: scheduler own"):
        replayed(question._replace(nodes=nodes), 0, "compiled")


# Nonsense through the C interface: it is refused, never looked into.


def many_messages():
    """Return a replay of the core, not begun, with several messages."""
    for seed in range(100):
        question = drawn_cluster(seed, "lws")
        if len(question.distribution.messages) > 4:
            return CompiledCluster(question)
    raise AssertionError("no seed has five messages")


COLUMNS = {
    "source": ctypes.c_int32, "target": ctypes.c_int32, "send": ctypes.c_int32,
    "receive": ctypes.c_int32, "way": ctypes.c_int32, "latency": ctypes.c_int64,
    "factor": ctypes.c_double, "bytes": ctypes.c_double,
}  # fmt: skip
WRONG_FIELDS = [
    *((name, value) for name in ("source", "target", "way") for value in (-1, 10**6)),
    *((name, value) for name in ("send", "receive") for value in (-1, 0, 2**31 - 1)),
    *(("latency", value) for value in (-1, 2**62)),
    *((name, value) for name in ("factor", "bytes") for value in (-1.0, float("nan"))),
    ("way_limit", 0.0), ("way_weight", -1.0), ("capacity", 0.0), ("use_of_byte", float("nan")),
    ("way_ptr", 10**6), ("use_link", -1), ("in_flight", 0), ("nodes", 0), ("messages", -1),
    ("ways", 2**40), ("order", 0), ("order", 10**6), ("message", -1), ("first_ready", -1),
    ("cores", -1), ("cores", 2**40),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [needs_core(*each) for each in WRONG_FIELDS])
def test_what_is_wrong_is_refused(name, value, monkeypatch):
    replay = many_messages()
    core = interface.functions()
    new = core.tasksim_cluster_new

    def changed(given, status, outcome):
        _make_wrong(given._obj, name, value)
        return new(given, status, outcome)

    class Changed:
        def __getattr__(self, called):
            return changed if called == "tasksim_cluster_new" else getattr(core, called)

    monkeypatch.setattr(replay, "_core", Changed())
    with pytest.raises(Refused, match=r"status 2$"):
        replay.run(0)


def _make_wrong(given, name, value):
    """Make one value of what the core is given wrong."""
    sizes = {"way_ptr": given.ways + 1, "capacity": given.links}
    kinds = {"use_link": ctypes.c_int32, "way_ptr": ctypes.c_int64}
    member = interface.Member.from_address(given.member)
    if name in ("nodes", "messages", "ways", "in_flight", "cores"):
        setattr(given, name, value)
    elif name == "first_ready":
        member.first_ready = value
    elif name in ("order", "message"):
        column = np.ctypeslib.as_array((ctypes.c_int32 * 2).from_address(getattr(member, name)))
        column[:] = value
    else:
        count = sizes.get(name, given.uses if name.startswith("use") else given.ways)
        count = given.messages if name in COLUMNS else count
        kind = COLUMNS.get(name) or kinds.get(name, ctypes.c_double)
        (kind * count).from_address(getattr(given, name))[count // 2] = value
