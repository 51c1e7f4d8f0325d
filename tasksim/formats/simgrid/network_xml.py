"""Network in a platform file of SimGrid: a cluster, or hosts, links and routes.

Read are SimGrid's versions 4 and 4.1, as far as networks go, also the files that StarPU makes for
its runs over MPI, which have the insides of its nodes beside the cluster. What a file says
becomes the fields of a section ``network:``, so that it can be written as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tasksim.formats.simgrid.cluster_xml import cluster_fields
from tasksim.formats.simgrid.explicit_xml import explicit_fields
from tasksim.formats.simgrid.xmltext import XmlProblems, parse_xml
from tasksim.network.load import network_of_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.network.description import Network

__all__ = ["MODEL", "network_fields", "read_network_xml"]

MODEL: Final = "smpi"
"""The model of a file of SimGrid's, which says none: the default of ``smpirun``."""


def read_network_xml(path: Path, changes: Mapping[str, Any] | None = None) -> Network:
    """Return the network in the XML file at *path*, with other fields where there are *changes*.

    Raises
    ------
    InputError
        All that is wrong: ``file:line:column: expected ..., found ...``.
    """
    fields = {**network_fields(path), **(changes or {})}
    return network_of_fields(fields, path.stem, str(path), model=MODEL)


def network_fields(path: Path) -> dict[str, Any]:
    """Return what the XML file at *path* says, as the fields of a section ``network:``.

    Raises
    ------
    InputError
        As :func:`read_network_xml`.
    """
    problems = XmlProblems(path)
    root = parse_xml(path)
    if root.name != "platform" or root.attributes.get("version", "")[:1] != "4":
        found = f"<{root.name} version='{root.attributes.get('version', '')}'>"
        problems.at(root, "<platform version='4'> or <platform version='4.1'>", found)
        problems.raise_any()
    clusters = [element for element in root.below() if element.name == "cluster"]
    for other in clusters[1:]:
        problems.at(other, "one <cluster>", f"another, of {other.attributes.get('id', 'no id')}")
    read = cluster_fields if clusters else explicit_fields
    fields = read(clusters[0] if clusters else root, problems)
    problems.raise_any()
    return fields
