"""Kernel models by kind, built-in or from other packages.

Another package adds a kind with an entry point of the group ``tasksim.models``: its name is the
kind, its value the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.base.documents.json_document import JsonNode
from tasksim.base.errors import InputError, unknown
from tasksim.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.models.kernelmodel import KernelModel

__all__ = ["KINDS", "from_json", "kinds", "model_class"]


def _adopt(kind: str, found: Any) -> type[KernelModel]:
    from tasksim.models.kernelmodel import KernelModel

    if not (isinstance(found, type) and issubclass(found, KernelModel) and found.kind == kind):
        raise InputError(
            f"{found!r} is not a subclass of tasksim.models.kernelmodel.KernelModel "
            f"with kind = '{kind}'"
        )
    return found


KINDS: Registry[type[KernelModel]] = Registry(
    "kind of model",
    "tasksim.models",
    {
        "history": "tasksim.models.kinds.history:HistoryModel",
        "mlr": "tasksim.models.kinds.linear:LinearModel",
        "bysize": "tasksim.models.kinds.bysize:SizeHistory",
        "power": "tasksim.models.kinds.power:PowerLaw",
        "cp": "tasksim.models.tensor.model:TensorModel",
        "hybrid": "tasksim.models.tensor.hybrid:HybridModel",
        "learned": "tasksim.models.learned.model:LearnedModel",
        "counters": "tasksim.models.kinds.counted:CounterModel",
        "constant": "tasksim.models.kinds.given:ConstantModel",
    },
    _adopt,
)
"""All kinds. A new kind is a file, and a line here or an entry point of its package."""


def kinds() -> list[str]:
    """Return the names of all installed kinds of kernel models."""
    return KINDS.names()


def model_class(kind: str) -> type[KernelModel]:
    """Return the class of a *kind* of models.

    Raises :exc:`InputError`, with the nearest known kind, if it is unknown.

    >>> model_class("history").__name__
    'HistoryModel'
    """
    return KINDS.find(kind)


def from_json(data: Mapping[str, Any] | JsonNode) -> KernelModel:
    """Return the model, of any kind, that its ``to_json`` wrote."""
    node = data if isinstance(data, JsonNode) else JsonNode(dict(data))
    kind = node["kind"]
    if kind.text() not in KINDS:
        raise kind.error(str(unknown(KINDS.what, kind.text(), KINDS)))
    return model_class(kind.text()).from_json(node)
