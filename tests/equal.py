"""Both engines asked the same: cases drawn from a seed, and what differs between the answers."""

from __future__ import annotations

import os
import random
from dataclasses import fields as columns
from dataclasses import is_dataclass
from math import inf, nan

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.engine.choice import Question, replayed
from tasksim.engine.outcome import machine, records
from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, Scratch, W
from tasksim.platform.description import (
    Allocation,
    Copying,
    Device,
    Link,
    Memory,
    Overheads,
    Platform,
    Route,
    Worker,
)
from tasksim.run.first_difference import first_difference
from tasksim.run.record import Run
from tasksim.schedulers.registry import create

LONG = os.environ.get("TASKSIM_LONG_TESTS") == "1"
"""Whether slow tests go over all their cases, an hour on two cores, or over some of them."""
ACCESSES = (R, R, W, RW, RW, Commute, Reduce, Scratch)
OVERHEADS = (
    Overheads(),
    Overheads(submission_s=1e-5, task_s=1e-6, wakeup_s=2e-6),
    Overheads(progress_s=1e-6),
    Overheads(
        submission_s=1e-6, push_s=1e-6, fetch_s=1e-6, progress_s=1e-6, kernel_s=1e-5, copy_s=1e-5
    ),
)
"""The runtime's own costs: none, the basic ones, one of machines, all those of StarPU-SimGrid."""
KERNELS = ("gemm", "potrf", "syrk", "trsm")


def drawn_graph(draw):
    """Up to 60 tasks on a few data; a third of the graphs has hints."""
    builder = GraphBuilder("drawn")
    sizes = draw.choices((1, 8, 8, 9, 16), k=draw.randint(1, 9))
    data = [builder.handle(f"x{i}", size_bytes=size) for i, size in enumerate(sizes)]
    hints = draw.choice((0.0, 0.0, 0.3))
    priorities = draw.choice(((0,), (0, 1, 2), (-(2**31), -3, 0, 1, 2**31 - 1)))
    for _ in range(draw.choice((0, 1, 7, 25, 60))):
        chosen = draw.sample(data, draw.randint(0, min(3, len(data))))
        builder.insert(
            draw.choice(KERNELS),
            *(draw.choice(ACCESSES)(handle) for handle in chosen),
            priority=draw.choice(priorities),
        )
        if draw.random() < hints:
            builder.wont_use(draw.choice(data))
    return builder.build()


def drawn_platform(draw):
    """Cores on one memory, of one node or of several; or devices, with much memory or little."""
    return draw.choice((_cores, _cores, _nodes, _devices, _devices, _devices))(draw)


def _cores(draw):
    count = draw.choice((1, 2, 3, 6, 40))
    kinds = draw.choices(draw.choice((("cpu",), ("cpu", "big"), ("cuda", "hip", "big"))), k=count)
    workers = [Worker(i, f"w{i}", kind, 0) for i, kind in enumerate(kinds)]
    return _made(draw, workers, [Memory(0, "ram")])


def _nodes(draw):
    """Cores of two nodes; the first has one memory or two."""
    memories = [Memory(0, "n0", 0), Memory(1, "n1", 1), Memory(2, "m", 0)][: draw.randint(2, 3)]
    places = draw.choices(memories, k=draw.randint(1, 7))
    workers = [Worker(i, f"w{i}", "cpu", m.id, m.node) for i, m in enumerate(places)]
    return _made(draw, workers, memories)


def _devices(draw):
    devices, cores = draw.randint(1, 3), draw.randint(0, 3)
    size = draw.choice((None, 64.0, 48.0, 40.0))
    kind = draw.choice(("cuda", "hip"))
    workers = [
        *(Worker(i, f"gpu{i}", kind, i + 1) for i in range(devices)),
        *(Worker(devices + i, f"cpu{i}", "cpu", 0) for i in range(cores)),
    ]
    memories = [Memory(0, "ram"), *(Memory(i + 1, f"m{i}", 0, size) for i in range(devices))]
    device = Device(draw.randint(1, 4), draw.choice(((), ("potrf",))))
    return _made(draw, workers, memories, {kind: device})


