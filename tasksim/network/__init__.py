"""Networks between the nodes of a cluster: topologies, models of messages, their files."""

from __future__ import annotations

from tasksim.network.description import Links, Network, Topology
from tasksim.network.model import HostCost, Model, Piece

__all__ = ["HostCost", "Links", "Model", "Network", "Piece", "Topology"]
