"""Node: a scheduler with its view, its workers and its memories.

A machine has one node, a cluster several. Nodes of a cluster have communication tasks, whose
numbers follow those of the tasks for workers, and which schedulers do not see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tasksim.engine.clock import Routine
from tasksim.engine.data.accesses import Hints, TaskAccesses, ordered_accesses
from tasksim.engine.data.capacity import keep_where_data_fit, no_room
from tasksim.engine.data.landing import MAIN_MEMORY, Landing
from tasksim.engine.data.memories import Memories
from tasksim.engine.data.turns import turns_of
from tasksim.engine.machine.driver import COMING, Driver, Intake
from tasksim.engine.machine.hints import HintFollower, Writing
from tasksim.engine.machine.instant import BY_NUMBER, in_steps
from tasksim.engine.machine.rate import Rate
from tasksim.engine.machine.view import NodeView
from tasksim.engine.ticks import ticks
from tasksim.platform.description import class_of
from tasksim.runtime.livelock import Patience
from tasksim.runtime.release import PAUSE
from tasksim.runtime.rules import TAKEN
from tasksim.runtime.view import Facts
from tasksim.schedulers.base import chooses_apart, unless_default

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.engine.clock import Clock, Steps
    from tasksim.engine.cluster.sharing import SharedCores
    from tasksim.engine.locality import FarCharge
    from tasksim.engine.slowing import Slowing
    from tasksim.engine.ticks import OverheadTicks
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.runtime.ledger import Ledger
    from tasksim.runtime.release import Release

__all__ = ["Charges", "Membership", "Node"]


class Charges:
    """Durations of tasks on each worker, unknown to schedulers.

    A duration is the *cost* of the task in the class of workers, plus the extra cost of *far* data.
    """

    def __init__(
        self, platform: Platform, costs: Sequence[Sequence[float]], far: FarCharge | None
    ) -> None:
        self.class_of = class_of(platform)
        self._costs = [costs[group] for group in self.class_of]
        self._far = far

    def ticks(self, task: int, worker: int) -> int:
        """Return the duration of *task*, which starts now on *worker*; call it once per task."""
        cost_s = self._costs[worker][task]
        if self._far is not None:
            cost_s += self._far.extra_s(task, self.class_of[worker], worker)
        return ticks(cost_s)


class Membership(NamedTuple):
    """A node's part in a cluster, with its communication and the objects that nodes share."""

    visible: TaskGraph
    """The tasks for workers, the only ones that the scheduler sees."""
    order: Sequence[int]
    """All tasks, with communication, in order of submission."""
    hints: Hints
    """The hints, which count submitted tasks in that order."""
    first_ready: Sequence[int]
    """The tasks without predecessors and messages."""
    communicate: Callable[[int], None]
    """Callback for a released communication task."""
    ended: Callable[[int], None]
    """Callback for each ended task, if received data need pinned memory."""
    idle: Callable[[], bool]
    """Returns whether all nodes and the network are idle."""
    over: Callable[[], bool]
    """Returns whether all nodes are finished."""
    cores: SharedCores | None = None
    """Cores that the workers of several nodes share; None: each worker has a core of its own."""


