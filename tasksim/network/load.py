"""Networks by what a user says: a text, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base import library as libraries
from tasksim.base.arguments import path_of
from tasksim.base.documents.yaml_document import YamlDocument
from tasksim.base.errors import InputError, nearest
from tasksim.base.files import exists
from tasksim.network.section import read_section
from tasksim.network.text import split_text
from tasksim.network.topologies.registry import TOPOLOGIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.base.documents.places import FileProblem
    from tasksim.base.documents.sections import Found
    from tasksim.network.description import Network

__all__ = ["network_of_fields", "read_network"]


def read_network(text: str | Path, library: Path | None = None) -> Network:
    """Return the network of a text or a YAML file.

    Parameters
    ----------
    text : str or Path
        ``"switch:bandwidth=4GB/s,latency=1us,model=smpi"``, a topology and its fields; the path
        of a file with a section ``network:``, or the name of one in a library; after a colon,
        fields that are changed.
    library : Path, optional
        A folder whose ``networks/`` is searched first.

    Raises
    ------
    InputError
        No such file, or anything wrong with it: all of it at once, one line each.

    See Also
    --------
    tasksim.formats.networks.load_network : reads SimGrid's files, too.

    Examples
    --------
    >>> read_network("switch:bandwidth=4GB/s,latency=1us").summary()
    'switch: switch, any number of hosts, model hockney'
    """
    head, fields = split_text(str(path_of(text, "network")) if isinstance(text, Path) else text)
    if head in TOPOLOGIES:
        return network_of_fields({"topology": head, **fields}, head, f"network '{text}'")
    return _of_yaml(_path_of(head, library), fields)


def network_of_fields(fields: Mapping[str, Any], name: str, where: str, **options: Any) -> Network:
    """Return the network that *fields* describe; *where* they come from, errors say.

    Raises :exc:`InputError` with a line per problem.
    """
    found: Found = []
    network = read_section(dict(fields), (), found, name, **options)
    if network is None:
        raise InputError("\n".join(_line(where, it) for it in found))
    return network


def _line(where: str, problem: FileProblem) -> str:
    field = ".".join(map(str, problem.location))
    return f"{where}: {field}: {problem.what}" if field else f"{where}: {problem.what}"


def _path_of(head: str, library: Path | None) -> Path:
    """Return the path of a file, or of a network in a library."""
    path = Path(head)
    if path.suffix or exists(path):
        return path
    known = libraries.names("networks", ".yaml", library)
    if head in known:
        return known[head]
    names = [*TOPOLOGIES.names(), *known]
    raise InputError(
        f"unknown network '{head}'{nearest(head, names)} (legal: a file, a name, or a topology and"
        f" its fields such as switch:bandwidth=4GB/s,latency=1us; known: {', '.join(names)})"
    )


def _of_yaml(path: Path, fields: Mapping[str, Any]) -> Network:
    """Return the network that the file at *path* describes, with other *fields*."""
    document = YamlDocument.read(path)
    section = document.data.get("network")
    if section is None:
        got = ", ".join(document.data) or "nothing"
        raise InputError(f"{path}:1:1: must be a mapping with `network:` (got {got})")
    found: Found = list(document.problems)
    if fields and isinstance(section, dict):
        section = {**section, **fields}
    network = read_section(section, ("network",), found, path.stem)
    if network is None or found:
        raise InputError("\n".join(_problem(document, it, fields) for it in found))
    return network


def _problem(document: YamlDocument, problem: FileProblem, changed: Mapping[str, Any]) -> str:
    """Return the line for a problem: of what is missing, where it would stand."""
    location, field = problem.location, ".".join(map(str, problem.location))
    if location[1:2] and location[1] in changed:
        return f"{document.path}: {field} = {changed[str(location[1])]}: {problem.what}"
    place = document.place(location, at_key=problem.at_key)
    while place is None:
        location = location[:-1]
        place = document.place(location, at_key=True)
    return f"{place}: {field}: {problem.what}"
