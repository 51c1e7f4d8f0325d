"""Copies of the devices in a platform file, for groups of more workers than the file describes.

Unused devices are left out. A group whose ``memory`` is a list describes *devices*. A memory
belongs to a device if it stands only in such lists and is not the first of the platform, where data
begin. With *n* devices described, worker *k* has device *k*, worker *n + k* a copy of it, and so
on. A copy has a memory, links and ways of its own.

A *way* is a route, or a link between two memories. A link belongs to a device if every way over it
begins or ends there; a link between two devices may belong to both. All other links are shared.
"""

from __future__ import annotations

import re
from itertools import chain, count, permutations
from typing import TYPE_CHECKING, NamedTuple

from tasksim.platform.cross_references import split_full_name
from tasksim.platform.schema import RouteSection

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from tasksim.platform.schema import LinkSection, PlatformFile, WorkersSection

    Pair = tuple[str, str]
    """The two ends of a way."""

__all__ = ["MemoryCopy", "expanded"]


class Pattern(NamedTuple):
    """Links from a device to its copy, modelled on those to its nearest other device."""

    other: str
    """Device that one of the two replaces."""
    links: tuple[tuple[str, bool], ...]
    """Links in order, with whether they are on the side of the replaced device."""


class DeviceLinks:
    """Memories of a platform file, and the links between them."""

    def __init__(self, file: PlatformFile) -> None:
        self.first = next(iter(file.memories))
        """The initial memory of data."""
        self.devices = _devices(file, self.first)
        """The memories that belong to devices, in the order of the file."""
        self.ways = dict(_ways(file))
        """Pair of memories -> the links from one to the other."""
        self.owners: dict[str, frozenset[str]] = {}
        """Link of a way -> the devices at which all ways over it begin or end."""
        self._patterns: dict[tuple[str, bool], Pattern | None] = {}
        for ends, links in self.ways.items():
            for link in links:
                owners = self.owners.get(link, frozenset(self.devices))
                self.owners[link] = owners & frozenset(ends)

    def among_copies(self, device: str, *, outwards: bool) -> Pattern | None:
        """Return the links between two copies of a *device*, or between it and its copy.

        *outwards* is from the device of the pattern to the one that replaces its nearest other
        device; otherwise it is the way back. The links on the side of that other device are
        replaced by the device's own links for the other direction. The result is None if the device
        has no way to another device, and so none to a copy.
        """
        key = device, outwards
        if key not in self._patterns:
            # The other device with the fewest links between; the first in a tie.
            distance = {o: len(self._either(device, o)) for o in self.devices if o != device}
            reached = [other for other, links in distance.items() if links]
            other = min(reached, key=distance.__getitem__, default=None)
            self._patterns[key] = None if other is None else self._pattern(device, other, outwards)
        return self._patterns[key]

    def _pattern(self, device: str, other: str, outwards: bool) -> Pattern:
        ends = (device, other) if outwards else (other, device)
        steps: list[tuple[str, bool]] = []
        replaced = [
            (link, True) for link in self._either(*ends[::-1]) if self._is_own(link, device)
        ]
        # The side of the other device: its own links, and the shared ones on its way to the first
        # memory that are not on this device's.
        side = {link for link in self.owners if self._is_own(link, other)}
        side |= self._to_first(other) - self._to_first(device)
        for link in self._either(*ends):
            if link in side:
                steps += replaced
                replaced = []
            else:
                steps.append((link, False))
        return Pattern(other, (*steps, *replaced))

    def _is_own(self, link: str, device: str) -> bool:
        return self.owners[link] == {device}

    def _to_first(self, device: str) -> set[str]:
        """Return the links between a device and the first memory."""
        there, back = (device, self.first), (self.first, device)
        return {*self.ways.get(there, ()), *self.ways.get(back, ())}

    def _either(self, source: str, target: str) -> tuple[str, ...]:
        """Return the links from one memory to another, or those of the way back."""
        return self.ways.get((source, target)) or self.ways.get((target, source), ())


