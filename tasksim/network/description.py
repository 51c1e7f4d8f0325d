"""Networks of hosts, with links between them and a model of message costs.

A topology defines the links from one host to another. Its links are columns, and routes are
computed on demand: a thousand hosts take a few kilobytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasksim.network.model import Model

__all__ = ["MAX_HOSTS", "MAX_LINKS", "Links", "Network", "Topology", "link_kinds", "routes"]


MAX_HOSTS = 100_000
"""Largest number of hosts, ten times that of the largest machines; their links take 10 MB."""

MAX_LINKS = 2_000_000
"""Largest number of links: a fat tree of three levels and as many hosts has six per host; 35 MB."""


@dataclass(frozen=True, eq=False)
class Links:
    """Links in columns, by number."""

    bandwidth_bytes_per_s: np.ndarray
    latency_s: np.ndarray
    shared: np.ndarray
    """Whether the messages on a link share its bandwidth, or each has all of it."""

    @classmethod
    def of(cls, links: Iterable[tuple[float, float, bool]]) -> Self:
        """Return the columns of *links*: bandwidth, latency, and whether it is shared."""
        columns = tuple(zip(*links, strict=True)) or ((), (), ())
        return cls(
            np.array(columns[0], float), np.array(columns[1], float), np.array(columns[2], bool)
        )

    @classmethod
    def joined(cls, parts: Iterable[Links]) -> Self:
        """Return the links of all *parts*, one after the other."""
        columns = [(p.bandwidth_bytes_per_s, p.latency_s, p.shared) for p in parts]
        return cls(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    def repeated(self, times: int) -> Links:
        """Return these links repeated *times* times."""
        return Links(
            np.tile(self.bandwidth_bytes_per_s, times),
            np.tile(self.latency_s, times),
            np.tile(self.shared, times),
        )

    def __len__(self) -> int:
        return len(self.latency_s)


class Topology(Protocol):
    """Links between hosts, and the routes over them."""

    @property
    def nodes(self) -> int | None:
        """Number of hosts; None for any number."""

    @property
    def link_count(self) -> int:
        """Number of links of a topology with a fixed number of hosts."""

    @property
    def links(self) -> Links:
        """The links by number, of a topology with a fixed number of hosts."""

    def sized(self, nodes: int) -> Topology:
        """Return the topology with *nodes* hosts, if its number is not fixed."""

    def route(self, source: int, target: int) -> tuple[int, ...]:
        """Return the numbers of the links from host *source* to *target*, in order."""

    def link_name(self, link: int) -> str:
        """Return the name of the link of that number."""


@dataclass(frozen=True)
class Network:
    """Hosts, the links between them, and the costs of messages.

    Parameters
    ----------
    name : str
        Name for messages.
    topology : Topology
        The links between hosts, and the routes over them.
    model : Model
        The costs of messages.
    description : str, default ""
        Description in one line.
    changed_links : Links or None, default None
        The links with the changes of settings; None: they are those of the topology.

    See Also
    --------
    tasksim.network.load.read_network : Read one from a text or a file.

    Examples
    --------
    >>> from tasksim.network.load import read_network
    >>> network = read_network("switch:bandwidth=4GB/s,latency=1us,model=smpi").sized(4)
    >>> network.topology.route(0, 3), network.latency_s(0, 3)
    ((0, 7), 2e-06)
    """

    name: str
    topology: Topology
    model: Model
    description: str = ""
    changed_links: Links | None = None

    @property
    def links(self) -> Links:
        """The links by number, of a network with a known number of hosts."""
        return self.topology.links if self.changed_links is None else self.changed_links

    @property
    def nodes(self) -> int | None:
        """Number of hosts; None for any number."""
        return self.topology.nodes

    def sized(self, nodes: int) -> Network:
        """Return the network for *nodes* nodes, which are the first hosts.

        Raises
        ------
        InputError
            If it has fewer hosts.
        """
        if nodes > MAX_HOSTS:
            raise InputError(f"network {self.name}: got {nodes} nodes; legal: at most {MAX_HOSTS}")
        if self.nodes is None:
            return replace(self, topology=self.topology.sized(nodes))
        if self.nodes < nodes:
            raise InputError(f"network {self.name} has {self.nodes} hosts, got {nodes} nodes")
        return self

    def latency_s(self, source: int, target: int) -> float:
        """Return the latency of the route from *source* to *target*, before any factor."""
        links = self.links
        return float(links.latency_s[list(self.topology.route(source, target))].sum())

    def bandwidth_bytes_per_s(self, source: int, target: int) -> float:
        """Return the bandwidth of the narrowest link from *source* to *target*."""
        links = self.links
        return float(links.bandwidth_bytes_per_s[list(self.topology.route(source, target))].min())

    def alone_s(self, source: int, target: int, size_bytes: float) -> float:
        """Return the duration of a message without other traffic."""
        latency = self.latency_s(source, target)
        rate = min(self.bandwidth_bytes_per_s(source, target), self.model.window_rate(latency))
        return self.model.duration_s(size_bytes, latency, rate)

    def summary(self) -> str:
        """Return a summary in one line."""
        hosts = "any number of" if self.nodes is None else self.nodes
        return f"{self.name}: {self.topology}, {hosts} hosts, model {self.model.name}"


def routes(
    topology: Topology, source: NDArray[np.int64], target: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the routes from each *source* to its *target*, another host.

    The result is the first index of each route, and the links of all. A topology whose routes
    follow a formula may have a method ``routes`` that returns them as rows of one length; other
    routes are computed one by one.
    """
    together = getattr(topology, "routes", None)
    if together is not None:
        rows = together(source, target)
        return np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1], rows.ravel()
    pairs = zip(source.tolist(), target.tolist(), strict=True)
    lists = [topology.route(one, other) for one, other in pairs]
    links = np.array([link for each in lists for link in each], np.int64)
    return np.cumsum([0, *map(len, lists)], dtype=np.int64), links


def link_kinds(topology: Topology) -> dict[str, NDArray[np.int64]]:
    """Return the numbers of the links of each kind.

    A topology may have a property ``kinds`` that tells them apart, such as the levels of a tree;
    the links of others are all of one kind, ``link``.
    """
    kinds: dict[str, NDArray[np.int64]] | None = getattr(topology, "kinds", None)
    return {"link": np.arange(topology.link_count)} if kinds is None else kinds
