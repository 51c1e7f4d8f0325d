"""Communication thread of a node, which sends and receives its messages.

It sleeps until there is work, and works at the end of the instant, so that of several sends that
become ready together the most urgent one goes first. Its work costs nothing except for the pushes
of the tasks that a message releases. The *protocol* defines the steps of a message from one node to
another.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.engine.clock import Routine
from tasksim.engine.data.landing import MAIN_MEMORY
from tasksim.engine.ticks import ticks
from tasksim.network.model import cost_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Steps
    from tasksim.engine.cluster.flows import Flows
    from tasksim.engine.cluster.work import Work
    from tasksim.engine.data.landing import Landing
    from tasksim.engine.machine.node import Node
    from tasksim.graph.csr import Int32
    from tasksim.graph.distribution.messages import PostedMessages
    from tasksim.network.model import Model

__all__ = [
    "COMMUNICATION_PHASE",
    "MPI",
    "PLAIN",
    "STARPU",
    "Communicator",
    "Messages",
    "NotedMessages",
    "Protocol",
    "ends_of_messages",
    "protocol_of",
]


class Messages:
    """The messages of a distributed graph, in columns; times in ticks.

    *send* and *receive* are the numbers of their communication tasks on their nodes.
    """

    def __init__(self, table: PostedMessages, send: list[int], receive: list[int]) -> None:
        count = len(table)
        self.source: list[int] = table.source.tolist()
        self.target: list[int] = table.target.tolist()
        self.size: list[int] = table.size_bytes.tolist()
        self.priority: list[int] = table.priority.tolist()
        self.send, self.receive = send, receive
        self.lands = (~table.back).tolist()
        """Whether the message brings a datum to a node that does not own it."""
        self.awaited = bytearray(count)
        """Whether the receive is ready."""
        self.announced = bytearray(count)
        """Whether the receiver knows of the message: its envelope has arrived, or it has none."""
        self.moving = bytearray(count)
        """Whether the data have begun to move."""
        self.arrived = bytearray(count)
        """Whether the data have arrived."""
        self.started = [-1] * count
        self.ended = [-1] * count
        self.done = 0
        """Number of received messages."""
        self.under_way = 0
        """Number of messages and envelopes in flight."""


class NotedMessages:
    """Messages of an ended replay, with their times in ticks and their two tasks."""

    def __init__(self, send: Int32, receive: Int32) -> None:
        self.send, self.receive = send, receive
        self.started, self.ended = (np.full(len(send), -1, np.int64) for _ in range(2))


def ends_of_messages(table: PostedMessages, works: Sequence[Work]) -> tuple[Int32, Int32]:
    """Return, per message, the communication tasks at its source and at its target."""
    send, receive = (np.full(len(table), -1, np.int32) for _ in range(2))
    for node, work in enumerate(works):
        task = np.arange(work.own_tasks, len(work.graph), dtype=np.int32)
        out = table.source[work.message] == node
        send[work.message[out]], receive[work.message[~out]] = task[out], task[~out]
    return send, receive


class Protocol(NamedTuple):
    """The steps around the data of each message.

    StarPU-MPI sends an *envelope* before the data. While a ready receive has no envelope yet, a
    node awaits one envelope at a time, and requests the data after its arrival.
    """

    name: str
    envelope_bytes: float | None
    """Size of the envelope before the data; envelopes are handled one by one. None: no envelope."""
    in_flight: int
    """Maximum number of messages in flight from a node."""


STARPU: Final = Protocol("starpu", envelope_bytes=32, in_flight=10)
"""StarPU's protocol: ``STARPU_MPI_NDETACHED_SEND`` is 10; an envelope has mode, size, tag and a
flag."""
PLAIN: Final = Protocol("plain", envelope_bytes=None, in_flight=10)
"""Data without envelopes, which move once the send is made and the receive is ready."""
MPI: Final = Protocol("mpi", envelope_bytes=None, in_flight=sys.maxsize)
"""Data without envelopes, and without a runtime's thread that limits the messages."""


def protocol_of(model: Model, *, by_rank: bool = False) -> Protocol:
    """Return MPI's protocol if nodes are ranks, StarPU's for SimGrid's models, else the plain one.

    SimGrid's models are those that include MPI's own envelope.
    """
    if by_rank:
        return MPI
    return STARPU if model.envelope_bytes else PLAIN


COMMUNICATION_PHASE: Final = 1024.0
"""Phase of communication within an instant: after all actions of workers, even those ordered by
steps, and before the bandwidth of the links is shared out."""