def _made(draw, workers, memories, devices=None):
    pairs = [(a, b) for a in range(len(memories)) for b in range(len(memories)) if a != b]
    if draw.random() < 0.5:
        pairs = [pair for pair in pairs if 0 in pair]
    latency = draw.choice((0.0, 1e-5))
    links = [Link(i, f"l{i}", None, draw.choice((1e5, 3e5)), latency) for i in range(len(pairs))]
    return Platform(
        name="drawn",
        workers=tuple(workers),
        memories=tuple(memories),
        overheads=draw.choice(OVERHEADS),
        links=tuple(links),
        routes=tuple(Route(*pair, (i,)) for i, pair in enumerate(pairs)),
        devices=devices or {},
        allocation=Allocation(chunk_bytes=16.0, unit_bytes=1.0, largest_bytes=0.0),
        copying=Copying(fetches=draw.randint(1, 5), serialised=draw.random() < 0.5),
    )


def drawn_estimates(draw, classes, tasks):
    """Per class and task: few values, so that ends coincide, or many; not all known or possible."""
    values = draw.choice(((1e-4, 2e-4, 3e-4), (0.0, nan, 1e-4, 1e-4, 3e-4), None))
    table = [
        [draw.uniform(1e-5, 1e-3) if values is None else draw.choice(values) for _ in range(tasks)]
        for _ in range(classes)
    ]
    return np.array(table, np.float64).reshape(classes, tasks)


def drawn_question(seed, scheduler):
    """Return what is asked of both engines, with a new scheduler each time."""
    draw = random.Random(seed)
    graph, platform = drawn_graph(draw), drawn_platform(draw)
    classes, tasks = len(platform.classes), len(graph)
    estimates = drawn_estimates(draw, classes, tasks)
    costs = np.array([[draw.choice((1e-4, 2e-4, 7e-5)) for _ in range(tasks)]] * classes)
    costs = costs.reshape(classes, tasks)
    if draw.random() < 0.5:  # every class lacks some kernels, the first has all
        lacking = np.array([[draw.random() < 0.3 for _ in KERNELS] for _ in range(classes)])
        lacking[0] = False
        costs[lacking[:, graph.kernel]] = inf
        estimates[lacking[:, graph.kernel]] = inf
    pushes = draw.choice(("serial", "serial", "blind"))
    policy = create(scheduler) if isinstance(scheduler, str) else scheduler(platform)
    return Question(graph, platform, policy, costs, estimates, simultaneous_pushes=pushes)


def answer(question, engine, seed=0):
    """Return all that came out, by name, each column as its bytes; or the error, in words."""
    try:
        return in_bytes(question, replayed(question, seed, engine).replay)
    except TasksimError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def in_bytes(question, replay):
    """Return what came out of a *replay*, by name, each column as its bytes."""
    found = {}
    for table, fields in records(question.graph, replay.outcome()).items():
        if not is_dataclass(fields):
            found[table] = fields
            continue
        for column in columns(fields):
            values = getattr(fields, column.name)
            found[f"{table}.{column.name}"] = (values.dtype.str, values.tobytes())
    return found


def difference(question, given, other):
    """Return the columns in which the bytes of two replays differ, and the first event that does.

    None: in none.
    """
    ours, others = (in_bytes(question, replay) for replay in (given, other))
    differ = [name for name in ours | others if ours.get(name) != others.get(name)]
    if not differ:
        return None
    runs = (as_run(question, replay) for replay in (given, other))
    return f"{', '.join(differ)}: {first_difference(*runs)}"


def as_run(question, replay):
    """Return what came out of a *replay* as a run."""
    graph, platform = question.graph, question.platform
    return Run(
        kind="simulated",
        graph_name=graph.name,
        graph_arguments={},
        kernel_names=graph.kernels,
        platform=platform.name,
        scheduler=question.scheduler.name,
        seed=None,
        **machine(platform),
        **records(graph, replay.outcome()),
    )


def differing(seed, scheduler):
    """Return the columns in which the engines' answers to one drawn question differ."""
    if drawn_question(seed, scheduler).needs_threads:
        return []  # only one engine has them
    given, other = (
        answer(drawn_question(seed, scheduler), engine, seed) for engine in ("simpy", "compiled")
    )
    if "error" in given or "error" in other:
        return [] if given == other else [given.get("error"), other.get("error")]
    assert given.keys() == other.keys()
    return [name for name in given if given[name] != other[name]]
