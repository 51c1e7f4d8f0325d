"""Open requests of a node, by datum, with their queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.engine.data.requests import (
    CANCELLED,
    IDLE,
    NO_SOURCE,
    NO_TASK,
    WRITE_BACK,
    Post,
    Purpose,
    Request,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Clock, Routine
    from tasksim.engine.data.accesses import Need
    from tasksim.engine.data.copies import Copies
    from tasksim.engine.data.ways import Hop, Ways
    from tasksim.platform.copyestimates import CopyEstimates

__all__ = ["OpenRequests"]

MANY_REQUESTS: Final = 16
"""Number of open requests for a datum above which they are also indexed by task. If thousands of
tasks read a datum, it has a request for each task that was given to a device. Most data have fewer
requests, and scanning them costs less than an index."""


class OpenRequests:
    """The open requests of a node.

    Parameters
    ----------
    clock, copies, ways, estimates
        The clock; the locations of data; the routes between memories; the estimates that choose a
        source.
    keepers : sequence of Routine
        Routine that serves the requests of each memory: a device's worker, or one of the memory's
        own. Each new request wakes it.
    limits : tuple of int
        Maximum number of copies under way in a channel, per class.
    """

    def __init__(
        self,
        clock: Clock,
        copies: Copies,
        ways: Ways,
        estimates: CopyEstimates,
        keepers: Sequence[Routine],
        limits: tuple[int, int, int],
    ) -> None:
        self._clock = clock
        self._copies = copies
        self._ways = ways
        self._estimates = estimates
        self.keepers = keepers
        self._memories = len(keepers)
        self.posts = [Post(self._memories, limits) for _ in keepers]
        self.of: dict[int, list[Request]] = {}
        """Requests for each datum, in order."""
        self._towards: dict[int, int] = {}  # number of requests, by datum * memories + target
        self._apart: dict[int, dict[int, list[Request]]] = {}  # by datum with many, then by task

    def ask(self, need: Need, memory: int, purpose: Purpose) -> Request:
        """Return the request for *need* in *memory*: an open one, or a new one."""
        handle, reads, writes = need
        hops = self._hops_to(memory, handle) if reads else [(NO_SOURCE, memory)]
        kind, task, _ = purpose
        found = self._find(handle, hops[-1], task)
        if found is not None:
            found.write |= writes
            if kind < found.kind:
                self.promote(found, kind)
            return found
        last = Request(handle, hops[-1], purpose, write=writes)
        self._open(last)
        self.send(last if len(hops) == 1 else self._before(last, hops[:-1]))
        return last

    def ask_again(self, request: Request) -> None:
        """Queue *request* again with another source, because its datum has left the first one."""
        *before, last = self._hops_to(request.target, request.handle)
        request.source, request.channel = last[0], None
        self.send(self._before(request, before))

    def send(self, request: Request) -> None:
        """Queue *request* at its handler, and wake the handler's routine."""
        source, target = request.source, request.target
        handler = self._ways.handler(source, target)
        post = self.posts[handler]
        if handler == target:
            channel = post.inward[source if source >= 0 else target]
        else:
            channel = post.outward[target]
        post.add(request, channel)
        self.keepers[handler].notify()

    def promote(self, request: Request, kind: int) -> None:
        """Make *request*, and the requests that follow it, as urgent as *kind*."""
        handler = self._ways.handler(request.source, request.target)
        self.posts[handler].promote(request, kind)
        if request.reason != WRITE_BACK:
            request.reason = kind
        self.keepers[handler].notify()
        for other in self.of.get(request.handle, ()):
            if other.next_hop is request and other.kind > kind:
                self.promote(other, kind)

    def arrived(self, request: Request) -> None:
        """Note that the copy of *request* has ended, for the driver that began it."""
        assert request.channel is not None
        request.channel.arrived.append(request)
        handler = self._ways.handler(request.source, request.target)
        self.posts[handler].arrived += 1
        self.keepers[handler].notify()

    def of_task(self, handle: int, task: int) -> Sequence[Request]:
        """Return, in order, at least the requests for *handle* of *task* and of no task."""
        apart = self._apart.get(handle)
        if apart is not None and task >= 0:
            own, of_none = apart.get(task), apart.get(NO_TASK)
            if not (own and of_none):
                return own or of_none or ()
        return self.of.get(handle, ())

    def cancel_idle(self, handle: int) -> None:
        """Cancel idle copies of *handle*, which is about to be written."""
        for request in self.of.get(handle, ()):
            if request.kind == IDLE:
                request.cancel()

    def close(self, request: Request) -> None:
        """Remove *request*, which is complete or was given up."""
        requests = self.of[request.handle]
        requests.remove(request)
        if not requests:
            del self.of[request.handle]
        if request.handle in self._apart:
            self._apart[request.handle][request.task].remove(request)
            if not requests:
                del self._apart[request.handle]
        key = request.handle * self._memories + request.target
        left = self._towards[key] - 1
        if left:
            self._towards[key] = left
        else:
            del self._towards[key]
            self._copies.expect_no_more(request.handle, request.target)

    def _hops_to(self, memory: int, handle: int) -> list[Hop]:
        copies = self._copies
        source = self._estimates.nearest(copies.valid[handle], memory, copies.size[handle])
        return self._ways.hops(source, memory)

    def _before(self, request: Request, hops: Sequence[Hop]) -> Request:
        """Open the requests for the *hops* before *request*; return the first one."""
        purpose = (request.kind, request.task, request.priority)
        for hop in reversed(hops):
            earlier = Request(request.handle, hop, purpose)
            earlier.next_hop = request
            self._open(earlier)
            request = earlier
        return request

    def _open(self, request: Request) -> None:
        handle, target = request.handle, request.target
        request.asked = self._clock.now
        requests = self.of.setdefault(handle, [])
        requests.append(request)
        apart = self._apart.get(handle)
        if apart is not None:
            apart.setdefault(request.task, []).append(request)
        elif len(requests) > MANY_REQUESTS:
            apart = self._apart[handle] = {}
            for each in requests:
                apart.setdefault(each.task, []).append(each)
        key = handle * self._memories + target
        self._towards[key] = self._towards.get(key, 0) + 1
        self._copies.expect(handle, target)

    def _find(self, handle: int, hop: Hop, task: int) -> Request | None:
        """Return the open request for this copy, of no task or of *task* and from any source."""
        for request in self.of_task(handle, task):
            if request.state == CANCELLED or request.target != hop[1]:
                continue
            if request.task < 0 or task < 0:
                if request.source == hop[0]:
                    return request
            elif request.task == task and (request.source < 0) == (hop[0] < 0):
                return request
        return None
