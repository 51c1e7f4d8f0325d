"""Networks between the nodes of a cluster, with topologies, message models and files."""

from __future__ import annotations

from tasksim.network.description import Links, Network, Topology
from tasksim.network.model import HostCost, Model, Piece

__all__ = ["HostCost", "Links", "Model", "Network", "Piece", "Topology"]
