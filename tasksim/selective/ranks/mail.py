"""Mail of one rank, with messages that are really sent, timed at both ends.

The receiver is ready before the sender's clock starts, so that the time is that of the message and
not of an end that waits for its order. The sender's time ends when the receiver has begun to take
the message. The receiver's ends when it has all of it; it polls as often as the communication
thread of a full run.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from tasksim.selective.ranks.crew import RankReport

if TYPE_CHECKING:
    from tasksim.graph.distribution.messages import PostedMessages
    from tasksim.native.cluster.parcels import Parcels
    from tasksim.native.cluster.ranks import Ranks

__all__ = ["ARRIVAL", "SEND_END", "SEND_START", "Mail", "Wires"]

SEND_START: Final = 4
"""Report of a sender: its start on rank 0's clock."""
ARRIVAL: Final = 5
"""Report of a receiver: the arrival of the message on rank 0's clock."""
SEND_END: Final = 6
"""Second report of a sender: its end on rank 0's clock."""


class Wires:
    """Communicators of the ranks, separate from each other and from all other messages.

    Their creation is collective.

    Parameters
    ----------
    ranks : Ranks

    Attributes
    ----------
    orders, data, ready : mpi4py.MPI.Comm
        For orders and reports; for messages; for readiness to receive.
    """

    def __init__(self, ranks: Ranks) -> None:
        self.orders, self.data, self.ready = (ranks.comm.Dup() for _ in range(3))


class Mail:
    """The messages of one rank.

    Parameters
    ----------
    wires : Wires
    messages : PostedMessages
        Messages of the whole graph; the index of a message is its tag.
    parcels : Parcels
        The memory of the data.
    offset_s : float
        Offset to add to this rank's clock to get that of rank 0.
    """

    def __init__(
        self, wires: Wires, messages: PostedMessages, parcels: Parcels, offset_s: float = 0.0
    ) -> None:
        self._wires, self._messages, self._parcels = wires, messages, parcels
        self._offset_s = offset_s
        self._waiting: dict[int, Any] = {}
        self._sending: dict[int, Any] = {}
        self._receiving: dict[int, Any] = {}
        self._saying: list[Any] = []

    @property
    def under_way(self) -> bool:
        """Whether a message is in flight."""
        return bool(self._waiting or self._sending or self._receiving)

    def send(self, message: int) -> None:
        """Send *message* as soon as its receiver is ready."""
        target = int(self._messages.target[message])
        self._waiting[message] = self._wires.ready.Irecv(bytearray(), target, message)

    def receive(self, message: int) -> None:
        """Receive *message*, and tell its sender that this rank is ready."""
        source = int(self._messages.source[message])
        buffer = self._parcels.buffer(int(self._messages.handle[message]))
        self._receiving[message] = self._wires.data.Irecv(buffer, source, message)
        self._saying.append(self._wires.ready.Isend(b"", source, message))

    def answers(self) -> list[RankReport]:
        """Return the reports since the last call, with times of rank 0's clock."""
        found: list[RankReport] = []
        for message in _over(self._receiving):
            found.append(RankReport(ARRIVAL, message, self._now_s()))
        for message in _over(self._sending):
            found.append(RankReport(SEND_END, message, self._now_s()))
        for message in _over(self._waiting):
            buffer = self._parcels.buffer(int(self._messages.handle[message]))
            target = int(self._messages.target[message])
            found.append(RankReport(SEND_START, message, self._now_s()))
            self._sending[message] = self._wires.data.Issend(buffer, target, message)
        self._saying = [request for request in self._saying if not request.Test()]
        return found

    def _now_s(self) -> float:
        return perf_counter() + self._offset_s


def _over(requests: dict[int, Any]) -> list[int]:
    """Return the messages with complete requests, and remove these requests."""
    found = [message for message, request in requests.items() if request.Test()]
    for message in found:
        del requests[message]
    return found
