"""Changes to a network for one run, such as ``--set network.links.*.bandwidth=x2``.

A setting is a path and a value, as for platforms. ``links.KIND.bandwidth`` and
``links.KIND.latency`` are those of the links of a kind, such as a level of a tree; a kind may have
the wildcards ``*`` and ``?``. ``isend`` and ``receive`` are the costs of a message for its sender
and its receiver. A value ``xFACTOR`` multiplies the present value.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, nearest
from tasksim.base.units import parse_quantity
from tasksim.network.description import link_kinds
from tasksim.network.model import HostCost
from tasksim.platform.layers import MULTIPLY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.units import Dimension
    from tasksim.network.description import Network
    from tasksim.network.model import Model

__all__ = ["with_settings"]

_OF_LINKS: Final[dict[str, tuple[str, Dimension]]] = {
    "bandwidth": ("bandwidth_bytes_per_s", "bandwidth"), "latency": ("latency_s", "time"),
}  # fmt: skip
"""Fields of links, with their columns and dimensions."""
_COSTS: Final = {"isend": "isend_costs", "receive": "receive_costs"}
"""Costs of a message for a host, with their attributes of a model."""
_LEGAL: Final = (
    "network.links.KIND.bandwidth, network.links.KIND.latency, network.isend, network.receive"
)


def with_settings(network: Network, settings: Sequence[str]) -> Network:
    """Return a network of a known number of hosts with the changes of *settings*.

    Raises
    ------
    InputError
        If a path is unknown or a value is illegal: all problems at once, a line each.

    Examples
    --------
    >>> from tasksim.network.load import read_network
    >>> switch = read_network("switch:bandwidth=4GB/s,latency=1us").sized(2)
    >>> with_settings(switch, ["network.links.cable.latency=x3"]).latency_s(0, 1)
    6e-06
    """
    problems = []
    for text in settings:
        try:
            network = _with_setting(network, text)
        except InputError as error:
            problems.append(f"--set {text}: {error}")
    if problems:
        raise InputError("\n".join(problems))
    return network


def _with_setting(network: Network, text: str) -> Network:
    path, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise InputError("must be PATH=VALUE, e.g. network.links.*.bandwidth=x2")
    match path.split(".")[1:]:
        case ["links", *kind, field] if kind and field in _OF_LINKS:
            return _with_links(network, ".".join(kind), field, value)
        case [word] if word in _COSTS:
            return replace(network, model=_with_costs(network.model, _COSTS[word], value))
    raise InputError(f"unknown path (got {path!r}, legal {_LEGAL})")


def _with_links(network: Network, pattern: str, field: str, value: str) -> Network:
    """Return *network* with another value of a field of the links whose kinds match *pattern*."""
    kinds = link_kinds(network.topology)
    found = [numbers for kind, numbers in kinds.items() if fnmatchcase(kind, pattern)]
    if not found:
        legal = ", ".join(kinds)
        raise InputError(
            f"no such kind of link (got {pattern!r}, legal {legal}){nearest(pattern, kinds)}"
        )
    column, dimension = _OF_LINKS[field]
    links, numbers = network.links, np.concatenate(found)
    values = np.array(getattr(links, column))
    values[numbers] = _new(values[numbers], value, dimension)
    if field == "bandwidth" and not (values[numbers] > 0).all():
        raise InputError(f"must be above 0 (got {value!r})")
    changed: Any = {column: values}
    return replace(network, changed_links=replace(links, **changed))


def _with_costs(model: Model, attribute: str, value: str) -> Model:
    """Return *model* with other costs of a message for a host: a fixed time, or a factor."""
    costs: tuple[HostCost, ...] = getattr(model, attribute)
    if MULTIPLY.fullmatch(value) is None:
        costs = (HostCost(0.0, _new(0.0, value, "time"), 0.0),)
    elif not costs:
        raise InputError("there is no value to multiply; give one")
    else:
        costs = tuple(
            HostCost(
                c.above_bytes, _new(c.fixed_s, value, "time"), _new(c.per_byte_s, value, "time")
            )
            for c in costs
        )
    changed: Any = {attribute: costs}
    return replace(model, **changed)


def _new(present: Any, value: str, dimension: Dimension) -> Any:
    """Return *present*, a number or an array, times a factor; or the quantity in *value*."""
    factor = MULTIPLY.fullmatch(value)
    if factor is None:
        given = parse_quantity(value, dimension)
    else:
        given = parse_quantity(factor[1] + (factor[2] or ""), "factor")
    if given < 0:
        raise InputError(f"must not be negative (got {value!r})")
    return given if factor is None else present * given
