"""Explicit topology: links by name, and the route between each pair of hosts that has one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tasksim.base.errors import InputError
from tasksim.network.description import Links

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Explicit", "NamedLink"]


class NamedLink(NamedTuple):
    """A link of an explicit topology."""

    name: str
    bandwidth_bytes_per_s: float
    latency_s: float
    shared: bool = True


@dataclass(frozen=True)
class Explicit:
    """Hosts by name, *links*, and *routes*, by the numbers of their ends."""

    hosts: tuple[str, ...]
    named: tuple[NamedLink, ...]
    routes: Mapping[tuple[int, int], tuple[int, ...]]

    def __str__(self) -> str:
        return "explicit links"

    @property
    def nodes(self) -> int:
        """How many hosts it has."""
        return len(self.hosts)

    def sized(self, nodes: int) -> Explicit:  # noqa: ARG002
        """Return the topology: its hosts are what they are."""
        return self

    @cached_property
    def links(self) -> Links:
        """The links, as they were given."""
        return Links.of(
            (link.bandwidth_bytes_per_s, link.latency_s, link.shared) for link in self.named
        )

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the route.

        Raises
        ------
        InputError
            If there is none: the network partitions hosts that must talk.
        """
        found = self.routes.get((source, target))
        if found is None:
            ends = f"{self.hosts[source]} to {self.hosts[target]}"
            raise InputError(f"the network has no route from {ends}, which must talk")
        return found

    def link_name(self, link: int) -> str:
        """Return the name it was given."""
        return self.named[link].name
