"""Policies of StarPU as threads run them: which locks are taken when, by pushes and pops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tasksim.engine.threads.kernel import Mutex, TryLock
from tasksim.schedulers.central import Eager, Prio
from tasksim.schedulers.ws import WorkStealing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.machine.view import NodeView
    from tasksim.engine.threads.kernel import Calls
    from tasksim.engine.threads.workers import Office, Worker
    from tasksim.schedulers.base import Scheduler

__all__ = ["Policy", "policy_of"]


class Policy(Protocol):
    """How a scheduler's pushes and pops go, lock by lock."""

    def push(self, task: int, me: Worker | None) -> Calls:
        """Queue *task*, and wake workers for it; *me* pushes, None: the main thread."""

    def pop(self, me: Worker) -> Calls:
        """Return a task for *me*, or None."""


def policy_of(scheduler: Scheduler, view: NodeView, office: Office, patience: int) -> Policy:
    """Return the policy of *scheduler*."""
    if isinstance(scheduler, WorkStealing):
        return Stealing(scheduler, view, office, patience)
    assert isinstance(scheduler, Eager | Prio)
    return Central(scheduler, view, office)


class Central:
    """One queue under one lock (``eager_central_policy.c``); a push wakes one that slept."""

    def __init__(self, scheduler: Eager | Prio, view: NodeView, office: Office) -> None:
        self._scheduler = scheduler
        self._view, self._office = view, office
        self._mutex = Mutex()

    def push(self, task: int, me: Worker | None) -> Calls:
        """Queue *task*, and wake workers up to the first that slept and had not been told."""
        yield from self._locked(me)
        self._scheduler.put(task)
        yield self._mutex
        able, class_of = self._view.able[task], self._view.class_of
        for worker in self._office.workers:
            if able >> class_of[worker.number] & 1 and (yield from self._office.tell(worker, me)):
                break

    def pop(self, me: Worker) -> Calls:
        """Return the first task; without a lock if there is none."""
        if not self._scheduler.waiting():
            return None
        yield from self._locked(me)
        task = self._scheduler.pop(me.number)
        yield self._mutex
        return task

    def _locked(self, me: Worker | None) -> Calls:
        if me is None:
            yield self._mutex
            return
        yield from me.relax()
        yield self._mutex
        yield from me.tense()


class Stealing:
    """A queue per worker, under its own lock (``work_stealing_policy.c``); a push wakes all.

    A thief that finds its victim's lock taken comes back after *patience* ticks. Its search goes on
    where the last ended, whether that found anything or not.
    """

    def __init__(
        self, scheduler: WorkStealing, view: NodeView, office: Office, patience: int
    ) -> None:
        self._scheduler, self._view, self._office = scheduler, view, office
        self._patience = patience
        self._next = [0] * len(office.workers)

    def push(self, task: int, me: Worker | None) -> Calls:
        """Put *task* on a queue, and wake everybody."""
        self._view.pusher = None if me is None else me.number
        number = self._scheduler.owner_of(task)
        owner = self._office.workers[number]
        if owner is not me and me is not None:
            yield from me.relax()
        yield owner.mutex
        while owner is not me and not owner.relaxed:
            yield owner.until_relaxed
        self._scheduler.put(task, number)
        yield owner.mutex
        if owner is not me and me is not None:
            yield from me.tense()
        for worker in self._office.workers:
            yield from self._office.tell(worker, me)

    def pop(self, me: Worker) -> Calls:
        """Return a task of its own, or one of the next who is busy and has some."""
        task = self._scheduler.take_own(me.number)
        if task is not None:
            return task
        yield from me.relax()
        number = self._victim(me.number)
        yield from me.tense()
        if number is None:
            return None
        victim = self._office.workers[number]
        if not (yield from self._try(victim, me)):
            yield self._patience
            yield me.mutex
            yield from self._office.tell_locked(me)
            yield me.mutex
            return None
        task = self._scheduler.steal(number, me.number)
        yield victim.mutex
        if victim is not me:
            yield from me.tense()
        if task is None and me.told:
            task = self._scheduler.take_own(me.number)
            me.told = me.told and task is None
        return task

    def _try(self, victim: Worker, me: Worker) -> Calls:
        """Try to lock *victim*, and one's own state before; return whether it is locked."""
        actor = me.driver.routine
        yield TryLock(me.mutex)
        if me.mutex.owner is not actor:
            return False
        if victim is me:
            return True
        yield TryLock(victim.mutex)
        got = victim.mutex.owner is actor
        if got and not victim.relaxed:
            got = False
            yield victim.mutex
        if got:
            me.relaxed += 1
            yield me.condition
        yield me.mutex
        return got

    def _victim(self, thief: int) -> int | None:
        robbable: Sequence[bool] = self._scheduler.robbable
        count = len(robbable)
        first = worker = self._next[thief]
        while not robbable[worker]:
            worker = (worker + 1) % count
            if worker == first:
                self._next[thief] = (first + 1) % count
                return None
        self._next[thief] = (worker + 1) % count
        return worker
