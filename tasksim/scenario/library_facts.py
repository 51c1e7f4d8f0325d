"""Facts in model files beside durations: energies of kernels, and those that hold Python's lock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.durations import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.platform.description import Platform

__all__ = ["with_energies", "with_lock_turns"]


def with_lock_turns(
    graph: TaskGraph, models: ModelLibrary, architectures: Sequence[str]
) -> TaskGraph:
    """Return *graph* with the tasks that hold Python's lock marked to run one at a time.

    The files of *models* say which kernels hold the lock, by measurement.
    """
    known = models.kernels()
    holders = {
        kernel
        for kernel, name in zip(graph.kernels, graph.model_names, strict=True)
        if name in known
        for found in [models.file(name).architectures]
        if any(found[a].holds_lock for a in architectures if a in found)
    }
    if not holders:
        return graph
    from tasksim.graph.commutation import taking_turns

    return taking_turns(graph, holders)


def with_energies(graph: TaskGraph, platform: Platform, models: ModelLibrary) -> Platform:
    """Return *platform* with the power of the kernels whose energy is in *models*.

    The power of a kernel on a worker is its idle power plus the joules of all tasks of the kernel
    divided by their seconds on that worker, both predicted by the models. That is exact if the
    tasks of a kernel are identical, or all run on one architecture. Power in the platform's file
    takes precedence over models.
    """
    assert platform.power is not None
    powers = dict(platform.power.architectures)
    for architecture, power in powers.items():
        known = dict(_watts(graph, platform, models, architecture))
        if known:
            kernels = {name: power.idle_w + watts for name, watts in known.items()}
            powers[architecture] = replace(power, kernels={**kernels, **power.kernels})
    if powers == platform.power.architectures:
        return platform
    return replace(platform, power=replace(platform.power, architectures=powers))


def _watts(
    graph: TaskGraph, platform: Platform, models: ModelLibrary, architecture: str
) -> Iterator[tuple[str, float]]:
    """Yield the kernels of *graph* with known energy, and their watts above idle."""
    groups = [group for group in platform.classes if group.architecture == architecture]
    labels = [group.models for group in groups for _ in group.workers]
    asked = Asked(graph)
    for kernel, name in enumerate(graph.kernels):
        found = {label: _of_tasks(asked, kernel, models, label) for label in set(labels)}
        known = [pair for label in labels if (pair := found[label]) is not None]
        seconds = sum(seconds for _, seconds in known)
        if seconds > 0:
            yield name, sum(joules for joules, _ in known) / seconds


def _of_tasks(
    asked: Asked, kernel: int, models: ModelLibrary, architecture: str
) -> tuple[float, float] | None:
    """Return joules and seconds of all tasks of *kernel*; None if their energy is unknown."""
    name = asked.graph.model_names[kernel]
    try:
        energy = models.energy(name, architecture)
    except InputError:  # that architecture cannot run the kernel
        return None
    if energy is None:
        return None
    return _total(asked, kernel, energy), _total(asked, kernel, models.model(name, architecture))


def _total(asked: Asked, kernel: int, model: KernelModel) -> float:
    table, rows = asked.rows(kernel, model)
    return float(np.sum(model.predict(table)[rows]))
