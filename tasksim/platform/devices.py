"""As many devices as there are workers: those beyond are copies, those unused are left out.

A group whose ``memory`` is a list describes *devices*: worker *k* of *n* described uses memory
*k*, worker *n + k* a copy of it. A memory is a device's own if it stands in such lists only and
is not the first of the platform, where data are at first.

A *way* is a route, or a link between two memories. Every way of a device becomes one of its
copies. A link is a device's own if every way over it begins or ends there, and is copied with
it; links that the ways of others cross too are shared.
"""

from __future__ import annotations

import re
from itertools import chain, count, permutations
from typing import TYPE_CHECKING, NamedTuple

from tasksim.platform.names import split_full_name
from tasksim.platform.schema import RouteSection

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from tasksim.platform.schema import LinkSection, PlatformFile, WorkersSection

    Ways = Mapping[tuple[str, str], tuple[str, ...]]
    """Per pair of memories, the links from one to the other."""

__all__ = ["Instance", "expanded", "own_memories"]


class Instance(NamedTuple):
    """A memory of the file, or a copy of it."""

    memory: str
    """Its name in the file."""
    copy: int = 0
    """0: the one that the file describes; 1: its first copy."""


class _Route(NamedTuple):
    source: str
    target: str
    links: tuple[str, ...]


def own_memories(file: PlatformFile) -> list[str]:
    """Return the memories that belong to devices, in the order of the file."""
    first = next(iter(file.memories))
    groups = file.workers.values()
    shared = {first} | {g.memory for g in groups if isinstance(g.memory, str)}
    listed = {name for g in groups if isinstance(g.memory, list) for name in g.memory}
    return [name for name in file.memories if name in listed - shared]


def expanded(file: PlatformFile) -> PlatformFile:
    """Return *file* with the devices that its workers use, no fewer and no more.

    ``memory`` and ``models`` of every group become lists with an entry per worker.
    """
    return _Expansion(file).result()


