"""Handling of requests by drivers, which start copies and process those that ended.

A driver that begins a copy locks its datum until the copy engine has the copy.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tasksim.engine.data.engines import Copy
from tasksim.engine.data.requests import (
    CANCELLED,
    ENDED,
    FETCH,
    IDLE,
    PENDING,
    PLACING,
    PREFETCH,
    UNDER_WAY,
    WRITE_BACK,
    Request,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.engine.clock import Clock, Routine, Steps
    from tasksim.engine.data.copies import Copies
    from tasksim.engine.data.copy_log import CopyLog
    from tasksim.engine.data.engines import CopyEngines
    from tasksim.engine.data.eviction import Eviction
    from tasksim.engine.data.open_requests import OpenRequests

__all__ = ["Handling", "Locks"]


class Locks:
    """Locks of data that are being handed to a copy engine.

    Others check a locked datum every *poll* ticks (StarPU's spinning,
    ``common/starpu_spinlock.c``).
    """

    def __init__(self, clock: Clock, poll: int) -> None:
        self._clock = clock
        self._poll = poll
        self.until: dict[int, int] = {}
        """Tick at which each locked datum is free again."""

    def wait_ticks(self, handle: int) -> int:
        """Return the ticks to wait before the next check of *handle*; 0: it is free."""
        left = self.until.get(handle, 0) - self._clock.now
        if left <= 0:
            return 0
        return -(-left // self._poll) * self._poll if self._poll else left

    def all_free(self, needs: Iterable[tuple[int, bool, bool]], routine: Routine) -> Steps:
        """Let *routine* wait until it has found each of the data in *needs* free."""
        for handle, _, _ in needs:
            yield from self.free(handle, routine)

    def free(self, handle: int, routine: Routine) -> Steps:
        """Let *routine* wait until *handle* is free."""
        while delay := self.wait_ticks(handle):
            yield routine.wait(delay)


class Handling:
    """Handling of requests from their wait to their end.

    *devices* says whether each memory belongs to a device, *copy_ticks* is the time that a driver
    needs to start a copy; the others are parts of the node.
    """

    def __init__(
        self,
        clock: Clock,
        copies: Copies,
        requests: OpenRequests,
        eviction: Eviction,
        engines: CopyEngines,
        locks: Locks,
        log: CopyLog,
        devices: list[bool],
        copy_ticks: int,
    ) -> None:
        self._clock = clock
        self._copies = copies
        self._requests = requests
        self._eviction = eviction
        self._engines = engines
        self._locks = locks
        self._log = log
        self._devices = devices
        self._copy_ticks = copy_ticks
        self._memories = len(copies.stores)
        self._loading: dict[int, Request] = {}  # by datum * memories + target

    def serve(self, memory: int, routine: Routine) -> Steps:
        """Serve the requests of *memory* in the time of *routine*, its driver.

        Returns whether there was anything to do.
        """
        start, arrived = partial(self._start, routine), partial(self._arrived, routine)
        return self._requests.posts[memory].serve(start, arrived)

    def _start(self, routine: Routine, request: Request) -> Steps:
        """Begin *request*; return False if there is no room for it now."""
        handle = request.handle
        if request.state == CANCELLED or self._copies.valid[handle] >> request.target & 1:
            self._complete(request)
            return True
        if request.source >= 0 and not self._copies.valid[handle] >> request.source & 1:
            # The datum has left the source. Another source is found, but an idle copy is cancelled:
            # a task that writes the datum elsewhere waits only for its end.
            if request.kind != IDLE and (request.task >= 0 or request.waiters):
                self._requests.ask_again(request)
            else:
                request.cancel()
                self._complete(request)
            return True
        if self._follow(request):
            return True
        if not (yield from self._make_place(routine, request)):
            return False
        if request.source < 0 or request.state == CANCELLED:
            self._complete(request)
            return True
        request.state = UNDER_WAY
        if self._copy_ticks:
            locks = self._locks
            yield from locks.free(handle, routine)
            locks.until[handle] = self._clock.now + self._copy_ticks
            yield routine.wait(self._copy_ticks)
            locks.until.pop(handle, None)
        assert request.channel is not None
        request.channel.pending += 1
        pair = (request.source, request.target)
        self._engines.ask(Copy(pair, self._copies.size[handle], self._on_copied, request))
        return True

    def _follow(self, request: Request) -> bool:
        """Complete *request* together with another one for the same datum and memory.

        Returns False if there is no other: later requests follow this one.
        """
        key = request.handle * self._memories + request.target
        leader = self._loading.get(key)
        if leader is not None:
            if request.kind < leader.kind:
                self._requests.promote(leader, request.kind)
            leader.followers.append(request)
            request.state = UNDER_WAY
            return True
        self._loading[key] = request
        # The datum is pinned at its source, and its place at the target. Waiting requests pin
        # nothing: they could wait for each other's room for ever.
        stores, handle = self._copies.stores, request.handle
        request.root = stores[request.source] if request.source >= 0 else None
        if request.root is not None:
            request.root.pin(handle)
        request.place = stores[request.target]
        if request.place is not None:
            request.place.pin(handle)
        return False

    def _make_place(self, routine: Routine, request: Request) -> Steps:
        """Make a place for the datum of *request*; return False if there is none now."""
        handle, target, place = request.handle, request.target, request.place
        if self._copies.places[handle] >> target & 1:
            return True
        if place is None:
            self._copies.settle(handle, target)
            return True
        request.state = PLACING
        if (yield from self._eviction.place(request, place, routine)):
            return True
        # The request waits again, and pins nothing.
        del self._loading[handle * self._memories + target]
        request.state = PENDING
        for store in (place, request.root):
            if store is not None:
                store.unpin(handle)
        request.place = request.root = None
        return False

    def _on_copied(self, copy: Copy) -> None:
        request: Request = copy.value
        request.started = copy.started
        self._log.copied(request, self._clock.now)
        self._requests.arrived(request)

    def _arrived(self, routine: Routine, request: Request) -> Steps:
        """Note the arrival of the copy of *request*, in the driver that began it."""
        yield from self._locks.free(request.handle, routine)
        self._complete(request)

    def _complete(self, request: Request) -> None:
        """Complete *request*: update its datum, tell its takers, send the next request."""
        self._settle(request)
        for waiter in request.waiters:
            waiter()
        for follower in request.followers:
            self._complete(follower)

    def _settle(self, request: Request) -> None:
        """Note the changes by *request*, which is done, and send the next request."""
        handle, target, copies = request.handle, request.target, self._copies
        cancelled, request.state = request.state == CANCELLED, ENDED
        key = handle * self._memories + target
        if self._loading.get(key) is request:
            del self._loading[key]
        if not cancelled:
            if request.source < 0:  # a place only: its taker has yet to write
                if request.kind == FETCH:
                    self._requests.cancel_idle(handle)
            elif request.write:
                copies.write(handle, target)
            elif copies.valid[handle] >> request.source & 1:
                copies.read(handle, target)
        self._requests.close(request)
        self._note_use(request, ahead=request.kind == PREFETCH and not cancelled)
        if self._devices[target]:
            self._requests.keepers[target].notify()
        if request.next_hop is not None:
            self._requests.send(request.next_hop)

    def _note_use(self, request: Request, *, ahead: bool) -> None:
        """Note the use of both memories by *request*, and unpin its data there."""
        handle, target = request.handle, request.target
        store = self._copies.stores[target]
        if store is not None:
            if ahead:
                store.want(handle)
            else:
                store.touch(handle)
            if request.place is not None:
                store.unpin(handle)
                self._eviction.unpinned(target)
        if request.source >= 0:
            if request.root is not None:
                root, request.root = request.root, None
                root.unpin(handle)
                self._eviction.unpinned(request.source)
            source = self._copies.stores[request.source]
            if source is not None and request.reason == WRITE_BACK:
                self._eviction.written_back(source, handle, request.source)
