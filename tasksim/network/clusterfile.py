"""Cluster file, with the number of nodes, their platform, and the network between them.

::

    nodes: {count: 8, like: node.yaml}
    network: {topology: switch, bandwidth: 12.5 GB/s, latency: 1 us}

``like`` is the name of a platform, or a file in the same folder. With ``cores: 2``, all nodes are
ranks of one machine and share its two cores. In a platform file, by contrast, ``nodes`` is a number
of nodes with memories of their own, under one scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.documents.yaml_document import YamlDocument
from tasksim.base.errors import InputError, nearest
from tasksim.base.files import is_file
from tasksim.network.cluster import MAX_CORES, MAX_NODES
from tasksim.network.load import read_network

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.network.description import Network

__all__ = ["ClusterFile", "read_cluster_file"]

CLUSTER_FIELDS = ("name", "description", "nodes", "network")
NODES_FIELDS = ("count", "like", "cores")


@dataclass(frozen=True, eq=False)
class ClusterFile:
    """Contents of a cluster file; *like* is a name, or the path of a file.

    *cores* is the number of cores that all nodes share; None if each has its own.
    """

    count: int
    like: str
    network: Network
    cores: int | None = None


def read_cluster_file(path: Path) -> ClusterFile | None:
    """Return the cluster in a file; None if *path* is not a cluster file.

    Raises
    ------
    InputError
        With file, line and column of a missing or wrong field.
    """
    if not is_file(path):
        return None
    document = YamlDocument.read(path)
    nodes = document.data.get("nodes")
    if not isinstance(nodes, dict):
        return None
    for field in document.data:
        if field not in CLUSTER_FIELDS:
            raise _wrong(
                document, (field,), f"no such field{nearest(field, CLUSTER_FIELDS)}", CLUSTER_FIELDS
            )
    for field in nodes:
        if field not in NODES_FIELDS:
            raise _wrong(
                document,
                ("nodes", field),
                f"no such field{nearest(field, NODES_FIELDS)}",
                NODES_FIELDS,
            )
    count, like, cores = nodes.get("count"), nodes.get("like"), nodes.get("cores")
    count = _number(document, "count", count, MAX_NODES)
    if cores is not None:
        cores = _number(document, "cores", cores, MAX_CORES)
    if not isinstance(like, str) or not like:
        what = f"like is {like!r:.40}"
        raise _wrong(document, ("nodes",), what, ("a platform's name", "a file"))
    beside = path.parent / like
    name = str(beside) if is_file(beside) else like
    return ClusterFile(count, name, read_network(path), cores)


def _number(document: YamlDocument, name: str, value: Any, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        what = f"{name} is {value!r:.40}"
        raise _wrong(document, ("nodes",), what, (f"an integer from 1 to {most}",))
    return value


def _wrong(
    document: YamlDocument, location: tuple[str, ...], what: str, legal: tuple[str, ...]
) -> InputError:
    place: Any = document.place(location, at_key=True)
    where = ".".join(location)
    return InputError(f"{place}: {where}: {what} (legal: {', '.join(legal)})")