class _Expansion:
    """A platform file with its devices being copied."""

    def __init__(self, file: PlatformFile) -> None:
        self.file = file
        self.own = own_memories(file)
        self.ways = dict(_ways(file))
        self.owners = _owners(self.ways, set(self.own))
        self.links = dict(file.links)
        self.link_copies: dict[tuple[str, tuple[Instance, ...]], str] = {}
        self.members = {name: self._members(group) for name, group in file.workers.items()}
        used = dict.fromkeys(i for members in self.members.values() for i in members)
        described = [Instance(name) for name in file.memories]
        here = [i for i in described if i.memory not in self.own or i in used]
        self.here = [*here, *sorted((i for i in used if i.copy), key=lambda i: i.copy)]
        self.names = self._names()

    def result(self) -> PlatformFile:
        """Return the file with everything in it that is used, and nothing else."""
        routes = [*self._kept_routes(), *self._new_routes()]
        memories = {self.names[i]: self.file.memories[i.memory] for i in self.here}
        changes = {
            "memories": memories,
            "links": self._kept_links({link for route in routes for link in route.links}),
            "routes": [_section(route) for route in routes],
            "workers": {name: self._group(name) for name in self.file.workers},
        }
        return self.file.model_copy(update=changes)

    def _members(self, group: WorkersSection) -> list[Instance]:
        """Return per worker of a group its memory."""
        given = group.memory or next(iter(self.file.memories))
        memories = given if isinstance(given, list) else [given]
        rounds = [divmod(k, len(memories)) for k in range(group.count)]
        return [Instance(memories[i], r if memories[i] in self.own else 0) for r, i in rounds]

    def _group(self, name: str) -> WorkersSection:
        group = self.file.workers[name]
        changes: dict[str, object] = {"memory": [self.names[i] for i in self.members[name]]}
        if group.models is not None:
            models = group.models if isinstance(group.models, list) else [group.models]
            changes["models"] = [models[k % len(models)] for k in range(group.count)]
        return group.model_copy(update=changes)

    def _names(self) -> dict[Instance, str]:
        """Return the names of the memories; those of copies are continued: ``gpu3``."""
        names = {i: i.memory for i in self.here if not i.copy}
        taken = list(self.file.memories)
        for copy in [i for i in self.here if i.copy]:
            names[copy] = _continued(copy.memory, taken)
            taken.append(names[copy])
        return names

    def _kept_routes(self) -> Iterator[_Route]:
        kept = {i.memory for i in self.here}
        for route in self.file.routes:
            if route.source in kept and route.target in kept:
                yield _Route(route.source, route.target, tuple(route.links))

    def _new_routes(self) -> Iterator[_Route]:
        """Yield the routes from and to copies, and make the links that they cross."""
        for source, target in permutations(self.here, 2):
            if (source.copy or target.copy) and (links := self._copied_way(source, target)):
                ends = self.names[source], self.names[target]
                if not (len(links) == 1 and self._joins(links[0], ends)):
                    yield _Route(*ends, links)

    def _joins(self, link: str, ends: tuple[str, str]) -> bool:
        between = self.links[link].between
        return between is not None and set(between) == set(ends)

    def _copied_way(self, source: Instance, target: Instance) -> tuple[str, ...]:
        """Return the links from one memory to another, of which one at least is a copy."""
        if source.memory == target.memory:
            return self._way_among_copies(source, target)
        way = self.ways.get((source.memory, target.memory))
        at = {source.memory: source, target.memory: target}
        return () if way is None else tuple(self._copied(link, at) for link in way)

    def _way_among_copies(self, source: Instance, target: Instance) -> tuple[str, ...]:
        """Return the links between a device and its copy, or two copies of it.

        The pattern is the way to the nearest other device. Of the two, the one of the higher
        number takes the place of that device: the links on the other's side are replaced by
        those that the way in the other direction has at the device itself.
        """
        device = source.memory
        other = self._nearest(device)
        if other is None:
            return ()
        near_first = source.copy < target.copy
        near, far = (source, target) if near_first else (target, source)
        ends = (device, other) if near_first else (other, device)
        pattern, reverse = self._both(*ends), self._both(*reversed(ends))
        own = [link for link in reverse if self.owners[link] == {device}]
        at_far = [self._copied(link, {device: far}) for link in own]
        return tuple(self._among(pattern, near, far, other, at_far))

    def _both(self, source: str, target: str) -> tuple[str, ...]:
        """Return the links from one memory to another, or those of the way back."""
        return self.ways.get((source, target)) or self.ways.get((target, source), ())

    def _among(
        self, pattern: Iterable[str], near: Instance, far: Instance, other: str, at_far: list[str]
    ) -> Iterator[str]:
        side = self._side(other, beside=near.memory)
        for link in pattern:
            if link in side:
                yield from at_far
                at_far = []
            else:
                yield self._copied(link, {near.memory: near, other: far})
        yield from at_far

    def _side(self, device: str, beside: str) -> set[str]:
        """Return the links on the side of a *device*, those that the one *beside* shares left out.

        They are its own, and those that it and its neighbours share on the way to the first
        memory.
        """
        own = {link for link, owners in self.owners.items() if owners == {device}}
        return own | self._to_first(device) - self._to_first(beside)

    def _to_first(self, device: str) -> set[str]:
        """Return the links between a device and the first memory."""
        first = self.here[0].memory
        return {*self.ways.get((device, first), ()), *self.ways.get((first, device), ())}

    def _nearest(self, device: str) -> str | None:
        """Return the other device with the fewest links between the two, the first of them."""
        found = [other for other in self.own if other != device and self._both(device, other)]
        return min(found, key=lambda other: len(self._both(device, other)), default=None)

    def _copied(self, link: str, at: Mapping[str, Instance]) -> str:
        """Return the link that stands for *link* where devices are what *at* says."""
        ends = {memory: at[memory] for memory in sorted(self.owners[link]) if memory in at}
        if not any(i.copy for i in ends.values()):
            return link
        key = link, tuple(sorted(ends.values()))
        if key not in self.link_copies:
            names = {memory: self.names[i] for memory, i in ends.items()}
            self.link_copies[key] = self._add_copy(link, names)
        return self.link_copies[key]

    def _add_copy(self, link: str, names: Mapping[str, str]) -> str:
        section = self.links[link]
        between = section.between and [names.get(end, end) for end in section.between]
        name = _unique(_renamed(link, names), self.links)
        self.links[name] = section.model_copy(update={"between": between})
        return name

    def _kept_links(self, crossed: set[str]) -> dict[str, LinkSection]:
        """Return the links that are used, and those that the file does not use either."""
        kept = set(self.names.values())
        links = {}
        for name, section in self.links.items():
            ends = section.between or []
            whole = all(split_full_name(end)[1] in kept for end in ends)
            if name in crossed or (whole and (ends or name not in self.owners)):
                links[name] = section if whole else section.model_copy(update={"between": None})
        return links


def _ways(file: PlatformFile) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    """Yield the ways of a file by their ends; of two, the one that counts comes later."""
    for name, link in reversed(file.links.items()):
        if link.between is not None and split_full_name(link.between[0])[0] is None:
            first, second = link.between
            yield (first, second), (name,)
            yield (second, first), (name,)
    for route in file.routes:
        yield (route.source, route.target), tuple(route.links)


def _owners(ways: Ways, devices: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return, per link that a way crosses, the devices at which all ways over it begin or end."""
    owners: dict[str, frozenset[str]] = {}
    for ends, links in ways.items():
        for link in links:
            owners[link] = owners.get(link, frozenset(devices)) & frozenset(ends)
    return owners


def _section(route: _Route) -> RouteSection:
    fields = {"from": route.source, "to": route.target, "links": list(route.links)}
    return RouteSection.model_validate(fields)


def _continued(name: str, taken: Iterable[str]) -> str:
    """Return *name* with the next number that none of the names *taken* has: gpu2 -> gpu3."""
    base = name.rstrip("0123456789")
    numbers = [re.fullmatch(rf"{re.escape(base)}([0-9]*)", other) for other in taken]
    return f"{base}{1 + max(int(match[1] or 0) for match in numbers if match)}"


def _renamed(link: str, names: Mapping[str, str]) -> str:
    """Return the name of a copy: the devices in it replaced, or those that are new appended."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    word = rf"(?<![A-Za-z0-9])({pattern})(?![A-Za-z0-9])"
    renamed = re.sub(word, lambda match: names[match[1]], link)
    new = [name for old, name in names.items() if name != old]
    return renamed if renamed != link else "-".join([link, *new])


def _unique(name: str, taken: Container[str]) -> str:
    numbered = (f"{name}-{number}" for number in count(2))
    return next(n for n in chain([name], numbered) if n not in taken)
