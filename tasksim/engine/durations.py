"""How long each task takes in each class of workers: settled before the clock starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.base import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.base import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.platform.description import Platform

__all__ = ["Models", "durations"]


class Models(Protocol):
    """Where kernel models come from: a folder of coefficient files, or given constants."""

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel* on *architecture*; :exc:`InputError` if there is none."""

    def locality(self, kernel: str, architecture: str) -> Locality | None:
        """Return what far data cost *kernel*; None if nothing is known of it."""


def durations(
    graph: TaskGraph,
    platform: Platform,
    models: Models,
    rng: np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return the duration of each task in each class of workers, in seconds.

    Parameters
    ----------
    graph, platform : TaskGraph, Platform
        What is to be run, and where.
    models : Models
        The kernel models, looked up by the graph's model names.
    rng : numpy.random.Generator, optional
        Draw each task's duration from its model's distribution; by default, its mean.

    Returns
    -------
    ndarray, shape (classes, tasks)
        Infinite where a class has no model of the task's kernel, that is, cannot run it.

    Raises
    ------
    InputError
        If a kernel has no model for any architecture of the platform.
    """
    classes = platform.classes
    result = np.full((len(classes), len(graph)), np.inf)
    for kernel in range(len(graph.kernels)):
        tasks = np.flatnonzero(graph.kernel == kernel)
        found = _models_per_class(graph.model_names[kernel], platform, models)
        for index, model in found.items():
            table = columns(model, graph.parameter_names[kernel], graph.parameters[kernel])
            rows = graph.row[tasks]
            times = model.predict(table)[rows] if rng is None else model.sample(table[rows], rng)
            result[index, tasks] = times / platform.speeds[classes[index].architecture]
    return result


def _models_per_class(kernel: str, platform: Platform, models: Models) -> dict[int, KernelModel]:
    """Return the model of *kernel* per class index, for the classes that have one."""
    found: dict[int, KernelModel] = {}
    refused: InputError | None = None
    for index, group in enumerate(platform.classes):
        architecture = group.models
        try:
            found[index] = models.model(kernel, architecture)
        except InputError as error:
            refused = refused or error
    if not found and refused is not None:
        raise refused
    return found
