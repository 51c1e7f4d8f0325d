"""Work of a node, its part of a distributed graph in the numbering of the replay.

Tasks for workers come first, then communication, each in the order of submission; so one comparison
tells them apart, and a scheduler sees a graph without communication.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.engine.data.accesses import Hints, HintWaits, hint_waits
from tasksim.engine.locality import FarCharge, FarCosts
from tasksim.graph.commutation import ready_at_first
from tasksim.graph.csr import owner_of_each, pointers_of_counts, spans
from tasksim.graph.taskgraph import TaskGraph

if TYPE_CHECKING:
    from tasksim.engine.locality import FarPart
    from tasksim.graph.csr import Int32, Int64
    from tasksim.graph.distribution.parts import LocalPart

__all__ = ["NumberedGraph", "Work"]


@dataclass(frozen=True, eq=False, repr=False)
class NumberedGraph(TaskGraph):
    """A part of a graph, with messages numbered as in the whole graph.

    *numbers* has the numbers of its tasks in the whole graph, -1 for communication, *data* those of
    its data.
    """

    apart: ClassVar[bool] = True
    numbers: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    data: Int32 = field(default_factory=lambda: np.empty(0, np.int32))

    def label(self, task: int) -> str:
        """Return the name of *task* for messages, with its number in the whole graph."""
        number = int(self.numbers[task])
        if number < 0:
            handle = int(self.access_handle[self.access_ptr[task]])
            return f"{self.kernel_of(task)} of {self.handle_name(handle)}"
        own = super().label(task)
        return own.replace(f"#{task}", f"#{number}", 1)

    def handle_name(self, handle: int) -> str:
        """Return the name of *handle* in the whole graph."""
        return super().handle_name(int(self.data[handle]))


class Work:
    """The work of the node that has *part*.

    Attributes
    ----------
    graph : NumberedGraph
        Tasks, then communication.
    visible : NumberedGraph
        Tasks without communication.
    order : ndarray
        All tasks of *graph* in the order of submission.
    task : ndarray
        Number of each task in the whole graph.
    message : ndarray
        Message of each communication task.
    own_tasks : int
        Number of tasks for workers.
    first_ready : list of int
        Tasks without predecessors.
    """

    def __init__(self, part: LocalPart) -> None:
        given, own = part.graph, part.task >= 0
        old = np.concatenate((np.flatnonzero(own), np.flatnonzero(~own)))
        new = np.empty(len(old), np.int32)
        new[old] = np.arange(len(old), dtype=np.int32)
        tasks = int(np.count_nonzero(own))
        self.own_tasks = tasks
        self.order = new
        self.task = part.task[old[:tasks]]
        self.message = part.message[old[tasks:]]
        self.graph = _renumbered(part, old, new)
        self.visible = _first(self.graph, tasks)
        self._given = given
        waits = self.graph.predecessor_count[:tasks] > 0
        first = ready_at_first(self.visible)
        self.first_ready = [task for task in first if not waits[task]]

    @property
    def hints(self) -> Hints:
        """Hints about data, each with the number of tasks submitted before it."""
        return Hints.of(self._given, self.hint_waits)

    def charge(self, far: FarPart) -> FarCharge:
        """Return the cost of far data on this node, from their cost for the whole graph.

        Only data that tasks of this node used count. Messages do not change the caches: a received
        datum is near if its last version was near.
        """
        costs = FarCosts.none(len(far.contained_s), len(self.graph))
        for own, given in zip(costs, far.costs, strict=True):
            own[:, : self.own_tasks] = given[:, self.task]
        return FarCharge(self.graph, costs, far.cache_of)

    @property
    def hint_waits(self) -> HintWaits:
        """Tasks that each hint waits for: writers of its datum, and readers of a received datum."""
        receive = len(self._given.kernels) - 1
        pointers, tasks, drops = hint_waits(self._given, receive)
        return HintWaits(pointers, self.order[tasks].astype(np.int64), drops)


def _renumbered(part: LocalPart, old: Int64, new: Int32) -> NumberedGraph:
    """Return the graph of *part* with its task *old[i]* as number *i*.

    Successors of a task keep the order of submission.
    """
    graph = part.graph
    access_ptr, accesses = _lists(graph.access_ptr, old)
    successor_ptr, successors = _lists(graph.successor_ptr, old)
    return NumberedGraph(
        name=graph.name,
        arguments=graph.arguments,
        kernels=graph.kernels,
        parameter_names=graph.parameter_names,
        parameters=graph.parameters,
        model_names=graph.model_names,
        kernel=graph.kernel[old],
        row=graph.row[old],
        priority=graph.priority[old],
        access_ptr=access_ptr,
        access_handle=graph.access_handle[accesses],
        access_mode=graph.access_mode[accesses],
        successor_ptr=successor_ptr,
        successors=new[graph.successors[successors]],
        handle_size=graph.handle_size,
        handle_home=graph.handle_home,
        handle_blocks=graph.handle_blocks,
        categories=graph.categories,
        hint_handle=graph.hint_handle,
        hint_after=graph.hint_after,
        numbers=part.task[old],
        data=part.handle,
    )


def _lists(pointers: Int64, chosen: Int64) -> tuple[Int64, Int64]:
    """Return the pointers of the *chosen* lists, and the positions of their contents."""
    counts = np.diff(pointers)[chosen]
    return pointers_of_counts(counts), spans(pointers[chosen], counts)


def _first(graph: NumberedGraph, tasks: int) -> NumberedGraph:
    """Return the first *tasks* of *graph*, with the dependencies between them."""
    source = owner_of_each(graph.successor_ptr[: tasks + 1])
    target = graph.successors[: len(source)]
    kept = target < tasks
    accesses = int(graph.access_ptr[tasks])
    kernels = len(graph.kernels) - 2  # without the two of communication
    return replace(
        graph,
        kernels=graph.kernels[:kernels],
        parameter_names=graph.parameter_names[:kernels],
        parameters=graph.parameters[:kernels],
        model_names=graph.model_names[:kernels],
        kernel=graph.kernel[:tasks],
        row=graph.row[:tasks],
        priority=graph.priority[:tasks],
        access_ptr=graph.access_ptr[: tasks + 1],
        access_handle=graph.access_handle[:accesses],
        access_mode=graph.access_mode[:accesses],
        successor_ptr=pointers_of_counts(np.bincount(source[kept], minlength=tasks)),
        successors=target[kept],
        hint_handle=graph.hint_handle[:0],
        hint_after=graph.hint_after[:0],
        numbers=graph.numbers[:tasks],
    )
