"""Parts of a distributed task graph, with the tasks and messages of each node in order.

Each part is a task graph of its own. Its tasks are those that the node executes and *communication
tasks*, in the order in which the node submits them: a send reads its datum, a receive writes the
node's copy of it. So dependencies inferred from accesses determine when a message can start, and
which tasks wait for it. A dependency without a shared datum takes a message, too: the task writes a
datum of no bytes, which its successors read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.progress import watched
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import from_edges, owner_of_each, pointers_of_counts, spans
from tasksim.graph.dependencies import (
    MODE_READS,
    MODE_WRITES,
    Accesses,
    infer_dependencies,
)
from tasksim.graph.distribution.messages import PostedMessages, needed_messages
from tasksim.graph.distribution.owners import placement_of
from tasksim.graph.taskgraph import HandleBlock, TaskGraph

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tasksim.graph.csr import Int32, Int64
    from tasksim.graph.distribution.messages import Needed
    from tasksim.graph.distribution.owners import NodeGrid

__all__ = [
    "RECEIVE_KERNEL",
    "SEND_KERNEL",
    "Distribution",
    "LocalPart",
    "cut_by",
    "distribute",
]


SEND_KERNEL: Final = "send"
"""Name of the kernel of sending communication tasks."""
RECEIVE_KERNEL: Final = "receive"
"""Name of the kernel of receiving communication tasks."""
MAX_NODES: Final = 65_536
"""Largest number of nodes, more than any machine has."""


@dataclass(frozen=True, eq=False)
class LocalPart:
    """Part of a graph, executed by one node.

    Attributes
    ----------
    graph
        Its tasks and communication tasks, in the order of submission, and its data.
    task
        int32: number of each task in the whole graph; -1 for communication tasks.
    message
        int32: message of each communication task; -1 for others.
    handle
        int32: number of each datum of *graph* in the whole graph.
    """

    graph: TaskGraph
    task: Int32
    message: Int32
    handle: Int32


@dataclass(frozen=True, eq=False)
class Distribution:
    """A task graph in parts, one per node, with the messages between them.

    Attributes
    ----------
    graph
        The whole graph; data without bytes, which only order tasks, come after its own.
    owners
        int32: owner of each datum.
    executor
        int32: executing node of each task.
    parts
        The part of each node.
    messages
        All messages.
    """

    graph: TaskGraph
    owners: Int32
    executor: Int32
    parts: tuple[LocalPart, ...]
    messages: PostedMessages

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.parts)


def distribute(
    graph: TaskGraph,
    owners: ArrayLike,
    nodes: int,
    *,
    cache: bool = True,
    executor: ArrayLike | None = None,
) -> Distribution:
    """Cut *graph* into a part per node.

    Parameters
    ----------
    graph : TaskGraph
        The graph; its hints drop received copies, so that a datum that is read again is sent again.
    owners : array of int
        Node of each datum; see :mod:`tasksim.graph.distribution.owners`.
    nodes : int
        Number of nodes.
    cache : bool, default True
        Whether a node keeps received data until they are written or dropped.
    executor : array of int, optional
        Node of each task; -1, the default, is the owner of its written data.

    Returns
    -------
    Distribution
        The parts and the messages.

    Raises
    ------
    InputError
        If there are too many nodes, or a datum or task is on none of them.

    See Also
    --------
    tasksim.graph.distribution.owners.owners_of : Distributions by name.

    Examples
    --------
    >>> import numpy as np
    >>> from tasksim import generate
    >>> whole = generate("cholesky", tiles=2)
    >>> cut = distribute(whole, np.array([0, 0, 1, 1]), nodes=2)
    >>> len(cut.messages), [len(part.graph) for part in cut.parts]
    (1, [2, 4])
    """
    if not 1 <= nodes <= MAX_NODES:
        raise InputError(f"{nodes} nodes; legal: 1 to {MAX_NODES}")
    owner = _nodes(owners, graph.handles, nodes, "owners", "datum", -0)
    given = np.full(len(graph), -1) if executor is None else executor
    chosen = _nodes(given, len(graph), nodes, "executor", "task", -1)
    task = owner_of_each(graph.access_ptr, np.int32)
    accesses = Accesses(task, graph.access_handle, graph.access_mode)
    computed = _executors(accesses, graph.handle_size, owner, len(graph))
    node = np.where(chosen < 0, computed, chosen).astype(np.int32)
    whole, accesses, owner = with_data_of_edges(graph, accesses, owner, node)
    needed = needed_messages(
        accesses, owner, node, (whole.hint_handle, whole.hint_after), cache=cache
    )
    return _Cut(whole, accesses, owner, node, needed, nodes).distribution()


def _nodes(given: ArrayLike, length: int, nodes: int, what: str, of: str, lowest: int) -> Int32:
    """Return the *given* nodes as a column, after a check."""
    column = np.asarray(given)
    if column.shape != (length,) or column.dtype.kind not in "iu":
        raise InputError(f"{what}: legal: a node for each {of}, {length} integers")
    wrong = np.flatnonzero((column < lowest) | (column >= nodes))
    if len(wrong):
        got = f"{of} #{wrong[0]} is on node {column[wrong[0]]}"
        raise InputError(f"{what}: {got}; legal: 0 to {nodes - 1}")
    return column.astype(np.int32)


def _executors(accesses: Accesses, sizes: NDArray[np.int64], owners: Int32, tasks: int) -> Int32:
    """Return the node of each of *tasks* tasks: *owner computes*.

    It is the owner of the written data. With several owners or none, it is the node with most
    accessed bytes, in a tie the lowest one, so that tasks without data are on node 0. Read and
    written bytes count once each.
    """
    node, single = np.zeros(tasks, np.int32), np.zeros(tasks, np.bool_)
    places = np.flatnonzero(MODE_WRITES[accesses.mode])
    if len(places):
        task, owner = accesses.task[places], owners[accesses.handle[places]]
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        lowest, highest = np.minimum.reduceat(owner, starts), np.maximum.reduceat(owner, starts)
        node[task[starts]], single[task[starts]] = lowest, lowest == highest
    if not single.all():
        several = accesses.take(~single[accesses.task] & (accesses.mode != AccessMode.SCRATCH))
        times = MODE_READS[several.mode].astype(np.int64) + MODE_WRITES[several.mode]
        keys = several.task.astype(np.int64) << 32 | owners[several.handle]
        held, place = np.unique(keys, return_inverse=True)
        amount = np.zeros(len(held), np.int64)
        np.add.at(amount, place, times * sizes[several.handle])
        # Nodes of each task, ascending and stable, so that the lowest one wins a tie in reverse.
        order = np.lexsort((-(held & 0xFFFFFFFF), amount, held >> 32))
        node[held[order] >> 32] = held[order] & 0xFFFFFFFF
    return node


class _Cut:
    """Concatenated columns of all parts, node after node."""

    def __init__(
        self,
        graph: TaskGraph,
        accesses: Accesses,
        owners: Int32,
        executor: Int32,
        needed: Needed,
        nodes: int,
    ) -> None:
        self.graph, self.owners, self.executor = graph, owners, executor
        self._accesses, self._needed, self._nodes = accesses, needed, nodes
        tasks, messages = len(executor), len(needed.task)
        none = np.full(messages, -1, np.int32)
        numbers = np.arange(messages, dtype=np.int32)
        node = np.concatenate((executor, needed.source, needed.target))
        task = np.concatenate((np.arange(tasks, dtype=np.int32), none, none))
        message = np.concatenate((np.full(tasks, -1, np.int32), numbers, numbers))
        self._when = np.concatenate(
            (np.arange(tasks, dtype=np.int64) << 32 | 1 << 31, needed.order, needed.order)
        )
        sends = np.repeat([False, True, False], [tasks, messages, messages])
        # A stable sort merges three ascending columns; node numbers of 16 bits take a radix sort.
        order = np.argsort(self._when, kind="stable")
        order = order[np.argsort(node.astype(np.uint16)[order], kind="stable")]
        self._node, self._task, self._message = node[order], task[order], message[order]
        self._when, self._sends = self._when[order], sends[order]
        self._begin = np.searchsorted(self._node, np.arange(nodes + 1))

    def distribution(self) -> Distribution:
        """Return the parts and the messages."""
        handles, columns = self._columns()
        handle_begin = np.searchsorted(handles >> 32, np.arange(self._nodes + 1))
        pointers, place, after = self._hints(handles)
        graph, sizes = self.graph, self._sizes.astype(np.float64).reshape(-1, 1)
        parts = []
        for node in watched(range(self._nodes), "nodes", until=0.5):
            here = slice(self._begin[node], self._begin[node + 1])
            first = handle_begin[node]
            own = (handles[first : handle_begin[node + 1]] & 0xFFFFFFFF).astype(np.int32)
            said = slice(pointers[node], pointers[node + 1])
            access_ptr, accesses = _list(columns["access_ptr"], here)
            successor_ptr, successors = _list(columns["successor_ptr"], here)
            part = TaskGraph(
                name=graph.name,
                arguments=graph.arguments,
                kernels=(*graph.kernels, SEND_KERNEL, RECEIVE_KERNEL),
                parameter_names=(*graph.parameter_names, ("size_bytes",), ("size_bytes",)),
                parameters=(*graph.parameters, sizes, sizes),
                model_names=(*graph.model_names, SEND_KERNEL, RECEIVE_KERNEL),
                kernel=columns["kernel"][here],
                row=columns["row"][here],
                priority=columns["priority"][here],
                access_ptr=access_ptr,
                access_handle=columns["access_handle"][accesses] - first,
                access_mode=columns["access_mode"][accesses],
                successor_ptr=successor_ptr,
                successors=columns["successors"][successors] - here.start,
                handle_size=graph.handle_size[own],
                handle_home=np.where(self.owners[own] == node, graph.handle_home[own], 0),
                handle_blocks=graph.handle_blocks,
                hint_handle=place[said] - first,
                hint_after=after[said].astype(np.int32),
                categories=graph.categories,
            )
            parts.append(LocalPart(part, self._task[here], self._message[here], own))
        return Distribution(graph, self.owners, self.executor, tuple(parts), self._messages())

    def _columns(self) -> tuple[Int64, dict[str, NDArray[Any]]]:
        """Return the data of the nodes, ``node << 32 | handle``, and columns of all tasks."""
        access_ptr, handle, mode = self._merged_accesses()
        operation = owner_of_each(access_ptr, np.int32)
        handles, place = self._numbered(handle, access_ptr[self._begin])
        accesses = Accesses(operation, place, mode)
        ordering = self._with_data_of_ranks(accesses) if self.graph.by_rank else accesses
        successor_ptr, successors = from_edges(infer_dependencies(ordering), len(self._node))
        kernel, row, priority = self._kernels()
        return handles, {
            "kernel": kernel,
            "row": row,
            "priority": priority,
            "access_ptr": access_ptr,
            "access_handle": accesses.handle,
            "access_mode": mode,
            "successor_ptr": successor_ptr,
            "successors": successors,
        }

    def _numbered(self, handle: Int32, begin: Int64) -> tuple[Int64, Int32]:
        """Return the data of the nodes, and the index of each access in them, node by node.

        *begin* has the first access of each node. Nodes come one by one, as the data of one stay in
        a cache.
        """
        place, number = np.empty_like(handle), np.empty(len(self.owners), np.int32)
        found, first = [np.empty(0, np.int64)], 0
        for node in range(self._nodes):
            here = slice(begin[node], begin[node + 1])
            own = np.unique(handle[here])
            number[own] = np.arange(first, first + len(own), dtype=np.int32)
            place[here] = number[handle[here]]
            found.append(own | np.int64(node << 32))
            first += len(own)
        return np.concatenate(found), place

    def _merged_accesses(self) -> tuple[Int64, Int32, NDArray[np.int8]]:
        """Return the accesses of all tasks: pointers, data of the whole graph, modes."""
        needed, given = self._needed.handle, self._accesses
        # Those of the graph, then of sends, then of receives.
        handle = np.concatenate((given.handle, needed, needed))
        modes = np.repeat([AccessMode.R, AccessMode.W], len(needed))
        mode = np.concatenate((given.mode, modes.astype(np.int8)))
        pointers, ours = given.pointers(len(self.executor)), self._task >= 0
        behind = np.where(self._sends, 0, len(needed)) + len(given.task) + self._message
        counts = np.where(ours, np.diff(pointers)[self._task], 1)
        places = spans(np.where(ours, pointers[self._task], behind), counts)
        return pointers_of_counts(counts), handle[places], mode[places]

    def _with_data_of_ranks(self, accesses: Accesses) -> Accesses:
        """Return *accesses*, extended so that receives read the data of their readers.

        So a rank posts a receive when the task before its reader has ended.
        """
        datum, local = np.full((2, len(self._node)), -1, np.int32)
        both = accesses.mode == AccessMode.RW
        datum[accesses.task[both]] = accesses.handle[both]
        ours = np.flatnonzero(self._task >= 0)
        local[self._task[ours]] = ours
        receives = np.flatnonzero((self._task < 0) & ~self._sends)
        read = datum[local[self._needed.task[self._message[receives]]]]
        received = accesses.handle[accesses.pointers(len(self._node))[receives]]
        more = (read >= 0) & (read != received)
        task = np.concatenate((accesses.task, receives[more].astype(np.int32)))
        handle = np.concatenate((accesses.handle, read[more]))
        modes = np.full(np.count_nonzero(more), AccessMode.R, np.int8)
        return Accesses(task, handle, np.concatenate((accesses.mode, modes)))

    def _kernels(self) -> tuple[Int32, Int32, Int32]:
        """Return kernel, row of its table and priority of all tasks.

        The kernels of communication come last, with a row per size.
        """
        graph, task, theirs = self.graph, self._task, self._task < 0
        cause = np.where(theirs, 0, task)
        if theirs.any():
            cause[theirs] = self._needed.task[self._message[theirs]]
        kernel, row = graph.kernel[cause], graph.row[cause]
        size = graph.handle_size[self._needed.handle[self._message[theirs]]]
        kernel[theirs] = len(graph.kernels) + ~self._sends[theirs]
        row[theirs] = np.searchsorted(self._sizes, size)
        return kernel, row, graph.priority[cause]

    @cached_property
    def _sizes(self) -> Int64:
        """The sizes of messages, ascending."""
        return np.unique(self.graph.handle_size[self._needed.handle])

    def _hints(self, handles: Int64) -> tuple[Int64, Int32, Int64]:
        """Return the hints of all nodes: pointers per node, local data, and times.

        An owner gets all hints about its data, other nodes those that drop received copies.
        """
        graph, needed = self.graph, self._needed
        dropped = needed.dropped >= 0
        handle = np.concatenate((graph.hint_handle, needed.handle[dropped]))
        after = np.concatenate((graph.hint_after, needed.dropped[dropped])).astype(np.int64)
        node = np.concatenate((self.owners[graph.hint_handle], needed.target[dropped]))
        order = np.lexsort((np.arange(len(node)), after, node))
        handle, after, node = handle[order], after[order], node[order]
        keys = node.astype(np.int64) << 32 | handle
        place = np.searchsorted(handles, keys)
        known = np.append(handles, -1)[place] == keys
        place, after, node = place[known], after[known], node[known]
        limits = np.searchsorted(node, np.arange(self._nodes + 1))
        local = np.empty(len(node), np.int64)  # number of tasks that the node submitted before
        for number in np.unique(node):
            here = slice(limits[number], limits[number + 1])
            begin, end = self._begin[number], self._begin[number + 1]
            local[here] = np.searchsorted(self._when[begin:end], after[here] << 32)
        return limits, place.astype(np.int32), local

    def _messages(self) -> PostedMessages:
        needed, graph = self._needed, self.graph
        local = np.arange(len(self._node)) - self._begin[self._node]
        send, receive = (np.empty(len(needed.task), np.int32) for _ in range(2))
        out, into = self._sends, (self._task < 0) & ~self._sends
        send[self._message[out]], receive[self._message[into]] = local[out], local[into]
        return PostedMessages(
            source=needed.source,
            target=needed.target,
            handle=needed.handle,
            size_bytes=graph.handle_size[needed.handle],
            priority=graph.priority[needed.task],
            task=needed.task,
            back=(needed.order >> 31 & 1).astype(np.bool_),
            send=send,
            receive=receive,
        )


def _list(pointers: NDArray[Any], here: slice) -> tuple[Int64, slice]:
    """Return the pointers of some lists, from 0, and the positions of their elements."""
    found = np.asarray(pointers[here.start : here.stop + 1], np.int64)
    return found - found[0], slice(int(found[0]), int(found[-1]))


def with_data_of_edges(
    graph: TaskGraph, accesses: Accesses, owners: Int32, executor: Int32
) -> tuple[TaskGraph, Accesses, Int32]:
    """Return *graph* and its *accesses*, with data for dependencies that these do not imply.

    Return also the *owners* of all data; writers own the new ones. The graph has the new data, but
    its columns of accesses do not change.
    """
    pointers, successors = from_edges(infer_dependencies(accesses), len(graph))
    same = np.array_equal(pointers, graph.successor_ptr)
    if same and np.array_equal(successors, graph.successors):
        return graph, accesses, owners
    tasks = np.arange(len(graph), dtype=np.int64) << 32
    implied = np.repeat(tasks, np.diff(pointers)) | successors
    given = np.repeat(tasks, np.diff(graph.successor_ptr)) | graph.successors
    edges = given[~np.isin(given, implied)]
    if not len(edges):
        return graph, accesses, owners
    writers, place = np.unique(edges >> 32, return_inverse=True)
    data = graph.handles + np.arange(len(writers))
    task = np.concatenate((accesses.task, writers, edges & 0xFFFFFFFF)).astype(np.int32)
    handle = np.concatenate((accesses.handle, data, data[place])).astype(np.int32)
    mode = np.repeat([AccessMode.W, AccessMode.R], [len(writers), len(edges)]).astype(np.int8)
    mode = np.concatenate((accesses.mode, mode))
    order = np.argsort(task, kind="stable")
    more = len(writers)
    whole = replace(
        graph,
        handle_size=np.append(graph.handle_size, np.zeros(more, np.int64)),
        handle_home=np.append(graph.handle_home, np.zeros(more, np.int32)),
        handle_blocks=(*graph.handle_blocks, HandleBlock("order", more, 0, graph.handles)),
    )
    added = Accesses(task, handle, mode).take(order)
    return whole, added, np.concatenate((owners, executor[writers]))


def cut_by(graph: TaskGraph, grid: NodeGrid, owner: str = "row") -> Distribution:
    """Return the parts of *graph* for the nodes of *grid*.

    Parameters and errors are those of :func:`tasksim.graph.distribution.owners.owners_of`.

    Examples
    --------
    >>> from tasksim import generate
    >>> from tasksim.graph.distribution.owners import NodeGrid
    >>> len(cut_by(generate("cholesky", tiles=6), NodeGrid(1, 2), "partitioned").parts)
    2
    """
    placed = placement_of(graph, grid, owner)
    return distribute(graph, placed.owners, grid.nodes, executor=placed.executor)
