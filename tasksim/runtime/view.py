"""What a view is under either clock: the tables, without the time."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, SchedulerError
from tasksim.platform.copyestimates import copy_seconds
from tasksim.schedulers.base import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Table", "able_classes"]


class Table(View):
    """The facts that a scheduler may ask for, in plain lists.

    *estimates* has a row per class of workers and a column per task, in seconds; *able* a bit
    mask of classes per task. The subclasses, one per clock, add the time and the waking.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        estimates: Sequence[Sequence[float]],
        able: Sequence[int],
    ) -> None:
        self.graph = graph
        self.platform = platform
        self.workers = platform.workers
        self.classes = platform.classes
        self.class_of = [0] * len(self.workers)
        for index, group in enumerate(self.classes):
            for worker in group.workers:
                self.class_of[worker] = index
        self.priority = graph.priority.tolist()
        self.estimates = estimates
        self.able = able
        self.pusher = None
        self._task_graph = graph

    @cached_property
    def sizes(self) -> list[int]:
        """Per data handle, its size in bytes."""
        sizes: list[int] = self._task_graph.handle_size.tolist()
        return sizes

    @cached_property
    def accesses(self) -> list[list[tuple[int, int]]]:
        """Per task, what it accesses, in the order given: handle and access mode."""
        graph = self._task_graph
        pairs = list(zip(graph.access_handle.tolist(), graph.access_mode.tolist(), strict=True))
        ends = graph.access_ptr.tolist()
        return [pairs[first:last] for first, last in pairwise(ends)]

    def estimate(self, task: int, worker: int) -> float:
        """Return the expected duration of *task* on *worker*, in seconds."""
        return self.estimates[self.class_of[worker]][task]

    def transfer_estimate(self, task: int, memory: int) -> float:  # noqa: ARG002
        """Return 0: where all workers share one memory, nothing is copied."""
        return 0.0

    def unready(self, task: int, memory: int) -> tuple[int, int, int]:  # noqa: ARG002
        """Return (0, 0, 0): where all workers share one memory, all data are there."""
        return 0, 0, 0

    def copy_estimate(self, size_bytes: float, source: int, target: int) -> float:
        """Return the expected time of a copy between two memories, alone on its way."""
        return copy_seconds(self.platform, size_bytes, source, target)

    def can_run(self, task: int, worker: int) -> bool:
        """Return whether *worker* has an implementation of the kernel of *task*."""
        return bool(self.able[task] >> self.class_of[worker] & 1)

    def prefetch(self, task: int, memory: int) -> None:
        """Do nothing: the data are there already."""

    def prefetch_handle(self, handle: int, memory: int) -> None:
        """Do nothing: all data are there already."""

    def known_worker(self, worker: int, scheduler: str) -> int:
        """Return *worker*, or raise :exc:`SchedulerError` if there is no such worker."""
        if isinstance(worker, int) and 0 <= worker < len(self.workers):
            return worker
        raise SchedulerError(
            f"scheduler {scheduler} woke worker {worker!r}; the workers are"
            f" 0 to {len(self.workers) - 1}"
        )


def able_classes(graph: TaskGraph, costs: Sequence[Sequence[float]]) -> list[int]:
    """Return per task a bit mask of the classes where its cost is finite.

    Raises :exc:`InputError` for the first task that no class can run.
    """
    import numpy as np

    words = max(1, -(-len(costs) // 64))
    finite = np.zeros((64 * words, len(graph)), dtype=bool)
    for index, row in enumerate(costs):
        finite[index] = np.isfinite(np.asarray(row))
    nowhere = np.flatnonzero(~finite.any(axis=0))
    if len(nowhere):
        raise InputError(f"no worker of the platform can run {graph.label(int(nowhere[0]))}")
    octets = np.ascontiguousarray(np.packbits(finite, axis=0, bitorder="little").T)
    masks: list[int] = [0] * len(graph)
    for place, word in enumerate(octets.view("<u8").T.tolist()):
        masks = [mask | part << 64 * place for mask, part in zip(masks, word, strict=True)]
    return masks
