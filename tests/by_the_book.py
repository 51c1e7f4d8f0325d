"""Static plans straight from their definitions, and problems to compare them on."""

from __future__ import annotations

import numpy as np
from classic import processors
from hypothesis import strategies as st
from strategies import ACCESSES

from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.schedulers.static import Problem

INF = float("inf")


@st.composite
def problems(draw, max_tasks=12, commuting=True):
    """A few tasks with data of several sizes, a few workers on a few memories, some unable."""
    g = GraphBuilder("random")
    memory_of = draw(st.lists(st.integers(0, 2), min_size=1, max_size=4))
    memory_of = [sorted(set(memory_of)).index(memory) for memory in memory_of]
    data = [
        g.handle(f"x{k}", size_bytes=draw(st.integers(0, 9)), home=draw(st.sampled_from(memory_of)))
        for k in range(draw(st.integers(1, 4)))
    ]
    kinds = ACCESSES if commuting else (R, W, RW)
    for _ in range(draw(st.integers(0, max_tasks))):
        chosen = draw(st.lists(st.sampled_from(data), unique=True, max_size=3))
        g.insert("task", *(draw(st.sampled_from(kinds))(x) for x in chosen))
    platform = processors(memory_of, *draw(st.sampled_from([(1.0, 0.0), (2.0, 0.5), (0.5, 0.0)])))
    graph = g.build()
    values = st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.5, 7.0, INF])
    costs = np.array([[draw(values) for _ in range(len(graph))] for _ in memory_of])
    costs = costs.reshape(len(memory_of), len(graph))
    costs[0, np.isinf(costs).all(axis=0)] = 1.0
    return Problem.of(graph, platform, costs)


class ByTheBook:
    """Plans straight from the definitions: sets of busy intervals, loops over everything."""

    def __init__(self, problem):
        self.problem, self.edges = problem, problem.edges
        self.worker, self.start, self.end = {}, {}, {}

    def ready(self, task, worker):
        problem, memory = self.problem, self.problem.memory_of
        there = memory[worker]
        times = [0.0]
        for row in np.flatnonzero(self.edges.target == task):
            source = int(self.edges.source[row])
            here = memory[self.worker[source]]
            copy = self.edges.copies[row] * problem.latency_s[here, there]
            copy += self.edges.size_bytes[row] * problem.seconds_per_byte[here, there]
            times.append(self.end[source] + copy)
        initial = [
            problem.latency_s[home, there] + size * problem.seconds_per_byte[home, there]
            for other, home, size in zip(*problem.initial, strict=True)
            if other == task
        ]
        return max(*times, sum(initial))

    def cost(self, task, worker):
        return float(self.problem.costs_s[task, self.problem.class_of[worker]])

    def inserted(self, task, worker):
        """The earliest start: when it is ready, or when a task of the worker ends."""
        ready, cost = self.ready(task, worker), self.cost(task, worker)
        if cost == INF:
            return INF
        busy = [(self.start[t], self.end[t]) for t, w in self.worker.items() if w == worker]
        for start in sorted([ready, *(end for _, end in busy if end > ready)]):
            if all(start + cost <= b or start >= e for b, e in busy):
                return start
        raise AssertionError

    def place(self, task, worker, start):
        self.worker[task], self.start[task] = worker, start
        self.end[task] = start + self.cost(task, worker)

    def plan(self):
        return [(self.worker[t], self.start[t], self.end[t]) for t in range(self.problem.tasks)]


def rows(made):
    return list(zip(made.worker.tolist(), made.start_s.tolist(), made.end_s.tolist(), strict=True))
