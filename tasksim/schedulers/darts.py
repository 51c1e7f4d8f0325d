"""The ``darts`` scheduler, which chooses the next datum of a memory rather than the next task."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.graph.access_mode import FETCHING_MODES
from tasksim.schedulers.base import Scheduler

if TYPE_CHECKING:
    import random

    from tasksim.graph.csr import Int64
    from tasksim.schedulers.base import View

__all__ = ["Darts"]


class _Candidate:
    """A datum that a class of workers lacks, and the waiting tasks that would gain by it."""

    __slots__ = ("all_s", "free", "free_s", "nearly", "nearly_priority", "nearly_task", "priority")

    def __init__(self) -> None:
        self.free: list[int] = []
        """The waiting tasks that lack nothing but this datum."""
        self.free_s = 0.0
        self.priority = -inf
        """The highest priority of these tasks."""
        self.nearly = 0
        """The number of waiting tasks that lack this datum and one more."""
        self.nearly_task = -1
        self.nearly_priority = -inf
        self.all_s = 0.0
        """The duration of all waiting tasks that read this datum."""


class Darts(Scheduler):
    """The datum that makes most work possible for its transfer is next; a list of tasks per class.

    Each class of workers has a list of planned tasks. A task that becomes ready is planned at once
    if the memory of some class has all that it reads, or its planned tasks bring it; classes take
    turns. Else it waits. A worker whose list is empty plans:

    - the waiting tasks that lack nothing in its memory;
    - else the tasks that lack only the chosen datum: the one whose transfer takes least relative
      to the duration of these tasks. Ties go to more tasks, the higher priority, more tasks that
      would then lack one datum, and the longer duration of all waiting tasks that read it;
    - else, if every task lacks two data or more, the most urgent one of those that lack two and
      read the chosen datum, by the same ties;
    - else, and the first time, the most urgent of the waiting tasks.

    This is StarPU's ``darts`` with its default options, for data that are read. Its own rule of
    eviction is left out: memories evict as under all schedulers. It takes no account of speeds:
    with CPUs beside GPUs, data that begin in main memory keep tasks on the CPUs. A choice looks at
    all waiting tasks, so a run of 10,000 that are all ready at first, each with a datum of its own,
    takes 1 s. M. Gonthier, L. Marchal, S. Thibault, "Taming data locality for task scheduling under
    memory constraint in runtime systems", Future Generation Computer Systems 143, 2023.
    """

    name: ClassVar[str] = "darts"
    core: ClassVar[str] = "darts"
    needs_estimates: ClassVar[bool] = True
    uses_priorities: ClassVar[bool] = True
    looks_at_data: ClassVar[bool] = True

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return the data that each task reads, each once, and their sizes."""
        from tasksim.graph.csr import owner_of_each, pointers_of_counts

        graph = view.graph
        reads = np.isin(graph.access_mode, list(FETCHING_MODES))
        task = owner_of_each(graph.access_ptr)[reads]
        pairs = np.stack([task, graph.access_handle[reads].astype(np.int64)])
        task, handle = np.unique(pairs, axis=1)
        return {
            "read_ptr": pointers_of_counts(np.bincount(task, minlength=len(graph))),
            "read_handle": handle,
            "size_bytes": graph.handle_size.astype(np.int64),
        }

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty lists."""
        super().attach(view, rng)
        tables = self.core_tables(view, rng)
        handles: list[int] = tables["read_handle"].tolist()
        self._reads = [handles[a:b] for a, b in pairwise(tables["read_ptr"].tolist())]
        self._sizes: list[int] = tables["size_bytes"].tolist()
        self._memory = [each.memory for each in view.classes]
        self._planned: list[deque[int]] = [deque() for _ in view.classes]
        self._uses: list[dict[int, int]] = [{} for _ in view.classes]
        """Per class and datum, the number of planned tasks that read it."""
        self._begun = [False] * len(view.classes)
        self._waiting: dict[int, None] = {}
        """The ready tasks that are not planned, in the order in which they were pushed."""
        self._turn = -1

    def push(self, task: int) -> None:
        """Plan *task* for a class that has its data, or let it wait."""
        classes = len(self._memory)
        self._turn += 1
        for k in range(classes):
            group = (self._turn + k) % classes
            if self.view.able[task] >> group & 1 and self._is_free(task, group):
                self._plan(task, group, self._place(group))
                for worker in self.view.classes[group].workers:
                    if self.view.sleeping(worker):
                        self.view.wake(worker)
                return
        self._waiting[task] = None
        if (log := self.view.decisions) is not None:
            log.queued(task, log.shared(classes))
        self.view.wake_all(task)

    def pop(self, worker: int) -> int | None:
        """Return the first task that is planned for the class of *worker*."""
        group = self.view.class_of[worker]
        planned = self._planned[group]
        if not planned and self._waiting:
            for task in self._chosen(group):
                del self._waiting[task]
                self._plan(task, group, len(planned))
        if not planned:
            return None
        task = planned.popleft()
        for handle in self._reads[task]:
            self._uses[group][handle] -= 1
        return task

    def _is_free(self, task: int, group: int) -> bool:
        """Return whether all that *task* reads is in the memory of a class, or will be."""
        return all(
            self._uses[group].get(handle, 0) or self.view.holds(handle, self._memory[group])
            for handle in self._reads[task]
        )

    def _place(self, group: int) -> int:
        """Return the place in the list before the first task that lacks data."""
        memory = self._memory[group]
        for place, planned in enumerate(self._planned[group]):
            if not all(self.view.holds(handle, memory) for handle in self._reads[planned]):
                return place
        return len(self._planned[group])

    def _plan(self, task: int, group: int, place: int) -> None:
        self._planned[group].insert(place, task)
        if (log := self.view.decisions) is not None:
            log.queued_at(task, log.shared(group), place)
        uses = self._uses[group]
        for handle in self._reads[task]:
            uses[handle] = uses.get(handle, 0) + 1

    def _chosen(self, group: int) -> list[int]:
        """Return the waiting tasks to plan for a class; none if it can run none of them."""
        able = [task for task in self._waiting if self.view.able[task] >> group & 1]
        if not able:
            return []
        if not self._begun[group]:
            self._begun[group] = True
            return [self._most_urgent(able)]
        memory, priority = self._memory[group], self.view.priority
        ready: list[int] = []
        candidates: dict[int, _Candidate] = {}
        for task in able:
            missing = [h for h in self._reads[task] if not self.view.holds(h, memory)]
            if not missing:
                ready.append(task)
            estimate = self.view.estimates[group][task]
            seconds = estimate if estimate > 0.0 else 0.0  # NaN: unknown
            for handle in missing:
                found = candidates.setdefault(handle, _Candidate())
                found.all_s += seconds
                if len(missing) == 1:
                    found.free.append(task)
                    found.free_s += seconds
                    found.priority = max(found.priority, priority[task])
                elif len(missing) == 2:
                    found.nearly += 1
                    if priority[task] > found.nearly_priority:
                        found.nearly_task, found.nearly_priority = task, priority[task]
        if ready:
            return ready
        best = min(
            (each for each in candidates.items() if each[1].free or each[1].nearly),
            key=lambda each: self._order(each[0], each[1], memory),
            default=None,
        )
        if best is None:
            return [self._most_urgent(able)]
        return best[1].free or [best[1].nearly_task]

    def _order(self, handle: int, found: _Candidate, memory: int) -> tuple[float, ...]:
        """Return the key of a datum; the smallest is chosen, of equals the first."""
        view, ratio = self.view, inf
        if found.free_s > 0.0:
            # The fastest copy counts; nothing is copied if nobody has the datum.
            times = [
                view.copy_estimate(self._sizes[handle], source, memory)
                for source in range(max(self._memory) + 1)
                if source != memory and view.holds(handle, source)
            ]
            ratio = min(times, default=0.0) / found.free_s
        priority = found.priority if found.free else found.nearly_priority
        return ratio, -len(found.free), -priority, -found.nearly, -found.all_s

    def _most_urgent(self, able: list[int]) -> int:
        return max(able, key=self.view.priority.__getitem__)
