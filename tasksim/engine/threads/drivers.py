"""Drivers: the loops of cores and of devices as threads go round them, poll by poll."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tasksim.engine.clock import Alarm
from tasksim.engine.machine.intake import BLOCKED, COMING, EMPTY, THERE
from tasksim.engine.threads.kernel import Actor, Execution, Mutex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.machine.node import Node
    from tasksim.engine.threads.copying import Copying
    from tasksim.engine.threads.ends import Ends
    from tasksim.engine.threads.kernel import Calls, Kernel
    from tasksim.engine.threads.locks import DataLocks
    from tasksim.engine.threads.policies import Policy
    from tasksim.engine.threads.workers import Office, Worker
    from tasksim.engine.ticks import OverheadTicks

__all__ = ["CoreLoop", "DeviceLoop", "Loop"]


class Loop:
    """What the loops of cores and devices share.

    *contexts* is the lock of what all workers belong to. The numbers of simcalls were counted, as
    those of :class:`~tasksim.engine.threads.ends.Ends`.
    """

    def __init__(
        self,
        node: Node,
        copying: Copying,
        locks: DataLocks,
        policy: Policy,
        ends: Ends,
        contexts: Mutex,
        overheads: OverheadTicks,
    ) -> None:
        self.node, self.copying, self.locks = node, copying, locks
        self.policy, self.ends, self.contexts = policy, ends, contexts
        self.overheads = overheads

    def ask(self, me: Worker) -> Calls:
        """Ask the scheduler for a task, as a scheduling operation that has begun."""
        if not me.scheduling:
            yield -2
            me.scheduling = True
        yield me.mutex
        popped = yield from self.policy.pop(me)
        task = None if popped is None else self.node.take(popped, me.number)
        yield me.mutex
        return task

    def note(self, me: Worker, *, found: bool) -> Calls:
        """Note whether *me* has found something to do."""
        if found:
            yield -2
            me.scheduling = False
        if found == me.sleeping:
            yield -2
            me.sleeping = not found


class CoreLoop:
    """The loop of a core: ``drivers/cpu/driver_cpu.c``."""

    def __init__(self, loop: Loop, me: Worker) -> None:
        self._loop, self._me = loop, me

    def calls(self) -> Calls:
        """Ask for a task, wait for its data, run it, finish it; for ever."""
        loop, me = self._loop, self._me
        node, needs = loop.node, loop.node.needs
        start, end = node.ledger.start, node.ledger.end
        yield from me.bell.sleep()
        while True:
            yield from me.bell.reset()
            yield from loop.copying.look_after(0, me)
            task = yield from self._get_task()
            if task is None:
                yield from me.bell.sleep()
                continue
            intake = me.driver.intake
            intake.expect(task)
            yield from loop.copying.fetch(needs[task], intake, me, loop.overheads.fetch)
            yield -4
            yield from self._wait_for_data()
            intake.state = EMPTY
            yield from loop.locks.touch_all(needs[task])
            yield -6
            yield loop.contexts
            yield -1
            yield loop.contexts
            yield -7
            start[task] = node.clock._now
            yield Execution(node.charges.ticks(task, me.number))
            end[task] = node.clock._now
            yield from loop.ends.finish(task, me)

    def _get_task(self) -> Calls:
        loop, me = self._loop, self._me
        yield me.mutex
        me.enter()
        task = yield from loop.ask(me)
        yield from loop.note(me, found=task is not None)
        yield from me.leave()
        yield me.mutex
        return task

    def _wait_for_data(self) -> Calls:
        loop, me = self._loop, self._me
        while True:
            yield from me.bell.reset()
            if me.driver.intake.state == THERE:
                return
            yield from loop.copying.look_after(0, me)
            yield from me.bell.sleep()


class DeviceLoop:
    """The loop of a device's worker: ``drivers/cuda/driver_cuda.c``.

    *alone* says per task whether its kernel cannot be queued.
    """

    def __init__(
        self, loop: Loop, me: Worker, office: Office, kernel: Kernel, alone: Sequence[bool]
    ) -> None:
        self._loop, self._me, self._office, self._kernel = loop, me, office, kernel
        self._alone = alone
        self._start, self._end = loop.node.ledger.start, loop.node.ledger.end
        self._held: deque[int] = deque()
        """The tasks popped and not finished, the oldest first; the intake's is the newest."""
        self._queued: deque[int] = deque()
        """Of those, the ones whose kernels the device runs, or will: the first runs."""
        self._over = 0
        """How many of the oldest have ended on the device."""

    def calls(self) -> Calls:
        """Go round the loop for ever."""
        loop, me, held = self._loop, self._me, self._held
        intake = me.driver.intake
        yield from me.bell.sleep()
        while True:
            yield from me.bell.reset()
            if intake.state == THERE:
                yield from self._data_there()
            if self._over:
                yield from self._take_back()
            worked = yield from loop.copying.look_after_all(me)
            task, found = yield from self._get_task()
            if not (worked or found):
                yield from me.bell.sleep()
            if task is not None:
                held.append(task)
                intake.expect(task)
                needs = loop.node.needs[task]
                yield from loop.copying.fetch(needs, intake, me, loop.overheads.fetch)
                yield -4

    def _get_task(self) -> Calls:
        """Pop if there is room; return the task, and whether anything was found."""
        loop, me = self._loop, self._me
        yield me.mutex
        me.enter()
        task, found = None, False
        if len(self._held) < me.driver.pipeline and me.driver.intake.state == EMPTY:
            task = yield from loop.ask(me)
            found, me.told = task is not None or me.told, False
            yield from loop.note(me, found=found)
            yield me.condition
        yield from me.leave()
        yield me.mutex
        return task, found

    def _data_there(self) -> Calls:
        """Launch the newest task, unless it must be alone on the device and is not."""
        task, intake = self._held[-1], self._me.driver.intake
        yield from self._loop.locks.touch_all(self._loop.node.needs[task])
        if self._alone[task] and len(self._held) > 1:
            intake.state = BLOCKED
        else:
            intake.state = EMPTY
            yield from self._launch(task)

    def _launch(self, task: int) -> Calls:
        """Queue the kernel of *task* on the device, or, if it must be alone, see it through."""
        loop, me, clock = self._loop, self._me, self._loop.node.clock
        yield -16 if len(self._held) == 1 else -10
        if self._alone[task]:
            self._start[task] = clock._now
            yield Execution(loop.node.charges.ticks(task, me.number))
            self._end[task] = clock._now
            self._held.popleft()
            yield from loop.ends.finish(task, me)
            return
        yield loop.overheads.kernel
        self._queued.append(task)
        if len(self._queued) == 1:
            self._run(task)
        yield -1

    def _run(self, task: int) -> None:
        clock = self._loop.node.clock
        self._start[task] = clock._now
        clock.keep_order()
        Alarm(clock, self._loop.node.charges.ticks(task, self._me.number), None, self._on_end)

    def _on_end(self, _event: Any) -> None:
        clock = self._loop.node.clock
        self._end[self._queued.popleft()] = clock._now
        self._over += 1
        if self._queued:
            self._run(self._queued[0])
        Actor(clock, self._kernel).begin(self._office.ended(self._me))

    def _take_back(self) -> Calls:
        """Finish the oldest task, which has ended on the device, and turn to the next."""
        held, intake = self._held, self._me.driver.intake
        self._over -= 1
        yield from self._loop.ends.finish(held.popleft(), self._me)
        if not held or (len(held) == 1 and intake.state in (COMING, THERE)):
            return
        if intake.state == BLOCKED and len(held) == 1:
            intake.state = EMPTY
            yield from self._launch(held[0])
        else:
            yield -6
