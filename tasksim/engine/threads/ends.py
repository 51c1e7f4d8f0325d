"""Ends of tasks as threads see to them: data let go, successors pushed, hints followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.data.landing import MAIN
from tasksim.engine.threads.kernel import Mutex
from tasksim.engine.threads.updates import Updates

if TYPE_CHECKING:
    from tasksim.engine.machine.node import Node
    from tasksim.engine.threads.copying import Copying
    from tasksim.engine.threads.kernel import Calls
    from tasksim.engine.threads.locks import DataLocks
    from tasksim.engine.threads.policies import Policy
    from tasksim.engine.threads.workers import Worker
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.runtime.release import Release

__all__ = ["Ends"]


class Ends:
    """What follows the end of a task, and each push.

    The numbers of simcalls were counted in StarPU 1.4.99: those between the moments at which a
    thread reads or writes what others see. *push* is what a push costs in ticks, *submit* what a
    submission does. Of *graph*, tasks that commute take turns here, and not in *release*.
    """

    def __init__(
        self,
        node: Node,
        graph: TaskGraph,
        release: Release,
        copying: Copying,
        locks: DataLocks,
        policy: Policy,
        push: int,
        submit: int,
    ) -> None:
        self._node, self._release = node, release
        self._copying, self._locks, self._policy = copying, locks, policy
        self._push_cost, self._submit_cost = push, submit
        # How many tasks are ready, and submitted: counters of all threads.
        self._ready, self._submitted = Mutex(), Mutex()
        self._machines = Mutex()
        self._updates = Updates(graph, node.order, node.ledger)

    def finish(self, task: int, me: Worker) -> Calls:
        """Let go what *task*, which *me* has run, used, and push what waited for it."""
        node = self._node
        needs = node.needs[task]
        yield -2
        yield self._machines
        yield self._machines
        yield -6
        node.ledger.finish(task)
        yield from self._copying.touch_patiently(needs, me)
        node.leave(needs, me.driver)
        for handle in self._updates.of(task):
            waiter = self._updates.give(handle)
            if waiter is not None:
                yield from self._push(waiter, task, me)
        yield -2 - 2 * len(needs)
        node.hear_end(task)
        yield from self._release_all(task, me)
        yield from self._terminate(me)
        yield -9

    def finish_communication(self, task: int) -> Calls:
        """Let go what the communication *task* used, and push what waited for it."""
        node = self._node
        node.ledger.finish(task)
        yield from self._locks.touch_all(node.needs[task])
        node.memories.mover.release(node.needs[task], MAIN)
        yield from self._release_all(task, None)

    def _release_all(self, task: int, me: Worker | None) -> Calls:
        """Push what waited for *task*, and follow the hints among it."""
        node = self._node
        said = node.hints.waiting.get(task, ())
        pauses = node.hints.among(task, node.successors(task)) if said else ()
        followed = 0
        for index, (successor, free) in enumerate(self._release.each_successor(task)):
            while followed < len(pauses) and pauses[followed] <= index:
                yield from self._hear(said[followed], me)
                followed += 1
            yield -2
            empty = self._updates.pushes_empty(task, successor)
            if empty:
                yield self._push_cost
                yield from self._count(self._ready)
            if free():
                yield from self.push(successor, task, me)
            if empty:
                yield from self._terminate(me)
        for number in said[followed:]:
            yield from self._hear(number, me)

    def push(self, task: int, released_by: int, me: Worker | None) -> Calls:
        """Push *task*, which *me*'s task *released_by* released; None: the main thread pushes."""
        node = self._node
        if task >= node.own_tasks:
            yield from self._hand_over(task, released_by, me)
            return
        yield from self._copying.touch_patiently(node.needs[task], me)
        if self._updates.take(task):
            yield from self._push(task, released_by, me)

    def _push(self, task: int, released_by: int, me: Worker | None) -> Calls:
        """Push *task*, which has all its data."""
        node = self._node
        yield self._push_cost
        node.ledger.release(task, node.clock._now, released_by)
        yield from self._count(self._ready)
        if me is None:
            yield from self._policy.push(task, None)
            return
        yield me.mutex
        me.enter()
        yield me.mutex
        yield from self._policy.push(task, me)
        yield me.mutex
        yield from me.leave()
        yield me.mutex

    def _hand_over(self, task: int, released_by: int, me: Worker | None) -> Calls:
        """Hand the communication *task* over, whose datum is asked for in main memory.

        The main thread need not push what waits for nothing.
        """
        if released_by >= 0:
            yield self._push_cost
            yield from self._count(self._ready)
        yield from self._copying.hand_over(self._node, task, released_by, me)

    def _hear(self, number: int, me: Worker | None) -> Calls:
        """Follow hint *number*, if it waited for this end alone: two empty tasks are pushed."""
        hints = self._node.hints
        if not hints.count_down(number):
            return
        handle = hints.handle(number)
        yield self._push_cost
        yield from self._count(self._ready)
        for _ in range(2):
            yield -4
            yield from self._locks.touch(handle)
        yield -5
        yield from self._count(self._submitted)
        yield -5
        yield self._push_cost
        yield from self._count(self._ready)
        yield -11
        yield from self._terminate(me)
        if not hints.drops(number):
            yield self._submit_cost
        if hints.holds(number):
            yield from self._copying.will_not_be_used(handle, me)
        yield -13
        yield from self._terminate(me)

    def _count(self, counter: Mutex) -> Calls:
        """Count one task more."""
        yield counter
        yield -1
        yield counter

    def _terminate(self, me: Worker | None) -> Calls:
        """Count one task less."""
        for mutex in (self._ready, self._submitted):
            yield mutex
            yield mutex
        if me is not None:
            yield me.mutex
            yield me.mutex
