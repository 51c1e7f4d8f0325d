"""Kernel models by kind: the built-in ones, and those of other packages.

Another package adds a kind by an entry point of the group ``tasksim.models``, whose name is the
kind and whose value is the class.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, unknown
from tasksim.models.document import Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.models.kernelmodel import KernelModel

__all__ = ["describe", "from_json", "kinds", "model_class"]

BUILT_IN: Final = {
    "history": "tasksim.models.kinds.history:HistoryModel",
    "mlr": "tasksim.models.kinds.linear:LinearModel",
    "bysize": "tasksim.models.kinds.bysize:SizeHistory",
    "power": "tasksim.models.kinds.power:PowerLaw",
    "cp": "tasksim.models.tensor.model:TensorModel",
    "hybrid": "tasksim.models.tensor.hybrid:HybridModel",
    "constant": "tasksim.models.kinds.constant:ConstantModel",
}

GROUP: Final = "tasksim.models"


def kinds() -> list[str]:
    """Return the names of all kinds of kernel models that are installed."""
    return [*BUILT_IN, *sorted({e.name for e in entry_points(group=GROUP)} - set(BUILT_IN))]


def model_class(kind: str) -> type[KernelModel]:
    """Return the class of the models of this *kind*.

    Raises :exc:`InputError` with the nearest kind that there is.

    >>> model_class("history").__name__
    'HistoryModel'
    """
    if kind in BUILT_IN:
        return _load(BUILT_IN[kind])
    for entry in entry_points(group=GROUP):
        if entry.name == kind:
            return _loaded(kind, entry.load())
    raise unknown("kind of model", kind, kinds())


def from_json(data: Mapping[str, Any] | Node) -> KernelModel:
    """Return the model, of whatever kind, that its ``to_json`` wrote."""
    node = data if isinstance(data, Node) else Node(dict(data))
    kind = node["kind"]
    if kind.text() not in kinds():
        raise kind.error(str(unknown("kind of model", kind.text(), kinds())))
    return model_class(kind.text()).from_json(node)


def describe() -> dict[str, str]:
    """Return the first line of each kind's docstring, by kind."""
    return {kind: (model_class(kind).__doc__ or "").strip().partition("\n")[0] for kind in kinds()}


def _load(target: str) -> type[KernelModel]:
    module, _, name = target.partition(":")
    found: type[KernelModel] = getattr(importlib.import_module(module), name)
    return found


def _loaded(kind: str, found: Any) -> type[KernelModel]:
    from tasksim.models.kernelmodel import KernelModel

    if not (isinstance(found, type) and issubclass(found, KernelModel) and found.kind == kind):
        raise InputError(
            f"kind of model '{kind}': the entry point gives {found!r}, which is no subclass of "
            f"tasksim.models.kernelmodel.KernelModel with kind = '{kind}'"
        )
    return found
