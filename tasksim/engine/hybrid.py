"""The replay on machines with devices: memories, copies between them, and drivers.

A core runs one task at a time. A device is driven by a worker that does nothing else: it brings the
data of one task while the device runs another, and queues kernels ahead. Both are routines
that go round a loop, as the peer's workers do (StarPU: ``drivers/cpu/driver_cpu.c``,
``drivers/cuda/driver_cuda.c``), but sleep whenever there is nothing to do instead of polling.

Within one instant, ends come first, then the workers that ask for tasks, in order of their number,
then the pushes that take time, in the order in which they were begun.
"""

from __future__ import annotations

from array import array
from collections import deque
from functools import partial
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.clock import TICK_S, Alarm, Clock, Routine, Steps, run, ticks
from tasksim.engine.hooks import chooses_apart, unless_default
from tasksim.engine.quiet import no_garbage_collection
from tasksim.engine.sleepers import Sleepers
from tasksim.engine.transfers import Transfers
from tasksim.engine.turns import Turns
from tasksim.graph.release import Release
from tasksim.graph.taskgraph import AccessMode
from tasksim.schedulers.rules import DONE, READY, TAKEN, WAITING, dropped, illegal_pop
from tasksim.schedulers.view import Table, able_classes

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from tasksim.engine.locality import FarCharge
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["HybridReplay", "SimultaneousPushes", "needs_hybrid"]

SimultaneousPushes = Literal["serial", "blind"]
"""Whether a push sees the others of its instant that came before it."""

POP: Final = 2.0
"""The rank, within an instant, of workers that ask for tasks; plus their number / 65536."""
PUSH: Final = 3.0
"""The rank of pushes that take time, and of choices when pushes do not see each other."""
COMMIT: Final = 4.0
"""The rank of what was chosen without seeing the others."""

READS: Final = (AccessMode.R, AccessMode.RW, AccessMode.COMMUTATIVE)
WRITES: Final = (AccessMode.W, AccessMode.RW, AccessMode.COMMUTATIVE)


def needs_hybrid(platform: Platform) -> bool:
    """Return whether *platform* has what only this replay knows: memories, devices, their costs."""
    return (
        len(platform.memories) > 1
        or any(platform.device(name).pipeline for name in platform.architectures)
        or not platform.overheads.only_basic
    )


class Driver:
    """A worker and what it holds."""

    __slots__ = (
        "arrive", "fetching", "held", "memory", "missing", "on_complete", "over", "pipeline",
        "queue", "rank", "routine", "running", "stuck", "worker",
    )  # fmt: skip

    def __init__(self, env: Clock, worker: int, memory: int, pipeline: int) -> None:
        self.worker, self.memory, self.pipeline = worker, memory, pipeline
        self.routine = Routine(env)
        self.rank = POP + worker / 65536
        self.held: deque[int] = deque()
        """The tasks it has popped and not finished, the oldest first."""
        self.fetching = -1
        """The one of them whose data are being brought."""
        self.missing = 0
        """How many of these data are not there yet."""
        self.arrive = self._arrive
        self.on_complete: Callable[[], None] | None = None
        self.over = 0
        """How many of the oldest have ended on the device."""
        self.queue: deque[int] = deque()
        """Kernels queued on the device behind the one that runs."""
        self.running = -1
        self.stuck = False
        """Whether a kernel that must be alone waits for those before it."""

    def _arrive(self) -> None:
        self.missing -= 1
        if not self.missing and self.on_complete is not None:
            self.on_complete()
        self.routine.wake()


