"""Requests for copies, from the asking to the completion, and what that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.engine.clock import Clock, Routine, ticks
from tasksim.engine.data.copies import Copies, Store
from tasksim.engine.data.log import Log
from tasksim.engine.data.network import Network
from tasksim.engine.data.requests import FETCH, IDLE, PREFETCH, WRITE_BACK, Post, Request
from tasksim.platform.copyestimates import CopyEstimates

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Orders"]


class Orders:
    """The requests of a replay of *graph* on *platform*, and the copies that they are about.

    *devices* says per memory whether it is a device's. The replay sets ``drivers``, the routine per
    memory that looks after its requests: a device's worker, or a routine of the memory's own.
    """

    def __init__(
        self, env: Clock, graph: TaskGraph, platform: Platform, devices: list[bool]
    ) -> None:
        self._env = env
        self._memories = len(platform.memories)
        self.copies = Copies(graph, platform)
        self.network = Network(env, platform)
        self.estimates = CopyEstimates(platform, sum(devices))
        self.drivers: list[Routine] = []
        self.log = Log()
        copying, overheads = platform.copying, platform.overheads
        self._devices = devices
        self._poll = ticks(overheads.progress_s)
        # Until when a datum is being handed to a copy engine: nobody else may look at it.
        self.locks: dict[int, int] = {}
        limits = (copying.fetches, copying.prefetches, copying.idle)
        self.posts = [Post(self._memories, limits) for _ in platform.memories]
        # Requests that are not done: per datum; those that load a datum into a memory, and how
        # many will, both keyed by datum * memories + memory.
        self._open: dict[int, list[Request]] = {}
        self._loading: dict[int, Request] = {}
        self._towards: dict[int, int] = {}
        self._starved = [False] * self._memories
        self._check_routes(graph, platform)

    def _check_routes(self, graph: TaskGraph, platform: Platform) -> None:
        homes = sorted(set(self.copies.home))
        used = sorted({worker.memory for worker in platform.workers} | set(homes))
        for source in used:
            for target in used:
                if source != target and not self._hops(source, target):
                    names = [platform.memories[end].name for end in (source, target)]
                    raise InputError(
                        f"platform {platform.name}: no route leads from memory {names[0]} to"
                        f" {names[1]}, not even by one other memory; graph {graph.name} needs it"
                    )

    def _hops(self, source: int, target: int) -> list[tuple[int, int]]:
        """Return the copies that bring data from *source* to *target*: one, or two by a third."""
        if self.network.connects(source, target):
            return [(source, target)]
        for middle in range(self._memories):
            if self.network.connects(source, middle) and self.network.connects(middle, target):
                return [(source, middle), (middle, target)]
        return []

    # Locks

    def wait_ticks(self, handle: int) -> int:
        """Return how many ticks to wait before looking at *handle* again; 0: it is free.

        A driver that begins a copy holds its datum until the copy is with the engine. Others look
        again every so often (StarPU's spinning, ``common/starpu_spinlock.c``).
        """
        left = self.locks.get(handle, 0) - self._env._now
        if left <= 0:
            return 0
        return -(-left // self._poll) * self._poll if self._poll else left

    # Requests

    def _ask(
        self,
        handle: int,
        memory: int,
        kind: int,
        priority: int,
        task: int,
        reads: bool,
        writes: bool,
    ) -> Request:
        """Return the request for *handle* in *memory*: one there is already, or a new one."""
        source = self.estimates.nearest(self.copies.valid[handle], memory, self.copies.size[handle])
        hops = self._hops(source, memory) if reads else [(-1, memory)]
        found = self._find(handle, hops[-1], task)
        if found is not None:
            found.write |= writes
            if kind < found.kind:
                self._promote(found, kind)
            return found
        last: Request | None = None
        for hop_source, hop_target in reversed(hops):
            final = hop_target == memory
            request = Request(
                handle, hop_source, hop_target, kind, priority, task, writes and final
            )
            request.next_hop = last
            self._opened(request)
            last = request
        assert last is not None
        self._send(last)
        while last.next_hop is not None:
            last = last.next_hop
        return last

    def _find(self, handle: int, hop: tuple[int, int], task: int) -> Request | None:
        """Return the open request for this copy of no task, or of the same from wherever it is."""
        for request in self._open.get(handle, ()):
            if request.cancelled or request.target != hop[1]:
                continue
            if request.task < 0 or task < 0:
                if request.source == hop[0]:
                    return request
            elif request.task == task and (request.source < 0) == (hop[0] < 0):
                return request
        return None

    def _opened(self, request: Request) -> None:
        handle, target = request.handle, request.target
        request.asked = self._env._now
        self._open.setdefault(handle, []).append(request)
        key = handle * self._memories + target
        self._towards[key] = self._towards.get(key, 0) + 1
        self.copies.coming[handle] |= 1 << target

    def _hold_source(self, request: Request) -> None:
        """Keep what is to be copied where it is.

        Requests that wait do not: they could wait for each other's room for ever.
        """
        if request.source >= 0:
            store = self.copies.stores[request.source]
            if store is not None:
                store.pin(request.handle)
                request.pinned_source = True

    def _let_source_go(self, request: Request, *, begun: bool = True) -> None:
        store = self.copies.stores[request.source] if request.pinned_source else None
        if store is not None:
            request.pinned_source = False
            store.unpin(request.handle)
            if begun:
                self._unpinned(request.source)

    def _from_elsewhere(self, request: Request) -> None:
        """Queue *request* anew, whose datum has left the memory that it was to come from."""
        handle, target = request.handle, request.target
        source = self.estimates.nearest(self.copies.valid[handle], target, self.copies.size[handle])
        *before, last = self._hops(source, target)
        request.source, request.channel = last[0], None
        first = request
        for hop_source, hop_target in before:
            first = Request(
                handle, hop_source, hop_target, request.kind, request.priority, request.task, False
            )
            first.next_hop = request
            self._opened(first)
        self._send(first)

    def _handler(self, request: Request) -> int:
        """Return the memory whose driver handles *request*: a device's, of two the target's."""
        source, target = request.source, request.target
        if source >= 0 and self._devices[source] and not self._devices[target]:
            return source
        return target

    def _send(self, request: Request) -> None:
        """Queue *request* where it is handled, and wake whoever does that."""
        source, target = request.source, request.target
        handler = self._handler(request)
        if handler == target:
            channel = self.posts[target].inward[source if source >= 0 else target]
        else:
            channel = self.posts[source].outward[target]
        self.posts[handler].add(request, channel)
        self.drivers[handler].notify()

    def _promote(self, request: Request, kind: int) -> None:
        """Make *request*, and those it comes before, as urgent as *kind*."""
        handler = self._handler(request)
        self.posts[handler].promote(request, kind)
        if request.reason != WRITE_BACK:
            request.reason = kind
        self.drivers[handler].notify()
        for other in self._open.get(request.handle, ()):
            if other.next_hop is request and other.kind > kind:
                self._promote(other, kind)

    def _complete(self, request: Request) -> None:
        """Note that *request* is done: the state of the datum, who waited, who comes next."""
        copies, handle, target = self.copies, request.handle, request.target
        key = handle * self._memories + target
        request.done = True
        if self._loading.get(key) is request:
            del self._loading[key]
        if not request.cancelled:
            if request.source < 0:  # a place: whoever takes it will write, and has not yet
                if request.kind == FETCH:
                    self._cancel_idle(handle)
            elif request.write:
                copies.write(handle, target)
            elif copies.valid[handle] >> request.source & 1:
                copies.read(handle, target)
        self._closed(request, key)
        if self._devices[target]:
            self.drivers[target].notify()
        if request.next_hop is not None:
            self._send(request.next_hop)
        for waiter in request.waiters:
            waiter()
        for follower in request.followers:
            self._complete(follower)

    def _cancel_idle(self, handle: int) -> None:
        """Cancel copies of *handle* that nobody waits for: it is about to be written."""
        for request in self._open.get(handle, ()):
            if request.kind == IDLE and not request.under_way:
                request.cancelled = True

    def _closed(self, request: Request, key: int) -> None:
        handle, target = request.handle, request.target
        requests = self._open[handle]
        requests.remove(request)
        if not requests:
            del self._open[handle]
        left = self._towards[key] - 1
        if left:
            self._towards[key] = left
        else:
            del self._towards[key]
            self.copies.coming[handle] &= ~(1 << target)
        store = self.copies.stores[target]
        if store is not None:
            if request.kind == PREFETCH and not request.cancelled:
                store.want(handle)
            else:
                store.touch(handle)
            if request.pinned:
                self._unpin(store, handle, target)
        if request.source >= 0:
            self._let_source_go(request)
            store = self.copies.stores[request.source]
            if store is not None and request.reason == WRITE_BACK:
                self._drop_written_back(store, handle, request.source)

    def _unpin(self, store: Store, handle: int, memory: int) -> None:
        store.unpin(handle)
        self._unpinned(memory)

    def _unpinned(self, memory: int) -> None:
        """Let whoever found no room in *memory* look again."""
        if self._starved[memory]:
            self._starved[memory] = False
            self.drivers[memory].notify()

    def _drop(self, store: Store, handle: int, memory: int) -> None:
        self.copies.drop(handle, memory)
        self.log.changed(memory, store.used_bytes, self._env._now)

    def _drop_written_back(self, store: Store, handle: int, memory: int) -> None:
        there = handle in store.recent or handle in store.unneeded
        if there and handle not in store.pinned and not self.copies.is_last(handle, memory):
            self._drop(store, handle, memory)
        self._starved[memory] = False
        self.drivers[memory].notify()
