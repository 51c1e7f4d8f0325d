"""Reader of networks, from a text or from the section ``network:`` of a file."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.base import library as libraries
from tasksim.base.arguments import path_of
from tasksim.base.documents import FileProblem
from tasksim.base.documents.sections import (
    FLAG,
    ILLEGAL,
    TEXT,
    Amount,
    FileProblems,
    ListOf,
    Maybe,
    Section,
    SectionOf,
    given,
    refused,
)
from tasksim.base.documents.yaml_document import YamlDocument, plain_value
from tasksim.base.errors import InputError, nearest
from tasksim.base.files import exists
from tasksim.network.description import MAX_LINKS, Network
from tasksim.network.model import HostCost, Model, Piece
from tasksim.network.models import MODELS
from tasksim.network.topologies.registry import TOPOLOGIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.base.documents import Location

__all__ = ["network_of_fields", "read_network", "split_text"]


DEFAULT_MODEL: Final = "hockney"
"""Default model of a network: the simplest one."""

_SIZE: Final = Amount("size", least=0)
_FACTOR: Final = Amount("factor", above=0)
_TIME: Final = Amount("time", least=0)


class PieceSection(Section):
    """Factors of messages above a size."""

    above: float = given(_SIZE, description="size in bytes above which it holds")
    latency: float = given(_FACTOR, 1.0, "factor of the latency of the route")
    bandwidth: float = given(_FACTOR, 1.0, "factor of the bandwidth of the route")


class CostSection(Section):
    """Cost for a host of a message above a size."""

    above: float = given(_SIZE, 0, "size in bytes above which it holds")
    fixed: float = given(_TIME, 0, "cost per message")
    per_kilobyte: float = given(_TIME, 0, "cost per 1000 bytes")


_COSTS: Final = Maybe(ListOf(SectionOf(CostSection)))


class ModelSection(Section):
    """A model of messages by name, with its changes."""

    name: str = given(TEXT, DEFAULT_MODEL, "name of the model")
    pieces: list[Any] | None = given(
        Maybe(ListOf(SectionOf(PieceSection))), None, "factors by size, ascending"
    )
    envelope: float | None = given(Maybe(_SIZE), None, "bytes sent in addition to a message")
    shared: bool | None = given(Maybe(FLAG), None, "whether messages share links")
    by_latency: bool | None = given(Maybe(FLAG), None, "whether shares depend on latencies")
    weight: float | None = given(Maybe(_SIZE), None, "SimGrid's weight-S")
    window: float | None = given(Maybe(_SIZE), None, "TCP's window; 0: none")
    cross_traffic: float | None = given(
        Maybe(Amount("factor", least=0)), None, "bytes sent back per byte"
    )
    eager: float | None = given(Maybe(_SIZE), None, "size below which messages start when sent")
    detached: float | None = given(Maybe(_SIZE), None, "size below which senders do not wait")
    send: list[Any] | None = given(_COSTS, None, "cost of a blocking send")
    isend: list[Any] | None = given(_COSTS, None, "cost of a send that does not block")
    receive: list[Any] | None = given(_COSTS, None, "cost of a receive")


MODEL_WORDS: Final = tuple(name for name in ModelSection.fields if name != "name")
"""Fields of a model that may stand beside ``model:``, as a short form."""

_ATTRIBUTES: Final = {
    "envelope": "envelope_bytes",
    "shared": "shared",
    "by_latency": "by_latency",
    "weight": "weight_bytes",
    "cross_traffic": "cross_traffic",
    "eager": "eager_bytes",
    "detached": "detached_bytes",
}


def read_section(
    data: Any, location: Location, found: FileProblems, name: str, model: str = DEFAULT_MODEL
) -> Network | None:
    """Return the network in *data*; add problems to *found*.

    Parameters
    ----------
    data
        A mapping of ``topology``, ``model``, and the fields of both.
    location : Location
        Its place in the file.
    found : list of FileProblem
        The problems so far.
    name : str
        Name of a network without ``name``.
    model : str
        Model of a network without ``model``.
    """
    if not isinstance(data, dict):
        refused(found, location, "must be a mapping", data)
        return None
    before = len(found)
    section = _known(data.get("topology", "switch"), (*location, "topology"), found, TOPOLOGIES)
    chosen = _read_model(data, model, location, found)
    if section is None or chosen is None:
        return None
    own = {key: value for key, value in data.items() if key not in _ELSEWHERE}
    topology = section.read(own, location, found)
    if len(found) > before or topology is ILLEGAL:
        return None
    title = TEXT.read(data.get("name", name), (*location, "name"), found)
    about = TEXT.read(data.get("description", ""), (*location, "description"), found)
    if len(found) > before:
        return None
    built = topology.build()
    if built.link_count > MAX_LINKS:
        what = f"has {built.link_count} links, must be at most {MAX_LINKS}"
        found.append(FileProblem((*location, "topology"), what))
        return None
    return Network(title, built, chosen, about)


_ELSEWHERE: Final = frozenset({"topology", "model", "name", "description", *MODEL_WORDS})


def _known(name: Any, location: Location, found: FileProblems, registry: Any) -> Any:
    """Return the object of *registry* under a *name*, or None."""
    if not isinstance(name, str):
        refused(found, location, "must be text", name)
        return None
    if name not in registry:
        names = registry.names()
        what = f"unknown {registry.what} '{name}'{nearest(name, names)} (known: {', '.join(names)})"
        found.append(FileProblem(location, what))
        return None
    return registry.find(name)


def _read_model(data: dict[str, Any], default: str, location: Location, found: FileProblems) -> Any:
    """Return the model that the section *data* names, with its changes."""
    value = data.get("model", default)
    beside = {word: data[word] for word in MODEL_WORDS if word in data}
    if isinstance(value, dict):
        place = (*location, "model")
        section, named = ModelSection.read({**beside, **value}, place, found), (*place, "name")
    else:
        section = ModelSection.read({"name": value, **beside}, location, found)
        named = (*location, "model")
    if section is ILLEGAL:
        return None
    base = _known(section.name, named, found, MODELS)
    return None if base is None else _changed(base, section, location, found)


def _changed(base: Model, section: ModelSection, location: Location, found: FileProblems) -> Any:
    """Return the model *base* with the changes in the *section*."""
    values: dict[str, Any] = {
        attribute: getattr(section, word)
        for word, attribute in _ATTRIBUTES.items()
        if getattr(section, word) is not None
    }
    if section.window is not None:
        values["window_bytes"] = section.window or inf
    for word in ("send", "isend", "receive"):
        costs = getattr(section, word)
        if costs is not None:
            pieces = (HostCost(c.above, c.fixed, c.per_kilobyte / 1000.0) for c in costs)
            values[f"{word}_costs"] = tuple(sorted(pieces))
    if section.pieces is not None:
        values["pieces"] = tuple(Piece(p.above, p.latency, p.bandwidth) for p in section.pieces)
        bounds = [piece.above_bytes for piece in values["pieces"]]
        if bounds != sorted(set(bounds)):
            refused(found, (*location, "model"), "pieces must ascend, each size once", bounds)
            return None
    return replace(base, **values)


def read_network(text: str | Path, library: Path | None = None) -> Network:
    """Return the network of a text or a YAML file.

    Parameters
    ----------
    text : str or Path
        ``"switch:bandwidth=4GB/s,latency=1us,model=smpi"``, a topology and its fields; the path of
        a file with a section ``network:``, or the name of one in a library; fields after a colon
        change it.
    library : Path, optional
        A folder whose ``networks/`` is searched first.

    Raises
    ------
    InputError
        If there is no such file, or it is wrong: all problems at once, a line each.

    See Also
    --------
    tasksim.formats.platforms.load_network : Read SimGrid's files, too.

    Examples
    --------
    >>> read_network("switch:bandwidth=4GB/s,latency=1us").summary()
    'switch: switch, any number of hosts, model hockney'
    """
    head, fields = split_text(str(path_of(text, "network")) if isinstance(text, Path) else text)
    if head in TOPOLOGIES:
        return network_of_fields({"topology": head, **fields}, head, f"network '{text}'")
    path = _path_of(head, library)
    document = YamlDocument.read(path)
    section = document.data.get("network")
    if section is None:
        got = ", ".join(document.data) or "nothing"
        raise InputError(f"{path}:1:1: must be a mapping with `network:` (got {got})")
    found: FileProblems = list(document.problems)
    if fields and isinstance(section, dict):
        section = {**section, **fields}
    network = read_section(section, ("network",), found, path.stem)
    if network is None or found:
        raise InputError("\n".join(_problem(document, it, fields) for it in found))
    return network


def network_of_fields(
    fields: Mapping[str, Any], name: str, where: str, model: str = DEFAULT_MODEL
) -> Network:
    """Return the network that *fields* describe; *where* is their origin, for messages.

    Raises :exc:`InputError` with a line per problem.
    """
    found: FileProblems = []
    network = read_section(dict(fields), (), found, name, model)
    if network is None:
        fields_of = (".".join(map(str, problem.location)) for problem in found)
        lines = [
            f"{where}: {field}: {problem.what}" if field else f"{where}: {problem.what}"
            for field, problem in zip(fields_of, found, strict=True)
        ]
        raise InputError("\n".join(lines))
    return network


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


def _problem(document: YamlDocument, problem: FileProblem, changed: Mapping[str, Any]) -> str:
    """Return the line for a problem; a missing field has the place where it would stand."""
    location, field = problem.location, ".".join(map(str, problem.location))
    if location[1:2] and location[1] in changed:
        return f"{document.path}: {field} = {changed[str(location[1])]}: {problem.what}"
    place = document.place(location, at_key=problem.at_key)
    while place is None:
        location = location[:-1]
        place = document.place(location, at_key=True)
    return f"{place}: {field}: {problem.what}"


_FILE: Final = re.compile(r"(.+\.(?:xml|ya?ml))(?::(.*))?", re.DOTALL)
_PART: Final = re.compile(r"(?:[^,\[]|\[[^\[\]]*\]|\[)++")
"""Pattern of a part of a list whose commas count outside brackets alone; it goes on to the end of a
bracket once, where a look ahead from each comma would take the square of a long one."""


def split_text(text: str) -> tuple[str, dict[str, Any]]:
    """Return the topology or file that *text* names, and its fields.

    Parameters
    ----------
    text : str
        ``TOPOLOGY:FIELD=VALUE,...``, ``FILE``, ``FILE:FIELD=VALUE,...`` or ``NAME``.

    Raises
    ------
    InputError
        If the text after the colon is not a list of fields, each once.

    Examples
    --------
    >>> split_text("torus:dimensions=[4,4],bandwidth=1GB/s")
    ('torus', {'dimensions': [4, 4], 'bandwidth': '1GB/s'})
    >>> split_text("net.xml:model=lv08")
    ('net.xml', {'model': 'lv08'})
    """
    file = _FILE.fullmatch(text)
    head, colon, rest = text.partition(":")
    if file is not None and head not in TOPOLOGIES:
        head, rest = file[1], file[2] or ""
    elif colon and "=" not in rest and rest:
        raise InputError(f"network '{text}': expected FIELD=VALUE, got '{rest}'")
    return head, _fields(rest, text)


def _fields(rest: str, text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for part in _PART.findall(rest):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise InputError(f"network '{text}': expected FIELD=VALUE, got '{part}'")
        if key in fields:
            raise InputError(f"network '{text}': {key} is given twice")
        fields[key] = _value(value, text)
    return fields


def _value(value: str, text: str) -> Any:
    import yaml

    try:
        return plain_value(value)
    except (InputError, yaml.YAMLError, ValueError, RecursionError) as error:
        said = str(error).splitlines()[0]
        raise InputError(f"network '{text}': '{value}' is not a value: {said}") from None
