"""Lower bounds on the makespan on a cluster, by work, traffic and paths with messages.

No schedule of a graph with the same distribution can beat them. The largest one shows the limit: a
node with too much work, a node with too many bytes to send or receive, or the path through nodes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tasksim.graph.distribution.parts import Distribution
    from tasksim.network.description import Network

__all__ = ["ClusterBounds", "cluster_bounds"]


@dataclass(frozen=True)
class ClusterBounds:
    """Lower bounds on the makespan, in seconds."""

    node_area_s: float
    """The work of the node with the most work, divided by its workers."""
    volume_s: float
    """The bytes out of, or into, the node with the most traffic, over its narrowest link."""
    path_s: float
    """The longest path, with undisturbed messages."""

    @property
    def best_s(self) -> float:
        """The largest and therefore best bound."""
        return max(self.node_area_s, self.volume_s, self.path_s)

    def to_json(self) -> dict[str, float]:
        """Return the bounds by name."""
        return {
            "node_area_s": self.node_area_s, "volume_s": self.volume_s, "path_s": self.path_s,
        }  # fmt: skip


def cluster_bounds(
    cut: Distribution, durations_s: ArrayLike, workers: ArrayLike, network: Network
) -> ClusterBounds:
    """Return bounds on the makespan of a graph *cut* into parts of nodes.

    Parameters
    ----------
    cut : Distribution
        The node of each task, and the messages.
    durations_s : (tasks,)
        Shortest duration of each task on its node.
    workers : (nodes,)
        Number of workers per node.
    network : Network
        Network between the nodes.
    """
    durations = np.asarray(durations_s, float)
    executor = np.asarray(cut.executor)
    count = np.asarray(workers, float)
    work = np.bincount(executor, durations, minlength=len(count)) / count
    sized = network.sized(len(count))
    return ClusterBounds(
        float(work.max(initial=0.0)),
        _volume_s(cut, len(count), sized),
        _path_s(cut, durations, sized),
    )


def _volume_s(cut: Distribution, nodes: int, network: Network) -> float:
    """Return the shortest time that the node with the most bytes needs for them."""
    messages, model = cut.messages, network.model
    if not len(messages.source) or not model.shared:
        return 0.0
    fastest = max((bandwidth for _, _, bandwidth in (model.pieces or ())), default=1.0)
    links = network.links
    worst = 0.0
    for end in (messages.source, messages.target):
        total = np.bincount(end, messages.size_bytes, minlength=nodes)
        node = int(total.argmax())
        other = (node + 1) % nodes
        way = (node, other) if end is messages.source else (other, node)
        # The first or last link of a route is the node's own, whatever the other end.
        link = network.topology.route(*way)[0 if end is messages.source else -1]
        if links.shared[link]:
            rate = float(links.bandwidth_bytes_per_s[link]) * max(1.0, fastest)
            worst = max(worst, float(total[node]) / rate)
    return worst


def _path_s(cut: Distribution, durations: NDArray[np.float64], network: Network) -> float:
    """Return the longest path through the parts of all nodes, and the messages between them."""
    offsets = np.cumsum([0, *(len(part.graph) for part in cut.parts)]).tolist()
    seconds: list[float] = []
    after: list[list[int]] = []
    for part, first in zip(cut.parts, offsets, strict=False):
        own = np.append(durations, 0.0)[np.asarray(part.task)]
        seconds += own.tolist()
        pointers, items = part.graph.successor_ptr, part.graph.successors + first
        after += [items[a:b].tolist() for a, b in itertools.pairwise(pointers.tolist())]
    messages = cut.messages
    columns = (messages.source, messages.target, messages.size_bytes, messages.send)
    sent: dict[int, tuple[int, float]] = {}
    rows = zip(*(column.tolist() for column in (*columns, messages.receive)), strict=True)
    for source, target, size, send, receive in rows:
        moves_s = network.alone_s(source, target, size)
        sent[offsets[source] + send] = offsets[target] + receive, moves_s
    return _longest_s(seconds, after, sent)


def _longest_s(
    seconds: list[float], after: list[list[int]], sent: dict[int, tuple[int, float]]
) -> float:
    """Return the longest path of tasks, some of which are sends with a receive on another node."""
    waits = [0] * len(seconds)
    for number, following in enumerate(after):
        for later in following:
            waits[later] += 1
        if number in sent:
            waits[sent[number][0]] += 1
    begin = [0.0] * len(seconds)
    ready = [task for task, count in enumerate(waits) if not count]
    longest = 0.0
    while ready:
        task = ready.pop()
        end = begin[task] + seconds[task]
        longest = max(longest, end)
        hops = [(later, end) for later in after[task]]
        if task in sent:
            receive, moves_s = sent[task]
            hops.append((receive, end + moves_s))
        for later, at in hops:
            begin[later] = max(begin[later], at)
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    return longest
