"""JSON data of a kernel model, common to all kinds."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tasksim.base.documents.json_document import Node, to_data
from tasksim.base.errors import unknown
from tasksim.models.rows import plain_number

if TYPE_CHECKING:
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["model_data", "read_model"]

Model = TypeVar("Model", bound="KernelModel")


def model_data(model: KernelModel) -> dict[str, Any]:
    """Return a fitted *model* as plain data, which :func:`read_model` reads."""
    data = {
        "kind": model.kind,
        "options": model.get_params(),
        "parameters": model.names_,
        "domain": {n: tuple(map(plain_number, box)) for n, box in model.domain_.items()},
        **({"fixed": dict(model.fixed_)} if model.fixed_ else {}),
        **model._to_json(),
        "report": model._report,
    }
    if model.uncertainty_ is not None:
        data["uncertainty"] = model.uncertainty_.to_json()
    plain: dict[str, Any] = to_data(data)
    return plain


def read_model(kind: type[Model], data: Mapping[str, Any] | Node) -> Model:
    """Return the model of a *kind* that *data* describe."""
    node = data
    if not isinstance(node, Node):
        node = Node(dict(data) if isinstance(data, Mapping) else data)
    if node["kind"].text() != kind.kind:
        raise node["kind"].expected(f"'{kind.kind}'")
    model = kind(**_options(kind, node["options"]))
    model._from_json(node)
    if kind.needs_fit:
        model.names_ = node["parameters"].texts()
        model.domain_ = _read_domain(node["domain"], model.names_)
        if "fixed" in node.mapping():
            model.fixed_ = {name: value.number() for name, value in node["fixed"].items()}
        model._report = node["report"].mapping()
        if "uncertainty" in node.mapping():
            from tasksim.models.uncertainty.intervals import Uncertainty

            model.uncertainty_ = Uncertainty.from_json(node["uncertainty"], model)
    return model


def _options(kind: type[KernelModel], node: Node) -> dict[str, Any]:
    options = node.mapping()
    known = kind.option_names()
    for name in options:
        if name not in known:
            raise node.error(str(unknown(f"option of {kind.kind} models", name, known)))
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.default is parameter.empty and name not in options:
            raise node.error(f"'{name}' is missing")
    return options


def _read_domain(node: Node, names: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest value of each parameter in *names*."""
    domain = {}
    for name in names:
        low, high = node[name].vector(2).tolist()
        domain[name] = (low, high)
    return domain
