"""Questions to both engines, drawn: from a seed, or by Hypothesis, which makes them smaller.

What is drawn: graphs, machines with much memory or little, the runtime's costs, what tasks take and
what schedulers believe of it. The functions draw by *draw*: a ``random.Random``, or
:class:`Digits`.
"""

from __future__ import annotations

import random
from itertools import repeat
from math import inf, nan

import numpy as np
from hypothesis import strategies as st

from tasksim.engine.locality import FarCharge, FarCosts
from tasksim.engine.question import Question
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
from tasksim.schedulers.registry import create

KERNELS = ("gemm", "potrf", "syrk", "trsm")
ACCESSES = (R, R, W, RW, RW, Commute, Reduce, Scratch)
PRIORITIES = ((0,), (0, 1, 2), (0, -3, 1, 2**31 - 1, -(2**31)))
COSTS_S = (1e-4, 2e-4, 7e-5)
ESTIMATES_S = (
    (1e-4, 2e-4, 3e-4),
    (1e-4, 0.0, nan, 1e-4, 3e-4),
    tuple(1e-5 * (17 * i % 97 + 1) for i in range(97)),
)
"""Few, so that ends coincide; some that are not known; many."""
OVERHEADS = (
    Overheads(),
    Overheads(submission_s=1e-5, task_s=1e-6, wakeup_s=2e-6),
    Overheads(task_s=1e-6, start_s=3e-4),
    Overheads(progress_s=1e-6),
    Overheads(
        submission_s=1e-6, push_s=1e-6, fetch_s=1e-6, progress_s=1e-6, kernel_s=1e-5, copy_s=1e-5
    ),
)
"""Costs of the runtime: none, basic ones, late cores, one of machines, all of StarPU-SimGrid."""
ALLOCATIONS = (
    Allocation(chunk_bytes=16.0, unit_bytes=1.0, largest_bytes=0.0),
    Allocation(chunk_bytes=16.0, unit_bytes=4.0, largest_bytes=8.0),
    Allocation(chunk_bytes=16.0, unit_bytes=4.0, largest_bytes=16.0),
    Allocation(
        2e-5, 7e-5, pin_s=20.0, chunk_bytes=8.0, unit_bytes=8.0, largest_bytes=8.0, usable=0.9
    ),
)
"""All blocks large, some of them, none; and with costs."""


def drawn_question(seed, scheduler):
    """Return what *seed* asks of both engines; *scheduler*: a name, or what makes one."""
    draw = random.Random(seed)
    return _question(draw, repeat(draw, draw.choice((0, 1, 7, 25, 60))), scheduler)


_TASK = st.binary(min_size=12, max_size=12)
_TASKS = st.one_of(*(st.lists(_TASK, min_size=least, max_size=60) for least in (0, 0, 10, 25)))
_REST = st.binary(min_size=32, max_size=32)


@st.composite
def questions(draw, schedulers):
    """A question to both engines under one of *schedulers*: names, or functions that make one."""
    scheduler, rest, tasks = draw(st.sampled_from(schedulers)), draw(_REST), draw(_TASKS)
    return _question(Digits(rest), map(Digits, tasks), scheduler)


class Digits:
    """A number, of which each draw takes a digit: where all are 0, what is simplest.

    Hypothesis draws the number, and makes it smaller. It is one for all that belongs together:
    drawing each thing by itself takes longer than replaying.
    """

    def __init__(self, number):
        self._left = int.from_bytes(number, "little")

    def choice(self, values):
        self._left, digit = divmod(self._left, len(values))
        return values[digit]

    def choices(self, values, k):
        return [self.choice(values) for _ in range(k)]

    def randint(self, least, most):
        return self.choice(range(least, most + 1))

    def sample(self, values, k):
        left = list(values)
        return [left.pop(self.randint(0, len(left) - 1)) for _ in range(k)]

    def random(self):
        return 1.0 - self.randint(1, 64) / 64


