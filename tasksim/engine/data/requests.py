"""Requests for copies of data, and the channels in which they queue.

A request goes to the memory whose driver *handles* it: a device's for copies between it and main
memory, in both directions; the target's between two devices. There it queues in a *channel*, one
per peer and direction, by class (fetches, prefetches, idle copies) and, inside a class, by
priority. A driver starts the requests that the limits of its channels allow, class by class:
StarPU's ``datawizard/data_request.c`` and ``datawizard.c``.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.clock import Steps
    from tasksim.engine.data.store import Store
    from tasksim.engine.data.ways import Hop

__all__ = [
    "CANCELLED",
    "ENDED",
    "FETCH",
    "IDLE",
    "NO_SOURCE",
    "NO_TASK",
    "PENDING",
    "PLACING",
    "PREFETCH",
    "UNDER_WAY",
    "WRITE_BACK",
    "Channel",
    "Post",
    "Purpose",
    "Request",
]

FETCH: Final = 0
"""Class of requests for a datum that a task waits for."""
PREFETCH: Final = 1
"""Class of requests ahead of need, for a task that has a worker."""
IDLE: Final = 2
"""Class of requests that no task waits for, such as write-backs of data that will not be used
again."""
WRITE_BACK: Final = 3
"""Reason, not a class, of data that are written back to make space."""

NO_SOURCE: Final = -1
"""Source of a request for a place alone, without a copy."""
NO_TASK: Final = -1
"""Task of a request that no task made."""

PENDING: Final = 0
"""State of a request that has not begun; it may wait for another one before it."""
CANCELLED: Final = 1
"""State of a request that is no longer needed; its driver will notice."""
PLACING: Final = 2
"""State of a request whose place is being made."""
UNDER_WAY: Final = 3
"""State of a request whose copy runs, or that of another request which it follows."""
ENDED: Final = 4
"""State of a request whose datum is there, or that was given up."""


Purpose: TypeAlias = tuple[int, int, int]
"""Purpose of a request: its class, its task, and its urgency."""


class Request:
    """A request for a copy of *handle* over one *hop*, or for a place if it has no source.

    *write*: the datum will be written there, so all other copies become invalid once it has
    arrived.
    """

    __slots__ = (
        "asked", "channel", "followers", "handle", "kind", "next_hop", "place", "priority",
        "reason", "root", "source", "started", "state", "target", "task", "waiters", "write",
    )  # fmt: skip

    def __init__(self, handle: int, hop: Hop, purpose: Purpose, *, write: bool = False) -> None:
        self.handle = handle
        self.source, self.target = hop
        self.kind, self.task, self.priority = purpose
        self.write = write
        self.reason = self.kind
        self.state = PENDING
        self.waiters: list[Callable[[], None]] = []
        """Functions to call when it is done."""
        self.followers: list[Request] = []
        """Requests for the same copy, which are done at the same time."""
        self.next_hop: Request | None = None
        """The request for the next hop, from its target."""
        self.place: Store | None = None
        """The memory in which its place is pinned until it is done."""
        self.root: Store | None = None
        """The memory in which its source is pinned until it is done."""
        self.asked = self.started = 0
        self.channel: Channel | None = None

    @property
    def begun(self) -> bool:
        """Whether its copy is being made or was made."""
        return self.state >= UNDER_WAY

    def cancel(self) -> None:
        """Mark it as no longer needed, unless its copy has begun."""
        if self.state < UNDER_WAY:
            self.state = CANCELLED


class Channel:
    """Queue of the requests between a memory and one peer in one direction, at their handler."""

    __slots__ = ("arrived", "pending", "queues", "waiting")

    def __init__(self) -> None:
        self.queues: tuple[list[tuple[int, int, Request]], ...] = ([], [], [])
        self.waiting = 0
        self.pending = 0
        """Number of copies under way, of all classes."""
        self.arrived: list[Request] = []

    def next(self, kind: int) -> Request | None:
        """Remove and return the first request of class *kind*; None if there is none."""
        queue = self.queues[kind]
        while queue:
            request = heappop(queue)[2]
            # A request whose class has changed is queued again in its new class.
            if request.kind == kind and request.state < UNDER_WAY:
                return request
        return None


class Post:
    """The requests that one memory handles, from their arrival to their end.

    *inward* and *outward* have a channel per peer; *limits* is the maximum number of copies under
    way in a channel, per class.
    """

    def __init__(self, memories: int, limits: tuple[int, int, int]) -> None:
        self.inward = [Channel() for _ in range(memories)]
        self.outward = [Channel() for _ in range(memories)]
        self._groups = [self.inward, *([channel] for channel in self.outward)]
        self.limits = limits
        self.waiting = 0
        """Number of waiting requests."""
        self.arrived = 0
        """Number of ended copies that the driver has not processed yet."""
        self._last = 0
        self._first = 0

    def add(self, request: Request, channel: Channel) -> None:
        """Queue *request* in *channel*."""
        request.channel = channel
        channel.waiting += 1
        self.waiting += 1
        self._append(request, channel)

    def promote(self, request: Request, kind: int) -> None:
        """Move *request* to the more urgent class *kind*."""
        request.kind = kind
        if request.channel is not None and request.state < UNDER_WAY:
            self._append(request, request.channel)

    def _append(self, request: Request, channel: Channel) -> None:
        self._last += 1
        heappush(channel.queues[request.kind], (-request.priority, self._last, request))

    def serve(
        self,
        start: Callable[[Request], Steps],
        arrive: Callable[[Request], Steps],
    ) -> Steps:
        """Process arrivals, and start what the limits allow; return whether there was anything.

        All incoming copies come first, over all peers, then outgoing ones, peer by peer. *start*
        begins one copy in the driver's time; it returns False if there was no room.
        """
        worked = False
        for channels in self._groups:
            if self.arrived:
                for channel in channels:
                    if channel.arrived:
                        worked = True
                        yield from self._note_arrivals(channel, arrive)
            if self.waiting:
                busy = [channel for channel in channels if channel.waiting]
                if busy:
                    worked |= yield from self._start_all(channels, busy, start)
        return worked

    def _note_arrivals(self, channel: Channel, arrive: Callable[[Request], Steps]) -> Steps:
        arrived, channel.arrived = channel.arrived, []
        arrived.sort(key=lambda request: -request.priority)
        self.arrived -= len(arrived)
        for request in arrived:
            yield from arrive(request)
        channel.pending -= len(arrived)

    def _start_all(
        self,
        channels: list[Channel],
        busy: list[Channel],
        start: Callable[[Request], Steps],
    ) -> Steps:
        """Start the requests in *busy* by class; idle copies only if nothing is under way."""
        worked = False
        for kind, limit in enumerate(self.limits):
            if kind == IDLE and any(channel.pending for channel in channels):
                break
            for channel in busy:
                if channel.queues[kind] and channel.pending < limit:
                    started, room = yield from self._start(channel, kind, limit, start)
                    worked |= started
                    if not room:
                        return worked
        return worked

    def _start(
        self,
        channel: Channel,
        kind: int,
        limit: int,
        start: Callable[[Request], Steps],
    ) -> Steps:
        """Start requests of one class in one channel; return whether any started, and had room."""
        taken = self._take(channel, kind)
        started = False
        for place, request in enumerate(taken):
            if channel.pending >= limit:
                self._put_back(channel, taken[place:], kind)
                break
            if (yield from start(request)):
                started = True
                channel.waiting -= 1
                self.waiting -= 1
            else:
                self._put_back(channel, taken[place:], kind)
                return started, False
        return started, True

    def _take(self, channel: Channel, kind: int) -> list[Request]:
        """Take the requests of class *kind* from *channel* that the limit allows."""
        taken: list[Request] = []
        room = self.limits[kind] - channel.pending
        while len(taken) < room and (request := channel.next(kind)):
            taken.append(request)
        return taken

    def _put_back(self, channel: Channel, requests: list[Request], kind: int) -> None:
        """Put *requests* back in front of their class, *kind*.

        A request that was promoted in the meantime is queued in its new class already: in two
        queues, it would begin twice.
        """
        for request in reversed(requests):
            if request.kind == kind:
                self._first -= 1
                heappush(channel.queues[kind], (-request.priority, self._first, request))