def _devices(file: PlatformFile, first: str) -> list[str]:
    groups = file.workers.values()
    shared = {first} | {group.memory for group in groups if isinstance(group.memory, str)}
    lists = [group.memory for group in groups if isinstance(group.memory, list)]
    listed = {name for names in lists for name in names}
    return [name for name in file.memories if name in listed - shared]


def _ways(file: PlatformFile) -> Iterator[tuple[Pair, tuple[str, ...]]]:
    """Yield the ways of a file by their ends; a later one replaces an earlier one."""
    for name, link in reversed(file.links.items()):
        if link.between is not None and split_full_name(link.between[0])[0] is None:
            first, second = link.between
            yield (first, second), (name,)
            yield (second, first), (name,)
    for route in file.routes:
        yield (route.source, route.target), tuple(route.links)


class MemoryCopy(NamedTuple):
    """A memory of the file, or a copy of it."""

    memory: str
    """Name in the file."""
    copy: int = 0
    """Number of the copy; 0 is the memory in the file."""


def expanded(file: PlatformFile) -> PlatformFile:
    """Return *file* with exactly the devices that its workers use.

    ``memory`` and ``models`` of every group become lists with an entry per worker.
    """
    return _Expansion(file).result()


class _Expansion:
    """A platform file during the copying of its devices."""

    def __init__(self, file: PlatformFile) -> None:
        self.file = file
        self.file_links = DeviceLinks(file)
        self.members = {name: self._members(group) for name, group in file.workers.items()}
        self.here = self._used()
        self.names = self._names()
        self.links = dict(file.links)
        self.link_copies: dict[tuple[str, tuple[MemoryCopy, ...]], str] = {}

    def result(self) -> PlatformFile:
        """Return the file with its used parts."""
        kept = {i.memory for i in self.here}
        routes = [r for r in self.file.routes if r.source in kept and r.target in kept]
        routes += self._new_routes()
        memories = {self.names[i]: self.file.memories[i.memory] for i in self.here}
        return self.file.changed(
            memories=memories,
            links=self._kept_links({link for route in routes for link in route.links}),
            routes=routes,
            workers={name: self._group(name) for name in self.file.workers},
        )

    def _members(self, group: WorkersSection) -> list[MemoryCopy]:
        """Return the memory of each worker of a group."""
        given = group.memory or next(iter(self.file.memories))
        memories = given if isinstance(given, list) else [given]
        rounds = [divmod(k, len(memories)) for k in range(group.count)]
        own = set(self.file_links.devices)
        return [MemoryCopy(memories[i], r if memories[i] in own else 0) for r, i in rounds]

    def _used(self) -> list[MemoryCopy]:
        """Return the resulting memories: those of the file, then copies by their numbers."""
        used = dict.fromkeys(i for members in self.members.values() for i in members)
        unused = set(self.file_links.devices) - {i.memory for i in used if not i.copy}
        kept = [MemoryCopy(name) for name in self.file.memories if name not in unused]
        return kept + sorted((i for i in used if i.copy), key=lambda i: i.copy)

    def _group(self, name: str) -> WorkersSection:
        group = self.file.workers[name]
        changes: dict[str, object] = {"memory": [self.names[i] for i in self.members[name]]}
        if group.models is not None:
            models = group.models if isinstance(group.models, list) else [group.models]
            changes["models"] = [models[k % len(models)] for k in range(group.count)]
        return group.changed(**changes)

    def _names(self) -> dict[MemoryCopy, str]:
        """Return the names of the memories; copies continue the numbers: ``gpu3``."""
        names = {i: i.memory for i in self.here if not i.copy}
        taken = list(self.file.memories)
        for copy in [i for i in self.here if i.copy]:
            names[copy] = _continued(copy.memory, taken)
            taken.append(names[copy])
        return names

    def _new_routes(self) -> Iterator[RouteSection]:
        """Yield the routes from and to copies, and add their links."""
        for source, target in permutations(self.here, 2):
            if not (source.copy or target.copy):
                continue
            if source.memory == target.memory:
                links = self._links_among_copies(source, target)
            else:
                at = {source.memory: source, target.memory: target}
                way = self.file_links.ways.get((source.memory, target.memory), ())
                links = [self._copied(link, at) for link in way]
            first, last = self.names[source], self.names[target]
            # A single link that joins the two is a way by itself.
            joins = {*(self.links[links[0]].between or ())} if len(links) == 1 else set()
            if links and joins != {first, last}:
                yield RouteSection(source=first, target=last, links=links)

    def _links_among_copies(self, source: MemoryCopy, target: MemoryCopy) -> list[str]:
        """Return the links between a device and its copy, or between two copies of it."""
        outwards = source.copy < target.copy
        near, far = (source, target) if outwards else (target, source)
        pattern = self.file_links.among_copies(source.memory, outwards=outwards)
        if pattern is None:
            return []
        at_near, at_far = {near.memory: near, pattern.other: far}, {far.memory: far}
        return [self._copied(link, at_far if is_far else at_near) for link, is_far in pattern.links]

    def _copied(self, link: str, at: Mapping[str, MemoryCopy]) -> str:
        """Return the link that replaces *link* if devices are replaced by *at*."""
        ends = {
            memory: at[memory] for memory in sorted(self.file_links.owners[link]) if memory in at
        }
        if not any(i.copy for i in ends.values()):
            return link
        key = link, tuple(sorted(ends.values()))
        if key not in self.link_copies:
            names = {memory: self.names[i] for memory, i in ends.items()}
            section = self.links[link]
            between = section.between and [names.get(end, end) for end in section.between]
            name = _unique(_renamed(link, names), self.links)
            self.links[name] = section.changed(between=between)
            self.link_copies[key] = name
        return self.link_copies[key]

    def _kept_links(self, crossed: set[str]) -> dict[str, LinkSection]:
        """Return the used links, and those that even the file does not use."""
        kept = set(self.names.values())
        links = {}
        for name, section in self.links.items():
            ends = section.between or []
            whole = all(split_full_name(end)[1] in kept for end in ends)
            if name in crossed or (whole and (ends or name not in self.file_links.owners)):
                links[name] = section if whole else section.changed(between=None)
        return links


