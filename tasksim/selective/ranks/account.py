"""Account over ranks, a simulated clock for the workers of all ranks and their messages.

Rank 0 keeps it, so ranks need not agree on anything, whatever their schedulers do. If all durations
are known, the run is a simulation of the cluster in which a message takes its mean duration,
whatever else is in flight. Data move when the send is made and the receive is ready; the number of
a rank's sends in flight is limited, and the most urgent go first, as in the simulated cluster.

A message carries its sender's path record (:mod:`tasksim.runtime.pathrecords`) to the receiver,
whose tasks continue with the later of both records: the winner's replaces the loser's. Messages are
on the path like tasks.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from functools import partial
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from tasksim.native.cluster.communicator import MAX_SENDS_IN_FLIGHT
from tasksim.runtime.blame import blamed
from tasksim.runtime.pathrecords import PathRecord
from tasksim.runtime.rules import dropped
from tasksim.runtime.view import Facts
from tasksim.selective.execution import AccountMember, Effort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tasksim.graph.distribution.parts import Distribution, LocalPart
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler
    from tasksim.selective.ranks.choosing import RankChoosers

__all__ = ["SEED_STRIDE", "Orders", "RankPaths", "RanksAccount"]


Key = tuple[int, int]
"""Rank, and number of a task of its part."""


class RankPaths:
    """Path records of all workers of all ranks, and of released tasks.

    Parameters
    ----------
    kinds : int
        Number of kinds of tasks and messages to count.
    workers : sequence of int
        Number of workers of each rank.

    Attributes
    ----------
    longest : PathRecord
        Record of the task that ended last.
    """

    def __init__(self, kinds: int, workers: Sequence[int]) -> None:
        self._empty = PathRecord(0.0, (0,) * kinds, (0.0,) * kinds, 0.0)
        self._own = [[self._empty] * count for count in workers]
        self._carried: dict[Key, PathRecord] = {}
        self.longest = self._empty

    def before(self, key: Key, worker: int, ready_s: float) -> PathRecord:
        """Return the record of the predecessor that a task on *worker* started after."""
        own = self._own[key[0]][worker]
        return own if own.end_s > ready_s else self._carried.get(key, self._empty)

    def before_message(self, key: Key) -> PathRecord:
        """Return the record that released a message at *key*, its end that was ready last."""
        return self._carried.get(key, self._empty)

    def ended(
        self, key: Key, kind: int, times: tuple[float, float, float], worker: int | None = None
    ) -> PathRecord:
        """Note that a task ended on *worker* (None: a message); return its record.

        *times* are the ready, start and end times in seconds.
        """
        ready_s, start_s, end_s = times
        before = self.before_message(key) if worker is None else self.before(key, worker, ready_s)
        record = before.then(kind, start_s, end_s)
        self._carried.pop(key, None)
        if worker is not None:
            self._own[key[0]][worker] = record
        if end_s > self.longest.end_s:
            self.longest = record
        return record

    def carry(self, record: PathRecord, rank: int, released: Iterable[int]) -> None:
        """Let *released* tasks of a *rank* continue with *record*."""
        for task in released:
            self._carried[rank, task] = record


class RankMember(AccountMember):
    """One rank on the account.

    Parameters
    ----------
    number : int
        Number of the rank.
    part : LocalPart
        Its tasks and messages, numbered as it submits them.
    platform : Platform
        Platform of its workers.
    scheduler : Scheduler
        Scheduler of the rank; it sees no tasks of other ranks.
    estimates : sequence of sequences of float, optional
        Estimated durations for the scheduler, of the part's tasks, ``[class][task]``.
    idle : callable
        Returns whether nothing is in progress on any rank.

    Attributes
    ----------
    out : list
        Ready sends: a heap of priority, turn and message.
    in_flight : int
        Number of the rank's sends in flight.
    done : deque of int
        Tasks of ended messages that the rank has not processed yet.
    """

    def __init__(
        self,
        number: int,
        part: LocalPart,
        platform: Platform,
        scheduler: Scheduler,
        estimates: Sequence[Sequence[float]] | None,
        idle: Callable[[], bool],
    ) -> None:
        facts = Facts.on_any_worker(part.graph, platform, scheduler, estimates)
        super().__init__(facts, idle)
        self.number: Final = number
        self.task: list[int] = part.task.tolist()
        self.message: list[int] = part.message.tolist()
        self.out: list[tuple[int, int, int]] = []
        self.in_flight = 0
        self.done: deque[int] = deque()
        self.woken = False

    def wake(self, woken: deque[RankMember]) -> None:
        """Join *woken*, the members that are to communicate, unless this one is among them."""
        if not self.woken:
            self.woken = True
            woken.append(self)


class UnderWay:
    """Activities of workers and messages. An *actor* is (rank, worker), or (-1, message).

    Attributes
    ----------
    ends : list of (float, int, tuple of int)
        Heap of known ends: time, number of the start, actor.
    measuring : dict
        Start on the account of each actor that is really executed or sent.
    """

    def __init__(self) -> None:
        self.ends: list[tuple[float, int, tuple[int, int]]] = []
        self.measuring: dict[tuple[int, int], float] = {}
        self._begun: dict[tuple[int, int], int] = {}
        self._starts = 0

    def begin(self, actor: tuple[int, int]) -> None:
        """Note that *actor* starts an activity, after all others so far."""
        self._starts += 1
        self._begun[actor] = self._starts

    def will_end(self, actor: tuple[int, int], end_s: float) -> None:
        """Note the end of the activity of *actor*."""
        heappush(self.ends, (end_s, self._begun[actor], actor))

    def measured(self, actor: tuple[int, int], seconds: float) -> None:
        """Note that the measured activity of *actor* took *seconds*."""
        self.will_end(actor, self.measuring.pop(actor) + seconds)

    def horizon_s(self, elapsed_s: Callable[[int, int], float]) -> float:
        """Return the time before which no measured activity ends; of a message, its start."""
        if not self.measuring:
            return inf
        return min(
            start_s + (elapsed_s(*actor) if actor[0] >= 0 else 0.0)
            for actor, start_s in self.measuring.items()
        )


class Orders(Protocol):
    """Interface for ordering tasks and messages, and for reports on their progress."""

    def task(self, rank: int, worker: int, task: int, rehearsed: int, *, safe: bool) -> None:
        """Have *worker* of *rank* execute *task* of its part, after *rehearsed* unless it is -1."""

    def message(self, message: int) -> None:
        """Have a message sent and received."""

    def elapsed_s(self, rank: int, worker: int) -> float:
        """Return a lower bound on the time that the task of *worker* has run so far."""


SEED_STRIDE: Final = 1 << 20
"""Distance between the seeds of two runs: ranks use consecutive seeds, like a simulated cluster's
nodes."""


class RanksAccount:
    """One selective run over ranks, kept by rank 0.

    Parameters
    ----------
    cut : Distribution
        The graph, with a part per rank.
    platforms : sequence of Platform
        Workers of each rank.
    schedulers : sequence of Scheduler
        Scheduler of each rank.
    orders : Orders
    chooses : RankChoosers
    paths : RankPaths
        Updated with every task and message that ends.
    estimates : sequence, optional
        Estimated durations for each rank's scheduler, for the tasks of its part.
    company : bool, default True
        Whether the neighbours of a measured task execute too, on all ranks.

    Attributes
    ----------
    members : list of RankMember
    paths : RankPaths
        As given.
    effort, messages : Effort
        Executed tasks and sent messages.
    over : bool
        Whether the run is over.
    """

    def __init__(
        self,
        cut: Distribution,
        platforms: Sequence[Platform],
        schedulers: Sequence[Scheduler],
        orders: Orders,
        chooses: RankChoosers,
        paths: RankPaths,
        estimates: Sequence[Sequence[Sequence[float]] | None] | None = None,
        *,
        company: bool = True,
    ) -> None:
        self.cut = cut
        self._orders, self._chooses, self._company = orders, chooses, company
        self.paths = paths
        believed = estimates or [None] * len(platforms)
        self.members = [
            RankMember(number, part, platform, scheduler, believed[number], self._idle)
            for number, (part, platform, scheduler) in enumerate(
                zip(cut.parts, platforms, schedulers, strict=True)
            )
        ]
        messages = cut.messages
        self._ends_of = messages.ends()
        self._priority: list[int] = messages.priority.tolist()
        self._awaited = [False] * len(messages)
        self._announced = [False] * len(messages)
        # Actors: (rank, worker), or (-1, message) for a message.
        self._task: dict[tuple[int, int], int] = {}
        self._under_way = UnderWay()
        self._accompanying: set[tuple[int, int]] = set()
        self._executed: dict[tuple[int, int], bool] = {}
        self._woken: deque[RankMember] = deque()
        self._turns = 0
        self._now = 0.0
        self.effort, self.messages = Effort(), Effort()
        self._measured_s: dict[tuple[int, int], float] = defaultdict(float)
        self._repeated = False
        self.over = False

    # Called by rank 0

    def begin(self, seed: int) -> None:
        """Submit all tasks of all ranks at time 0 of the account."""
        try:
            for member in self.members:
                rng = random.Random(seed * SEED_STRIDE + member.number)
                member.facts.scheduler.attach(member.view, rng)
            for member in self.members:
                member.submit(partial(self._push, member))
        except (Exception, SystemExit) as error:
            _blame(self.members, error)

    def advance(self) -> None:
        """Advance the account as far as possible."""
        try:
            self._advance()
        except (Exception, SystemExit) as error:
            _blame(self.members, error)

    def _advance(self) -> None:
        under_way, ends = self._under_way, self._under_way.ends
        elapsed_s = self._orders.elapsed_s
        while not self.over:
            if not ends or ends[0][0] > self._now:
                self._settle()
            if not ends:
                self._stop_if_stuck_or_done()
                return
            end_s, _, actor = ends[0]
            if end_s >= under_way.horizon_s(elapsed_s) or actor in self._accompanying:
                self._keep_busy()
                return
            heappop(ends)
            self._now = max(self._now, end_s)
            if actor[0] < 0:
                self._arrive(actor[1])
            else:
                self._end(actor, end_s)

    def waits_for(self) -> Iterator[tuple[int, int, float]]:
        """Yield rank and worker of the tasks that the next event of the account waits for.

        The third value is the time for which the task must have run to let the account proceed.
        """
        ends = self._under_way.ends
        if self.over or not ends or ends[0][2] in self._accompanying:
            return
        for (rank, worker), start_s in self._under_way.measuring.items():
            if rank >= 0:
                yield rank, worker, ends[0][0] - start_s

    def returned(self, rank: int, worker: int, seconds: float) -> None:
        """Note that the task of *worker* was executed in *seconds*."""
        actor = rank, worker
        if actor not in self._under_way.measuring:
            self._accompanying.discard(actor)
            return
        # The account may be ahead of this rank's clock.
        since_s = self._now - self._under_way.measuring[actor]
        self._under_way.measured(actor, max(seconds, since_s))
        self._chooses.measured(rank, self._task[actor], seconds)
        self.effort.executed_s += seconds
        self._measured_s[actor] += seconds
        self.effort.busiest_s = max(self.effort.busiest_s, self._measured_s[actor])

    def returned_message(self, message: int, source_s: float, target_s: float) -> None:
        """Note that *message* was sent, with its durations at the source and at the target."""
        self._under_way.measured((-1, message), target_s)
        self._chooses.measured_message(message, source_s, target_s)
        self.messages.executed_s += target_s

    @property
    def makespan_s(self) -> float:
        """End of the last task in seconds."""
        return max(member.ledger.makespan_s() for member in self.members)

    @property
    def has_skipped(self) -> bool:
        """Whether anything was charged or repeated, so that data may be wrong."""
        effort = self.effort
        return effort.skipped + effort.accompanied + self.messages.skipped > 0 or self._repeated

    def task_of(self, rank: int, worker: int) -> int:
        """Return the current or last task of *worker*, numbered as in its part."""
        return self._task[rank, worker]

    # Workers

    def _settle(self) -> None:
        """Let all awake workers ask for tasks, then let ranks send and process arrivals."""
        while True:
            for member in self.members:
                if member.view.awake:
                    member.view.go_on(self._now)
                    member.serve(partial(self._start, member))
            if not self._woken:
                return
            self._communicate(self._woken.popleft())

    def _start(self, member: RankMember, task: int, worker: int) -> None:
        now, actor, ledger = self._now, (member.number, worker), member.ledger
        ledger.popped[task] = ledger.start[task] = now
        last, rehearsed = self._task.get(actor, -1), -1
        if last >= 0 and not self._executed[actor]:
            rehearsed = last
        self._task[actor], self._executed[actor] = task, False
        before = self.paths.before((member.number, task), worker, ledger.ready[task])
        charge_s = self._chooses.charge_s(member.number, task, worker, before, now)
        self._under_way.begin(actor)
        if charge_s is None:
            self.effort.executed += 1
            self.effort.rehearsed += rehearsed >= 0
            self._under_way.measuring[actor] = now
            self._order(actor, rehearsed)
            for _, _, other in self._under_way.ends:
                if other[0] >= 0:
                    self._accompany(other)
        else:
            self.effort.skipped += 1
            self._under_way.will_end(actor, now + charge_s)
            if any(rank >= 0 for rank, _ in self._under_way.measuring):
                self._accompany(actor)

    def _accompany(self, actor: tuple[int, int]) -> None:
        """Have a worker execute its charged task, unless it did so already."""
        if not self._company or self._executed[actor]:
            return
        self._accompanying.add(actor)
        self.effort.skipped -= 1
        self.effort.accompanied += 1
        self._order(actor, -1)

    def _keep_busy(self) -> None:
        """Have workers whose tasks returned, but go on on the account, repeat them.

        In a full run they would be busy beside what is measured. Here they have returned early, as
        the account waits for others.
        """
        if not self._company or not self._under_way.measuring:
            return
        for _, _, actor in self._under_way.ends:
            if actor[0] >= 0 and self._executed[actor] and actor not in self._accompanying:
                self._accompanying.add(actor)
                self._repeated = True
                self._orders.task(*actor, self._task[actor], -1, safe=True)

    def _order(self, actor: tuple[int, int], rehearsed: int) -> None:
        self._executed[actor] = True
        self._orders.task(*actor, self._task[actor], rehearsed, safe=self.has_skipped)

    def _end(self, actor: tuple[int, int], end_s: float) -> None:
        """Note the end of a worker's task on the account, and push released tasks."""
        rank, worker = actor
        member, task = self.members[rank], self._task[actor]
        ledger = member.ledger
        released = member.end(task, worker, end_s)
        times = ledger.ready[task], ledger.start[task], end_s
        kind = self._chooses.kind(rank, task)
        record = self.paths.ended((rank, task), kind, times, worker)
        self.paths.carry(record, rank, released)
        self._push(member, released, task)

    def _push(self, member: RankMember, released: list[int], released_by: int) -> None:
        member.view.go_on(self._now)
        for task in released:
            member.ledger.release(task, self._now, released_by)
            if member.message[task] >= 0:
                self._ready(member, task)
            else:
                member.facts.scheduler.push(task)

    # Messages

    def _ready(self, member: RankMember, task: int) -> None:
        """Send or await the message whose task was released."""
        member.ledger.hand_over(task)
        message = member.message[task]
        if self._ends_of[message][0] == (member.number, task):
            self._turns += 1
            heappush(member.out, (-self._priority[message], self._turns, message))
        else:
            self._awaited[message] = True
            if self._announced[message]:
                self._move(message)
        member.wake(self._woken)

    def _communicate(self, member: RankMember) -> None:
        """Start a rank's ready sends, and let it process ended messages."""
        member.woken = False
        while member.out and member.in_flight < MAX_SENDS_IN_FLIGHT:
            _, _, message = heappop(member.out)
            member.in_flight += 1
            self._announced[message] = True
            if self._awaited[message]:
                self._move(message)
        while member.done:
            self._end_message(member, member.done.popleft())

    def _move(self, message: int) -> None:
        """Start the transfer of *message*, or charge its duration."""
        now, actor, (source, target) = self._now, (-1, message), self._ends_of[message]
        for rank, task in (source, target):
            ledger = self.members[rank].ledger
            ledger.popped[task] = ledger.start[task] = now
        before = self.paths.before_message(self._later_end(message))
        charge_s = self._chooses.charge_message_s(message, before, now)
        self._under_way.begin(actor)
        if charge_s is None:
            self.messages.executed += 1
            self._under_way.measuring[actor] = now
            self._orders.message(message)
        else:
            self.messages.skipped += 1
            self._under_way.will_end(actor, now + charge_s)

    def _arrive(self, message: int) -> None:
        """Note that *message* arrived, at its source and at its target."""
        source, target = self._ends_of[message]
        self.members[source[0]].in_flight -= 1
        later = self._later_end(message)
        ledger = self.members[later[0]].ledger
        times = ledger.ready[later[1]], ledger.start[later[1]], self._now
        record = self.paths.ended(later, self._chooses.kind(*source), times)
        for rank, task in (source, target):
            member = self.members[rank]
            self.paths.carry(record, rank, [task])  # the record waits with the message's own task
            member.done.append(task)
            member.wake(self._woken)

    def _later_end(self, message: int) -> Key:
        """Return the end that became ready last: *message* could not start before."""
        source, target = self._ends_of[message]
        ready_s = [self.members[rank].ledger.ready[task] for rank, task in (source, target)]
        return target if ready_s[1] > ready_s[0] else source

    def _end_message(self, member: RankMember, task: int) -> None:
        released = member.end(task, None, self._now)
        record = self.paths.before_message((member.number, task))
        self.paths.carry(record, member.number, released)
        self._push(member, released, task)

    # The end

    def _idle(self) -> bool:
        """Return whether nothing is in progress on any rank."""
        return not (self._under_way.ends or self._under_way.measuring or self._woken)

    def _stop_if_stuck_or_done(self) -> None:
        if self._under_way.measuring:
            return
        self.over = True
        for member in self.members:
            if member.left:
                facts = member.facts
                raise dropped(facts.scheduler, facts.graph, member.ledger.state, self._now)


def _blame(members: Sequence[RankMember], error: BaseException) -> NoReturn:
    """Raise *error*, blamed on the scheduler of the member that raised it."""
    for member in members:
        told = blamed(error, member.facts.scheduler, member.facts.graph)
        if told is not error:
            raise told from told.__cause__
    raise error
