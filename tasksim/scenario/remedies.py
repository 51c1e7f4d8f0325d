"""Remedies for kernels without models: durations, models of another name, a calibration.

They end the message of an error, each complete but for what only the user knows: seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base import library as libraries
from tasksim.base.errors import InputError, option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["as_durations", "as_models", "calibration"]

MACHINE = "mymachine"
"""The name that stands in examples for the user's own machine."""


def as_durations(kernels: Sequence[str]) -> str:
    """Return the option that says what *kernels* take.

    >>> as_durations(["pack", "relax"])
    'durations=pack=SECONDS,relax=SECONDS'
    """
    return option("durations", ",".join(f"{kernel}=SECONDS" for kernel in kernels))


def as_models(
    graph: TaskGraph, kernels: Sequence[str], architectures: Sequence[str], library: Path | None
) -> str:
    """Return the option for the first models by name that *kernels* of *graph* all have.

    ``DIR`` stands for the name where there are none.
    """
    from tasksim.models.files.store import ModelLibrary

    of = dict(zip(graph.kernels, graph.model_names, strict=True))
    needed = [of[kernel] for kernel in kernels]
    for name, path in libraries.names("models", library=library).items():
        try:
            ModelLibrary(path).require(needed, architectures)
        except (InputError, OSError):
            continue
        return option("models", name)
    return option("models", "DIR")


def calibration(graph: TaskGraph, then: str) -> str:
    """Return how the kernels of *graph* are measured; nothing if they cannot be executed.

    Parameters
    ----------
    graph : TaskGraph
    then : str
        The option that takes what was measured: ``platform`` or ``models``.
    """
    words = _as_words(graph)
    if words is None:
        return ""
    command = f"tasksim calibrate {words} --name {MACHINE}"
    return f"; or measure them on this machine, '{command}', and give {option(then, MACHINE)}"


def _as_words(graph: TaskGraph) -> str | None:
    """Return the generator of *graph* with its settings but for defaults; None if none executes."""
    import shlex

    from tasksim.graph.apps.registry import GENERATORS
    from tasksim.kernels.registry import EXECUTORS

    if graph.name not in GENERATORS:
        return None
    generator = GENERATORS.find(graph.name)
    if generator.executor is None and graph.name not in EXECUTORS:
        return None
    defaults = {parameter.name: parameter.default for parameter in generator.parameters}
    given = dict(graph.arguments)
    if not set(given) <= set(defaults):  # a file's, whose graph only is called so
        return None
    settings = [f"{key}={value}" for key, value in given.items() if defaults[key] != value]
    return shlex.join([graph.name, *settings])
