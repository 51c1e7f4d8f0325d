"""Replay of a cluster, with a clock and a network, and a ledger and workers per node.

Each node is like that of a machine (:mod:`tasksim.engine.machine.node`), with its own graph,
ledger, release and submission. Nodes share only the clock and the network: no scheduler sees the
queues of another.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, SchedulerError, TasksimError
from tasksim.base.threadclock import no_garbage_collection
from tasksim.engine.clock import Clock
from tasksim.engine.cluster.communicator import (
    Communicator,
    Messages,
    ends_of_messages,
    protocol_of,
)
from tasksim.engine.cluster.flows import Flows
from tasksim.engine.cluster.outcome import (
    ClusterOutcome,
    NodeOutcome,
    cluster_records,
)
from tasksim.engine.cluster.sharing import SharedCores
from tasksim.engine.cluster.work import Work
from tasksim.engine.machine.node import Charges, Membership, Node
from tasksim.engine.machine.submission import Submission
from tasksim.engine.machine.workers import begin
from tasksim.engine.outcome import Reports
from tasksim.engine.question import SEEDS_PER_RUN
from tasksim.engine.ticks import TICKS_PER_S, OverheadTicks
from tasksim.runtime.blame import blamed
from tasksim.runtime.ledger import Ledger, able_classes
from tasksim.runtime.livelock import AllDone
from tasksim.runtime.release import Release
from tasksim.runtime.rules import READY, dropped
from tasksim.runtime.view import Facts

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.engine.question import ClusterQuestion, NodeQuestion

__all__ = ["ClusterReplay", "Member"]


class Member(NamedTuple):
    """A node of a replay, with its parts."""

    work: Work
    ledger: Ledger
    node: Node
    submission: Submission
    communicator: Communicator

    def busy(self) -> bool:
        """Return whether the node does anything besides communication."""
        ledger, own = self.ledger, self.work.own_tasks
        tasks = any(task < own for task in ledger.taken)
        landing = self.node.landing
        moving = bool(self.node.memories.requests.of) or bool(landing and landing.open)
        return tasks or moving or not ledger.all_submitted or not self.communicator.quiet()


class ClusterReplay:
    """One simulated run on a cluster.

    Parameters
    ----------
    question : ClusterQuestion
        The graph, cut into a part per node, the nodes, and the network between them.

    Attributes
    ----------
    members : list of Member
        The nodes.
    messages : Messages
        The messages, with their times.
    """

    def __init__(self, question: ClusterQuestion) -> None:
        distribution, nodes, network, pushes, cores = question
        self._distribution = distribution
        self._clock = Clock()
        self._cores = None if cores is None else SharedCores(self._clock, cores)
        self._blind = pushes == "blind"
        self._protocol = protocol_of(network.model, by_rank=distribution.graph.by_rank)
        self._model = network.model
        self._flows = Flows(self._clock, network)
        works = [Work(part) for part in distribution.parts]
        send, receive = ends_of_messages(distribution.messages, works)
        self.messages = Messages(distribution.messages, send.tolist(), receive.tolist())
        self.members = [
            self._member(number, work, node)
            for number, (work, node) in enumerate(zip(works, nodes, strict=True))
        ]

    def _member(self, number: int, work: Work, asked: NodeQuestion) -> Member:
        platform, scheduler = asked.platform, asked.scheduler
        overheads = OverheadTicks.of(platform.overheads)
        costs = _of_part(asked.costs, work)
        alike = asked.costs is asked.estimates
        estimates = costs if alike else _of_part(asked.estimates, work)
        try:
            able = able_classes(work.graph, costs)
        except InputError as error:
            raise InputError(f"node {number}: {error}") from error
        ledger = Ledger(work.graph, platform, able)
        release = Release(work.graph, submitted=not overheads.submission)
        communicator = Communicator(
            number, work.message.tolist(), self.messages, self._flows, self._protocol, self._model
        )
        node = Node(
            Facts(work.graph, platform, scheduler, estimates, able),
            self._clock,
            ledger,
            release,
            overheads,
            Charges(platform, costs, None if asked.far is None else work.charge(asked.far)),
            blind=self._blind,
            member=Membership(
                visible=work.visible,
                order=work.order.tolist(),
                hints=work.hints,
                first_ready=work.first_ready,
                communicate=communicator.take,
                ended=communicator.hear_end,
                idle=self._idle,
                over=self._over,
                cores=self._cores,
            ),
            slowing=asked.slowing,
        )
        submission = Submission(node, release, overheads.submission)
        return Member(work, ledger, node, submission, communicator)

    def run(self, seed: int, progress: CountProgress | None = None) -> float:
        """Replay the graph; return the makespan in seconds.

        *progress* is called from time to time with the number of finished tasks and of all tasks,
        messages included.

        Raises :exc:`SchedulerError`, with the number of the node, if a scheduler breaks a rule or
        fails, and :exc:`InputError` if a task can never run.
        """
        look = None
        with no_garbage_collection():
            try:
                communicators = [member.communicator for member in self.members]
                for number, member in enumerate(self.members):
                    member.communicator.begin(member.node, communicators)
                    begin(member.node, random.Random(seed * SEEDS_PER_RUN + number))
                for member in self.members:
                    member.submission.begin()
                if progress is not None:
                    tasks = sum(len(member.ledger.state) for member in self.members)
                    look = Reports(progress, tasks, self._finished).look
                with suppress(AllDone):
                    self._clock.run_watched(look)
            except (Exception, SystemExit) as error:
                raise self._blamed(error) from error
        for member in self.members:
            member.ledger.close(TICKS_PER_S)
        if not self._over():
            raise self._stopped()
        return max(
            max(member.ledger.end[: member.work.own_tasks], default=0.0) for member in self.members
        )

    def records(self) -> dict[str, Any]:
        """Return the fields of a run with the records of the replay, by name."""
        nodes = [_outcome_of(member) for member in self.members]
        return cluster_records(ClusterOutcome(self._distribution, nodes, self.messages))

    # State of all nodes together

    def _idle(self) -> bool:
        return not self.messages.under_way and not any(member.busy() for member in self.members)

    def _finished(self) -> int:
        return sum(member.ledger.finished() for member in self.members)

    def _over(self) -> bool:
        return all(member.ledger.over() for member in self.members)

    # Errors

    def _blamed(self, error: BaseException) -> BaseException:
        """Return *error* with the number of the node whose scheduler raised it."""
        for number, member in enumerate(self.members):
            told = blamed(error, member.node.scheduler, member.work.graph)
            if told is not error:
                return SchedulerError(f"node {number}: {told}")
        number = self._where(error.__traceback__)
        if number < 0 or not isinstance(error, TasksimError):
            return error
        return type(error)(f"node {number}: {error}")

    def _where(self, traceback: TracebackType | None) -> int:
        """Return the number of the node in which an error was raised; -1: in none."""
        nodes = {id(member.node): number for number, member in enumerate(self.members)}
        found = -1
        while traceback is not None:
            found = nodes.get(id(traceback.tb_frame.f_locals.get("self")), found)
            traceback = traceback.tb_next
        return found

    def _stopped(self) -> Exception:
        """Return the error for a replay that stopped before all tasks had ended."""
        now_s = self._clock.now / TICKS_PER_S
        for number, (work, ledger, node, _, _) in enumerate(self.members):
            own = ledger.state[: work.own_tasks]
            try:
                node.refuse_what_is_stuck()
            except InputError as error:
                return InputError(f"node {number}: {error}")
            if READY in own:
                told = dropped(node.scheduler, work.graph, own, now_s)
                return SchedulerError(f"node {number}: {told}")
        number = next(n for n, member in enumerate(self.members) if not member.ledger.over())
        work, ledger, node, _, _ = self.members[number]
        told = dropped(node.scheduler, work.graph, ledger.state, now_s)
        return SchedulerError(f"node {number}: {told}")


def _outcome_of(member: Member) -> NodeOutcome:
    work, ledger, node, _, _ = member
    times = ("submitted", "ready", "popped", "start", "end")
    lives: dict[str, NDArray[Any]] = {
        f"{name}_s": np.frombuffer(getattr(ledger, name)) for name in times
    }
    lives |= {name: np.array(getattr(ledger, name), np.int32) for name in ("worker", "released_by")}
    memories = node.memories
    log = memories.log if len(node.platform.memories) > 1 else None
    numa = None if node.rate is None else node.rate.use()
    return NodeOutcome(work, node.platform, lives, log, memories.copies.evictions, numa)


def _of_part(costs: NDArray[np.float64], work: Work) -> list[list[float]]:
    """Return the rows of *costs* for the tasks of *work*, without communication."""
    found = np.zeros((len(costs), len(work.graph)))
    found[:, : work.own_tasks] = costs[:, work.task]
    rows: list[list[float]] = found.tolist()
    return rows
