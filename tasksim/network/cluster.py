"""Cluster: nodes, each a platform, and the network between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.network.description import Network
    from tasksim.platform.description import Platform

__all__ = ["MOST_NODES", "Cluster"]

MOST_NODES: Final = 65_536
"""More nodes than any machine has; who asks for a million is refused before memory is used."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """Nodes and the network between them.

    Parameters
    ----------
    name : str
        For people.
    nodes : tuple of Platform
        The nodes; alike ones may be one object.
    network : Network
        Whose first hosts they are.

    Raises
    ------
    InputError
        If there are too many nodes, or more than the network has hosts.

    See Also
    --------
    tasksim.engine.cluster.simulate.simulate_cluster : replays a graph on one.

    Examples
    --------
    >>> import tasksim
    >>> from tasksim.network.load import read_network
    >>> switch = read_network("switch:bandwidth=4GB/s,latency=1us")
    >>> len(Cluster.alike(tasksim.Platform.identical(4), 2, switch).nodes)
    2
    """

    name: str
    nodes: tuple[Platform, ...]
    network: Network

    def __post_init__(self) -> None:
        _refuse_many(len(self.nodes))
        object.__setattr__(self, "network", self.network.sized(len(self.nodes)))

    @classmethod
    def alike(cls, platform: Platform, nodes: int, network: Network) -> Cluster:
        """Return *nodes* nodes that are *platform* each."""
        _refuse_many(nodes)
        return cls(f"{nodes} x {platform.name}", (platform,) * nodes, network)


def _refuse_many(nodes: int) -> None:
    if not 1 <= nodes <= MOST_NODES:
        raise InputError(f"{nodes} nodes; legal: 1 to {MOST_NODES}")
