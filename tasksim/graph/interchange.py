"""Conversion of task graphs from and to NetworkX."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import CycleError, GraphError, InputError, expect, unknown
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.builder import GraphBuilder, access
from tasksim.graph.csr import owner_of_each
from tasksim.graph.taskgraph import Binding, HandleBlock, TaskGraph

if TYPE_CHECKING:
    import networkx as nx
    from numpy.typing import ArrayLike

__all__ = ["from_networkx", "task_order", "to_networkx"]

_CONTINUATION_ATTRIBUTES = {"continues": -1, "creator": -1, "binding": Binding.TIED}
"""Attributes of nodes that continue others, with their defaults."""


def to_networkx(graph: TaskGraph, durations_s: ArrayLike | None = None) -> nx.DiGraph:
    """Return *graph* as a NetworkX graph, with everything :func:`from_networkx` needs.

    Parameters
    ----------
    graph : TaskGraph
        The task graph.
    durations_s : array_like, optional
        Duration of every task in seconds, to store in the nodes.

    Returns
    -------
    networkx.DiGraph
        Nodes are task numbers with attributes ``kernel``, ``priority``, ``parameters`` (a
        dictionary), ``accesses`` (pairs of handle and mode name), ``wont_use`` (the handles
        that were hinted at after this task), if any, and ``duration_s``, if given. Where tasks
        go on from others also ``continues`` and ``creator`` (task numbers) and ``binding``.
        The graph has ``name``, ``arguments``, ``model_names``, ``handle_size``,
        ``handle_home``, ``handle_blocks`` and ``wont_use`` (hints before the first task).

    Raises
    ------
    InputError
        If *graph* is no task graph.

    See Also
    --------
    from_networkx : The inverse.
    save_graph : Write a graph to a file.

    Examples
    --------
    >>> g = GraphBuilder("path")
    >>> first = g.insert("task", duration_s=1)
    >>> second = g.insert("task", duration_s=2, after=[first])
    >>> to_networkx(g.build()).nodes[1]["parameters"]
    {'duration_s': 2.0}
    """
    import networkx as nx

    expect(graph, TaskGraph, "graph")
    G = nx.DiGraph(
        name=graph.name,
        arguments=dict(graph.arguments),
        model_names=dict(zip(graph.kernels, graph.model_names, strict=True)),
        handle_size=graph.handle_size.tolist(),
        handle_home=graph.handle_home.tolist(),
        handle_blocks=[tuple(block) for block in graph.handle_blocks],
        wont_use=[],
        by_rank=graph.by_rank,
    )
    for task in range(len(graph)):
        G.add_node(
            task,
            kernel=graph.kernel_of(task),
            priority=int(graph.priority[task]),
            parameters=graph.parameters_of(task),
            accesses=[(handle, mode.name) for handle, mode in graph.accesses_of(task)],
        )
        for name in _CONTINUATION_ATTRIBUTES if len(graph.continues) else ():
            G.nodes[task][name] = int(getattr(graph, name)[task])
    if durations_s is not None:
        durations = np.asarray(durations_s, dtype=np.float64).tolist()
        nx.set_node_attributes(G, dict(zip(G, durations, strict=True)), "duration_s")
    for handle, after in zip(graph.hint_handle.tolist(), graph.hint_after.tolist(), strict=True):
        (G.nodes[after - 1] if after else G.graph).setdefault("wont_use", []).append(handle)
    before = owner_of_each(graph.successor_ptr).tolist()
    G.add_edges_from(zip(before, graph.successors.tolist(), strict=True))
    return G


def from_networkx(G: nx.DiGraph) -> TaskGraph:
    """Return the task graph of a directed acyclic graph.

    Dependencies are the edges of *G*, no more and no less; accesses imply none here. Tasks are
    numbered as in :func:`task_order`.

    Parameters
    ----------
    G : networkx.DiGraph
        Nodes of any kind. All attributes are optional: ``kernel`` ("task"), ``priority`` (0),
        ``parameters`` (none; or ``duration_s``, also called ``duration``, where a node has
        that), ``accesses``, ``wont_use``; and those of the graph as :func:`to_networkx` writes
        them.

    Returns
    -------
    TaskGraph

    Raises
    ------
    CycleError
        If *G* has a cycle; with its nodes.
    InputError
        If *G* is not directed, or the attributes of a node make no sense; with the node.

    See Also
    --------
    to_networkx : The way back.
    GraphBuilder : Builder of graphs whose data imply the dependencies.

    Examples
    --------
    >>> import networkx as nx
    >>> from_networkx(nx.DiGraph([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]))
    <TaskGraph networkx: 4 tasks, 4 edges>
    """
    import networkx as nx

    expect(G, nx.Graph, "G")
    order = task_order(G)
    number = {node: task for task, node in enumerate(order)}
    g = GraphBuilder(
        G.graph.get("name") or "networkx", G.graph.get("arguments"), G.graph.get("model_names")
    )
    g.announce(len(order))
    sizes = G.graph.get("handle_size", [])
    if sizes:
        g.vector("handles", len(sizes), size_bytes=0)
    for handle in G.graph.get("wont_use", ()):
        g.wont_use(handle)
    for node in order:
        data, after = G.nodes[node], [number[before] for before in G.predecessors(node)]
        duration_s = data.get("duration_s", data.get("duration"))
        default = {} if duration_s is None else {"duration_s": duration_s}
        try:
            g.insert(
                str(data.get("kernel", "task")),
                *(access(handle, _mode(name)) for handle, name in data.get("accesses", ())),
                priority=data.get("priority", 0),
                after=after,
                **dict(data.get("parameters", default)),
            )
            for handle in data.get("wont_use", ()):
                g.wont_use(handle)
        except (GraphError, InputError) as error:
            raise type(error)(f"node {node!r}: {error}") from error
        except (TypeError, ValueError) as error:
            raise InputError(f"node {node!r}: attributes {dict(data)}: {error}") from error
    graph = replace(
        g.build(infer=False),
        handle_size=np.array(sizes, dtype=np.int64),
        handle_home=np.array(G.graph.get("handle_home", [0] * len(sizes)), dtype=np.int32),
        handle_blocks=tuple(HandleBlock(*block) for block in G.graph.get("handle_blocks", ())),
        by_rank=bool(G.graph.get("by_rank", False)),
        **_lives(G, order, number),
    )
    graph.validate()
    return graph


def _lives(G: nx.DiGraph, order: list[Any], number: dict[Any, int]) -> dict[str, Any]:
    """Return the columns of the tasks that go on from others; none, if no node has one."""
    if not any(name in G.nodes[node] for node in order for name in _CONTINUATION_ATTRIBUTES):
        return {}
    columns = {}
    for name, default in _CONTINUATION_ATTRIBUTES.items():
        values = [G.nodes[node].get(name, default) for node in order]
        if name != "binding":  # a node, by its number in G
            values = [-1 if value == -1 else number.get(value, value) for value in values]
        columns[name] = values
    return columns


def task_order(G: nx.DiGraph) -> list[Any]:
    """Return the nodes of *G* in topological order; among equals, in order of insertion.

    Raises
    ------
    CycleError
        If *G* has a cycle; with its nodes.
    InputError
        If *G* is not directed.
    """
    import networkx as nx

    if not G.is_directed():
        raise InputError(f"{G} is not directed; legal: a networkx.DiGraph")
    position = {node: place for place, node in enumerate(G)}
    try:
        return list(nx.lexicographical_topological_sort(G, key=position.__getitem__))
    except nx.NetworkXUnfeasible:
        cycle = [edge[0] for edge in nx.find_cycle(G)]
        path = " -> ".join(repr(node) for node in [*cycle, cycle[0]])
        raise CycleError(f"{G} has a cycle: {path}") from None


def _mode(name: str) -> AccessMode:
    if name not in AccessMode.__members__:
        raise unknown("access mode", name, AccessMode.__members__)
    return AccessMode[name]
