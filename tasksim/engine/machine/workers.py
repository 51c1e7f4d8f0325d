"""Loops of cores and devices, as SimPy processes.

They are the loops of StarPU's drivers, but sleep instead of polling.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tasksim.engine.clock import END_PHASE
from tasksim.engine.machine.driver import BLOCKED, COMING, EMPTY, THERE
from tasksim.engine.machine.instant import SERVE_STEPS

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tasksim.engine.clock import Steps
    from tasksim.engine.data.memories import Memories
    from tasksim.engine.machine.driver import Driver
    from tasksim.engine.machine.node import Node
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["begin"]


def begin(node: Node, rng: random.Random) -> None:
    """Attach the scheduler of *node* and let its workers ask for tasks."""
    node.scheduler.attach(node.view, rng)
    drives = {id(driver.routine) for driver in node.drivers}
    for memory, routine in enumerate(node.memories.requests.keepers):
        if id(routine) not in drives:
            routine.begin(_keeper(node.memories, memory))
    alone = {
        name: _alone_on(node.platform, name, node.graph) for name in node.platform.architectures
    }
    for driver in node.drivers:
        if driver.pipeline:
            architecture = node.platform.workers[driver.worker].architecture
            driver.routine.begin(_Device(node, driver, alone[architecture]).steps())
        else:
            driver.routine.begin(_core(node, driver))


def _core(node: Node, driver: Driver) -> Steps:
    """Pop a task, wait for its data, run it, push its successors; for ever.

    This is the loop of StarPU's ``drivers/cpu/driver_cpu.c``, but it sleeps instead of polling.
    """
    routine, intake, overheads = driver.routine, driver.intake, node.overheads
    routine.phase = driver.phase
    there = overheads.start if driver.worker > node.graph.starts else 0
    yield from _awake(node, driver, there)
    while True:
        routine.woken = False
        routine.phase = driver.phase
        yield routine.wait(overheads.progress)
        pinned = node.landing is not None and (yield from node.landing.serve(routine))
        task = node.pop(driver)
        if task is None:
            if not (routine.woken or pinned):
                yield from _awake(node, driver, there)
            continue
        routine.phase = END_PHASE
        yield from node.unlocked(task, routine)
        overhead = intake.fetch(task)
        if not (node.at_once and node.at_once[task]):
            overhead += overheads.task
        if overhead:
            if node.instant.stepwise and not len(node.needs[task]) % 2:
                node.clock.keep_order()  # StarPU has a wait per datum, which restores the order
            yield routine.wait(overhead)
        while intake.state == COMING:
            routine.woken = False
            yield routine.sleep()
            if overheads.progress:
                yield routine.wait(overheads.progress)
        yield from _run_on_core(node, driver, task)
        yield from node.finish(driver, task)


def _awake(node: Node, driver: Driver, there: int) -> Steps:
    """Sleep until something wakes the worker, which is not available before the tick *there*."""
    yield driver.routine.sleep()
    rest = max(node.overheads.wakeup, there - node.clock.now)
    if rest > 0:
        yield driver.routine.wait(rest)


def _run_on_core(node: Node, driver: Driver, task: int) -> Steps:
    """Run *task*: alone, beside others that slow it down, or on shared cores."""
    worker, routine = driver.worker, driver.routine
    node.ledger.start[task] = node.clock.now
    if node.started is not None:
        node.started(task, worker)
    ticks = node.charges.ticks(task, worker)
    if node.rate is not None and node.rate.begin(task, worker, ticks, routine):
        yield from node.rate.until_over(worker, routine)
    else:
        node.clock.keep_order()
        if node.shared_cores is None:
            yield routine.wait(ticks)
        else:
            yield from node.shared_cores.run(ticks, routine)
    node.ledger.end[task] = node.clock.now


class _Device:
    """A device, and the worker that drives it and does nothing else.

    The worker pops while it holds fewer tasks than its pipeline, fetches their data one task after
    the other, and queues kernels on the device, which runs them in this order. *alone* has the
    tasks whose kernels cannot be queued: the worker waits for their ends.

    This is the loop of StarPU's ``drivers/cuda/driver_cuda.c``, but it sleeps instead of polling.
    """

    def __init__(self, node: Node, driver: Driver, alone: Sequence[bool]) -> None:
        self._node, self._driver, self._alone = node, driver, alone
        self._overheads = node.overheads
        self._routine, self._intake, self._worker = driver.routine, driver.intake, driver.worker
        self._start, self._end = node.ledger.start, node.ledger.end
        self._held: deque[int] = deque()
        """Popped, unfinished tasks, the oldest first; the intake's is the newest."""
        self._queued: deque[int] = deque()
        """Those of them whose kernels are queued on the device; the first one runs."""
        self._over = 0
        """Number of the oldest ones that have ended on the device."""

    def steps(self) -> Steps:
        """Drive the device: repeat the rounds of the loop for ever."""
        node, driver, held = self._node, self._driver, self._held
        routine, intake, pipeline = driver.routine, driver.intake, driver.pipeline
        alone, memory, serve = self._alone, driver.memory, node.memories.handling.serve
        post = node.memories.requests.posts[memory]
        serves = node.memories.requests.keepers[memory] is routine
        stepwise, clock, landing = node.instant.stepwise, node.clock, node.landing
        look = 2 * self._overheads.progress  # checks main memory's requests, then its own
        yield routine.sleep()
        while True:
            routine.woken = False
            if intake.state == THERE:
                task = held[-1]
                if alone[task] and len(held) > 1:
                    intake.state = BLOCKED
                else:
                    intake.state = EMPTY
                    yield from self._launch(task)
            if self._over:
                yield from self._take_back()
            pops = len(held) < pipeline and intake.state == EMPTY
            if not (pops or self._over or post.waiting or post.arrived or routine.woken):
                yield routine.sleep()  # instead of rounds that would find nothing to do
                continue
            if stepwise:
                routine.phase = SERVE_STEPS
                clock.keep_order()  # StarPU has two waits here, which keep the order
            else:
                routine.phase = driver.phase
            yield routine.wait(look)
            worked = landing is not None and (yield from landing.serve(routine))
            if serves and (post.waiting or post.arrived):
                worked |= yield from serve(memory, routine)
            popped = False
            if len(held) < pipeline and intake.state == EMPTY:
                if stepwise:
                    routine.phase = node.instant.pop_after_copy if worked else driver.phase
                    clock.keep_order()
                    yield routine.wait(0)
                popped = yield from self._take_one()
            if not (worked or popped or self._over or routine.woken):
                yield routine.sleep()

    def _take_one(self) -> Steps:
        """Pop a task and begin to fetch its data.

        Returns whether the driver has something new to do.
        """
        node, routine, intake, held = self._node, self._routine, self._intake, self._held
        task = node.pop(self._driver)
        told, routine.notified = routine.notified, False
        if task is None:
            return told
        held.append(task)
        intake.state = COMING
        yield from node.unlocked(task, routine)
        cost = intake.fetch(task)
        if intake.state == COMING or len(held) == 1 or self._alone[task]:
            if cost:
                yield routine.wait(cost)
        else:  # the data are there: the kernel is queued at once
            routine.phase = END_PHASE
            yield routine.wait(cost + self._overheads.kernel)
            intake.state = EMPTY
            self._queue(task)
        return True

    def _launch(self, task: int) -> Steps:
        """Queue the kernel of *task* on the device, or, if it must be alone, run it to its end."""
        node, routine, worker = self._node, self._routine, self._worker
        if len(self._held) == 1 and node.started is not None:
            node.started(task, worker)
        if self._alone[task]:
            self._start[task] = node.clock.now
            routine.phase = END_PHASE
            node.clock.keep_order()
            yield routine.wait(node.charges.ticks(task, worker))
            self._end[task] = node.clock.now
            self._held.popleft()
            yield from node.finish(self._driver, task)
            return
        if self._overheads.kernel:
            routine.phase = END_PHASE
            yield routine.wait(self._overheads.kernel)
        self._queue(task)

    def _queue(self, task: int) -> None:
        """Queue *task* on the device."""
        self._queued.append(task)
        if len(self._queued) == 1:
            self._run(task)

    def _run(self, task: int) -> None:
        node = self._node
        self._start[task] = node.clock.now
        node.clock.keep_order()
        node.clock.alarm(node.charges.ticks(task, self._worker), self._on_kernel_end)

    def _on_kernel_end(self, _event: Any) -> None:
        self._end[self._queued.popleft()] = self._node.clock.now
        self._over += 1
        if self._queued:
            self._run(self._queued[0])
        self._routine.wake()

    def _take_back(self) -> Steps:
        """Finish the oldest task, which has ended on the device, and take up the next."""
        node, held, intake = self._node, self._held, self._intake
        self._over -= 1
        yield from node.finish(self._driver, held.popleft())
        if not held or (len(held) == 1 and intake.state in (COMING, THERE)):
            return
        following = held[0]
        if intake.state == BLOCKED and len(held) == 1:
            yield from self._launch(following)
            intake.state = EMPTY
        elif node.started is not None:
            node.started(following, self._worker)


def _alone_on(platform: Platform, architecture: str, graph: TaskGraph) -> list[bool]:
    """Return, per task, whether its kernel cannot be queued on devices of *architecture*."""
    synchronous = platform.device(architecture).synchronous
    if not synchronous:
        return [False] * len(graph)
    kernels = [name in synchronous for name in graph.model_names]
    return [kernels[kernel] for kernel in graph.kernel.tolist()]


def _keeper(memories: Memories, memory: int) -> Steps:
    """Serve the requests of *memory*, for ever."""
    routine, post = memories.requests.keepers[memory], memories.requests.posts[memory]
    while True:
        routine.woken = False
        worked = False
        yield routine.wait(0)  # requests are complete only at the end of the instant
        if post.waiting or post.arrived:
            worked = yield from memories.handling.serve(memory, routine)
        if not worked and not routine.woken:
            yield routine.sleep()
