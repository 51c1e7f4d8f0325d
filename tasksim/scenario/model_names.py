"""Names of models: whether there are those that a graph's kernels need, and under which names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.base.wording import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary

__all__ = ["require_models"]


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
