"""The replay on machines with devices: memories, copies between them, and drivers.

A core runs one task at a time. A device is driven by a worker that does nothing else: it brings the
data of one task while the device runs another, and queues kernels ahead. Both are routines
that go round a loop, as the peer's workers do (StarPU: ``drivers/cpu/driver_cpu.c``,
``drivers/cuda/driver_cuda.c``), but sleep whenever there is nothing to do instead of polling.

Within one instant, ends come first, then the workers that ask for tasks, in order of their number,
then the pushes that take time, in the order in which they were begun.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.engine.clock import TICK_S, Alarm, Steps, run, ticks
from tasksim.engine.machine.releasing import Releasing, SimultaneousPushes
from tasksim.runtime.collector import no_garbage_collection
from tasksim.runtime.hooks import unless_default
from tasksim.runtime.rules import READY, TAKEN, dropped, illegal_pop

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tasksim.engine.locality import FarCharge
    from tasksim.engine.machine.driver import Driver
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["HybridReplay", "SimultaneousPushes", "needs_hybrid"]


def needs_hybrid(platform: Platform) -> bool:
    """Return whether *platform* has what only this replay knows: memories, devices, their costs."""
    return (
        len(platform.memories) > 1
        or any(platform.device(name).pipeline for name in platform.architectures)
        or not platform.overheads.only_basic
    )


class HybridReplay(Releasing):
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
        believed = costs if estimates is None else estimates
        super().__init__(graph, platform, scheduler, costs, believed, simultaneous_pushes)
        self._far = far
        self._costs = [costs[group] for group in self.class_of]
        overheads = platform.overheads
        self._fetch_cost = ticks(overheads.fetch_s)
        self._progress = ticks(overheads.progress_s)
        self._kernel = ticks(overheads.kernel_s)
        self._task = ticks(overheads.task_s)
        self._wakeup = ticks(overheads.wakeup_s)
        devices = [platform.device(worker.architecture) for worker in platform.workers]
        alone = [[name in device.synchronous for name in graph.model_names] for device in devices]
        self._alone = alone
        self._kernel_of: list[int] = graph.kernel.tolist()
        self._started = unless_default(scheduler, "started")

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

    def _device(self, driver: Driver) -> Steps:
        """A worker that drives a device: see :mod:`tasksim.engine.machine.hybrid`."""
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
                popped = yield from self._take_one(driver)
            if not (worked or popped or driver.over or routine.woken):
                yield None

    def _take_one(self, driver: Driver) -> Steps:
        """Pop a task and begin to fetch its data.

        Returns whether the driver has something new to look at.
        """
        routine, held = driver.routine, driver.held
        task = self._pop(driver)
        told, routine.notified = routine.notified, False
        if task < 0:
            return told
        held.append(task)
        driver.fetching, driver.missing = task, 1
        if self._locks:
            yield from self._unlocked(task)
        cost = self._fetch(driver, task)
        if driver.missing or len(held) == 1 or self._alone[driver.worker][self._kernel_of[task]]:
            if cost:
                yield cost
        else:  # nothing can come between: the kernel is queued in one go
            routine.rank = 1.0
            yield cost + self._kernel
            driver.fetching = -1
            self._queue(driver, task)
        return True

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