class HybridReplay(Table):
    """One simulated run on a machine with devices: the view that its *scheduler* sees.

    Parameters
    ----------
    graph, platform, scheduler, costs, estimates, far
        As for :class:`~tasksim.engine.replay.Replay`.
    simultaneous_pushes : {"serial", "blind"}
        ``blind``: pushes of one instant all choose before any of them is booked, as in
        StarPU-SimGrid.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        scheduler: Scheduler,
        costs: Sequence[Sequence[float]],
        estimates: Sequence[Sequence[float]] | None = None,
        far: FarCharge | None = None,
        simultaneous_pushes: SimultaneousPushes = "serial",
    ) -> None:
        able = able_classes(graph, costs)
        super().__init__(graph, platform, costs if estimates is None else estimates, able)
        self.env = Clock(0)
        self._scheduler = scheduler
        self._far = far
        self._costs = [costs[group] for group in self.class_of]
        self._blind = simultaneous_pushes == "blind" and chooses_apart(scheduler)
        self._devices = [False] * len(platform.memories)
        for worker in platform.workers:
            if platform.device(worker.architecture).pipeline:
                self._devices[worker.memory] = True
        self.transfers = Transfers(self.env, graph, platform, self._devices)
        self._valid = self.transfers.copies.valid
        self._coming = self.transfers.copies.coming
        self._places = self.transfers.copies.places
        self._size = self.transfers.copies.size
        self._best_s = self.transfers.estimates.best_s
        self._locks = self.transfers.locks
        self._looks = scheduler.looks_at_data
        self._main = Routine(self.env)
        self._one_memory = len(platform.memories) == 1
        self._set_costs(platform)
        self._set_accesses(graph)
        self._set_tasks(graph)
        self._set_workers(platform, graph)
        self._refuse_what_does_not_fit()
        self._set_turns()

    # Setting up

    def _set_costs(self, platform: Platform) -> None:
        costs = platform.overheads
        self._submission = ticks(costs.submission_s)
        self._push_cost = ticks(costs.push_s)
        self._fetch_cost = ticks(costs.fetch_s)
        self._progress = ticks(costs.progress_s)
        self._kernel = ticks(costs.kernel_s)
        self._task = ticks(costs.task_s)
        self._wakeup = ticks(costs.wakeup_s)

    def _set_accesses(self, graph: TaskGraph) -> None:
        """Order the accesses of each task as StarPU does: what it writes first, then by handle."""
        task = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))
        mode = graph.access_mode
        moved = np.isin(mode, [int(m) for m in {*READS, *WRITES}])
        reads, writes = (np.isin(mode, [int(m) for m in modes]) for modes in (READS, WRITES))
        order = np.lexsort((graph.access_handle, ~writes, task))
        order = order[moved[order]]
        ends = np.searchsorted(task[order], np.arange(len(graph) + 1)).tolist()
        handle = graph.access_handle[order].tolist()
        needs = list(zip(handle, reads[order].tolist(), writes[order].tolist(), strict=True))
        spans = list(pairwise(ends))
        self._needs = [needs[first:last] for first, last in spans]
        order = order[reads[order]]
        handle = graph.access_handle[order].tolist()
        ends = np.searchsorted(task[order], np.arange(len(graph) + 1)).tolist()
        spans = list(pairwise(ends))
        self._reads = [handle[first:last] for first, last in spans]

    def _set_tasks(self, graph: TaskGraph) -> None:
        tasks = len(graph)
        self._release = Release(graph, submitted=not self._submission)
        self._state = [WAITING] * tasks
        self.worker = [-1] * tasks
        self.released_by = [-1] * tasks
        self.submitted, self.ready, self.popped, self.start, self.end = (
            array("q", bytes(8 * tasks)) for _ in range(5)
        )
        self._copy_priority = self.priority if self._scheduler.uses_priorities else [0] * tasks
        self._hints, self._writer, self._writers = _hints(graph)
        self._hints_of: list[list[int] | None] = [None] * tasks
        self._left = tasks

    def _set_workers(self, platform: Platform, graph: TaskGraph) -> None:
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
        alone = [[name in device.synchronous for name in graph.model_names] for device in devices]
        self._alone = alone
        self._kernel_of: list[int] = graph.kernel.tolist()
        memories: list[Routine | None] = [None] * len(platform.memories)
        for driver in self._drivers:
            if driver.pipeline and memories[driver.memory] is None:
                memories[driver.memory] = driver.routine
        self._own = [m for m, routine in enumerate(memories) if routine is None]
        self.transfers.drivers = [routine or Routine(self.env) for routine in memories]
        self._started = unless_default(self._scheduler, "started")
        self._finished = unless_default(self._scheduler, "finished")

    def _set_turns(self) -> None:
        """Let workers that share a memory with a limit take turns: see :class:`Turns`."""
        stores, sizes = self.transfers.copies.stores, self.transfers.copies.size
        self._turns: list[Turns | None] = [None] * len(stores)
        for memory, store in enumerate(stores):
            sharing = [driver for driver in self._drivers if driver.memory == memory]
            if store is not None and len(sharing) > 1:
                turns = self._turns[memory] = Turns(store.pool, sizes)
                for driver in sharing:
                    driver.on_complete = turns.completed

    def _refuse_what_does_not_fit(self) -> None:
        """Raise for a task whose data do not fit, by themselves, where it could run.

        A class whose memory is too small for a task cannot run it.
        """
        stores = self.transfers.copies.stores
        small = [
            (index, store.pool)
            for index, group in enumerate(self.classes)
            if (store := stores[group.memory]) is not None
        ]
        if not small:
            return
        fits: dict[tuple[int, ...], int] = {}
        sizes = self.transfers.copies.size
        kept = {}
        for task, needs in enumerate(self._needs):
            key = tuple([sizes[handle] for handle, _, _ in needs])
            mask = fits.get(key)
            if mask is None:
                mask = -1
                for index, pool in small:
                    if not pool.fits(list(key)):
                        mask &= ~(1 << index)
                fits[key] = mask
            if mask != -1:
                kept[task] = mask
                self.able[task] &= mask  # type: ignore[index]
                if not self.able[task]:
                    raise InputError(
                        f"{self.graph.label(task)} needs {sum(key):,} bytes at once, which is more"
                        " than the memory of any worker that has an implementation of it"
                    )
        if kept:
            self.estimates = [
                [inf if not kept.get(t, -1) >> index & 1 else s for t, s in enumerate(row)]
                for index, row in enumerate(self.estimates)
            ]

    # What the scheduler sees and asks for

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
        missing = absent = unplaced = 0
        if self._one_memory:
            return missing, absent, unplaced
        bit = 1 << memory
        valid, sizes = self._valid, self._size
        for handle in self._reads[task]:
            if not valid[handle] & bit:
                missing += sizes[handle]
                if not self._coming[handle] & bit:
                    absent += sizes[handle]
        for handle, _, _ in self._needs[task]:
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

    # What happens

    def run(self, rng: random.Random) -> float:
        """Replay the graph; return the makespan in seconds.

        Raises :exc:`SchedulerError` when the scheduler breaks a rule.
        """
        with no_garbage_collection():
            self._scheduler.attach(self, rng)
            for memory in self._own:
                self.transfers.drivers[memory].begin(self._keep(memory))
            for driver in self._drivers:
                loop = self._device(driver) if driver.pipeline else self._core(driver)
                driver.routine.begin(loop)
            self._main.begin(self._submit())
            run(self.env)
        if self._left:
            self._refuse_what_is_stuck()
            raise dropped(self._scheduler.name, self.graph, self._state, self.now)
        return max(self.end, default=0) * TICK_S

    def _refuse_what_is_stuck(self) -> None:
        """Raise if the run stopped because the data of a task that was taken never came."""
        for driver in self._drivers:
            taken = [t for t, w in enumerate(self.worker) if w == driver.worker]
            stuck = [t for t in taken if self._state[t] == TAKEN]
            if driver.missing and stuck:
                raise InputError(
                    f"the run stopped at {self.now:.6g} s: no room was found in memory"
                    f" {self.platform.memories[driver.memory].name} for the data of"
                    f" {self.graph.label(stuck[-1])}, nor in those on their way; make them larger"
                )

    def _submit(self) -> Steps:
        """The main thread: submit task after task, each with the hints that come before it."""
        release, env = self._release, self.env
        hints = self._hints
        if not self._submission:
            for task in release.sources():
                yield from self._push(task, None, -1)
            for after, handle in hints:
                yield from self._hint(after, handle)
            return
        position = 0
        due = env._now
        for task in range(len(self.graph)):
            while position < len(hints) and hints[position][0] <= task:
                due += self._submission
                if self._something_by(due):
                    yield due - env._now
                yield from self._hint(*hints[position])
                due = max(due, env._now)
                position += 1
            if self._something_by(due):
                yield due - env._now
            self.submitted[task] = max(due, self.env._now)
            for ready in release.submit(task):
                if due > env._now:
                    yield due - env._now
                yield from self._push(ready, None, -1)
                due = env._now
            due += self._submission
        for after, handle in hints[position:]:
            due += self._submission
            yield due - env._now
            yield from self._hint(after, handle)
            due = env._now

    def _something_by(self, due: int) -> bool:
        """Return whether anything else happens until *due*: then the submission must wait for it.

        While nothing does, a million tasks are submitted without an event.
        """
        queue = self.env._queue
        return bool(queue) and queue[0][0] <= due

    def _hint(self, after: int, handle: int) -> Steps:
        """Say that *handle* will not be used any more: once its last writer so far has ended."""
        writer = self._writer[after, handle]
        if writer < 0 or self._state[writer] == DONE:
            yield from self._drop_hint(handle)
        else:
            waiting = self._hints_of[writer]
            if waiting is None:
                self._hints_of[writer] = [handle]
            else:
                waiting.append(handle)

    def _drop_hint(self, handle: int) -> Steps:
        cost = 2 * self._push_cost + self._submission if self._push_cost else 0
        if cost:
            yield cost
        while self._locks and (delay := self.transfers.wait_s(handle)):
            yield delay
        if not any(self._state[task] == TAKEN for task in self._writers[handle]):
            # Else a task that comes after the hint is writing it already.
            self.transfers.will_not_be_used(handle)

    def _push(self, task: int, pusher: int | None, released_by: int) -> Steps:
        """Push *task*, which *pusher*'s task released, to the scheduler."""
        routine = self._main if pusher is None else self._drivers[pusher].routine
        if self._push_cost or self._blind:
            routine.rank = PUSH
            yield self._push_cost
        if self._locks and self._looks:
            yield from self._unlocked(task)
        if not self._blind:
            self._give(task, pusher, released_by)
            return
        self._ready(task, pusher, released_by)
        choice = self._scheduler.choose(task)
        routine.rank = COMMIT
        yield 0
        self.pusher = pusher
        self._scheduler.commit(task, choice)

    def _unlocked(self, task: int) -> Steps:
        """Wait until none of the data of *task* is being handed to a copy engine."""
        for handle, _, _ in self._needs[task]:
            while delay := self.transfers.wait_s(handle):
                yield delay

    def _give(self, task: int, pusher: int | None, released_by: int) -> None:
        self._ready(task, pusher, released_by)
        self._scheduler.push(task)

    def _ready(self, task: int, pusher: int | None, released_by: int) -> None:
        self.released_by[task] = released_by
        self.ready[task] = self.env._now
        self._state[task] = READY
        self.pusher = pusher

    def _pop(self, driver: Driver) -> int:
        """Ask the scheduler for a task; return -1, and note that the worker sleeps, if none."""
        worker = driver.worker
        task = self._scheduler.pop(worker)
        if task is None:
            if driver.routine.notified:
                self._asleep[worker] = False
            else:
                self._sleepers.sleep(worker)
            return -1
        if (
            task.__class__ is not int
            or not 0 <= task < len(self._state)
            or self._state[task] != READY
            or not self.able[task] >> self.class_of[worker] & 1
        ):
            name = self.workers[worker].name
            raise illegal_pop(self._scheduler.name, self.graph, self._state, task, name)
        self._asleep[worker] = False
        self._state[task] = TAKEN
        self.worker[task] = worker
        self.popped[task] = self.env._now
        return task

    def _fetch(self, driver: Driver, task: int) -> int:
        """Ask for the data of *task*; return how long that takes the worker."""
        if self._one_memory:
            return self._fetch_cost * len(self._needs[task])
        needs = self._needs[task]
        turns = self._turns[driver.memory]
        if turns is None:
            self._bring(driver, task)
        else:
            driver.missing, woken = 1, driver.routine.woken  # it may have to wait for its turn
            turns.ask([handle for handle, _, _ in needs], partial(self._take_turn, driver, task))
            if not driver.missing:
                driver.routine.woken = woken
        return self._fetch_cost * len(needs)

    def _bring(self, driver: Driver, task: int) -> bool:
        """Bring the data of *task*; return whether it has to wait for them."""
        driver.missing = self.transfers.fetch(
            task, self._needs[task], driver.memory, self._copy_priority[task], driver.arrive
        )
        return driver.missing > 0

    def _take_turn(self, driver: Driver, task: int) -> bool:
        waits = self._bring(driver, task)
        if not waits:
            driver.routine.wake()
        return waits

    def _core(self, driver: Driver) -> Steps:
        """A worker that is a core: ask for a task, wait for its data, run it, push successors."""
        routine, worker = driver.routine, driver.worker
        yield None
        if self._wakeup:
            yield self._wakeup
        while True:
            routine.woken = False
            routine.rank = driver.rank
            yield self._progress
            task = self._pop(driver)
            if task < 0:
                if not routine.woken:
                    yield None
                    if self._wakeup:
                        yield self._wakeup
                continue
            routine.rank = 1.0
            if self._locks:
                yield from self._unlocked(task)
            cost = self._fetch(driver, task) + self._task
            if cost:
                yield cost
            while driver.missing:
                routine.woken = False
                yield None
                if self._progress:
                    yield self._progress
            self.start[task] = self.env._now
            if self._started is not None:
                self._started(task, worker)
            yield self._cost(task, worker)
            self.end[task] = self.env._now
            yield from self._finish(driver, task)

    def _cost(self, task: int, worker: int) -> int:
        cost = self._costs[worker][task]
        if self._far is not None:
            cost += self._far.extra_s(task, self.class_of[worker])
        return round(cost * 1e9)

    def _finish(self, driver: Driver, task: int) -> Steps:
        """Release what *task* used and the tasks that waited for it."""
        self._state[task] = DONE
        self._left -= 1
        memory, worker = driver.memory, driver.worker
        if self._locks:
            yield from self._unlocked(task)
        if not self._one_memory:
            self.transfers.release(self._needs[task], memory)
            turns = self._turns[memory]
            if turns is not None:
                turns.leave([handle for handle, _, _ in self._needs[task]])
        if self._finished is not None:
            self._finished(task, worker)
        for successor in self._release.complete_in_turn(task):
            if self._blind:
                yield from self._push(successor, worker, task)
                continue
            if self._push_cost:
                driver.routine.rank = PUSH
                yield self._push_cost
            if self._locks and self._looks:
                yield from self._unlocked(successor)
            self._give(successor, worker, task)
        hints = self._hints_of[task]
        if hints is not None:
            for handle in hints:
                yield from self._drop_hint(handle)

    def _device(self, driver: Driver) -> Steps:
        """A worker that drives a device: see :mod:`tasksim.engine.hybrid`."""
        routine, held, memory = driver.routine, driver.held, driver.memory
        post = self.transfers.posts[memory]
        serves = self.transfers.drivers[memory] is routine
        alone = self._alone[driver.worker]
        look = 2 * self._progress  # at main memory's requests, then at its own
        yield None
        while True:
            routine.woken = False
            task = driver.fetching
            if task >= 0 and not driver.missing:
                driver.fetching = -1
                if alone[self._kernel_of[task]] and len(held) > 1:
                    driver.stuck = True
                else:
                    yield from self._launch(driver, task)
            if driver.over:
                yield from self._take_back(driver)
            pops = len(held) < driver.pipeline and driver.fetching < 0 and not driver.stuck
            if not (pops or driver.over or post.waiting or post.arrived or routine.woken):
                yield None  # a round of the loop that would find nothing to do
                continue
            routine.rank = driver.rank
            yield look
            worked = False
            if serves and (post.waiting or post.arrived):
                worked = yield from self.transfers.serve(memory)
            popped = False
            if len(held) < driver.pipeline and driver.fetching < 0 and not driver.stuck:
                task = self._pop(driver)
                popped, routine.notified = task >= 0 or routine.notified, False
                if task >= 0:
                    held.append(task)
                    driver.fetching, driver.missing = task, 1
                    if self._locks:
                        yield from self._unlocked(task)
                    cost = self._fetch(driver, task)
                    if driver.missing or len(held) == 1 or alone[self._kernel_of[task]]:
                        if cost:
                            yield cost
                    else:  # nothing can come between: the kernel is queued in one go
                        routine.rank = 1.0
                        yield cost + self._kernel
                        driver.fetching = -1
                        self._queue(driver, task)
            if not (worked or popped or driver.over or routine.woken):
                yield None

    def _launch(self, driver: Driver, task: int) -> Steps:
        """Queue the kernel of *task* on the device, or, if it must be alone, see it through."""
        worker = driver.worker
        if len(driver.held) == 1 and self._started is not None:
            self._started(task, worker)
        if self._alone[worker][self._kernel_of[task]]:
            self.start[task] = self.env._now
            driver.routine.rank = 1.0
            yield self._cost(task, worker)
            self.end[task] = self.env._now
            driver.held.popleft()
            yield from self._finish(driver, task)
            return
        if self._kernel:
            driver.routine.rank = 1.0
            yield self._kernel
        self._queue(driver, task)

    def _queue(self, driver: Driver, task: int) -> None:
        """Let the device run *task* after what is queued on it."""
        if driver.running < 0:
            self._run(driver, task)
        else:
            driver.queue.append(task)

    def _run(self, driver: Driver, task: int) -> None:
        driver.running = task
        self.start[task] = self.env._now
        Alarm(self.env, self._cost(task, driver.worker), driver, self._on_kernel_end)

    def _on_kernel_end(self, event: Any) -> None:
        driver: Driver = event._value
        self.end[driver.running] = self.env._now
        driver.running = -1
        driver.over += 1
        if driver.queue:
            self._run(driver, driver.queue.popleft())
        driver.routine.wake()

    def _take_back(self, driver: Driver) -> Steps:
        """Finish the oldest task, which has ended on the device, and turn to the next."""
        held, worker = driver.held, driver.worker
        driver.over -= 1
        yield from self._finish(driver, held.popleft())
        if held and held[0] != driver.fetching:
            following = held[0]
            if driver.stuck and len(held) == 1:
                yield from self._launch(driver, following)
                driver.stuck = False
            elif self._started is not None:
                self._started(following, worker)

    def _keep(self, memory: int) -> Steps:
        """Look after the requests of a memory that no device's worker looks after."""
        routine = self.transfers.drivers[memory]
        post = self.transfers.posts[memory]
        while True:
            routine.woken = False
            worked = False
            yield 0  # whoever asks has the rest of this instant to say what for
            if post.waiting or post.arrived:
                worked = yield from self.transfers.serve(memory)
            if not worked and not routine.woken:
                yield None