def _continued(name: str, taken: Iterable[str]) -> str:
    """Return *name* with the first number after those of the names *taken*.

    >>> _continued("gpu0", ["ram", "gpu0", "gpu1"]), _continued("gpu", ["gpu"])
    ('gpu2', 'gpu1')
    """
    base = name.rstrip("0123456789")
    numbers = [re.fullmatch(rf"{re.escape(base)}([0-9]*)", other) for other in taken]
    return f"{base}{1 + max(int(match[1] or 0) for match in numbers if match)}"


def _renamed(link: str, new: Mapping[str, str]) -> str:
    """Return the name of a copy of a link, with its memories replaced or appended.

    >>> _renamed("ram-gpu0", {"gpu0": "gpu3"}), _renamed("slot", {"gpu0": "gpu3"})
    ('ram-gpu3', 'slot-gpu3')
    """
    words = "|".join(re.escape(name) for name in sorted(new, key=len, reverse=True))
    pattern = rf"(?<![A-Za-z0-9])({words})(?![A-Za-z0-9])"
    replaced = re.sub(pattern, lambda match: new[match[1]], link)
    return replaced if replaced != link else "-".join([link, *new.values()])


def _unique(name: str, taken: Container[str]) -> str:
    """Return *name*, followed by a number if it is taken."""
    numbered = (f"{name}-{number}" for number in count(2))
    return next(n for n in chain([name], numbered) if n not in taken)
