"""Replay of collectives rank by rank over the flows of a network, to compare simulations with."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, cast

from tasksim.base.errors import InputError
from tasksim.engine.clock import Clock
from tasksim.engine.cluster.flows import Flows
from tasksim.network.model import cost_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Wait
    from tasksim.network.collectives.steps import RankSteps
    from tasksim.network.description import Network

__all__ = ["rounds_s"]

PICOSECONDS_PER_S: Final = 1e12
"""Ticks per second: picoseconds, so that collectives of many rounds keep the digits of each."""


def rounds_s(
    network: Network,
    programs: Sequence[RankSteps],
    *,
    nodes: Sequence[int] | None = None,
    reduce_s_per_byte: float = 0.0,
) -> list[list[float]]:
    """Return the end of each of the consecutive *programs* on each rank, in seconds.

    Parameters
    ----------
    network : Network
        Network between the nodes.
    programs : sequence of RankSteps
        The steps of each rank; a rank begins the next program when it has ended one.
    nodes : sequence of int, optional
        The node of each rank; by default each rank has its own.
    reduce_s_per_byte : float, default 0
        Time to reduce a byte.

    Raises
    ------
    InputError
        If ranks wait for messages that no rank sends.

    Examples
    --------
    >>> from tasksim.network.collectives.broadcast import binomial
    >>> from tasksim.network.load import read_network
    >>> network = read_network("switch:bandwidth=1GB/s,latency=1us,model=ideal").sized(4)
    >>> [round(end * 1e6, 3) for end in rounds_s(network, [binomial(4, 1000)])[0]]
    [6.0, 6.0, 3.0, 6.0]
    """
    ranks = len(programs[0])
    places = range(ranks) if nodes is None else nodes
    replay = _Replay(network.sized(max(places) + 1), list(places), reduce_s_per_byte)
    ends = replay.run(programs)
    return [[tick / PICOSECONDS_PER_S for tick in row] for row in ends]


class _Replay:
    """Ranks that post messages, and wait for them."""

    def __init__(self, network: Network, places: list[int], reduce_s_per_byte: float) -> None:
        self.clock = Clock()
        self.flows = Flows(self.clock, network, PICOSECONDS_PER_S)
        self.model, self.places, self.reduce = network.model, places, reduce_s_per_byte
        self.sent: dict[tuple[int, int], deque[_Message]] = {}
        """Messages without a posted receive, by source and target."""
        self.awaited: dict[tuple[int, int], deque[_Message]] = {}
        """Messages without a posted send, by source and target."""

    def run(self, programs: Sequence[RankSteps]) -> list[list[int]]:
        """Return the end of each program on each rank, in ticks."""
        ranks = [
            _Rank(self, number, [program[number] for program in programs])
            for number in range(len(self.places))
        ]
        for rank in ranks:
            rank.go_on(None)
        self.clock.run()
        stuck = [rank.number for rank in ranks if len(rank.ends) < len(programs)]
        if stuck:
            raise InputError(f"ranks {stuck[:5]} wait for messages that no rank sends")
        return [list(row) for row in zip(*(rank.ends for rank in ranks), strict=True)]

    def post_send(self, rank: _Rank, peer: int, size: float) -> None:
        """Post a send; a small one is complete at once, another one when it has arrived."""
        ends = rank.number, peer
        waiting = self.awaited.get(ends)
        message = waiting.popleft() if waiting else _Message(size)
        message.size = size
        if size < self.model.detached_bytes:
            rank.over(None)
        else:
            message.sender = rank
        if message.receiver is None:
            self.sent.setdefault(ends, deque()).append(message)
        if message.receiver is not None or size < self.model.eager_bytes:
            self.start(ends, message)

    def post_receive(self, rank: _Rank | _Ahead, peer: int, size: float) -> None:
        """Post a receive; messages of a pair match in order."""
        ends = peer, rank.number
        waiting = self.sent.get(ends)
        if not waiting:
            message = _Message(size)
            message.receiver = rank
            self.awaited.setdefault(ends, deque()).append(message)
            return
        message = waiting.popleft()
        message.receiver = rank
        if message.arrived:
            self.received(message)
        elif not message.started:
            self.start(ends, message)

    def start(self, ends: tuple[int, int], message: _Message) -> None:
        """Let the data move."""
        message.started = True
        source, target = self.places[ends[0]], self.places[ends[1]]
        self.flows.send(source, target, message.size, self.arrive, message)

    def arrive(self, message: _Message) -> None:
        """Tell both ends of a *message* that it has arrived."""
        message.arrived = True
        if message.sender is not None:
            message.sender.over(None)
        if message.receiver is not None:
            self.received(message)

    def received(self, message: _Message) -> None:
        """Let the receiver continue after the cost of the receive."""
        assert message.receiver is not None
        cost = round(cost_s(self.model.receive_costs, message.size) * PICOSECONDS_PER_S)
        if cost:
            self.clock.alarm(cost, message.receiver.over)
        else:
            message.receiver.over(None)


class _Message:
    """A message that is posted at one end or both."""

    __slots__ = ("arrived", "receiver", "sender", "size", "started")

    def __init__(self, size: float) -> None:
        self.size = size
        self.started = self.arrived = False
        self.sender: _Rank | None = None
        self.receiver: _Rank | _Ahead | None = None


class _Ahead:
    """A receive that was posted ahead; its rank may wait for it later."""

    def __init__(self, rank: _Rank) -> None:
        self.rank, self.number = rank, rank.number
        self.come = False
        """Whether the message has arrived."""
        self.missed = False
        """Whether the rank waits for it."""

    def is_missed(self) -> bool:
        """Return whether the rank has to wait for the message from now on."""
        self.missed = not self.come
        return self.missed

    def over(self, event: object) -> None:
        """Note that the message has arrived."""
        self.come = True
        if self.missed:
            self.rank.over(event)


class _Rank:
    """A rank, and its progress."""

    def __init__(self, replay: _Replay, number: int, programs: RankSteps) -> None:
        self.replay, self.number, self.programs = replay, number, programs
        self.ends: list[int] = []
        """End of each program that has ended, in ticks."""
        self.step = 0
        self.waits = 0
        """Number of messages of the step that are not complete."""
        self.unsent: deque[tuple[int, float]] = deque()
        """Target and size of the sends of the step that are not posted yet."""
        self.ahead: list[_Ahead] = []

    def go_on(self, _event: object) -> None:
        """Post the messages of the next step, or end the program."""
        while len(self.ends) < len(self.programs):
            steps = self.programs[len(self.ends)]
            if self.step < len(steps):
                step = steps[self.step]
                # One more, so that a message that is complete at once does not end the step.
                self.waits = len(step.sends) + len(step.receives) + 1
                for peer, size in step.ahead:
                    self.ahead.append(_Ahead(self))
                    self.replay.post_receive(self.ahead[-1], peer, size)
                self.waits += sum(self.ahead[number].is_missed() for number in step.awaited)
                for peer, size in step.receives:
                    self.replay.post_receive(self, peer, size)
                self.unsent = deque(step.sends)
                self.send_next(None)
                return
            self.ends.append(self.replay.clock.now)
            self.step = 0
            self.ahead = []

    def send_next(self, _event: object) -> None:
        """Post the sends of the step, each after its cost."""
        model = self.replay.model
        blocking = len(self.programs[len(self.ends)][self.step].sends) == 1
        while self.unsent:
            peer, size = self.unsent.popleft()
            cost_of = model.send_costs if blocking else model.isend_costs
            cost = round(cost_s(cost_of, size) * PICOSECONDS_PER_S)
            if cost:
                self.replay.clock.alarm(cost, self.paid, (peer, size))
                return
            self.replay.post_send(self, peer, size)
        self.over(None)

    def paid(self, event: Wait) -> None:
        """Post the send whose cost has passed."""
        peer, size = cast("tuple[int, float]", event.value)
        self.replay.post_send(self, peer, size)
        self.send_next(None)

    def over(self, _event: object) -> None:
        """Note that a message is complete for this rank; reduce after the last one of a step."""
        self.waits -= 1
        if self.waits == 0:
            step = self.programs[len(self.ends)][self.step]
            self.step += 1
            pause = round(step.reduced_bytes * self.replay.reduce * PICOSECONDS_PER_S)
            self.replay.clock.alarm(pause, self.go_on)
