"""Threads: a machine as StarPU-SimGrid runs it, wired of a kernel, workers, locks and loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.threads.copying import Copying
from tasksim.engine.threads.drivers import CoreLoop, DeviceLoop, Loop
from tasksim.engine.threads.ends import Ends
from tasksim.engine.threads.kernel import Actor, Mutex
from tasksim.engine.threads.locks import DataLocks
from tasksim.engine.threads.policies import policy_of
from tasksim.engine.threads.workers import Bell, Office, Worker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.engine.clock import Routine, TickClock
    from tasksim.engine.machine.driver import Driver
    from tasksim.engine.machine.node import Node
    from tasksim.engine.threads.kernel import Calls, Kernel
    from tasksim.engine.ticks import OverheadTicks
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.runtime.release import Release

__all__ = ["Threads"]


class Threads:
    """The threads of *node*'s workers and the main thread, and what they share.

    Parameters
    ----------
    clock : TickClock
        Waits that begin at one instant, and end at one, must end last begun first in it.
    kernel : Kernel
        Who runs them, and those of other nodes.
    """

    def __init__(self, clock: TickClock, kernel: Kernel) -> None:
        self._clock, self.kernel = clock, kernel
        self._ends: Ends | None = None
        self._office: Office | None = None

    def actor(self) -> Actor:
        """Return a new thread, which does nothing yet."""
        return Actor(self._clock, self.kernel)

    def bell(self, actor: Routine) -> Bell:
        """Return what *actor* may sleep on until it is notified."""
        assert isinstance(actor, Actor)
        bell = Bell()
        self.kernel.bells[actor] = bell.ring_if_slept_on
        return bell

    def begin(
        self,
        node: Node,
        graph: TaskGraph,
        drivers: Sequence[Driver],
        release: Release,
        overheads: OverheadTicks,
        alone: Mapping[str, Sequence[bool]],
    ) -> None:
        """Let the workers of *drivers* begin; they sleep until the first task is submitted.

        *graph* is what they run, communication included. *alone* says, per architecture and task,
        whether its kernel cannot be queued.
        """
        platform, scheduler = node.platform, node.scheduler
        workers = [Worker(driver) for driver in drivers]
        office = self._office = Office(workers, len(platform.memories))
        locks = DataLocks(overheads.progress, self.kernel)
        copying = Copying(
            self._clock, self.kernel, node.memories, locks, office, overheads.progress, node.landing
        )
        policy = policy_of(scheduler, node.view, office, overheads.progress)
        release.leave_turns_to_others()
        ends = Ends(
            node, graph, release, copying, locks, policy, overheads.push, overheads.submission
        )
        loop = Loop(node, copying, locks, policy, ends, Mutex(), overheads)
        self._ends = ends
        for worker in workers:
            actor = worker.driver.routine
            assert isinstance(actor, Actor)
            self.kernel.bells[actor] = worker.bell.ring_if_slept_on
            if worker.driver.pipeline:
                kinds = alone[platform.workers[worker.number].architecture]
                actor.begin(DeviceLoop(loop, worker, office, self.kernel, kinds).calls())
            else:
                actor.begin(CoreLoop(loop, worker).calls())

    def push(self, task: int, released_by: int) -> Calls:
        """Push *task*, or hand it over, on the main thread or that of communication."""
        assert self._ends is not None
        return self._ends.push(task, released_by, None)

    def tell_all(self, memory: int) -> Calls:
        """Wake all who look after *memory*, on the thread of communication."""
        assert self._office is not None
        return self._office.tell_all(memory, None)

    def finish_communication(self, task: int) -> Calls:
        """Release what waited for the communication *task*, on its thread."""
        assert self._ends is not None
        return self._ends.finish_communication(task)
