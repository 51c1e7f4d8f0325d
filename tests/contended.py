"""Contention in tests: kinds and platforms made by hand; questions in which tasks are slowed."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from tasksim.engine.slowing import Kinds, Slowing
from tasksim.models.contention import Contention
from tasksim.platform.description import MemoryDomain, Platform
from tasksim.platform.parts import Numa
from tasksim.schedulers.base import Scheduler

FACTORS = (1.0, 1.125, 1.37, 2.0, 1.0 / 0.7)
CURVES = ((), (8.0,), (8.0, 11.0), (7.0, 7.7, 9.9))
"""Bandwidth of a memory for 1, 2, ... cores; kernels demand a few bytes per second."""


class Fixed(Scheduler):
    """Each worker has its tasks, and runs them in order."""

    name = "fixed"

    def __init__(self, owner):
        self.owner = owner

    def attach(self, view, rng):
        self.view, self.ready = view, set()
        self.next = [
            [t for t, w in enumerate(self.owner) if w == n] for n in range(len(view.workers))
        ]
        for tasks in self.next:
            tasks.reverse()

    def push(self, task):
        self.ready.add(task)
        self.view.wake(self.owner[task])

    def pop(self, worker):
        tasks = self.next[worker]
        return tasks.pop() if tasks and tasks[-1] in self.ready else None


def on_one_memory(workers, *curve, **given):
    """Return a platform whose cores share a memory, with a bandwidth *curve*."""
    domain = MemoryDomain("ram", tuple(range(workers)), curve, **given)
    return replace(Platform.identical(workers), memory_domains=(domain,))


def slowing(graph, platform, **known):
    """Return how kernels of *graph* are slowed, each as *known* has it."""
    row = [known.get(name, Contention()) for name in graph.model_names]
    return Slowing(Kinds(graph.model_names, [row], [0] * len(platform.classes)), platform)


def sockets(count, each, *curve, distance=20.0, sizes=None, **given):
    """Return a platform of so many sockets, of *each* cores and a memory; 10 is local."""
    platform = Platform.identical(count * each)
    domains = tuple(
        MemoryDomain(
            f"numa{number}", tuple(range(number * each, (number + 1) * each)), curve,
            size_bytes=None if sizes is None else sizes[number],
        )
        for number in range(count)
    )  # fmt: skip
    distances = tuple(
        tuple(10.0 if one == other else distance for other in range(count)) for one in range(count)
    )
    return replace(platform, memory_domains=domains, numa=Numa(distances, **given))


def non_uniform(question, draw):
    """Return *question*, slowed as by :func:`slowed`, with distances between the domains."""
    asked = slowed(question, draw)
    domains = tuple(
        replace(domain, size_bytes=draw.choice((None, None, 6.0, 40.0)))
        for domain in asked.platform.memory_domains
    )
    names = [domain.name for domain in domains]
    numa = Numa(
        ((10.0, draw.choice((10.0, 14.0, 21.0))), (draw.choice((1.0, 1.7)), 1.0)),
        draw.choice(((), ((inf, 4.0), (3.0, inf)))),
        draw.choice(("first_touch", "first_touch", "interleaved", *names)),
        draw.choice((0.0, 0.0, 5.0, 40.0)),
    )
    # Drawn platforms may have several nodes, which no platform with distances has.
    alike = Platform.identical(len(asked.platform.workers))
    platform = replace(alike, memory_domains=domains, numa=numa)
    return replace(asked, slowing=Slowing(asked.slowing.kinds, platform))


def slowed(question, draw):
    """Return *question* with its cores in one domain or two, and drawn factors and demands."""
    workers = [
        worker.id
        for worker in question.platform.workers
        if not question.platform.device(worker.architecture).pipeline
    ]
    cut = draw.randint(0, len(workers))
    domains = tuple(
        MemoryDomain(f"m{number}", tuple(part), draw.choice(CURVES))
        for number, part in enumerate((workers[:cut], workers[cut:]))
    )
    platform = replace(question.platform, memory_domains=domains)
    names = question.graph.model_names
    classes = [group.models for group in platform.classes]
    architectures = list(dict.fromkeys(classes))
    known = [[_drawn(names, draw) for _ in names] for _ in architectures]
    of_class = [architectures.index(name) for name in classes]
    return replace(
        question, platform=platform, slowing=Slowing(Kinds(names, known, of_class), platform)
    )


def _drawn(names, draw):
    beside = {
        name: tuple(draw.choice(FACTORS) for _ in range(draw.randint(1, 3)))
        for name in names
        if draw.random() < 0.7
    }
    return Contention(draw.choice((0.0, 1.0, 3.3, 9.0)), draw.choice((0.0, 0.3, 1.0)), beside)
