"""The parts of a scenario on several nodes as data: graphs of nodes, messages, the network.

A *cut* is the graph in parts, one per node, with the messages between them and the ways that these
take. It depends on the number of nodes, and is settled when the page is made. What speeds of links
make of it, the page computes by the same operations in the same order
(``script/livenetwork.js``).
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite, log
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.cluster.communicator import protocol_of
from tasksim.engine.cluster.work import Work
from tasksim.engine.compiled.cluster import CompiledCluster
from tasksim.engine.compiled.view import KnownView
from tasksim.engine.simulation import Settled
from tasksim.network.description import link_kinds, routes
from tasksim.view.live.axes import LiveAxis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.question import Question
    from tasksim.network.description import Network
    from tasksim.network.model import HostCost
    from tasksim.runtime.flat import Ported
    from tasksim.scenario.resolved import Resolved, Resolver
    from tasksim.scenario.setup import Setup

    Keep = Callable[[Any], Any]

__all__ = ["Cuts", "network_axes", "node_axes", "on_nodes"]

_NODE_COUNTS: Final = (1, 2, 3, 4, 6, 8, 9, 12, 16, 24, 25, 32, 36, 48, 64)
"""Numbers of nodes that a slider offers, beside the present one and its neighbours."""
_MAX_NODE_COUNTS: Final = 10
"""Maximum number of positions of that slider: each has a cut of its own."""
_MAX_CUT_TASKS: Final = 1_000_000
"""Maximum number of tasks in the cuts of a page, of which ten thousand take some 100 kB."""
_MAX_KINDS: Final = 12
"""Maximum number of kinds of links that have sliders of their own."""
_OWN_LINKS: Final = "loopback"
"""Kind of the links of hosts to themselves, which no message between nodes takes."""
_COSTS: Final = {"isend": "isend_costs", "receive": "receive_costs"}
"""Costs of a message for a host, as ``--set`` names them, with their attributes of a model."""


def node_axes(
    resolved: Resolved, resolver: Resolver, tasks: int, most_machines: int
) -> list[LiveAxis]:
    """Return the axis of the number of nodes; none without a cluster, or with one number alone.

    The page has so many *tasks* in all its graphs, and at most so many machines.
    """
    if resolved.cluster is None:
        return []
    present = resolved.nodes
    most = max(2 * present, 4)
    offered = {*(n for n in _NODE_COUNTS if n <= most), present - 1, present, present + 1, most}
    room = min(_MAX_NODE_COUNTS, _MAX_CUT_TASKS // max(tasks, 1), most_machines)
    nearest = sorted(offered - {0}, key=lambda n: (abs(log(n / present)), n))
    legal = [present]
    for n in nearest:
        with suppress(InputError):  # the network has fewer hosts
            if n != present:
                resolver.cluster(on_nodes(resolved.scenario, n), resolved.platform)
                legal.append(n)
    values = tuple(sorted(legal[: max(room, 1)]))
    return [LiveAxis("nodes", "", present, values)] if len(values) > 1 else []


def on_nodes(scenario: Setup, nodes: int) -> Setup:
    """Return *scenario* on another number of nodes; a row or a column of nodes remains one."""
    grid, given = None, scenario.node_grid
    if given is not None and 1 in (given.rows, given.columns) and given.nodes > 1:
        grid = f"1x{nodes}" if given.rows == 1 else f"{nodes}x1"
    return replace(scenario, nodes=nodes, grid=grid)


def network_axes(resolved: Resolved) -> list[LiveAxis]:
    """Return the axes of the network: speeds of all links, of each kind, and costs of messages."""
    if resolved.cluster is None:
        return []
    network = resolved.cluster.network
    kinds = [kind for kind in link_kinds(network.topology) if kind != _OWN_LINKS]
    several = ["*", *kinds] if 1 < len(kinds) <= _MAX_KINDS else ["*"]
    found = [LiveAxis("network_bandwidth", name) for name in several]
    if network.links.latency_s.any():
        found += [LiveAxis("network_latency", name) for name in several]
    for name, attribute in _COSTS.items():
        costs: tuple[HostCost, ...] = getattr(network.model, attribute)
        if not costs:
            found.append(LiveAxis("message", name, 0.0))
        elif len(costs) == 1 and not (costs[0].above_bytes or costs[0].per_byte_s):
            found.append(LiveAxis("message", name, costs[0].fixed_s))
        else:
            found.append(LiveAxis("message_factor", name))
    return found


@dataclass(frozen=True)
class _Cut:
    """A cut that was settled, with its number in the page and the work of its nodes."""

    number: int
    works: list[Work]
    tables: dict[tuple[int, str], Any]
    """Tables of schedulers that depend on the graph alone, by node and scheduler."""


class Cuts:
    """The cuts of a graph in a page, each settled once.

    Parameters
    ----------
    keep : callable
        Returns plain data in which arrays are names of columns.
    of_the_graph : sequence of str
        Schedulers whose tables depend on the graph alone.
    """

    def __init__(self, keep: Keep, of_the_graph: Sequence[str]) -> None:
        self._keep, self._of_the_graph = keep, of_the_graph
        self._known: dict[tuple[int, bytes], _Cut] = {}
        self._random = random.Random(0)  # no tables of built-in policies depend on random numbers
        self.described: list[dict[str, Any]] = []

    def __call__(
        self, resolved: Resolved, question: Question, offered: Sequence[Ported]
    ) -> dict[str, Any] | None:
        """Return the nodes of a scenario as data; None without several nodes.

        *question* is that of a node with the whole graph, *offered* are the schedulers of the page.
        """
        cluster = resolved.simulation().cluster
        if cluster is None:
            return None
        key = len(cluster.nodes), question.graph.handle_home.tobytes()
        if key not in self._known:
            self._known[key] = self._settled(resolved)
        cut = self._known[key]
        views = [
            KnownView(work.visible, question.platform, *(
                table[:, work.task] for table in (question.costs, question.estimates)
            ))
            for work in cut.works
        ]  # fmt: skip
        return {
            "cut": cut.number,
            "cores": cluster.shared_cores or 0,
            "tables": [
                [self._tables(cut, node, policy, view) for node, view in enumerate(views)]
                if policy.asks
                else None
                for policy in offered
            ],
        }

    def _tables(self, cut: _Cut, node: int, policy: Ported, view: KnownView) -> Any:
        key = node, policy.name
        if key in cut.tables:
            return cut.tables[key]
        made = policy.tables(view, self._random)
        found = self._keep({name: np.asarray(table, np.int64) for name, table in made.items()})
        if policy.name in self._of_the_graph:
            cut.tables[key] = found
        return found

    def _settled(self, resolved: Resolved) -> _Cut:
        asked = Settled().question_on_nodes(resolved.simulation())
        distribution, network = asked.distribution, asked.network
        data = CompiledCluster(asked).as_data(0)["cluster"]
        works = [Work(part) for part in distribution.parts]
        table = distribution.messages
        columns = {
            name: data[name]
            for name in ("source", "target", "priority", "send", "receive", "way", "eager",
                         "detached", "lands", "factor", "bytes")
        }  # fmt: skip
        columns["size"] = table.size_bytes
        columns["handle"], columns["task"] = table.handle, table.task
        # As Ways.transfers has it.
        sizes, which = np.unique(table.size_bytes, return_inverse=True)
        enveloped = (sizes + network.model.envelope_bytes).tolist()
        factors = [network.model.factors(size)[0] for size in enveloped]
        columns["latency_factor"] = np.array(factors, np.float64)[which]
        pairs = np.unique(table.source.astype(np.int64) * len(works) + table.target)
        described = {
            "nodes": len(works),
            "members": [
                {
                    **{name: member[name] for name in ("graph", "order", "message", "first_ready")},
                    "task": work.task,
                    "data": work.graph.data,
                }
                for work, member in zip(works, data["member"], strict=True)
            ],
            "messages": columns,
            "count": data["messages"],
            "in_flight": str(data["in_flight"]),
            "network": _network(network, pairs // len(works), pairs % len(works), data),
        }
        self.described.append(self._keep(described))
        return _Cut(len(self.described) - 1, works, {})


def _network(
    network: Network, source: NDArray[np.int64], target: NDArray[np.int64], data: dict[str, Any]
) -> dict[str, Any]:
    """Return the links, and the ways from each *source* to its *target*."""
    model, links = network.model, network.links
    kind_of = np.zeros(len(links), np.int64)
    kinds = link_kinds(network.topology)
    for number, numbers in enumerate(kinds.values()):
        kind_of[numbers] = number
    pointers, route = routes(network.topology, source, target)
    envelope = protocol_of(model).envelope_bytes
    return {
        "kinds": list(kinds),
        "kind_of": kind_of,
        "bandwidth": links.bandwidth_bytes_per_s,
        "latency": links.latency_s,
        "route_ptr": pointers,
        "route": route,
        "use_ptr": data["way_ptr"],
        "use_link": data["use_link"],
        "use_of_byte": data["use_of_byte"],
        "shared": links.shared.astype(np.int8),
        "fastest_factor": max((1.0, *(piece.bandwidth_factor for piece in model.pieces)))
        if model.shared
        else None,
        "window_bytes": model.window_bytes if isfinite(model.window_bytes) else None,
        "weight_bytes": model.weight_bytes if model.by_latency else None,
        "envelope": None
        if "envelope_latency" not in data
        else {
            "latency_factor": model.factors((envelope or 0.0) + model.envelope_bytes)[0],
            "factor": data["envelope_factor"],
            "bytes": data["envelope_bytes"],
        },
        **{name: list(map(list, getattr(model, of))) for name, of in _COSTS.items()},
    }
