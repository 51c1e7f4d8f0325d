"""Contention in tests: kinds and platforms made by hand; questions in which tasks are slowed."""

from __future__ import annotations

from dataclasses import replace

from tasksim.engine.slowing import Kinds, Slowing
from tasksim.models.contention import Contention
from tasksim.platform.description import MemoryDomain, Platform

FACTORS = (1.0, 1.125, 1.37, 2.0, 1.0 / 0.7)
CURVES = ((), (8.0,), (8.0, 11.0), (7.0, 7.7, 9.9))
"""What a memory gives to 1, 2, ... cores; kernels ask for a few bytes per second."""


def on_one_memory(workers, *curve, **given):
    """Return a platform whose cores share a memory, with a bandwidth *curve*."""
    domain = MemoryDomain("ram", tuple(range(workers)), curve, **given)
    return replace(Platform.identical(workers), memory_domains=(domain,))


def slowing(graph, platform, **known):
    """Return how kernels of *graph* are slowed, each as *known* has it."""
    row = [known.get(name, Contention()) for name in graph.model_names]
    return Slowing(Kinds(graph.model_names, [row], [0] * len(platform.classes)), platform)


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
