"""Clusters of nodes, each a platform, with a network between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasksim.base.arguments import whole_number
from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.network.description import Network
    from tasksim.platform.description import Platform

__all__ = ["MOST_NODES", "Cluster"]

MOST_NODES: Final = 65_536
"""Largest number of nodes, more than any machine has: larger numbers are refused before memory is
used."""
MOST_CORES: Final = 1 << 20
"""Largest number of cores, more than any machine has."""


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
    cores : int, optional
        The nodes are ranks of one machine that has so many cores, on which the tasks of all of them
        run, at the same rate where there are more tasks. By default each worker has its own core.

    Raises
    ------
    InputError
        If there are too many nodes, or more than the network has hosts; if there are no cores.

    See Also
    --------
    tasksim.engine.simulation.Simulation : replays a graph on one.

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
    cores: int | None = None

    def __post_init__(self) -> None:
        _refuse_many(len(self.nodes))
        if self.cores is not None:
            whole_number(self.cores, "cores that all nodes share", 1, MOST_CORES)
        object.__setattr__(self, "network", self.network.sized(len(self.nodes)))

    @classmethod
    def alike(
        cls, platform: Platform, nodes: int, network: Network, cores: int | None = None
    ) -> Cluster:
        """Return *nodes* nodes that are *platform* each; they may share *cores*."""
        _refuse_many(nodes)
        return cls(f"{nodes} x {platform.name}", (platform,) * nodes, network, cores)

    @property
    def shared_cores(self) -> int | None:
        """The cores that tasks have to share; None: there is one for each worker."""
        if self.cores is None or self.cores >= sum(len(node.workers) for node in self.nodes):
            return None
        return self.cores


def _refuse_many(nodes: int) -> None:
    if not 1 <= nodes <= MOST_NODES:
        raise InputError(f"{nodes} nodes; legal: 1 to {MOST_NODES}")
