"""Nodes of a scenario: how many, in which grid, on which network, and who owns what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, option
from tasksim.platform.description import Platform
from tasksim.scenario.checks import cluster_file, grid_of, is_on_nodes

if TYPE_CHECKING:
    from tasksim.base.documents.json_document import Node
    from tasksim.network.cluster import Cluster
    from tasksim.scenario.resolved import Resolved, Resolver
    from tasksim.scenario.scenario import Scenario

__all__ = [
    "bounds_on_nodes",
    "cluster_content",
    "cluster_fields",
    "cluster_of",
    "cluster_words",
    "label_of",
    "network_files",
]


def label_of(scenario: Scenario) -> str:
    """Return in a line what is asked: ``cholesky tiles=20, xeon-2c, 2x2 nodes, dm``."""
    where = scenario.platform if scenario.platform is not None else scenario.workers
    if isinstance(where, int):
        where = f"{where} worker{'s' if where > 1 else ''}"
    nodes = scenario.grid or scenario.nodes
    parts = [
        scenario.graph_label,
        where.name if isinstance(where, Platform) else where,
        f"{nodes} nodes" if nodes else None,
        *scenario.changes,
        scenario.scheduler_label,
        f"seed {scenario.seed}" if scenario.seed else None,
        f"noise {scenario.noise}" if scenario.noise != "none" else None,
        scenario.clock if scenario.clock != "simulated" else None,
    ]
    return ", ".join(part for part in parts if part is not None)


# What the words mean


def cluster_of(scenario: Scenario, platform: Platform, resolver: Resolver) -> Cluster | None:
    """Return the nodes that are asked for, each of them *platform*; None if none are.

    Raises :exc:`InputError` if it is not known how many, or what is between them.
    """
    if scenario.clock == "native" or not is_on_nodes(scenario):
        return None
    from tasksim.network.cluster import Cluster

    file, grid = cluster_file(scenario), grid_of(scenario)
    nodes = scenario.nodes or (grid.nodes if grid else None) or (file.count if file else None)
    if nodes is None:
        raise InputError(f"how many nodes? give {option('nodes', 'N')} or {option('grid', 'PxQ')}")
    network = _network(scenario, resolver)
    if network is None and file is not None:
        network = file.network
    if network is None:
        if nodes > 1:
            raise InputError(f"what is between the nodes? give {option('network', 'NETWORK')}")
        from tasksim.network.load import read_network

        network = read_network("switch:bandwidth=1GB/s,latency=1us")  # a node alone never asks
    cores = file.cores if file else _recorded_cores(scenario, resolver)
    key = ("cluster", id(platform), nodes, scenario.network, cores)
    return resolver.once(key, lambda: (platform, Cluster.alike(platform, nodes, network, cores)))[1]


def _recorded_cores(scenario: Scenario, resolver: Resolver) -> int | None:
    replayed = resolver.replayed(scenario)
    if replayed is None:
        return None
    from tasksim.scenario.recordednodes import cores_of

    return cores_of(scenario, replayed)


def _network(scenario: Scenario, resolver: Resolver) -> Any:
    if scenario.network is None:
        return None
    from tasksim.formats.networks import load_network

    text, library = scenario.network, scenario.library
    return resolver.once(("network", text, library), lambda: load_network(text, library))


def bounds_on_nodes(resolved: Resolved) -> dict[str, float]:
    """Return lower bounds that know of nodes and messages; none on a single node."""
    from tasksim.engine.cluster.bounds import cluster_bounds
    from tasksim.engine.durations import durations
    from tasksim.graph.distribution.cutting import cut_by
    from tasksim.graph.distribution.owners import grid_or_square

    cluster = resolved.cluster
    if cluster is None or len(cluster.nodes) == 1 or len(set(map(id, cluster.nodes))) > 1:
        return {}
    grid = grid_or_square(grid_of(resolved.scenario), len(cluster.nodes))
    cut = cut_by(resolved.graph, grid, resolved.scenario.owner)
    fastest = durations(resolved.graph, resolved.platform, resolved.known_models()).min(axis=0)
    workers = [len(node.workers) for node in cluster.nodes]
    return cluster_bounds(cut, fastest, workers, cluster.network).to_json()


# Files and JSON


def cluster_words(scenario: Scenario) -> dict[str, Any]:
    """Return what ``config`` says of nodes."""
    return {
        "network": _lasting(scenario.network),
        "nodes": scenario.nodes,
        "grid": scenario.grid,
        "owner": scenario.owner,
    }


def cluster_fields(node: Node) -> dict[str, Any]:
    """Return the fields of a scenario that :func:`cluster_words` has written."""
    if not node.mapping():
        return {}
    nodes = node.get("nodes", None)
    found: dict[str, Any] = {"nodes": None if nodes.value is None else nodes.integer()}
    for name in ("network", "grid"):
        text = node.get(name, None)
        found[name] = None if text.value is None else text.text()
    return {**found, "owner": node.get("owner", "row").text()}


def network_files(scenario: Scenario) -> list[Path]:
    """Return the files that say what the nodes of a scenario are, and what is between them."""
    paths = [Path(name) for name in (_network_file(scenario.network),) if name]
    if cluster_file(scenario) is not None:
        paths.append(Path(str(scenario.platform)))
    return paths


def cluster_content(scenario: Scenario, resolver: Resolver) -> Any:
    """Return what tells the nodes of *scenario* from others, whatever their files are called."""
    cluster = cluster_of(scenario, resolver.platform(scenario), resolver)
    assert cluster is not None
    network = cluster.network
    said = f"{network.topology!r} {network.model!r}"
    shared = [] if cluster.cores is None else [cluster.cores]
    return [len(cluster.nodes), said, scenario.grid, scenario.owner, *shared]


def _network_file(text: str | None) -> str | None:
    """Return the file that *text*, the word for a network, begins with."""
    from tasksim.base.files import is_file

    name = "" if text is None else text.partition(":")[0]
    return name if name and is_file(Path(name)) else None


def _lasting(text: str | None) -> str | None:
    """Return the word for a network with the absolute path of its file."""
    name = _network_file(text)
    if text is None or name is None:
        return text
    return str(Path(name).resolve()) + text[len(name) :]
