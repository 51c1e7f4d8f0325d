"""Cluster of a platform file of SimGrid: ``<cluster bw=... lat=... topology=...>``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import nearest
from tasksim.base.numerals import whole_number
from tasksim.base.units import exact_quantity
from tasksim.formats.simgrid.xmltext import BANDWIDTHS, TIMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.formats.simgrid.xmltext import Element, XmlProblems

__all__ = ["cluster_fields"]

DUPLEX: Final = {"SPLITDUPLEX": True, "FULLDUPLEX": True, "SHARED": False}
_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def cluster_fields(cluster: Element, problems: XmlProblems) -> dict[str, Any]:
    """Return the fields of a section ``network:`` that say what a *cluster* is."""
    topology = cluster.attributes.get("topology", "FLAT")
    if topology not in _TOPOLOGIES:
        legal = ", ".join(_TOPOLOGIES)
        problems.at(cluster, f"topology: {legal}", f"'{topology}'{nearest(topology, _TOPOLOGIES)}")
        return {}
    hosts = _hosts(cluster, problems)
    fields: dict[str, Any] = {
        "bandwidth": _bandwidth(cluster, "bw", problems),
        "latency": _time(cluster, "lat", problems),
    }
    policy = cluster.attributes.get("sharing_policy", "SPLITDUPLEX")
    if policy not in DUPLEX:
        problems.at(cluster, f"sharing_policy: {', '.join(DUPLEX)}", f"'{policy}'")
    elif not DUPLEX[policy]:
        fields["full_duplex"] = False
    if "loopback_bw" in cluster.attributes:
        fields["loopback_bandwidth"] = _bandwidth(cluster, "loopback_bw", problems)
        if "loopback_lat" in cluster.attributes:
            fields["loopback_latency"] = _time(cluster, "loopback_lat", problems)
    return {**_TOPOLOGIES[topology](cluster, hosts, problems), **fields}


def _hosts(cluster: Element, problems: XmlProblems) -> int:
    """Return how many hosts the ``radical`` of a *cluster* names: ``0-3,7``."""
    text = problems.attribute(cluster, "radical")
    count = 0
    for part in text.split(",") if text else ():
        match = _RANGE.fullmatch(part.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else -1
        if last < first:
            problems.at(cluster, "radical: numbers and ranges such as 0-15,20", f"'{text[:40]}'")
            return 1
        count += last - first + 1
    return count


def _bandwidth(cluster: Element, name: str, problems: XmlProblems) -> str:
    value = problems.quantity(cluster, name, "bandwidth", BANDWIDTHS)
    if not value > 0:
        problems.at(cluster, f"{name}: a number above 0", f"'{cluster.attributes[name]}'")
    return exact_quantity(value, "bandwidth")


def _time(cluster: Element, name: str, problems: XmlProblems) -> str:
    return exact_quantity(problems.quantity(cluster, name, "time", TIMES), "time")


def _flat(cluster: Element, hosts: int, problems: XmlProblems) -> dict[str, Any]:
    fields: dict[str, Any] = {"topology": "switch", "nodes": hosts}
    if "limiter_link" in cluster.attributes:
        fields["limiter"] = _bandwidth(cluster, "limiter_link", problems)
    if "bb_bw" in cluster.attributes:
        fields["topology"] = "backbone"
        fields["backbone_bandwidth"] = _bandwidth(cluster, "bb_bw", problems)
        if "bb_lat" in cluster.attributes:
            fields["backbone_latency"] = _time(cluster, "bb_lat", problems)
        policy = cluster.attributes.get("bb_sharing_policy", "SHARED")
        if policy not in ("SHARED", "FATPIPE"):
            problems.at(cluster, "bb_sharing_policy: SHARED, FATPIPE", f"'{policy}'")
        if policy == "FATPIPE":
            fields["backbone_shared"] = False
    return fields


def _parameters(cluster: Element, shape: str, problems: XmlProblems) -> list[list[int]]:
    """Return the numbers of ``topo_parameters``, which must have this *shape*: ``"1;2"``."""
    text = problems.attribute(cluster, "topo_parameters")
    if "limiter_link" in cluster.attributes:
        problems.at(cluster, "limiter_link on flat clusters only", "one")
    groups = [[whole_number(word.strip()) for word in part.split(",")] for part in text.split(";")]
    lengths = [int(length) if length != "n" else None for length in shape.split(";")]
    fits = len(groups) == len(lengths) and all(
        length in (None, len(group)) for length, group in zip(lengths, groups, strict=True)
    )
    numbers = [[n for n in group if n is not None and n > 0] for group in groups]
    if not fits or list(map(len, numbers)) != list(map(len, groups)):
        problems.at(
            cluster, f"topo_parameters: counts such as {_EXAMPLES[shape]}", f"'{text[:40]}'"
        )
        return []
    return numbers


_EXAMPLES: Final = {"1;n;n;n": "2;4,4;1,2;1,2", "n": "4,4,4", "2;2;2;1": "3,4;3,2;3,1;2"}


def _refuse_other_hosts(cluster: Element, hosts: int, made: int, problems: XmlProblems) -> None:
    if made != hosts:
        problems.at(cluster, f"a radical of {made} hosts, as topo_parameters make", f"{hosts}")


def _product(numbers: list[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


def _fat_tree(cluster: Element, hosts: int, problems: XmlProblems) -> dict[str, Any]:
    parameters = _parameters(cluster, "1;n;n;n", problems)
    if not parameters:
        return {}
    (levels,), children, parents, cables = parameters
    if not len(children) == len(parents) == len(cables) == levels:
        problems.at(cluster, f"topo_parameters: {levels} numbers per part", "others")
    _refuse_other_hosts(cluster, hosts, _product(children), problems)
    return {"topology": "fat-tree", "children": children, "parents": parents, "cables": cables}


def _torus(cluster: Element, hosts: int, problems: XmlProblems) -> dict[str, Any]:
    parameters = _parameters(cluster, "n", problems)
    if not parameters:
        return {}
    _refuse_other_hosts(cluster, hosts, _product(parameters[0]), problems)
    return {"topology": "torus", "dimensions": parameters[0]}


def _dragonfly(cluster: Element, hosts: int, problems: XmlProblems) -> dict[str, Any]:
    parameters = _parameters(cluster, "2;2;2;1", problems)
    if not parameters:
        return {}
    (groups, blue), (chassis, black), (routers, green), (nodes,) = parameters
    _refuse_other_hosts(cluster, hosts, groups * chassis * routers * nodes, problems)
    if routers < groups:
        problems.at(cluster, "at least as many routers in a chassis as groups", f"{routers}")
    return {
        "topology": "dragonfly", "groups": groups, "chassis": chassis, "routers": routers,
        "hosts": nodes, "blue": blue, "black": black, "green": green,
    }  # fmt: skip


_TOPOLOGIES: Final[dict[str, Callable[[Element, int, XmlProblems], dict[str, Any]]]] = {
    "FLAT": _flat,
    "FAT_TREE": _fat_tree,
    "TORUS": _torus,
    "DRAGONFLY": _dragonfly,
}
