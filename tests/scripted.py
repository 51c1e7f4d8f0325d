"""Replays by hand: a machine of round numbers, a scheduler that does as it is told."""

from __future__ import annotations

from collections import deque

import numpy as np

from tasksim.engine.question import Question
from tasksim.engine.replay import Replay
from tasksim.graph.builder import GraphBuilder
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
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.registry import create

RAM, GPU0, GPU1 = 0, 1, 2

LARGE = Allocation(chunk_bytes=1.0, unit_bytes=1.0, largest_bytes=0.0)
"""Every block is allocated on its own."""


def machine(
    devices=1,
    cores=1,
    size=None,
    pipeline=2,
    synchronous=(),
    direct=False,
    bandwidth=1.0,
    latency=0.0,
    allocation=LARGE,
    copying=None,
    **overheads,
):
    """Workers 0 to *devices* - 1 drive devices, the others are cores; 1 byte per second per way.

    *direct*: there are ways between devices as well. Nothing costs anything but what is given.
    """
    ends = [(a, b) for a in range(devices + 1) for b in range(devices + 1) if a != b]
    ends = [pair for pair in ends if direct or 0 in pair]
    return Platform(
        name="by hand",
        workers=(
            *(Worker(i, f"gpu{i}", "cuda", i + 1) for i in range(devices)),
            *(Worker(devices + i, f"cpu{i}", "cpu", 0) for i in range(cores)),
        ),
        memories=(
            Memory(0, "ram"),
            *(Memory(i + 1, f"m{i}", 0, size) for i in range(devices)),
        ),
        overheads=Overheads(**overheads),
        links=tuple(Link(i, f"l{i}", None, bandwidth, latency) for i in range(len(ends))),
        routes=tuple(Route(a, b, (i,)) for i, (a, b) in enumerate(ends)),
        devices={"cuda": Device(pipeline, tuple(synchronous))},
        allocation=allocation,
        copying=copying or Copying(),
    )


class Scripted(Scheduler):
    """Gives each worker its tasks, in order.

    *ahead*: task -> (task, memory) pairs, for which data are asked ahead when the first is pushed.
    """

    name = "scripted"
    uses_priorities = True

    def __init__(self, plan, ahead=None):
        self.plan = {worker: deque(tasks) for worker, tasks in plan.items()}
        self.ahead = ahead or {}
        self.ready = set()

    def push(self, task):
        self.ready.add(task)
        for other, memory in self.ahead.get(task, ()):
            self.view.prefetch(other, memory)
        for worker, tasks in self.plan.items():
            if task in tasks:
                self.view.wake(worker)

    def pop(self, worker):
        tasks = self.plan.get(worker)
        if tasks and tasks[0] in self.ready:
            return tasks.popleft()
        return None


class Played:
    """Result of a replay: times in seconds, copies as (datum, from, to, start, end), in order."""

    def __init__(self, replay):
        self.replay = replay
        self.start = list(replay.ledger.start)
        self.end = list(replay.ledger.end)
        self.worker = list(replay.ledger.worker)
        log = replay.node.memories.log
        rows = zip(log.handle, log.source, log.target, log.start, log.end, strict=True)
        copies = [(h, s, t, a / 1e9, b / 1e9) for h, s, t, a, b in rows]
        order = sorted(range(len(copies)), key=lambda i: (copies[i][3], i))
        self.copies = [copies[i] for i in order]
        self.reasons = [log.reason[i] for i in order]
        self.tasks = [log.task[i] for i in order]
        self.evictions = replay.node.memories.copies.evictions

    def valid(self, handle):
        """The memories that have a valid copy in the end."""
        mask = self.replay.node.memories.copies.valid[handle]
        return [m for m in range(mask.bit_length()) if mask >> m & 1]


def replay_of(graph, platform, scheduler, costs, estimates=None, **more):
    """Return a replay on SimPy's engine; the scheduler expects *estimates*, or else *costs*."""
    shape = len(platform.classes), len(graph)
    costs = np.array(costs, np.float64).reshape(shape)
    estimates = costs if estimates is None else np.array(estimates, np.float64).reshape(shape)
    return Replay(Question(graph, platform, scheduler, costs, estimates, **more))


def play(graph, platform, plan, ahead=None, **options):
    """Replay *graph*, whose tasks say how long they take; *plan*: per worker, or a scheduler."""
    scheduler = Scripted(plan, ahead) if isinstance(plan, dict) else create(plan)
    durations = []
    for task in range(len(graph)):
        kernel = graph.kernel[task]
        column = graph.parameter_names[kernel].index("duration_s")
        durations.append(float(graph.parameters[kernel][graph.row[task], column]))
    table = [durations] * len(platform.classes)
    replay = replay_of(graph, platform, scheduler, table, **options)
    replay.run(0)
    return Played(replay)


def tasks(*given, sizes=(3, 3, 3, 3), hints=()):
    """A graph of *given* tasks: (duration, access...), each a function and a number of a datum.

    *hints*: (number of tasks before, datum). A kernel other than "task" comes before the duration.
    """
    g = GraphBuilder("by hand")
    data = [g.handle(f"x{i}", size_bytes=size) for i, size in enumerate(sizes)]
    for number, (*kernel, duration, accesses) in enumerate(given):
        for after, datum in hints:
            if after == number:
                g.wont_use(data[datum])
        g.insert(
            kernel[0] if kernel else "task",
            *(mode(data[i]) for mode, i in accesses),
            duration_s=float(duration),
        )
    for after, datum in hints:
        if after == len(given):
            g.wont_use(data[datum])
    return g.build()
