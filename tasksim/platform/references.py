"""What must hold between the parts of a platform file: names that are used exist, and so on.

These checks read the data as written, not the validated file: a file with a wrong unit and a
wrong reference is told both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import nearest
from tasksim.platform import schema
from tasksim.platform.description import MAX_WORKERS
from tasksim.platform.document import Location, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["fill_defaults", "problems", "split_full_name"]


def fill_defaults(data: dict[str, Any]) -> None:
    """Add to *data*, in place, the memory and the architectures that it leaves unsaid."""
    data.setdefault("memories", {"ram": {}})
    if data["memories"] == {}:
        data["memories"] = {"ram": {}}
    architectures = data.setdefault("arch", {})
    if isinstance(architectures, dict):
        for name, group in _entries(data, "workers"):
            if group.get("arch") in (None, name) and re.fullmatch(schema.NAME_PATTERN, name):
                architectures.setdefault(name, {})


def problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the references in *data*, with its defaults filled in, that do not hold."""
    yield from _worker_problems(data)
    for name, group in _entries(data, "workers"):
        location = ("workers", name)
        yield from _architecture_problems(data, location, group)
        yield from _memory_problems(data, location, group)
    yield from _core_problems(data)
    yield from _link_problems(data)


def _entries(data: Mapping[str, Any], section: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the well-formed entries of one section."""
    entries = data.get(section)
    if not isinstance(entries, dict):
        return []
    return [(name, entry) for name, entry in entries.items() if isinstance(entry, dict)]


def _names(data: Mapping[str, Any], section: str) -> list[str]:
    """Return the names that one section declares."""
    entries = data.get(section)
    return list(entries) if isinstance(entries, dict) else []


def _worker_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    counts = [_count(group.get("count")) for _, group in _entries(data, "workers")]
    nodes = max(1, _count(data.get("nodes", 1)))
    if isinstance(data.get("workers"), dict) and all(
        _is_zero(group) for group in data["workers"].values()
    ):
        yield Problem(("workers",), "at least one worker is needed (got none)")
    if nodes * sum(counts) > MAX_WORKERS >= max(nodes, *counts):
        got = f"got {sum(counts)} on each of {nodes} nodes, legal {MAX_WORKERS} in all"
        yield Problem(("workers",), f"too many workers ({got})")


def _count(value: object) -> int:
    """Return *value* if it is a number of things; absurd ones, which the schema refuses, cut."""
    return min(value, 10**6) if isinstance(value, int) and value > 0 else 0


def _is_zero(group: object) -> bool:
    return isinstance(group, dict) and group.get("count") == 0


def _architecture_problems(
    data: Mapping[str, Any], location: Location, group: Mapping[str, Any]
) -> Iterator[Problem]:
    name = group.get("arch")
    known = _names(data, "arch")
    if isinstance(name, str) and name not in known:
        what = f"unknown architecture; give it an entry in `arch:` ({_choice(name, known)}"
        yield Problem((*location, "arch"), what)


def _memory_problems(
    data: Mapping[str, Any], location: Location, group: Mapping[str, Any]
) -> Iterator[Problem]:
    name = group.get("memory")
    known = _names(data, "memories")
    if isinstance(name, str) and name not in known:
        yield Problem((*location, "memory"), f"unknown memory ({_choice(name, known)}")
    elif name is None and len(known) > 1:
        what = f"missing, since there are several memories (legal {', '.join(known)})"
        yield Problem((*location, "memory"), what)


def _core_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    owner: dict[int, str] = {}
    for name, group in _entries(data, "workers"):
        cores = group.get("cores")
        if not isinstance(cores, list):
            continue
        location = ("workers", name, "cores")
        count = group.get("count")
        if isinstance(count, int) and 0 <= count <= MAX_WORKERS and len(cores) != count:
            yield Problem(location, f"must name a core per worker (got {len(cores)} for {count})")
        for index, core in enumerate(cores):
            if isinstance(core, int) and core in owner:
                twice = "given twice" if owner[core] == name else f"in workers.{owner[core]} too"
                yield Problem((*location, index), f"core {core} is {twice}")
            elif isinstance(core, int):
                owner[core] = name


def _link_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    for name, link in _entries(data, "links"):
        ends = link.get("between")
        if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, str) for end in ends):
            location = ("links", name, "between")
            found = list(_unknown_ends(data, location, ends))
            yield from found or _pair_problems(location, ends)


def _unknown_ends(
    data: Mapping[str, Any], location: Location, ends: list[str]
) -> Iterator[Problem]:
    memories = _names(data, "memories")
    nodes = _count(data.get("nodes", 1))
    legal = memories if nodes <= 1 else [*memories, *(f"node0/{name}" for name in memories)]
    for index, end in enumerate(ends):
        node, memory = split_full_name(end)
        if memory not in memories or (node is not None and not node < nodes > 1):
            yield Problem((*location, index), f"unknown memory ({_choice(end, legal)}")


def _pair_problems(location: Location, ends: list[str]) -> Iterator[Problem]:
    if ends[0] == ends[1]:
        yield Problem(location, f"must be two different memories (got {ends[0]!r} twice)")
    elif ("/" in ends[0]) != ("/" in ends[1]):
        yield Problem(location, f"must name the node of both memories, or of none (got {ends})")


def split_full_name(name: str) -> tuple[int | None, str]:
    """Return node and memory of ``node1/ram``; a plain name has no node."""
    match = re.fullmatch(r"node(0|[1-9][0-9]{0,8})/(.+)", name)
    return (int(match[1]), match[2]) if match else (None, name)


def _choice(got: str, known: list[str]) -> str:
    return f"got {got!r}, legal {', '.join(known) or 'none'}){nearest(got, known)}"
