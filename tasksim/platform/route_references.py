"""Routes and links in a platform file: what they name exists, and every memory is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.platform.names import choice, entries, names, split_full_name
from tasksim.platform.reachability import unreached
from tasksim.platform.yaml_document import FileProblem, Location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["problems"]


def problems(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    """Yield what is wrong with the routes in *data*, and the memories that none leads to."""
    first: dict[tuple[str, str], int] = {}
    for index, route in _routes(data):
        location = ("routes", index)
        ends = _ends(route)
        yield from _unknown_memories(data, location, route)
        yield from _unknown_links(data, location, route.get("links"))
        if ends is not None and ends[0] == ends[1]:
            what = f"must be another memory than where the route begins (got {ends[1]!r})"
            yield FileProblem((*location, "to"), what)
        elif ends in first:
            where = f"the first is routes.{first[ends]}"
            yield FileProblem(location, f"a second route from {ends[0]} to {ends[1]} ({where})")
        elif ends is not None:
            first[ends] = index
    yield from _unreached(data)


def _routes(data: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    routes = data.get("routes")
    found = enumerate(routes) if isinstance(routes, list) else ()
    return [(index, route) for index, route in found if isinstance(route, dict)]


def _ends(route: Mapping[str, Any]) -> tuple[str, str] | None:
    source, target = route.get("from"), route.get("to")
    return (source, target) if isinstance(source, str) and isinstance(target, str) else None


def _unknown_memories(
    data: Mapping[str, Any], location: Location, route: Mapping[str, Any]
) -> Iterator[FileProblem]:
    known = names(data, "memories")
    for field_name in ("from", "to"):
        name = route.get(field_name)
        if isinstance(name, str) and split_full_name(name)[0] is not None:
            what = f"routes lead within a node; between nodes there are links (got {name!r})"
            yield FileProblem((*location, field_name), what)
        elif isinstance(name, str) and name not in known:
            yield FileProblem((*location, field_name), f"unknown memory ({choice(name, known)}")


def _unknown_links(
    data: Mapping[str, Any], location: Location, given: object
) -> Iterator[FileProblem]:
    known = names(data, "links")
    links = dict(entries(data, "links"))
    for index, name in enumerate(given) if isinstance(given, list) else ():
        where = (*location, "links", index)
        if isinstance(name, str) and name not in known:
            yield FileProblem(where, f"unknown link ({choice(name, known)}")
        elif isinstance(name, str) and _between_nodes(links.get(name, {})):
            yield FileProblem(where, f"link {name} is between nodes, routes lead within a node")


def _between(link: Mapping[str, Any]) -> tuple[str, str] | None:
    ends = link.get("between")
    if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, str) for end in ends):
        return ends[0], ends[1]
    return None


def _between_nodes(link: Mapping[str, Any]) -> bool:
    return any("/" in end for end in _between(link) or ())


def _unreached(data: Mapping[str, Any]) -> Iterator[FileProblem]:
    """Yield, per memory that workers use, the first of the others to or from which no way leads.

    Where the ends of a way are wrong, that is told, and nothing more.
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
            what = f"no way leads from {source} to {target}, not through one other memory either"
            yield FileProblem(used[later], f"{what}: add a link between them, or routes")
        seen.add(later)


def _used(data: Mapping[str, Any]) -> dict[str, Location]:
    """Return the memories that data get to, and where workers name them.

    The first memory is where data are at first.
    """
    known = names(data, "memories")
    used: dict[str, Location] = {name: ("memories", name) for name in known[:1]}
    for group, section in entries(data, "workers"):
        given, location = section.get("memory"), ("workers", group, "memory")
        several = isinstance(given, list)
        for index, name in enumerate(given if isinstance(given, list) else [given]):
            if isinstance(name, str) and name in known and section.get("count") != 0:
                used.setdefault(name, (*location, index) if several else location)
    return used
