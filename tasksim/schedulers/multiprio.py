"""The ``multiprio`` scheduler, with a queue per class of workers ordered by acceleration."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.arguments import number_from, whole_number
from tasksim.graph.access_mode import AccessMode
from tasksim.schedulers.base import Scheduler, access_tables, option_of

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tasksim.graph.csr import Int64
    from tasksim.platform.description import WorkerClass
    from tasksim.schedulers.base import View

__all__ = ["MultiPrio"]


class MultiPrio(Scheduler):
    """Queues by what each architecture gains on a task; slow workers leave the fast their work.

    A ready task is in the queue of each class of workers that can run it, where the one with the
    highest *gain* is first. The gain of an architecture is the time that it saves against the
    fastest other one, or loses against the fastest, scaled to 0 to 1 by the largest difference
    so far; an architecture that alone can run the task has 1. Of equal gains, the task that
    releases more comes first, where each successor counts by one over the number of its
    predecessors; then the older one.

    A worker looks at the first *candidates* tasks of its queue whose gains are at most *tolerance*
    below the first one's. It prefers the one with most data in its memory: bytes that are read,
    and squared bytes that are written. It takes the task if no architecture is faster, or if the
    workers of the fastest one need longer for all their ready tasks than this worker needs for the
    task. Else the task leaves this queue, and the worker looks further.

    H. Tayeb, B. Bramas, M. Faverge, A. Guermouche, "Dynamic tasks scheduling with multiple
    priorities on heterogeneous computing systems", IPDPS Workshops (HCW) 2024. The paper's workers
    try a limited number of times and ask again; here they try until the queue is empty.
    """

    name: ClassVar[str] = "multiprio"
    core: ClassVar[str] = "multiprio"
    needs_estimates: ClassVar[bool] = True

    def __init__(self, candidates: int = 10, tolerance: float = 0.8) -> None:
        self.candidates = whole_number(candidates, option_of(self, "candidates"), 1)
        self.tolerance = number_from(tolerance, option_of(self, "tolerance"), 0, 1)

    def core_options(self) -> dict[str, float]:
        """Return the number of tasks that a worker looks at, and the range of their gains."""
        return {"candidates": float(self.candidates), "tolerance": self.tolerance}

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return the architecture of each class, and the data that each task moves."""
        mode = view.graph.access_mode
        moved = (mode != AccessMode.SCRATCH) & (mode != AccessMode.REDUCTION)
        return {
            "architecture": np.array(architecture_of_classes(view.classes), np.int64),
            "writes": (mode[moved] != AccessMode.R).astype(np.int64),
            **access_tables(view.graph, moved),
        }

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        super().attach(view, rng)
        tables = self.core_tables(view, rng)
        self._architecture: list[int] = tables["architecture"].tolist()
        count = max(self._architecture) + 1
        self._workers = [0] * count
        for group in view.class_of:
            self._workers[self._architecture[group]] += 1
        self._apart = any(each.memory for each in view.classes)
        handles, sizes = tables["access_handle"].tolist(), tables["size_bytes"].tolist()
        writes = tables["writes"].tolist()
        self._moved = [
            [(handles[k], float(sizes[handles[k]]), bool(writes[k])) for k in range(begin, end)]
            for begin, end in pairwise(tables["access_ptr"].tolist())
        ]
        graph = view.graph
        self._successors: list[int] = graph.successors.tolist()
        self._first: list[int] = graph.successor_ptr.tolist()
        self._share: list[float] = (1.0 / np.maximum(1, graph.predecessor_count)).tolist()
        self._largest = [0.0] * count
        """Per architecture, the largest difference of durations so far."""
        self._left = [0.0] * count
        """Per architecture, the time of the ready tasks for which it is the fastest."""
        self._queues: list[list[tuple[float, float, int, int]]] = [[] for _ in view.classes]
        self._keys: dict[int, dict[int, tuple[float, float, int, int]]] = {}
        self._durations: dict[int, list[float]] = {}
        self._pushed = 0

    def push(self, task: int) -> None:
        """Put *task* into the queue of each class that can run it."""
        durations = self._durations_of(task)
        self._durations[task] = durations
        fastest = durations.index(min(durations))
        second = min(durations[:fastest] + durations[fastest + 1 :], default=inf)
        released = 0.0
        for after in self._successors[self._first[task] : self._first[task + 1]]:
            released += self._share[after]
        keys: dict[int, tuple[float, float, int, int]] = {}
        for architecture, duration in enumerate(durations):
            if duration == inf:
                continue
            gain = 1.0
            if second < inf:
                other = second if architecture == fastest else durations[fastest]
                difference = other - duration
                largest = max(self._largest[architecture], abs(difference))
                self._largest[architecture] = largest
                gain = (difference + largest) / (2 * largest) if largest > 0.0 else 0.5
            for group, of in enumerate(self._architecture):
                if of == architecture and self.view.able[task] >> group & 1:
                    keys[group] = (-gain, -released, self._pushed, task)
        log = self.view.decisions
        for group, key in keys.items():
            queue = self._queues[group]
            place = bisect_left(queue, key)
            queue.insert(place, key)
            if log is not None:
                log.queued_at(task, log.shared(group), place, also=True)
        self._keys[task] = keys
        self._left[fastest] += durations[fastest]
        self._pushed += 1
        self.view.wake_all(task)

    def pop(self, worker: int) -> int | None:
        """Return the first task that *worker* may take; others leave the queue of its class."""
        group = self.view.class_of[worker]
        queue = self._queues[group]
        while queue:
            place = self._nearest(queue, self.view.classes[group].memory)
            task = queue[place][3]
            durations = self._durations[task]
            fastest = durations.index(min(durations))
            own = durations[self._architecture[group]]
            if own == durations[fastest] or self._left[fastest] / self._workers[fastest] > own:
                self._remove(task, group)
                self._left[fastest] -= durations[fastest]
                return task
            del self._keys[task][group]
            del queue[place]
            if (log := self.view.decisions) is not None:
                log.left(task, log.shared(group))
        return None

    def _durations_of(self, task: int) -> list[float]:
        """Return, per architecture, the duration of *task*; infinite if it cannot run there."""
        found = [inf] * len(self._workers)
        for group, architecture in enumerate(self._architecture):
            if self.view.able[task] >> group & 1:
                estimate = self.view.estimates[group][task]
                known = estimate if estimate > 0.0 else 0.0  # NaN: unknown
                found[architecture] = min(found[architecture], known)
        return found

    def _nearest(self, queue: list[tuple[float, float, int, int]], memory: int) -> int:
        """Return the place in *queue* of the candidate with most data in *memory*."""
        if not self._apart:
            return 0
        best, most = 0, -1.0
        for place, (gain, _, _, task) in enumerate(queue[: self.candidates]):
            if gain - queue[0][0] > self.tolerance:
                break
            near = 0.0
            for handle, size, writes in self._moved[task]:
                if self.view.holds(handle, memory):
                    near += size * size if writes else size
            if near > most:
                best, most = place, near
        return best

    def _remove(self, task: int, taken_from: int) -> None:
        log = self.view.decisions
        del self._durations[task]
        for group, key in self._keys.pop(task).items():
            queue = self._queues[group]
            del queue[bisect_left(queue, key)]
            if log is not None and group != taken_from:
                log.left(task, log.shared(group))


def architecture_of_classes(classes: Sequence[WorkerClass]) -> list[int]:
    """Return, per class, the number of its architecture and models: equal ones have one number."""
    numbers: dict[tuple[str, str], int] = {}
    return [numbers.setdefault((each.architecture, each.models), len(numbers)) for each in classes]