def _question(draw, tasks, scheduler):
    """Return what *draw* draws and, one per task, *tasks*."""
    pushes = draw.choice(("serial", "serial", "blind"))
    reach = draw.choice((None, None, 8.0, 20.0))
    some_lack = draw.random() < 0.5
    platform = drawn_platform(draw)
    graph, costs, estimates = _drawn_tasks(draw, tasks, len(platform.classes))
    if some_lack:  # every class lacks some kernels, the first has all
        lacking = np.array([[draw.random() < 0.3 for _ in KERNELS] for _ in platform.classes])
        lacking[0] = False
        costs[lacking[:, graph.kernel]] = inf
        estimates[lacking[:, graph.kernel]] = inf
    far = None
    if reach is not None:
        near, written_s = draw.choice((0.0, 0.5, 1.0)) * reach, draw.choice((0.0, 3e-6))
        caches = min(draw.choice((1, 1, 2, 3)), len(platform.workers))
        cache_of = [draw.randint(0, caches - 1) for _ in platform.workers] if caches > 1 else None
        values = near, reach, 1e-6, written_s
        far = FarCharge(graph, FarCosts(*(np.full(costs.shape, v) for v in values)), cache_of)
    policy = create(scheduler) if isinstance(scheduler, str) else scheduler(platform)
    return Question(graph, platform, policy, costs, estimates, far, pushes)


def _drawn_tasks(draw, tasks, classes):
    """Return tasks on a few data, a third of the graphs with hints; costs and estimates."""
    builder = GraphBuilder("drawn")
    sizes = draw.choices((8, 1, 8, 9, 16), k=draw.randint(1, 12))
    data = [builder.handle(f"x{i}", size_bytes=size) for i, size in enumerate(sizes)]
    hints = draw.choice((0.0, 0.0, 0.3))
    priorities, estimates_s = draw.choice(PRIORITIES), draw.choice(ESTIMATES_S)
    costs, estimates = [], []
    for each in tasks:
        chosen = each.sample(data, each.randint(0, min(3, len(data))))
        accesses = [each.choice(ACCESSES)(handle) for handle in chosen]
        builder.insert(each.choice(KERNELS), *accesses, priority=each.choice(priorities))
        if each.random() < hints:
            builder.wont_use(each.choice(data))
        costs.append([each.choice(COSTS_S)] * classes)
        estimates.append(each.choices(estimates_s, k=classes))
    tables = (np.array(rows).reshape(-1, classes).T.copy() for rows in (costs, estimates))
    return builder.build(), *tables


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
    """Devices, which two workers may share, and cores."""
    devices, cores = draw.randint(1, 3), draw.randint(0, 3)
    owners = [owner for owner in range(1, devices + 1) for _ in range(draw.choice((1, 1, 1, 2)))]
    kind = draw.choice(("cuda", "hip"))
    workers = [
        *(Worker(i, f"gpu{i}", kind, owner) for i, owner in enumerate(owners)),
        *(Worker(len(owners) + i, f"cpu{i}", "cpu", 0) for i in range(cores)),
    ]
    sizes = draw.choices((None, 64.0, 48.0, 40.0), k=devices)
    memories = [Memory(0, "ram"), *(Memory(i + 1, f"m{i}", 0, s) for i, s in enumerate(sizes))]
    device = Device(draw.randint(1, 4), draw.choice(((), ("potrf",))))
    return _made(draw, workers, memories, {kind: device})


def _made(draw, workers, memories, devices=None):
    links, routes = _ways(draw, len(memories))
    return Platform(
        name="drawn",
        workers=tuple(workers),
        memories=tuple(memories),
        overheads=draw.choice(OVERHEADS),
        links=links,
        routes=routes,
        devices=devices or {},
        allocation=draw.choice((ALLOCATIONS[0], *ALLOCATIONS)),
        copying=Copying(
            fetches=draw.randint(1, 5),
            prefetches=draw.randint(1, 2),
            serialised=draw.random() < 0.5,
            contention=draw.choice((0.0, 2.0)),
        ),
    )


def _ways(draw, memories):
    """Links and routes between memory 0 and the others, perhaps also among these, or over a bus."""
    pairs = [(a, b) for a in range(memories) for b in range(memories) if a != b]
    if draw.random() < 0.5:
        pairs = [pair for pair in pairs if 0 in pair]
    latency = draw.choice((0.0, 1e-5))
    links = [Link(i, f"l{i}", None, draw.choice((1e5, 3e5)), latency) for i in range(len(pairs))]
    links.append(Link(len(links), "bus", None, 2e5))
    bus = (links[-1].id,) if draw.random() < 0.3 else ()
    return tuple(links), tuple(Route(*pair, (i, *bus)) for i, pair in enumerate(pairs))
