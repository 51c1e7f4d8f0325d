"""Networks by what a user says: a text, or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import path_of
from tasksim.base.errors import InputError, nearest
from tasksim.network.section import read_section
from tasksim.network.topologies.registry import TOPOLOGIES
from tasksim.platform.yaml_document import FileProblem, YamlDocument, plain_value

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.network.description import Network
    from tasksim.platform.kinds import Found

__all__ = ["read_network"]


def read_network(text: str | Path) -> Network:
    """Return the network of a text or a file.

    Parameters
    ----------
    text : str or Path
        ``"switch:bandwidth=4GB/s,latency=1us,model=smpi"``, a topology and its fields, or the
        path of a file: YAML with a section ``network:``.

    Raises
    ------
    InputError
        No such file, or anything wrong with it: all of it at once, one line each.

    See Also
    --------
    tasksim.load_platform : what a node is.

    Examples
    --------
    >>> read_network("switch:bandwidth=4GB/s,latency=1us").summary()
    'switch: switch, any number of hosts, model hockney'
    """
    if isinstance(text, str) and text.partition(":")[0] in TOPOLOGIES:
        return _of_text(text)
    path = path_of(text, "network")
    if not path.suffix and not path.exists():
        names = TOPOLOGIES.names()
        word = str(text).partition(":")[0]
        raise InputError(
            f"network '{text}': legal: a file, or a topology and its fields such as"
            f" 'switch:bandwidth=4GB/s,latency=1us' (topologies: {', '.join(names)})"
            f"{nearest(word, names)}"
        )
    return _of_yaml(path)


def _of_text(text: str) -> Network:
    """Return the network of ``TOPOLOGY:FIELD=VALUE,...``."""
    word, _, rest = text.partition(":")
    data: dict[str, Any] = {"topology": word}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"network '{text}': expected FIELD=VALUE, got '{part}'")
        if key.strip() in data:
            raise InputError(f"network '{text}': {key.strip()} is given twice")
        data[key.strip()] = plain_value(value.strip())
    found: Found = []
    network = read_section(data, (), found, word)
    if network is None:
        raise InputError(
            "\n".join(_line(text, problem.location, problem.what) for problem in found)
        )
    return network


def _line(text: str, location: Any, what: str) -> str:
    where = ".".join(map(str, location))
    return f"network '{text}': {where}: {what}" if where else f"network '{text}': {what}"


def _of_yaml(path: Path) -> Network:
    """Return the network that the file at *path* describes."""
    document = YamlDocument.read(path)
    found: Found = list(document.problems)
    network = None
    if "network" in document.data:
        network = read_section(document.data["network"], ("network",), found, path.stem)
    else:
        legal = "a mapping with `network:`"
        raise InputError(
            f"{path}:1:1: must be {legal} (got {', '.join(document.data) or 'nothing'})"
        )
    if network is None or found:
        raise InputError("\n".join(_problem(document, problem) for problem in found))
    return network


def _problem(document: YamlDocument, problem: FileProblem) -> str:
    """Return the line for a problem: of what is missing, where it would stand."""
    location, field = problem.location, ".".join(map(str, problem.location))
    place = document.place(location, at_key=problem.at_key)
    while place is None:
        location = location[:-1]
        place = document.place(location, at_key=True)
    return f"{place}: {field}: {problem.what}"
