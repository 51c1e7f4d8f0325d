"""Checks of names and of connected memories in a platform file.

These checks read the data as written, not the validated file, so that a wrong unit and a wrong
reference are both reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tasksim.base.documents import FileProblem, Location
from tasksim.base.errors import nearest
from tasksim.platform.description import MAX_DEVICES, MAX_WORKERS, unreached
from tasksim.platform.layers import entries, names
from tasksim.platform.parts import FIRST_TOUCH, INTERLEAVED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["member", "problems", "split_full_name"]


def problems(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    """Yield the wrong references in *data*, which has its defaults."""
    groups = dict(entries(data, "workers"))
    counts = [_count(group.get("count")) for group in groups.values()]
    nodes = max(1, _count(data.get("nodes", 1)))
    written = data.get("workers")
    if isinstance(written, dict) and all(
        isinstance(group, dict) and group.get("count") == 0 for group in written.values()
    ):
        yield FileProblem(("workers",), "at least one worker is needed (got none)")
    if nodes * sum(counts) > MAX_WORKERS >= max(nodes, *counts):
        got = f"got {sum(counts)} on each of {nodes} nodes, legal {MAX_WORKERS} in all"
        yield FileProblem(("workers",), f"too many workers ({got})")
    for name in groups:
        yield from _group_problems(data, groups, name)
    yield from _core_problems(data)
    yield from _link_problems(data)
    yield from _domain_problems(data)
    yield from _numa_problems(data)
    power, known = data.get("power"), names(data, "arch")
    for name in names(power, "arch") if isinstance(power, dict) else ():
        if name not in known:
            what = _unknown("architecture", name, known)
            yield FileProblem(("power", "arch", name), what, at_key=True)
    yield from _route_problems(data)
    yield from _unreached(data)


def _count(value: object) -> int:
    """Return *value* if it is a count, without absurd ones, which the schema refuses."""
    return min(value, 10**6) if isinstance(value, int) and value > 0 else 0


def _group_problems(
    data: Mapping[str, Any], groups: dict[str, dict[str, Any]], name: str
) -> Iterator[FileProblem]:
    """Yield the problems of the names and the lists of one group of workers."""
    group, location = groups[name], ("workers", name)
    architecture, known = group.get("arch"), names(data, "arch")
    if isinstance(architecture, str) and architecture not in known:
        what = _unknown("architecture; give it an entry in `arch:`", architecture, known)
        yield FileProblem((*location, "arch"), what)
    memory, known = group.get("memory"), names(data, "memories")
    if memory is None and len(known) > 1:
        what = f"missing, since there are several memories (legal {', '.join(known)})"
        yield FileProblem((*location, "memory"), what)
    for where, given in _each((*location, "memory"), memory):
        if isinstance(given, str) and given not in known:
            yield FileProblem(where, _unknown("memory", given, known))
    if isinstance(memory, list):  # each entry describes a device
        models, count = group.get("models"), group.get("count")
        if isinstance(models, list) and models and memory and len(models) != len(memory):
            what = f"must have an entry per entry of memory (got {len(models)} for {len(memory)})"
            yield FileProblem((*location, "models"), what)
        if isinstance(count, int) and MAX_DEVICES < count <= MAX_WORKERS:
            got = f"got {count}, legal {MAX_DEVICES}"
            what = f"too many workers with memories of their own ({got})"
            yield FileProblem((*location, "count"), what)
    drivers, others = group.get("drivers"), [other for other in groups if other != name]
    if isinstance(drivers, str) and drivers not in others:
        what = _unknown("group, must be another group of workers", drivers, others)
        yield FileProblem((*location, "drivers"), what)
    elif isinstance(drivers, str) and groups[drivers].get("drivers") is not None:
        what = f"must be a group that needs no drivers itself (got {drivers!r})"
        yield FileProblem((*location, "drivers"), what)


def _unknown(what: str, got: str, known: Collection[str]) -> str:
    """Return the message on an unknown *what*, with the legal ones and the nearest match."""
    return f"unknown {what} (got {got!r}, legal {', '.join(known) or 'none'}){nearest(got, known)}"


def _each(location: Location, given: object) -> list[tuple[Location, object]]:
    """Return the places and values of a list, or of a single value."""
    if isinstance(given, list):
        return [((*location, index), item) for index, item in enumerate(given)]
    return [(location, given)]


def _core_problems(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    owner: dict[int, str] = {}
    for name, group in entries(data, "workers"):
        cores = group.get("cores")
        if not isinstance(cores, list):
            continue
        location = ("workers", name, "cores")
        count = group.get("count")
        if type(count) is int and 0 <= count <= MAX_WORKERS and len(cores) != count:
            yield FileProblem(
                location, f"must name a core per worker (got {len(cores)} for {count})"
            )
        for index, core in enumerate(cores):
            if isinstance(core, int) and core in owner:
                twice = "given twice" if owner[core] == name else f"in workers.{owner[core]} too"
                yield FileProblem((*location, index), f"core {core} is {twice}")
            elif isinstance(core, int):
                owner[core] = name


def _domain_problems(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    """Yield groups of memory domains that are unknown, drive devices, or are in two domains."""
    groups, owner = dict(entries(data, "workers")), dict[str, str]()
    devices = {name for name, arch in entries(data, "arch") if arch.get("pipeline")}
    for name, domain in entries(data, "memory_domains"):
        location = ("memory_domains", name, "workers")
        for where, group in _each(location, domain.get("workers")):
            if not isinstance(group, str):
                continue
            if group not in groups:
                yield FileProblem(where, _unknown("group", group, list(groups)))
            elif groups[group].get("arch", group) in devices:
                yield FileProblem(where, f"workers of {group} drive devices, must be cores")
            elif (first := owner.setdefault(group, name)) != name:
                yield FileProblem(where, f"group {group} is in {first} too")


def _numa_problems(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    """Yield matrices and placements of data that do not fit the memory domains."""
    numa = data.get("numa")
    if not isinstance(numa, dict):
        return
    domains = _domain_names(data)
    if _count(data.get("nodes", 1)) > 1:
        what = f"too many nodes: numa is of one (got nodes: {data['nodes']}); see --nodes"
        yield FileProblem(("numa", "distances"), what)
    if not domains:
        what = "memory_domains are missing, which have the workers of each"
        yield FileProblem(("numa", "distances"), what)
        return
    for name in ("distances", "bandwidth"):
        yield from _matrix_problems(("numa", name), numa.get(name), domains)
    placement, legal = numa.get("placement"), [FIRST_TOUCH, INTERLEAVED, *domains]
    if isinstance(placement, str) and placement not in legal:
        yield FileProblem(("numa", "placement"), _unknown("placement", placement, legal))


def _domain_names(data: Mapping[str, Any]) -> list[str]:
    """Return the names of the memory domains on a node, in order."""
    groups, found = dict(entries(data, "workers")), []
    for name, domain in entries(data, "memory_domains"):
        members = [it for _, it in _each((), domain.get("workers")) if isinstance(it, str)]
        count = sum(_count(groups.get(it, {}).get("count")) for it in members)
        each = _count(domain.get("each")) or count
        parts = -(-count // each) if each else 0
        found += [name] if parts == 1 else [member(name, part) for part in range(parts)]
    return found


def member(group: str, index: int) -> str:
    """Return the name of one of several: ``cpu3``, or ``p100-3`` to separate digits."""
    return f"{group}-{index}" if group[-1:].isdigit() else f"{group}{index}"


def _matrix_problems(
    location: Location, table: object, domains: list[str]
) -> Iterator[FileProblem]:
    """Yield the problems of the form and the diagonal of a matrix over *domains*."""
    if not isinstance(table, list) or not all(isinstance(row, list) for row in table):
        return
    needed, rows = len(domains), len(table)
    for index, row in enumerate(table):
        if len(row) != rows:
            what = f"must have {rows} values, one per row of the matrix (got {len(row)})"
            yield FileProblem((*location, index), what)
            return
        distances = location[-1] == "distances"
        for home, value in enumerate(row):
            numbers = isinstance(value, int | float) and isinstance(row[index], int | float)
            if distances and numbers and 0 < value < row[index]:
                what = f"must be at least the distance of the domain to itself, {row[index]}"
                yield FileProblem((*location, index, home), f"{what} (got {value})")
            elif not distances and index == home and value is not None:
                what = "must be null: memory_domains.*.bandwidth is that of a domain's own memory"
                yield FileProblem((*location, index, home), f"{what} (got {value!r})")
    if rows < needed:
        what = f"must have a row per memory domain: {', '.join(domains)} (got {rows} rows)"
        yield FileProblem(location, f"{what}; a single value is for all pairs")


def _link_problems(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    memories, nodes = names(data, "memories"), _count(data.get("nodes", 1))
    legal = memories if nodes <= 1 else [*memories, *(f"node0/{name}" for name in memories)]
    for name, link in entries(data, "links"):
        location, ends = ("links", name, "between"), _between(link)
        if ends is None:
            continue
        known = True
        for index, end in enumerate(ends):
            node, memory = split_full_name(end)
            if memory not in memories or (node is not None and not node < nodes > 1):
                known = False
                yield FileProblem((*location, index), _unknown("memory", end, legal))
        if known and ends[0] == ends[1]:
            yield FileProblem(location, f"must be two different memories (got {ends[0]!r} twice)")
        elif known and ("/" in ends[0]) != ("/" in ends[1]):
            what = "must name the node of both memories, or of none"
            yield FileProblem(location, f"{what} (got {list(ends)})")


def _route_problems(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    first: dict[tuple[str, str], int] = {}
    memories, links = (dict.fromkeys(names(data, it)) for it in ("memories", "links"))
    between_nodes = {
        name
        for name, link in entries(data, "links")
        if any("/" in end for end in _between(link) or ())
    }
    for index, route in _routes(data):
        location = ("routes", index)
        for key in ("from", "to"):
            name = route.get(key)
            if isinstance(name, str) and split_full_name(name)[0] is not None:
                what = f"routes lead within a node; between nodes there are links (got {name!r})"
                yield FileProblem((*location, key), what)
            elif isinstance(name, str) and name not in memories:
                yield FileProblem((*location, key), _unknown("memory", name, memories))
        crossed = route.get("links")
        for number, name in enumerate(crossed) if isinstance(crossed, list) else ():
            where = (*location, "links", number)
            if isinstance(name, str) and name not in links:
                yield FileProblem(where, _unknown("link", name, links))
            elif isinstance(name, str) and name in between_nodes:
                yield FileProblem(where, f"link {name} is between nodes, routes lead within a node")
        ends = _ends(route)
        if ends is not None and ends[0] == ends[1]:
            what = f"must be another memory than where the route begins (got {ends[1]!r})"
            yield FileProblem((*location, "to"), what)
        elif ends in first:
            where_first = f"the first is routes.{first[ends]}"
            what = f"a second route from {ends[0]} to {ends[1]} ({where_first})"
            yield FileProblem(location, what)
        elif ends is not None:
            first[ends] = index


def split_full_name(name: str) -> tuple[int | None, str]:
    """Return the node and the memory of ``node1/ram``; a plain name has no node."""
    match = re.fullmatch(r"node(0|[1-9][0-9]{0,8})/(.+)", name)
    return (int(match[1]), match[2]) if match else (None, name)


def _routes(data: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    routes = data.get("routes")
    found = enumerate(routes) if isinstance(routes, list) else ()
    return [(index, route) for index, route in found if isinstance(route, dict)]


def _ends(route: Mapping[str, Any]) -> tuple[str, str] | None:
    source, target = route.get("from"), route.get("to")
    return (source, target) if isinstance(source, str) and isinstance(target, str) else None


def _between(link: Mapping[str, Any]) -> tuple[str, str] | None:
    ends = link.get("between")
    if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, str) for end in ends):
        return ends[0], ends[1]
    return None


def _unreached(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    """Yield, per memory of workers, the first other memory without a route to or from it.

    Wrong ends of routes are reported instead.
    """
    used = _used(data)
    ways = [_ends(route) for _, route in _routes(data)]
    for _, link in entries(data, "links"):
        if link.get("between") is not None:
            ways += [_between(link), (_between(link) or ("", ""))[::-1]]
    known = names(data, "memories")
    if not all(ends and split_full_name(end)[1] in known for ends in ways for end in ends or ("",)):
        return
    seen: set[str] = set()
    for source, target in unreached(list(used), filter(None, ways)):
        later = max(source, target, key=list(used).index)
        if later not in seen:
            what = f"no route leads from {source} to {target}, not even over one other memory"
            yield FileProblem(used[later], f"{what}: add a link between them, or routes")
        seen.add(later)


def _used(data: Mapping[str, Any]) -> dict[str, Location]:
    """Return the memories in use, and the places of workers that name them.

    The first memory is the initial home of data.
    """
    known = names(data, "memories")
    used: dict[str, Location] = {name: ("memories", name) for name in known[:1]}
    for group, section in entries(data, "workers"):
        for where, name in _each(("workers", group, "memory"), section.get("memory")):
            if isinstance(name, str) and name in known and section.get("count") != 0:
                used.setdefault(name, where)
    return used
