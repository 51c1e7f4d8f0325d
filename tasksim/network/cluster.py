"""Clusters of nodes, each a platform, with a network between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasksim.base.arguments import whole_number
from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.network.description import Network
    from tasksim.platform.description import Platform

__all__ = ["MAX_NODES", "Cluster"]

MAX_NODES: Final = 65_536
"""Largest number of nodes, beyond any machine: a larger number would only fill the memory."""
MAX_CORES: Final = 1 << 20
"""Largest number of cores, more than any machine has."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """Nodes and the network between them.

    Parameters
    ----------
    name : str
        Name for messages.
    nodes : tuple of Platform
        The nodes; identical nodes may share one object.
    network : Network
        The network; the nodes are its first hosts.
    cores : int, optional
        Number of cores of one machine whose ranks the nodes are: tasks of all nodes share them, at
        equal rates if there are more tasks than cores. By default each worker has its own core.

    Raises
    ------
    InputError
        If there are too many nodes, more nodes than hosts of the network, or no cores.

    See Also
    --------
    tasksim.engine.simulation.Simulation : Replay of a graph on a cluster.

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
            whole_number(self.cores, "cores that all nodes share", 1, MAX_CORES)
        object.__setattr__(self, "network", self.network.sized(len(self.nodes)))

    @classmethod
    def alike(
        cls, platform: Platform, nodes: int, network: Network, cores: int | None = None
    ) -> Cluster:
        """Return a cluster of *nodes* identical nodes, which may share *cores*."""
        _refuse_many(nodes)
        return cls(f"{nodes} x {platform.name}", (platform,) * nodes, network, cores)

    @property
    def shared_cores(self) -> int | None:
        """The number of cores that tasks share; None if each worker has one."""
        if self.cores is None or self.cores >= sum(len(node.workers) for node in self.nodes):
            return None
        return self.cores


def _refuse_many(nodes: int) -> None:
    if not 1 <= nodes <= MAX_NODES:
        raise InputError(f"{nodes} nodes; legal: 1 to {MAX_NODES}")