def _hints(
    graph: TaskGraph,
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], int], dict[int, list[int]]]:
    """Return the hints of *graph*, and who writes their data.

    Of each hint the last task that writes its datum before it, and of each datum all that do.
    """
    hints = list(zip(graph.hint_after.tolist(), graph.hint_handle.tolist(), strict=True))
    writes = np.isin(graph.access_mode, [int(mode) for mode in WRITES])
    task = np.repeat(np.arange(len(graph)), np.diff(graph.access_ptr))[writes]
    handle = graph.access_handle[writes]
    keys = np.sort(handle.astype(np.int64) * (len(graph) + 1) + task)
    asked = graph.hint_handle.astype(np.int64) * (len(graph) + 1)
    place = np.searchsorted(keys, asked + graph.hint_after) - 1
    found = keys[np.maximum(place, 0)] if len(keys) else np.zeros(len(place), np.int64)
    known = (place >= 0) & (found >= asked)
    writer = np.where(known, found - asked, -1).tolist()
    data = np.unique(graph.hint_handle).astype(np.int64)
    first, last = (np.searchsorted(keys, (data + k) * (len(graph) + 1)) for k in (0, 1))
    spans = zip(data.tolist(), first.tolist(), last.tolist(), strict=True)
    writers = {handle: (keys[a:b] % (len(graph) + 1)).tolist() for handle, a, b in spans}
    return hints, dict(zip(hints, writer, strict=True)), writers
