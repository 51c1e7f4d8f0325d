"""What a scheduler sees of a machine with devices, and what it can ask of it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.engine.clock import Clock, Routine
from tasksim.engine.data.accesses import ordered_accesses
from tasksim.engine.data.capacity import too_large
from tasksim.engine.data.mover import Transfers
from tasksim.engine.machine.driver import Driver
from tasksim.runtime.sleepers import Sleepers
from tasksim.runtime.view import Table, able_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["MachineView"]


class MachineView(Table):
    """The view of a replay on a machine with devices: the time, the workers, where data are.

    *costs* says, by being finite, which class of workers can run which task.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        scheduler: Scheduler,
        costs: Sequence[Sequence[float]],
        estimates: Sequence[Sequence[float]],
    ) -> None:
        super().__init__(graph, platform, estimates, able_classes(graph, costs))
        self.env = Clock(0)
        self._scheduler = scheduler
        self._devices = [False] * len(platform.memories)
        for worker in platform.workers:
            if platform.device(worker.architecture).pipeline:
                self._devices[worker.memory] = True
        self.transfers = Transfers(self.env, graph, platform, self._devices)
        self._one_memory = len(platform.memories) == 1
        # What the hot loops look up, without the way to it.
        self._valid = self.transfers.copies.valid
        self._coming = self.transfers.copies.coming
        self._places = self.transfers.copies.places
        self._size = self.transfers.copies.size
        self._best_s = self.transfers.estimates.best_s
        self._needs, self._reads = ordered_accesses(graph)
        self._copy_priority = self.priority if scheduler.uses_priorities else [0] * len(graph)
        self._set_workers(platform)
        self._set_able()

    def _set_workers(self, platform: Platform) -> None:
        devices = [platform.device(w.architecture) for w in platform.workers]
        self._drivers = [
            Driver(self.env, w.id, w.memory, device.pipeline)
            for w, device in zip(platform.workers, devices, strict=True)
        ]
        self._sleepers = Sleepers(self.classes, self.class_of)
        self._asleep = self._sleepers.asleep
        self._driven = [d.worker for d in self._drivers if d.pipeline]
        self._cores = 0
        for driver in self._drivers:
            if not driver.pipeline:
                self._cores |= 1 << self.class_of[driver.worker]
        memories: list[Routine | None] = [None] * len(platform.memories)
        for driver in self._drivers:
            if driver.pipeline and memories[driver.memory] is None:
                memories[driver.memory] = driver.routine
        self._own = [m for m, routine in enumerate(memories) if routine is None]
        self.transfers.drivers = [routine or Routine(self.env) for routine in memories]

    def _set_able(self) -> None:
        """Take tasks away from classes in whose memory their data do not fit by themselves.

        Raises :exc:`InputError` for a task that then has nowhere to run.
        """
        kept = too_large(self._needs, self.transfers.copies, self.classes)
        for task, mask in kept.items():
            self.able[task] &= mask  # type: ignore[index]
            if not self.able[task]:
                size = sum(self._size[handle] for handle, _, _ in self._needs[task])
                raise InputError(
                    f"{self.graph.label(task)} needs {size:,} bytes at once, which is more"
                    " than the memory of any worker that has an implementation of it"
                )
        if kept:
            self.estimates = [
                [inf if not kept.get(t, -1) >> index & 1 else s for t, s in enumerate(row)]
                for index, row in enumerate(self.estimates)
            ]

    @property
    def now(self) -> float:
        """The simulated time in seconds."""
        return self.env._now * 1e-9  # TICK_S; looked up by a scheduler several times per task

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return self._asleep[worker]

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""
        if worker.__class__ is not int or not 0 <= worker < len(self._asleep):
            worker = self.known_worker(worker, self._scheduler.name)
        driver = self._drivers[worker]
        if driver.pipeline and self._asleep[worker]:
            driver.routine.notified = True
        elif not driver.pipeline:
            self._asleep[worker] = False
        driver.routine.wake()

    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker of lowest number that can run *task*.

        With devices, as StarPU does it: the first driver that sleeps and has not been told of
        anything yet is woken alone (the one that pushes does not sleep); without such a driver,
        all cores are woken, and race for the task.
        """
        able = self.able[task]
        if not self._driven:
            worker = self._sleepers.first(able)
            if worker is not None:
                self.wake(worker)
            return
        for worker in self._driven:
            if able >> self.class_of[worker] & 1:
                routine = self._drivers[worker].routine
                alone = self._asleep[worker] and not routine.notified and worker != self.pusher
                routine.notified |= self._asleep[worker]
                routine.wake()
                if alone:
                    return
        for worker in self._sleepers.all(able & self._cores):
            self.wake(worker)

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        for worker in self._sleepers.all(self.able[task]):
            self.wake(worker)

    def transfer_estimate(self, task: int, memory: int) -> float:
        """Return the expected time to bring the data of *task* to *memory*, in seconds.

        The sum over what it reads that is neither there nor on its way.
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
        return self.transfers.estimates.copy_s(size_bytes, source, target)

    def unready(self, task: int, memory: int) -> tuple[int, int, int]:
        """Return the bytes that *task* reads and that are not in *memory*, and so on."""
        if self._one_memory:
            return 0, 0, 0
        bit, valid = 1 << memory, self._valid
        reads, needs = self._reads[task], self._needs[task]
        for handle in reads:
            if not valid[handle] & bit:
                break
        else:
            if len(reads) == len(needs):  # what is valid has a place
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

    def prefetch(self, task: int, memory: int) -> None:
        """Start to bring the data of *task* to *memory*."""
        if self._one_memory:
            return
        self.transfers.prefetch(task, self._needs[task], memory, self._copy_priority[task])

    def prefetch_handle(self, handle: int, memory: int) -> None:
        """Start to bring one datum, as it is now, to *memory*."""
        if not (self._valid[handle] | self._coming[handle]) >> memory & 1:
            self.transfers.prefetch(-1, ((handle, True, False),), memory, 0)
