"""Switch with a cable to each host and a crossbar that is never the bottleneck."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tasksim.base.documents.sections import FLAG, Amount, Maybe, Section, Whole, given
from tasksim.network.description import MAX_HOSTS, Links

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BANDWIDTH", "HOSTS", "LATENCY", "Switch", "SwitchSection"]

BANDWIDTH = Amount("bandwidth", above=0)
LATENCY = Amount("time", least=0)
HOSTS = Maybe(Whole(1, MAX_HOSTS))

Host = TypeVar("Host", int, "NDArray[np.int64]")


@dataclass(frozen=True)
class Switch:
    """Hosts around one crossbar.

    The links of a host are consecutive: up, down, then its limiter and its loopback, if any. A half
    duplex cable is one link for both directions.
    """

    nodes: int | None
    bandwidth_bytes_per_s: float
    latency_s: float
    full_duplex: bool = True
    limiter_bytes_per_s: float | None = None
    """Maximum bandwidth of both directions of a host together."""
    loopback: tuple[float, float] | None = None
    """Bandwidth and latency of messages of a host to itself; by default they go up and down."""

    def __str__(self) -> str:
        return "switch"

    def sized(self, nodes: int) -> Switch:
        """Return the switch with *nodes* hosts."""
        return replace(self, nodes=nodes)

    @property
    def link_count(self) -> int:
        """Number of links of all hosts."""
        return (self.nodes or 0) * self.per_host

    @property
    def links(self) -> Links:
        """The links of all hosts."""
        return Links.of(self._of_host()).repeated(self.nodes or 0)

    def _of_host(self) -> list[tuple[float, float, bool]]:
        cable = (self.bandwidth_bytes_per_s, self.latency_s, True)
        links = [cable, cable] if self.full_duplex else [cable]
        if self.limiter_bytes_per_s is not None:
            links.append((self.limiter_bytes_per_s, 0.0, True))
        if self.loopback is not None:
            links.append((*self.loopback, False))
        return links

    @property
    def per_host(self) -> int:
        """Number of links of a host."""
        optional = (self.limiter_bytes_per_s is not None) + (self.loopback is not None)
        return 1 + self.full_duplex + optional

    def up(self, host: Host) -> tuple[Host, ...]:
        """Return the links from *host* to the crossbar; columns for an array of hosts."""
        first = host * self.per_host
        if self.limiter_bytes_per_s is None:
            return (first,)
        return first, first + 1 + self.full_duplex

    def down(self, host: Host) -> tuple[Host, ...]:
        """Return the links from the crossbar to *host*; columns for an array of hosts."""
        first = host * self.per_host
        cable = first + self.full_duplex
        if self.limiter_bytes_per_s is None:
            return (cable,)
        return first + 1 + self.full_duplex, cable

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the links up from *source* and down to *target*."""
        if source == target and self.loopback is not None:
            return ((source + 1) * self.per_host - 1,)
        return (*self.up(source), *self.down(target))

    def routes(self, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the routes from each *source* to its *target*, another host: a row each."""
        return np.stack([*self.up(source), *self.down(target)], axis=1)

    @property
    def kinds(self) -> dict[str, NDArray[np.int64]]:
        """The cables of all hosts, their limiters and their loopbacks."""
        roles, hosts = np.array(self._roles), np.arange(self.link_count) % self.per_host
        return {role: np.flatnonzero(roles[hosts] == role) for role in dict.fromkeys(self._roles)}

    @property
    def _roles(self) -> list[str]:
        """The kinds of the links of a host."""
        optional = {"limiter": self.limiter_bytes_per_s, "loopback": self.loopback}
        roles = [role for role, value in optional.items() if value is not None]
        return ["cable"] * (1 + self.full_duplex) + roles

    def link_name(self, link: int) -> str:
        """Return the host and the role of the link."""
        host, kind = divmod(link, self.per_host)
        words = ["up", "down", *self._roles[2:]] if self.full_duplex else self._roles
        return f"node{host}/{words[kind]}"


class SwitchSection(Section):
    """Section of a switch."""

    nodes: int | None = given(HOSTS, None, "number of hosts [default: any number]")
    bandwidth: float = given(BANDWIDTH, description="bandwidth of a host's cable, one way")
    latency: float = given(LATENCY, 0, "latency of a host's cable")
    full_duplex: bool = given(FLAG, True, "whether both ways have the bandwidth at once")
    limiter: float | None = given(
        Maybe(BANDWIDTH), None, "bandwidth of both ways of a host together"
    )
    loopback_bandwidth: float | None = given(
        Maybe(BANDWIDTH), None, "bandwidth of a host to itself"
    )
    loopback_latency: float = given(LATENCY, 0, "latency of a host to itself")

    def build(self) -> Any:
        """Return the topology."""
        loopback = None
        if self.loopback_bandwidth is not None:
            loopback = (self.loopback_bandwidth, self.loopback_latency)
        return Switch(
            self.nodes, self.bandwidth, self.latency, self.full_duplex, self.limiter, loopback
        )
