"""Names of models: where there are those that a graph's kernels need, and under which names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base import library as libraries
from tasksim.base.errors import InputError
from tasksim.base.wording import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary
    from tasksim.platform.description import Platform
    from tasksim.scenario.scenario import Scenario

__all__ = ["models_path", "require_models"]


def require_models(models: ModelLibrary, graph: TaskGraph, architectures: Sequence[str]) -> None:
    """Raise :exc:`InputError` for kernels without a model; with what else they may be called."""
    try:
        models.require(graph.model_names, architectures)
    except InputError as error:
        flag = option("model_names")
        options = [f"{flag} '{text}'" for text in _templates(graph, models.kernels())]
        if not options:
            raise
        raise InputError(f"{error}; for models called otherwise: {' or '.join(options)}") from None


def models_path(scenario: Scenario, platform: Platform) -> Path:
    """Return where the models of a scenario are that has some: as named, or the platform's.

    Natively, those of this machine. Raises :exc:`InputError` if there are none.
    """
    library = None if scenario.library is None else Path(scenario.library)
    if isinstance(scenario.models, str):
        return libraries.find("models", scenario.models, library=library)
    if platform.models is not None:
        return platform.models_folder(library)
    if scenario.clock == "simulated":
        whose = f"platform {platform.name} names none"
        if scenario.platform is None:
            whose = "identical workers have none"
        raise InputError(
            f"no kernel models: {whose}; give {option('models', 'DIR')}, or "
            f"{option('durations', 'KERNEL=SECONDS,...')}"
        )
    try:
        return libraries.find("models", platform.name, library=library)
    except InputError as error:
        raise InputError(
            f"scheduler {scenario.scheduler_label} needs kernel models, and there are none of this "
            f"machine ({platform.name}); give {option('models', 'DIR')}, or measure them: "
            "tasksim calibrate GRAPH"
        ) from error


def _templates(graph: TaskGraph, known: Sequence[str]) -> list[str]:
    """Return the templates after which each kernel of *graph* has a model among those *known*."""
    if set(graph.model_names) <= set(known):
        return []
    first = graph.kernels[0]
    around = [name.partition(first) for name in known if first in name]
    templates = [f"{before}{{kernel}}{after}" for before, _, after in around]
    return [
        text
        for text in templates
        if {text.replace("{kernel}", kernel) for kernel in graph.kernels} <= set(known)
    ]
