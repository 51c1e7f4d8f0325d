"""Links of devices: the ways between the memories of a platform file, and whose their links are.

A group whose ``memory`` is a list describes *devices*. A memory is a device's own if it stands in
such lists only and is not the first of the platform, where data are at first.

A *way* is a route, or a link between two memories. A link is a device's own if every way over it
begins or ends there; one between two devices may be both's. Links that the ways of others cross
too are shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tasksim.platform.names import split_full_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.platform.schema import PlatformFile

    Pair = tuple[str, str]
    """The memories from which and to which a way leads."""

__all__ = ["DeviceLinks", "Pattern"]


class Pattern(NamedTuple):
    """The links from a device to a copy of it, by the example of its nearest other device."""

    other: str
    """The device whose place one of the two takes."""
    links: tuple[tuple[str, bool], ...]
    """The links in order; true: at the one that takes the place of the other device."""


class DeviceLinks:
    """Memories of a platform file, and the links between them."""

    def __init__(self, file: PlatformFile) -> None:
        self.first = next(iter(file.memories))
        """The memory where data are at first."""
        self.devices = _devices(file, self.first)
        """The memories that belong to devices, in the order of the file."""
        self.ways = dict(_ways(file))
        """Per pair of memories, the links from one to the other."""
        self.owners = self._owners()
        """Per link that a way crosses, the devices at which all ways over it begin or end."""
        self._patterns: dict[tuple[str, bool], Pattern | None] = {}

    def _owners(self) -> dict[str, frozenset[str]]:
        owners: dict[str, frozenset[str]] = {}
        for ends, links in self.ways.items():
            for link in links:
                owners[link] = owners.get(link, frozenset(self.devices)) & frozenset(ends)
        return owners

    def among_copies(self, device: str, *, outwards: bool) -> Pattern | None:
        """Return the links between two copies of a *device*, or it and its copy.

        *outwards*: from the one that is the device in the pattern to the one that takes the
        place of its nearest other device, otherwise the way back. The links on the side of that
        other device are replaced by those that the device itself has for the other direction.
        None: no way leads from the device to another, and so none to a copy.
        """
        key = device, outwards
        if key not in self._patterns:
            other = self._nearest(device)
            self._patterns[key] = None if other is None else self._pattern(device, other, outwards)
        return self._patterns[key]

    def _pattern(self, device: str, other: str, outwards: bool) -> Pattern:
        ends = (device, other) if outwards else (other, device)
        steps: list[tuple[str, bool]] = []
        replaced = [
            (link, True) for link in self._either(*ends[::-1]) if self._is_own(link, device)
        ]
        side = self._side(other, beside=device)
        for link in self._either(*ends):
            if link in side:
                steps += replaced
                replaced = []
            else:
                steps.append((link, False))
        return Pattern(other, (*steps, *replaced))

    def _is_own(self, link: str, device: str) -> bool:
        return self.owners[link] == {device}

    def _side(self, device: str, beside: str) -> set[str]:
        """Return the links on the side of a *device*: its own, and what only it and others share.

        The latter are on its way to the first memory and not on that of the one *beside*.
        """
        own = {link for link in self.owners if self._is_own(link, device)}
        return own | self._to_first(device) - self._to_first(beside)

    def _to_first(self, device: str) -> set[str]:
        """Return the links between a device and the first memory."""
        there, back = (device, self.first), (self.first, device)
        return {*self.ways.get(there, ()), *self.ways.get(back, ())}

    def _nearest(self, device: str) -> str | None:
        """Return the other device with the fewest links between the two, the first of them."""
        found = [other for other in self.devices if other != device]
        reached = [other for other in found if self._either(device, other)]
        return min(reached, key=lambda other: len(self._either(device, other)), default=None)

    def _either(self, source: str, target: str) -> tuple[str, ...]:
        """Return the links from one memory to another, or else those of the way back."""
        return self.ways.get((source, target)) or self.ways.get((target, source), ())


def _devices(file: PlatformFile, first: str) -> list[str]:
    groups = file.workers.values()
    shared = {first} | {group.memory for group in groups if isinstance(group.memory, str)}
    lists = [group.memory for group in groups if isinstance(group.memory, list)]
    listed = {name for names in lists for name in names}
    return [name for name in file.memories if name in listed - shared]


def _ways(file: PlatformFile) -> Iterator[tuple[Pair, tuple[str, ...]]]:
    """Yield the ways of a file by their ends; of two, the one that counts comes later."""
    for name, link in reversed(file.links.items()):
        if link.between is not None and split_full_name(link.between[0])[0] is None:
            first, second = link.between
            yield (first, second), (name,)
            yield (second, first), (name,)
    for route in file.routes:
        yield (route.source, route.target), tuple(route.links)
