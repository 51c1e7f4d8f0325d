"""View of a node for its scheduler, with its state, its sleeping workers and its requests."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from tasksim.engine.data.readiness import Readiness
from tasksim.engine.data.requests import NO_TASK
from tasksim.runtime.view import RunView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Clock, Routine
    from tasksim.engine.data.accesses import TaskAccesses
    from tasksim.engine.data.memories import Memories
    from tasksim.engine.machine.hints import Writing
    from tasksim.platform.description import WorkerClass
    from tasksim.runtime.view import Facts

__all__ = ["NodeView", "Sleepers"]


class Sleepers:
    """The set of sleeping workers, initially all; ``asleep`` has a flag per worker."""

    def __init__(self, classes: Sequence[WorkerClass], class_of: Sequence[int]) -> None:
        self._class_of = class_of
        self.asleep = [True] * len(class_of)
        # Per class, a heap of its sleeping workers. A worker that is woken by number stays in its
        # heap until it comes to the top; `_listed` tells that it must not be added again.
        self._heaps: list[list[int]] = [list(group.workers) for group in classes]
        self._listed = [True] * len(class_of)

    def sleep(self, worker: int) -> None:
        """Note that *worker* sleeps."""
        self.asleep[worker] = True
        if not self._listed[worker]:
            self._listed[worker] = True
            heappush(self._heaps[self._class_of[worker]], worker)

    def first(self, able: int) -> int | None:
        """Return the sleeping worker of lowest number among the classes in the mask *able*."""
        best: list[int] | None = None
        for index, heap in enumerate(self._heaps):
            if able >> index & 1:
                while heap and not self.asleep[heap[0]]:
                    self._listed[heappop(heap)] = False
                if heap and (best is None or heap[0] < best[0]):
                    best = heap
        return None if best is None else best[0]

    def all(self, able: int) -> list[int]:
        """Return the sleeping workers of the classes in the mask *able*, in order of number."""
        found: list[int] = []
        for index, heap in enumerate(self._heaps):
            if heap and able >> index & 1:
                asleep = sorted(worker for worker in heap if self.asleep[worker])
                for worker in heap:
                    self._listed[worker] = self.asleep[worker]
                heap[:] = asleep
                found += asleep
        return sorted(found)


class NodeView(RunView):
    """The time, the workers and the locations of data, for the scheduler of a node.

    *routines* are the routines of the workers.
    """

    def __init__(
        self,
        facts: Facts,
        clock: Clock,
        routines: Sequence[Routine],
        memories: Memories,
        accesses: TaskAccesses,
        writing: Writing,
    ) -> None:
        super().__init__(facts)
        platform = facts.platform
        self._clock = clock
        self._writing = writing
        self._routines = routines
        self._drives = [bool(platform.device(w.architecture).pipeline) for w in platform.workers]
        self._driven = [worker for worker, drives in enumerate(self._drives) if drives]
        cores = {self.class_of[worker] for worker, drives in enumerate(self._drives) if not drives}
        self._cores = sum(1 << group for group in cores)
        self.sleepers = Sleepers(self.classes, self.class_of)
        self._asleep = self.sleepers.asleep
        self._one_memory = len(platform.memories) == 1
        self._needs, self._reads, self._priorities = accesses
        self._mover = memories.mover
        # Attributes that schedulers use most, without the lookups on the way.
        copies = self._copies = memories.copies
        self._valid, self._coming, self._places = copies.valid, copies.coming, copies.places
        self._size = copies.size
        self._best_s = memories.estimates.best_s
        self._copy_s = memories.estimates.copy_s

    @property
    def now(self) -> float:
        """The simulated time in seconds."""
        return self._clock.now * 1e-9  # TICK_S as a literal: schedulers ask several times per task

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return self._asleep[worker]

    def wake(self, worker: int) -> None:
        """Wake *worker*, if it sleeps, to ask for a task."""
        if worker.__class__ is not int or not 0 <= worker < len(self._asleep):
            worker = self.known_worker(worker)
        routine = self._routines[worker]
        if not self._drives[worker]:
            self._asleep[worker] = False
        elif self._asleep[worker]:
            routine.notified = True
        routine.wake()

    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker with the lowest number that can run *task*.

        On machines with devices, it follows StarPU: it wakes only the first driver that sleeps and
        has no notification yet (the pushing driver does not sleep); without such a driver, it wakes
        all cores, which race for the task.
        """
        able = self.able[task]
        if not self._driven:
            worker = self.sleepers.first(able)
            if worker is not None:
                self.wake(worker)
            return
        for worker in self._driven:
            if able >> self.class_of[worker] & 1:
                routine = self._routines[worker]
                alone = self._asleep[worker] and not routine.notified and worker != self.pusher
                routine.notified |= self._asleep[worker]
                routine.wake()
                if alone:
                    return
        for worker in self.sleepers.all(able & self._cores):
            self.wake(worker)

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        for worker in self.sleepers.all(self.able[task]):
            self.wake(worker)

    def transfer_estimate(self, task: int, memory: int) -> float:
        """Return the expected time to bring the data of *task* to *memory*, in seconds.

        It is the sum over the data that the task reads and that are neither there nor on their way.
        """
        total = 0.0
        if not self._one_memory:
            valid, coming, bit = self._valid, self._coming, 1 << memory
            for handle in self._reads[task]:
                there = valid[handle]
                if not (there | coming[handle]) & bit:
                    total += self._best_s(there, memory, self._size[handle])
        return total

    def copy_estimate(self, size_bytes: float, source: int, target: int) -> float:
        """Return the expected time of a copy between two memories, in seconds."""
        return self._copy_s(size_bytes, source, target)

    def unready(self, task: int, memory: int) -> tuple[int, int, int]:
        """Return the bytes of *task* absent from *memory*; not on their way; without a place."""
        if self._one_memory:
            return 0, 0, 0
        bit, valid = 1 << memory, self._valid
        reads, needs = self._reads[task], self._needs[task]
        for handle in reads:
            if not valid[handle] & bit:
                break
        else:
            if len(reads) == len(needs):  # valid data have a place
                return 0, 0, 0
        missing = absent = unplaced = 0
        sizes = self._size
        for handle in reads:
            if not valid[handle] & bit:
                missing += sizes[handle]
                if not self._coming[handle] & bit:
                    absent += sizes[handle]
        for handle, _, _ in needs:
            if not self._places[handle] & bit:
                unplaced += sizes[handle]
        return missing, absent, unplaced

    def holds(self, handle: int, memory: int) -> bool:
        """Return whether the value of a datum is in *memory*, or on its way there."""
        return self._one_memory or bool((self._valid[handle] | self._coming[handle]) >> memory & 1)

    def readiness(self, memory: int) -> Readiness | None:
        """Return an index that keeps added tasks in the order of :meth:`unready` in *memory*."""
        return None if self._one_memory else Readiness(self._copies, self._needs, memory)

    def prefetch(self, task: int, memory: int) -> None:
        """Prefetch the data of *task* to *memory*."""
        if not self._one_memory:
            self._mover.prefetch(self._needs[task], memory, task, self._priorities[task])

    def prefetch_handle(self, handle: int, memory: int) -> None:
        """Prefetch one datum, in its present version, to *memory*, unless a task writes it now."""
        if (
            not self._writing.is_written(handle)
            and not (self._valid[handle] | self._coming[handle]) >> memory & 1
        ):
            self._mover.prefetch(((handle, True, False),), memory, NO_TASK, 0)