class Node:
    """The workers of a platform under one scheduler.

    Parameters
    ----------
    facts : Facts
        Graph, platform, scheduler and estimates. A class whose memory is too small for the data of
        a task cannot run the task.
    clock, ledger, release : Clock, Ledger, Release
        Those of the whole run.
    overheads, charges : OverheadTicks, Charges
        Durations of the runtime's own work, and of the tasks.
    blind : bool
        Whether all pushes of one instant choose before any of them is committed.
    member : Membership, optional
        The node's part in a cluster.
    slowing : Slowing, optional
        Slowdown of tasks by each other; by default there is none.
    """

    def __init__(
        self,
        facts: Facts,
        clock: Clock,
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
        self.clock, self.ledger, self.charges = clock, ledger, charges
        self.graph, self._release, self.overheads = graph, release, overheads
        self._blind = blind and chooses_apart(scheduler)
        self.instant = in_steps(platform) if self._blind else BY_NUMBER
        if self.instant.stepwise:
            clock.end_waits_in_reverse()
        self._member = member
        self.shared_cores = None if member is None else member.cores
        self.own_tasks = len(graph) if member is None else len(member.visible)
        """Number of tasks for workers; higher numbers are communication."""
        self.order: Sequence[int] = range(len(graph)) if member is None else member.order
        """The tasks in the order of submission."""
        self.rate = None
        if slowing is not None and self.shared_cores is None:  # shared cores have their own rate
            kernel, homes = graph.kernel.tolist(), slowing.homes(graph)
            self.rate = Rate(clock, slowing, kernel, charges.class_of, homes)
        self.started = unless_default(scheduler, "started")
        self._finished = unless_default(scheduler, "finished")
        self._several = len(platform.memories) > 1
        self.at_once: list[bool] = graph.goes_on_at_once.tolist()
        """Whether a worker continues with each task without asking the runtime; empty: never."""
        self.needs, reads = ordered_accesses(graph, moved=self._several)
        priorities = graph.priority.tolist() if scheduler.uses_priorities else [0] * len(graph)
        routines = [Routine(clock) for _ in platform.workers]
        self.memories = Memories(clock, graph, platform, routines)
        estimates = keep_where_data_fit(
            graph, platform.classes, self.needs, self.memories.copies, able, estimates
        )
        self.landing = self._landing(routines) if member is not None else None
        self.drivers = self._make_drivers(routines, priorities)
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

    def _make_drivers(self, routines: list[Routine], priorities: list[int]) -> list[Driver]:
        platform = self.platform
        mover = self.memories.mover if self._several else None
        turns_in = turns_of(self.memories.copies, [worker.memory for worker in platform.workers])
        drivers = []
        for worker, routine in zip(platform.workers, routines, strict=True):
            memory, turns = worker.memory, turns_in[worker.memory]
            cost = self.overheads.fetch
            intake = Intake(routine, memory, mover, turns, self.needs, priorities, cost)
            pipeline = platform.device(worker.architecture).pipeline
            phase = self.instant.pop_phase(worker.id)
            drivers.append(Driver(worker.id, memory, pipeline, routine, intake, turns, phase))
        return drivers

    def _landing(self, routines: list[Routine]) -> Landing | None:
        """Return the pinned memory for received data; None without devices, where it costs nothing.

        Workers that drive no device are the first to pin memory, from the last one on.
        """
        platform = self.platform
        drives = [platform.device(w.architecture).pipeline > 0 for w in platform.workers]
        if not (platform.allocation.pin_s and any(drives)):
            return None
        cores = [routine for routine, each in zip(routines, drives, strict=True) if not each]
        devices = [routine for routine, each in zip(routines, drives, strict=True) if each]
        order = [*cores[::-1], *devices[::-1]]
        return Landing(self.clock, platform.allocation, order, max(1, platform.copying.fetches))

    def _idle(self) -> bool:
        return self.ledger.idle() and not self.memories.requests.of

    def refuse_what_is_stuck(self) -> None:
        """Raise :exc:`InputError` if the data of a popped task never arrived."""
        state = self.ledger.state
        for driver in self.drivers:
            taken = [task for task, w in enumerate(self.ledger.worker) if w == driver.worker]
            stuck = [task for task in taken if state[task] == TAKEN]
            if driver.intake.state == COMING and stuck:
                memory = self.platform.memories[driver.memory].name
                raise no_room(self.graph, stuck[-1], memory, self.view.now)

    # Steps of workers

    def pop(self, driver: Driver) -> int | None:
        """Pop a task for *driver* from the scheduler; the driver sleeps if there is none."""
        worker, sleepers = driver.worker, self.view.sleepers
        popped = self.scheduler.pop(worker)
        if popped is not None:
            sleepers.asleep[worker] = False
            task = self.ledger.take(popped, worker, self.scheduler)
            self.ledger.popped[task] = self.clock.now
            if self.view.decisions is not None:
                self.view.decisions.taken(task, worker)
            return task
        if driver.routine.notified:  # there is something new: it does not sleep
            sleepers.asleep[worker] = False
        else:
            sleepers.sleep(worker)
        self._patience.left -= 1
        if not self._patience.left:
            self._patience.look(self.view.now)
        return None

    def unlocked(self, task: int, routine: Routine) -> Steps:
        """Let *routine* wait until no datum of *task* is being handed to a copy engine."""
        locks = self.memories.locks
        if locks.until:
            yield from locks.all_free(self.needs[task], routine)

    def finish(self, driver: Driver, task: int) -> Steps:
        """Release the data of *task*, which *driver* has run, and the tasks that waited for it."""
        self.ledger.finish(task)
        yield from self.unlocked(task, driver.routine)
        if self._several:
            self.memories.mover.release(self.needs[task], driver.memory)
            if driver.turns is not None:
                driver.turns.leave([handle for handle, _, _ in self.needs[task]])
        if self._finished is not None:
            self._finished(task, driver.worker)
        if self.landing is not None and self._member is not None:
            self._member.ended(task)
        yield from self._release_successors(task, driver.routine, driver.worker)

    def finish_communication(self, task: int, routine: Routine) -> Steps:
        """Release the tasks that waited for the communication *task*; *routine* pushes them."""
        self.ledger.finish(task)
        if self._several:
            self.memories.mover.release(self.needs[task], MAIN_MEMORY)
        yield from self._release_successors(task, routine, None)

    def _release_successors(self, task: int, routine: Routine, pusher: int | None) -> Steps:
        """Push each successor that is ready now, and follow hints, in order."""
        said = self.hints.waiting.get(task, ())
        pauses = self.hints.among(task, self.graph.successors_of(task)) if said else ()
        hints = iter(said)
        for successor in self._release.complete_in_turn(task, pauses):
            if successor == PAUSE:
                yield from self.hints.hear(next(hints), routine)
            else:
                yield from self.push(successor, routine, pusher, task)

    # Pushes

    def push(
        self, task: int, routine: Routine, pusher: int | None = None, released_by: int = -1
    ) -> Steps:
        """Push *task* on *routine*, that of *pusher*, whose task released it, or the main."""
        if task >= self.own_tasks:
            yield from self._communicate(task, routine, released_by)
            return
        if self._blind:
            yield from self.unlocked(task, routine)  # a released task takes its data first
        cost = self.overheads.push
        if cost or self._blind:
            routine.phase = self.instant.push
            yield routine.wait(cost)
        if self.scheduler.looks_at_data:
            yield from self.unlocked(task, routine)
        self.ledger.release(task, self.clock.now, released_by)
        self.view.pusher = pusher
        if not self._blind:
            self.scheduler.push(task)
            return
        choice = self.scheduler.choose(task)
        own = pusher is not None and self.scheduler.chosen(choice) == pusher
        routine.phase = self.instant.commit_own if own else self.instant.commit
        self.clock.keep_order()
        yield routine.wait(0)
        self.view.pusher = pusher
        self.scheduler.commit(task, choice)

    def _communicate(self, task: int, routine: Routine, released_by: int) -> Steps:
        """Give the communication *task* to the communication thread.

        Its release costs a push, because StarPU pushes a task without a kernel for it; but it costs
        the main thread nothing if the task is ready at once.
        """
        assert self._member is not None
        if self.overheads.push and released_by >= 0:
            routine.phase = self.instant.push
            yield routine.wait(self.overheads.push)
        self.ledger.release(task, self.clock.now, released_by)
        self.ledger.hand_over(task)
        self._member.communicate(task)