class Communicator:
    """The communication thread of node *number*.

    Parameters
    ----------
    number : int
        Number of the node.
    message : sequence of int
        Message of each communication task of the node.
    messages, flows : Messages, Flows
        Messages and flows of the whole cluster.
    protocol, model : Protocol, Model
        Steps around the data; thresholds and costs.
    """

    def __init__(
        self,
        number: int,
        message: Sequence[int],
        messages: Messages,
        flows: Flows,
        protocol: Protocol,
        model: Model,
    ) -> None:
        self.number = number
        self.expected = 0
        """Number of ready receives whose envelopes have not arrived."""
        self._message, self._messages, self._flows = message, messages, flows
        self._protocol, self._model = protocol, model
        self._out: list[tuple[int, int, int]] = []
        """Sends that are ready: a heap of priority, turn and message."""
        self._turn = 0
        self._last_ready = (-1, -1)
        """Time and datum of the last send that became ready: simultaneous ones keep their order."""
        self._in_flight = 0
        self._done: deque[int] = deque()
        """Communication tasks that have ended, and whose ends are not reported to the node yet."""
        self._listening = False
        """Whether the node awaits an envelope."""
        self._coming = False
        """Whether the awaited envelope is in flight."""
        self._letters: deque[int] = deque()
        """Messages to this node whose envelopes were not awaited yet, in order."""
        self._landing: Landing | None = None
        self._readers: dict[int, int] = {}
        """Number of tasks that have yet to read each received message."""
        self._reads: dict[int, list[int]] = {}
        """Received messages that each task reads."""
        self._early: set[int] = set()
        """Messages whose data arrived in separate memory, before they were awaited."""
        self._waits_for_room = False
        self._envelope = -1
        """A message whose envelope has just arrived."""

    def begin(self, node: Node, others: Sequence[Communicator]) -> None:
        """Begin for *node*, which has its workers now; *others* are those of all nodes."""
        self._node, self._others = node, others
        self._clock = node.clock
        self._own = node.own_tasks
        self._several = len(node.platform.memories) > 1
        self._landing = node.landing
        if self._landing is not None:
            self._find_readers()
        self._routine = Routine(node.clock)
        self._routine.phase = COMMUNICATION_PHASE
        self._routine.begin(self._steps())

    def take(self, task: int) -> None:
        """Take the released communication *task*: bring its datum to main memory."""
        if self._several:
            needs = self._node.needs[task]
            priority = self._priority_of(self._message[task - self._own])
            if self._node.memories.mover.fetch(needs, Courier(self, task, priority)):
                return
        self.land(task)

    def land(self, task: int) -> None:
        """Find memory for the message of *task*, if this node receives it."""
        messages, message = self._messages, self._message[task - self._own]
        if self._landing is not None and messages.target[message] == self.number:
            size, priority = messages.size[message], self._priority_of(message)
            ready = partial(self.ready, task)
            if messages.lands[message] and not self._landing.ask(size, priority, ready):
                return
        self.ready(task)

    def _priority_of(self, message: int) -> int:
        """Return the priority of *message*; 0 if the scheduler has no priorities."""
        return self._messages.priority[message] if self._node.scheduler.uses_priorities else 0

    def hear_end(self, task: int) -> None:
        """Free the memory of received data that no task reads after *task*."""
        assert self._landing is not None
        for message in self._reads.get(task, ()):
            self._readers[message] -= 1
            if not self._readers[message]:
                self._landing.give_back(self._messages.size[message])

    def _find_readers(self) -> None:
        """Note the tasks that read each received message, and their number."""
        for task, message in enumerate(self._message, self._own):
            if self._messages.target[message] == self.number and self._messages.lands[message]:
                readers = [r for r in self._node.graph.successors_of(task) if r < self._own]
                self._readers[message] = len(readers)
                for reader in readers:
                    self._reads.setdefault(reader, []).append(message)

    def ready(self, task: int) -> None:
        """Send or await the message of *task*, whose datum is in main memory."""
        messages, message = self._messages, self._message[task - self._own]
        if self.number == messages.source[message]:
            ready = (self._clock.now, self._node.needs[task][0][0])
            if ready != self._last_ready:
                self._last_ready = ready
                self._turn += 1
            heappush(self._out, (-self._priority_of(message), self._turn, message))
        else:
            messages.awaited[message] = 1
            if messages.arrived[message]:
                self._done.append(task)
            elif messages.announced[message]:
                self._move(message)
            else:
                self.expected += 1
        self._stir()

    # The thread

    def _stir(self) -> None:
        """Let the thread continue at the end of this instant."""
        self._routine.woken = True
        self._routine.notify()

    def _steps(self) -> Steps:
        """Work whenever something has happened, once for all that happens at an instant."""
        routine = self._routine
        while True:
            if not (routine.woken or self._done):
                yield routine.sleep()
            routine.woken = False
            routine.phase = COMMUNICATION_PHASE
            yield routine.wait(0)
            yield from self._send()
            self._listen()
            while self._done:
                yield from self._end(self._done.popleft())
            yield from self._open_envelope()
            self._listen()

    def _end(self, task: int) -> Steps:
        """Tell the node that the communication *task* has ended."""
        message = self._message[task - self._own]
        if self._landing is not None and message in self._early:
            self._early.remove(message)
            self._landing.give_back(self._messages.size[message])
        if self._model.receive_costs and self.number == self._messages.target[message]:
            cost = ticks(cost_s(self._model.receive_costs, self._messages.size[message]))
            yield self._routine.wait(cost)
        yield from self._node.finish_communication(task, self._routine)

    def quiet(self) -> bool:
        """Return whether the thread has nothing to do until a message or a datum arrives."""
        waits = not self._out or self._in_flight >= self._protocol.in_flight
        return waits and not self._done and self._envelope < 0

    def _send(self) -> Steps:
        """Send the ready messages, up to the limit of messages in flight."""
        while self._out and self._in_flight < self._protocol.in_flight:
            _, _, message = heappop(self._out)
            size = self._messages.size[message]
            self._in_flight += 1
            if self._model.isend_costs:
                yield self._routine.wait(ticks(cost_s(self._model.isend_costs, size)))
            target = self._others[self._messages.target[message]]
            target.hear_of(message)
            if size < self._model.eager_bytes:
                self._move(message)
            if size < self._model.detached_bytes:
                self._sent(message)

    def _sent(self, message: int) -> None:
        """Note that *message* is no longer in flight."""
        self._in_flight -= 1
        self._done.append(self._messages.send[message])
        self._stir()

    def hear_of(self, message: int) -> None:
        """Note that *message* is being sent to this node."""
        if self._protocol.envelope_bytes is None:
            self._messages.announced[message] = 1
            if self._messages.awaited[message]:
                self.expected -= 1
                self._move(message)
            return
        self._letters.append(message)
        if self._listening and not self._coming:
            self._let_come()

    def _listen(self) -> None:
        """Await the next envelope, if the envelope of a ready receive has not arrived."""
        if self.expected and not self._listening:
            self._listening = True
            if self._letters:
                self._let_come()

    def _let_come(self) -> None:
        """Let the envelope that was sent first move."""
        message, size = self._letters.popleft(), self._protocol.envelope_bytes
        assert size is not None
        self._coming = True
        self._messages.under_way += 1
        source = self._messages.source[message]
        self._flows.send_note(source, self.number, size, self._on_envelope, message)

    def _on_envelope(self, message: int) -> None:
        """Note that the awaited envelope, of *message*, has arrived."""
        self._messages.under_way -= 1
        self._envelope = message
        self._stir()

    def _open_envelope(self) -> Steps:
        """Request the data of the message whose envelope has arrived."""
        message = self._envelope
        if message < 0:
            return
        self._envelope = -1
        self._listening = self._coming = False
        awaited = self._messages.awaited
        if not awaited[message] and self._landing is not None and self._messages.lands[message]:
            yield from self._receive_early(message)
        self._messages.announced[message] = 1
        if awaited[message]:
            self.expected -= 1
        self._move(message)

    def _receive_early(self, message: int) -> Steps:
        """Wait, idle, for memory for *message*, which has none yet.

        StarPU-MPI's thread does the same, and requests the memory without a priority.
        """
        assert self._landing is not None
        self._early.add(message)
        self._waits_for_room = True
        if not self._landing.ask(self._messages.size[message], 0, self._stop_waiting):
            while self._waits_for_room:
                yield self._routine.sleep()
            self._routine.woken = True  # something may have arrived during the wait
        self._waits_for_room = False

    def _stop_waiting(self) -> None:
        """Let the thread continue: there is memory for the message that arrived early."""
        self._waits_for_room = False
        self._stir()

    def _move(self, message: int) -> None:
        """Let the data of *message* move, unless they move already."""
        messages = self._messages
        if not messages.moving[message]:
            messages.moving[message] = 1
            messages.under_way += 1
            messages.started[message] = self._clock.now
            source, target = messages.source[message], messages.target[message]
            size = messages.size[message]
            self._flows.send(source, target, size, self._others[target].on_data, message)

    def on_data(self, message: int) -> None:
        """Note that the data of *message*, which was sent to this node, have arrived."""
        messages = self._messages
        messages.under_way -= 1
        messages.arrived[message] = 1
        messages.ended[message] = self._clock.now
        messages.done += 1
        if messages.size[message] >= self._model.detached_bytes:
            self._others[messages.source[message]]._sent(message)
        if messages.awaited[message]:
            self._done.append(messages.receive[message])
            self._stir()


class Courier:
    """Taker of the datum of a communication *task* in main memory, for *communicator*."""

    __slots__ = ("_communicator", "memory", "priority", "task")

    def __init__(self, communicator: Communicator, task: int, priority: int) -> None:
        self._communicator = communicator
        self.task, self.memory, self.priority = task, MAIN_MEMORY, priority

    def arrive(self) -> None:
        """Note that the datum has arrived."""
        self._communicator.land(self.task)
