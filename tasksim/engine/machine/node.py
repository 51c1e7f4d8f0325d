"""Node: a scheduler, and all that it rules: its view, its workers, its memories.

A machine has one, a cluster many. Those of a cluster have communication tasks, which come behind
the tasks that workers run in numbers, and which no scheduler sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.clock import Routine, run
from tasksim.engine.data.accesses import Hints, TaskAccesses, ordered_accesses
from tasksim.engine.data.capacity import keep_where_data_fit, no_room
from tasksim.engine.data.landing import MAIN, Landing
from tasksim.engine.data.memories import Memories
from tasksim.engine.data.turns import turns_of
from tasksim.engine.machine.core import core
from tasksim.engine.machine.device import Device, alone_on
from tasksim.engine.machine.driver import PUSH, Driver
from tasksim.engine.machine.hints import HintFollower
from tasksim.engine.machine.instant import BY_NUMBER, in_steps
from tasksim.engine.machine.intake import COMING, Intake
from tasksim.engine.machine.keeper import keeper, keepers_of
from tasksim.engine.machine.rate import Rate
from tasksim.engine.machine.view import NodeView
from tasksim.engine.machine.writing import Writing
from tasksim.runtime.facts import Facts
from tasksim.runtime.ledger import DONE, TAKEN
from tasksim.runtime.livelock import Patience
from tasksim.runtime.release import PAUSE
from tasksim.schedulers.base import chooses_apart, unless_default

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from tasksim.engine.clock import Steps, TickClock
    from tasksim.engine.data.accesses import Needs
    from tasksim.engine.machine.charges import Charges
    from tasksim.engine.machine.membership import Membership
    from tasksim.engine.slowing import Slowing
    from tasksim.engine.threads.threads import Threads
    from tasksim.engine.ticks import OverheadTicks
    from tasksim.runtime.ledger import Ledger
    from tasksim.runtime.release import Release

__all__ = ["Node"]


class Node:
    """The workers of a platform under one scheduler.

    Parameters
    ----------
    facts : Facts
        What is run where, who decides, what it believes. Classes in whose memory the data of a task
        do not fit are taken from those that can run it.
    clock, ledger, release : TickClock, Ledger, Release
        Those of the whole run.
    overheads, charges : OverheadTicks, Charges
        What the runtime's own work takes, and what the tasks do.
    blind : bool
        Whether all pushes of one instant choose before any of them is committed.
    member : Membership, optional
        Of a cluster's node: what it shares with the others.
    slowing : Slowing, optional
        How tasks slow each other down; by default they do not.

    Attributes
    ----------
    threads : Threads, optional
        Who runs the workers instead of the node's own drivers: with *blind*, schedulers under which
        it matters who asks first within an instant.
    """

    def __init__(
        self,
        facts: Facts,
        clock: TickClock,
        ledger: Ledger,
        release: Release,
        overheads: OverheadTicks,
        charges: Charges,
        *,
        blind: bool,
        member: Membership | None = None,
        slowing: Slowing | None = None,
    ) -> None:
        graph, platform, scheduler, estimates, able = facts
        self.platform, self.scheduler = platform, scheduler
        self.clock = clock
        self.ledger = ledger
        self.charges = charges
        self._release = release
        self._graph = graph
        self._scheduler = scheduler
        self._overheads = overheads
        self._blind = blind and chooses_apart(scheduler)
        self.instant = in_steps(platform) if self._blind else BY_NUMBER
        self._member = member
        self.shared_cores = None if member is None else member.cores
        self.own_tasks = len(graph) if member is None else len(member.visible)
        """How many tasks workers run; those of higher numbers are communication."""
        self.order: Sequence[int] = range(len(graph)) if member is None else member.order
        """The tasks as they are submitted."""
        undisturbed = slowing is None and self.shared_cores is None
        self.threads = _threads(clock, facts, member) if blind and undisturbed else None
        self.rate = None
        if slowing is not None and self.shared_cores is None:  # these have a rate of their own
            self.rate = Rate(clock, slowing, graph.kernel.tolist(), charges.class_of)
        if self.instant.stepwise or self.threads is not None:
            clock.end_waits_in_reverse()
        self._looks = scheduler.looks_at_data
        self.started = unless_default(scheduler, "started")
        self._finished = unless_default(scheduler, "finished")
        self.needs, reads = ordered_accesses(graph, moved=len(platform.memories) > 1)
        priorities = graph.priority.tolist() if scheduler.uses_priorities else [0] * len(graph)
        routines = [self.routine() for _ in platform.workers]
        self.memories = Memories(clock, graph, platform, keepers_of(clock, platform, routines))
        estimates = keep_where_data_fit(
            graph, platform.classes, self.needs, self.memories.copies, able, estimates
        )
        self._several = len(platform.memories) > 1
        self.landing = self._landing(routines) if member is not None else None
        self._drivers = self._make_drivers(routines, priorities)
        seen = facts._replace(estimates=estimates)
        if member is not None:
            own = self.own_tasks
            rows = [row[:own] for row in estimates]
            seen = Facts(member.visible, platform, scheduler, rows, able[:own])
        accesses = TaskAccesses(self.needs, reads, priorities)
        writing = Writing(graph, self.needs, ledger)
        self.view = NodeView(seen, clock, routines, self.memories, accesses, writing)
        hints = Hints.of(graph) if member is None else member.hints
        self.hints = HintFollower(hints, ledger, writing, self.memories, overheads, self.order)
        if member is not None:
            self.view.first_ready = member.first_ready
        idle, over = (self._idle, None) if member is None else (member.idle, member.over)
        self._patience = Patience(facts, ledger, idle, over)
        # What the hot loops look up, without the way to it.
        self._locked = self.memories.locks.until
        self._hinted = self.hints.waiting
        self._push_cost = overheads.push
        waits = self._several or self._push_cost or self._blind or member is not None
        self._prompt = not (waits or self._release.commutes)
        self._make_ready, self._take, self._note_end = ledger.release, ledger.take, ledger.finish
        self._popped = ledger.popped
        self._asleep, self._sleep = self.view.sleepers.asleep, self.view.sleepers.sleep

    def _make_drivers(self, routines: list[Routine], priorities: list[int]) -> list[Driver]:
        platform, copies = self.platform, self.memories.copies
        mover = self.memories.mover if self._several else None
        turns = turns_of(copies, [worker.memory for worker in platform.workers])
        drivers = []
        for worker, routine in zip(platform.workers, routines, strict=True):
            intake = Intake(
                routine, worker.memory, mover, turns[worker.memory],
                self.needs, priorities, self._overheads.fetch,
            )  # fmt: skip
            pipeline = platform.device(worker.architecture).pipeline
            driver = Driver(
                worker.id, worker.memory, pipeline, routine, intake, turns[worker.memory]
            )
            driver.rank = self.instant.pop_rank(worker.id)
            drivers.append(driver)
        return drivers

    def _landing(self, routines: list[Routine]) -> Landing | None:
        """Return where received data land, if that costs anything: where there are devices.

        Workers that do not drive any are the first to pin memory, from the last on.
        """
        platform = self.platform
        drives = [platform.device(w.architecture).pipeline > 0 for w in platform.workers]
        if not (platform.allocation.pin_s and any(drives)):
            return None
        cores = [routine for routine, each in zip(routines, drives, strict=True) if not each]
        devices = [routine for routine, each in zip(routines, drives, strict=True) if each]
        order = [*cores[::-1], *devices[::-1]]
        return Landing(self.clock, platform.allocation, order, max(1, platform.copying.fetches))

    # From the start to the end of a run

    def begin(self, rng: random.Random) -> None:
        """Attach the scheduler and let the workers ask it for tasks."""
        self._scheduler.attach(self.view, rng)
        architectures = self.platform.architectures
        alone = {name: alone_on(self.platform, name, self._graph) for name in architectures}
        if self.threads is not None:
            self.threads.begin(
                self, self._graph, self._drivers, self._release, self._overheads, alone
            )
            return
        keepers = self.memories.requests.keepers
        workers = {id(driver.routine) for driver in self._drivers}
        for memory, routine in enumerate(keepers):
            if id(routine) not in workers:
                routine.begin(keeper(self.memories, memory))
        for driver in self._drivers:
            if driver.pipeline:
                architecture = self.platform.workers[driver.worker].architecture
                device = Device(self, driver, self._overheads, alone[architecture])
                driver.routine.begin(device.steps())
            else:
                driver.routine.begin(core(self, driver, self._overheads))

    def run(self) -> None:
        """Let everything happen."""
        if self.threads is None:
            run(self.clock)
        else:
            self.threads.kernel.run(lambda: self.ledger.state.count(DONE))

    def successors(self, task: int) -> list[int]:
        """Return the tasks, communication among them, that wait for *task*."""
        return self._graph.successors_of(task)

    def routine(self) -> Routine:
        """Return a new routine, which does nothing yet."""
        return Routine(self.clock) if self.threads is None else self.threads.actor()

    def _idle(self) -> bool:
        return self.ledger.idle() and not self.memories.requests.of

    def refuse_what_is_stuck(self) -> None:
        """Raise :exc:`InputError` if the data of a task that was taken never came."""
        state = self.ledger.state
        for driver in self._drivers:
            taken = [task for task, w in enumerate(self.ledger.worker) if w == driver.worker]
            stuck = [task for task in taken if state[task] == TAKEN]
            if driver.intake.state == COMING and stuck:
                memory = self.platform.memories[driver.memory].name
                raise no_room(self._graph, stuck[-1], memory, self.view.now)

    # What workers do

    def pop(self, driver: Driver) -> int | None:
        """Ask the scheduler for a task for *driver*, which sleeps if there is none."""
        worker = driver.worker
        popped = self._scheduler.pop(worker)
        if popped is not None:
            self._asleep[worker] = False
            return self.take(popped, worker)
        if driver.routine.notified:  # told of something meanwhile: it does not sleep
            self._asleep[worker] = False
        else:
            self._sleep(worker)
        patience = self._patience
        patience.left -= 1
        if not patience.left:
            patience.look(self.view.now)
        return None

    def take(self, popped: int, worker: int) -> int:
        """Return the task that the scheduler has given to *worker*, checked and noted."""
        task = self._take(popped, worker, self._scheduler)
        self._popped[task] = self.clock._now
        return task

    def unlocked(self, task: int) -> Steps:
        """Wait until none of the data of *task* is being handed to a copy engine."""
        return self.memories.locks.all_free(self.needs[task])

    def finish(self, driver: Driver, task: int) -> Iterable[int | None]:
        """Release what *task*, which *driver* has run, used, and the tasks that waited for it.

        Where nothing of that is waited for, at once.
        """
        if not self._prompt:
            return self._finish_in_turn(driver, task)
        self._note_end(task)
        if self._finished is not None:
            self._finished(task, driver.worker)
        now = self.clock._now
        for successor in self._release.complete_in_turn(task):
            self._make_ready(successor, now, task)
            self.view.pusher = driver.worker
            self._scheduler.push(successor)
        return ()

    def _finish_in_turn(self, driver: Driver, task: int) -> Steps:
        worker, locked = driver.worker, self._locked
        self._note_end(task)
        if locked:
            yield from self.unlocked(task)
        if self._several:
            self.leave(self.needs[task], driver)
        if self._finished is not None:
            self._finished(task, worker)
        self.hear_end(task)
        push_cost = self._push_cost
        said = iter(self._hinted.get(task, ()))
        for successor in self._release.complete_in_turn(task, self._pauses(task)):
            if successor == PAUSE:
                yield from self.hints.hear(next(said))
                continue
            if self._blind or successor >= self.own_tasks:
                yield from self.push(successor, driver.routine, worker, task)
                continue
            if push_cost:
                driver.routine.rank = PUSH
                yield push_cost
            if locked and self._looks:
                yield from self.unlocked(successor)
            self._make_ready(successor, self.clock._now, task)
            self.view.pusher = worker
            self._scheduler.push(successor)

    def finish_communication(self, task: int, routine: Routine) -> Steps:
        """Release what waited for the communication *task*; the thread *routine* pushes it."""
        if self.threads is not None:
            yield from self.threads.finish_communication(task)
            return
        self._note_end(task)
        if self._several:
            self.memories.mover.release(self.needs[task], MAIN)
        said = iter(self._hinted.get(task, ()))
        for successor in self._release.complete_in_turn(task, self._pauses(task)):
            if successor == PAUSE:
                yield from self.hints.hear(next(said))
            else:
                yield from self.push(successor, routine, None, task)

    def _pauses(self, task: int) -> Sequence[int]:
        """Return where among the successors of *task* hints are to be followed."""
        return self.hints.among(task, self.successors(task)) if task in self._hinted else ()

    def _communicate(self, task: int, routine: Routine, released_by: int) -> Steps:
        """Give the communication *task* to who does it.

        To release one costs a push, as StarPU pushes a task without a kernel for it; but not the
        main thread, when nothing else is missing.
        """
        if self._push_cost and released_by >= 0:
            routine.rank = self.instant.push
            yield self._push_cost
        self.hand_over(task, released_by)

    def hand_over(self, task: int, released_by: int) -> None:
        """Hand the communication *task* over, which was released just now."""
        assert self._member is not None
        self._make_ready(task, self.clock._now, released_by)
        self.ledger.hand_over(task)
        self._member.communicate(task)

    def hear_end(self, task: int) -> None:
        """Note that *task* has ended, where received data land."""
        if self.landing is not None and self._member is not None:
            self._member.ended(task)

    def leave(self, needs: Needs, driver: Driver) -> None:
        """Note that *driver* does not need the data of a task any more."""
        self.memories.mover.release(needs, driver.memory)
        if driver.turns is not None:
            driver.turns.leave([handle for handle, _, _ in needs])

    # Pushes

    def push(
        self, task: int, routine: Routine, pusher: int | None = None, released_by: int = -1
    ) -> Steps:
        """Push *task*, which *pusher*'s task released, on its *routine*; else the main thread's."""
        if self.threads is not None:
            yield from self.threads.push(task, released_by)
            return
        if task >= self.own_tasks:
            yield from self._communicate(task, routine, released_by)
            return
        if self._blind and self._locked:
            yield from self.unlocked(task)  # a task that is released takes its data first
        if self._push_cost or self._blind:
            routine.rank = self.instant.push
            yield self._push_cost
        if self._locked and self._looks:
            yield from self.unlocked(task)
        self._make_ready(task, self.clock._now, released_by)
        self.view.pusher = pusher
        if not self._blind:
            self._scheduler.push(task)
            return
        choice = self._scheduler.choose(task)
        own = pusher is not None and self._scheduler.chosen(choice) == pusher
        routine.rank = self.instant.commit_own if own else self.instant.commit
        self.clock.keep_order()
        yield 0
        self.view.pusher = pusher
        self._scheduler.commit(task, choice)


def _threads(clock: TickClock, facts: Facts, member: Membership | None) -> Threads | None:
    """Return the threads that answer the question, imported only where they can."""
    from tasksim.engine.threads.suits import can_be_threads

    if not can_be_threads(facts.platform, facts.scheduler, of_cluster=member is not None):
        return None

    from tasksim.engine.threads.kernel import Kernel
    from tasksim.engine.threads.threads import Threads

    return Threads(clock, Kernel(clock) if member is None else member.kernel)
