"""The movement of data between memories: what tasks need is brought, what is in the way leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from tasksim.engine.clock import Clock, ticks
from tasksim.engine.data.engines import Copy, CopyEngines
from tasksim.engine.data.orders import Orders
from tasksim.engine.data.requests import FETCH, IDLE, PREFETCH, WRITE_BACK, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tasksim.engine.data.copies import Store
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Needs", "Transfers"]

Needs: TypeAlias = Sequence[tuple[int, bool, bool]]
"""What a task accesses: the datum, whether it is read, whether it is written."""


class Transfers(Orders):
    """What moves data for a replay: what tasks ask for, what drivers do, how room is made."""

    def __init__(
        self, env: Clock, graph: TaskGraph, platform: Platform, devices: list[bool]
    ) -> None:
        super().__init__(env, graph, platform, devices)
        self._copy = ticks(platform.overheads.copy_s)
        self._allocate = ticks(platform.allocation.allocate_s)
        self._free = ticks(platform.allocation.free_s)
        self._allocator_free = 0
        self._engines = CopyEngines(
            env,
            self.network,
            devices,
            serialised=platform.copying.serialised,
            first_use=ticks(platform.overheads.progress_s),
        )

    # What tasks ask for

    def fetch(
        self, task: int, needs: Needs, memory: int, priority: int, arrive: Callable[[], None]
    ) -> int:
        """Bring what *task*, which a worker has popped, *needs* to *memory*, and keep it there.

        Returns how many of the data are not there yet; *arrive* is called for each that comes.
        """
        valid, opened, bit = self.copies.valid, self._open, 1 << memory
        store = self.copies.stores[memory]
        missing = 0
        for handle, reads, writes in needs:
            if store is not None:
                store.pin(handle)
            if not (valid[handle] & bit and reads) or handle in opened:
                missing += self._fetch(task, handle, memory, priority, reads, writes, arrive)
                continue
            if writes:
                valid[handle] = bit
            if store is not None:
                store.take(handle)
        return missing

    def _fetch(
        self,
        task: int,
        handle: int,
        memory: int,
        priority: int,
        reads: bool,
        writes: bool,
        arrive: Callable[[], None],
    ) -> bool:
        """Bring one datum that is not just there; return whether that takes time."""
        copies = self.copies
        store = copies.stores[memory]
        others = self._open.get(handle)
        here = copies.valid[handle] if reads else copies.places[handle] | copies.valid[handle]
        if here >> memory & 1 and not (writes and others):
            if writes:
                copies.valid[handle] = 1 << memory
            if store is not None:
                store.take(handle)
            if others:
                self._cancel(others, task, memory)
            return False
        if not reads and store is None and not others:
            copies.places[handle] |= 1 << memory
            copies.write(handle, memory)
            return False
        return self._fetch_later(task, handle, memory, priority, reads, writes, arrive)

    def _cancel(self, requests: list[Request], task: int, memory: int) -> None:
        """Cancel what was asked ahead for *task*: it has the datum now."""
        for request in requests:
            if request.task == task and request.target == memory and not request.under_way:
                request.cancelled = True

    def _fetch_later(
        self,
        task: int,
        handle: int,
        memory: int,
        priority: int,
        reads: bool,
        writes: bool,
        arrived: Callable[[], None],
    ) -> bool:
        """Wait for a request of *task*; a writer waits for the others as well.

        Not for those that would bring the datum here but have not begun: they find it here.
        """
        others = list(self._open.get(handle, ())) if writes else []
        others = [r for r in others if r.under_way or r.target != memory]
        for request in others:
            if request.kind == PREFETCH and not request.under_way:
                self._promote(request, FETCH)  # or it might wait for room that never comes
        valid = self.copies.valid[handle] >> memory & 1
        own = [] if valid else [self._ask(handle, memory, FETCH, priority, task, reads, writes)]
        waited = own + [r for r in others if r not in own and not r.done]
        left = len(waited)

        def one_done() -> None:
            nonlocal left
            left -= 1
            if writes and not left:  # what was begun meanwhile, to make room where the datum is
                begun = [r for r in self._open.get(handle, ()) if r.under_way]
                left = len(begun)
                for request in begun:
                    request.waiters.append(one_done)
            if not left:
                self._take(handle, memory, writes)
                arrived()

        for request in waited:
            request.waiters.append(one_done)
        if not waited:
            self._take(handle, memory, writes)
            self._cancel(self._open.get(handle, []), task, memory)
        return bool(waited)

    def _take(self, handle: int, memory: int, writes: bool) -> None:
        store = self.copies.stores[memory]
        if store is not None:
            store.take(handle)
        if writes:
            self.copies.write(handle, memory)
            self._cancel_idle(handle)  # asked for while the task waited

    def prefetch(self, task: int, needs: Needs, memory: int, priority: int) -> None:
        """Bring ahead to *memory* what *task*, which was given to a worker there, *needs*."""
        copies, bit = self.copies, 1 << memory
        valid, store = copies.valid, copies.stores[memory]
        for handle, reads, writes in needs:
            if (valid[handle] if reads else copies.places[handle]) & bit:
                if writes and reads:
                    valid[handle] = bit
                if store is not None:
                    store.want(handle)
            elif reads or store is not None:
                self._ask(handle, memory, PREFETCH, priority, task, reads, writes and reads)

    def will_not_be_used(self, handle: int) -> None:
        """Let *handle* leave first, and write it back when nothing else is to be copied."""
        copies = self.copies
        copies.will_not_be_used(handle)
        home = copies.home[handle]
        if not copies.valid[handle] >> home & 1:
            self._ask(handle, home, IDLE, 0, -1, True, False)

    def release(self, needs: Needs, memory: int) -> None:
        """Take back that *memory* keeps what a task that has ended needed."""
        store = self.copies.stores[memory]
        if store is not None:
            for handle, _, _ in needs:
                store.unpin(handle)
            self._unpinned(memory)

    # What drivers do

    def serve(self, memory: int) -> Generator[int | None, None, bool]:
        """Let the driver of *memory* look after its requests; return whether there was anything."""
        return self.posts[memory].serve(self._start, self._arrived)

    def _start(self, request: Request) -> Generator[int | None, None, bool]:
        """Begin what *request* asks for; return False if there is no room for it now."""
        copies, handle, target = self.copies, request.handle, request.target
        if request.cancelled or copies.valid[handle] >> target & 1:
            self._complete(request)
            return True
        if request.source >= 0 and not copies.valid[handle] >> request.source & 1:
            # Of an idle copy only its end is waited for, by what writes the datum elsewhere now.
            if request.kind != IDLE and (request.task >= 0 or request.waiters):
                self._from_elsewhere(request)
            else:
                request.cancelled = True
                self._complete(request)
            return True
        key = handle * self._memories + target
        leader = self._loading.get(key)
        if leader is not None:
            if request.kind < leader.kind:
                self._promote(leader, request.kind)
            leader.followers.append(request)
            request.under_way = True
            return True
        self._loading[key] = request
        self._hold_source(request)
        store = copies.stores[target]
        if store is not None:
            store.pin(handle)
            request.pinned = True
            if not copies.places[handle] >> target & 1 and not (
                yield from self._place(request, store)
            ):
                del self._loading[key]
                request.pinned = False
                store.unpin(handle)
                self._let_source_go(request, begun=False)
                self._starved[target] = True
                return False
        else:
            copies.places[handle] |= 1 << target
        if request.source < 0:
            self._complete(request)
            return True
        request.under_way = True
        if self._copy:
            while self.locks and (delay := self.wait_ticks(handle)):
                yield delay
            self.locks[handle] = self._env._now + self._copy
            yield self._copy
            self.locks.pop(handle, None)
        channel = request.channel
        assert channel is not None
        channel.pending += 1
        pair = (request.source, target)
        self._engines.ask(Copy(pair, copies.size[handle], self._on_copied, request))
        return True

    def _on_copied(self, copy: Copy) -> None:
        """Note that *copy* has ended; the driver that began it will see it."""
        request: Request = copy.value
        request.started = copy.started
        self.log.copied(request, self._env._now)
        channel = request.channel
        assert channel is not None
        channel.arrived.append(request)
        handler = self._handler(request)
        self.posts[handler].arrived += 1
        self.drivers[handler].notify()

    def _arrived(self, request: Request) -> Generator[int | None, None, None]:
        """Note, as the driver that began it, that the copy of *request* is there."""
        while self.locks and (delay := self.wait_ticks(request.handle)):
            yield delay
        self._complete(request)

    # Room

    def _place(self, request: Request, store: Store) -> Generator[int | None, None, bool]:
        """Find a place for *request* in the memory of *store*; return whether there is one."""
        size, memory = self.copies.size[request.handle], request.target
        found = store.pool.allocate(size)
        if found is None and request.kind != IDLE:
            found = self._make_room(store, memory, size, keep_wanted=request.kind == PREFETCH)
        if found is None:
            return False
        self.copies.settle(request.handle, memory)
        self.log.changed(memory, store.used_bytes, self._env._now)
        cost = found[0] * self._allocate + found[1] * self._free
        if cost:
            now = self._env._now
            self._allocator_free = max(now, self._allocator_free) + cost
            yield self._allocator_free - now
        return True

    def _make_room(
        self, store: Store, memory: int, size: int, *, keep_wanted: bool
    ) -> tuple[int, int] | None:
        """Let data leave until *size* bytes fit: what is valid elsewhere first, of equal size best.

        What only this memory has is written home, twice the size at a time, and leaves when that
        is done.
        """
        copies = self.copies
        only, others = [], []
        for victim in store.victims(keep_wanted=keep_wanted):
            if copies.is_last(victim, memory):
                only.append(victim)
            elif copies.size[victim] == size:
                others = [victim]
                break
            else:
                others.append(victim)
        for victim in others:
            self._drop(store, victim, memory)
            found = store.pool.allocate(size)
            if found is not None:
                return found
        self._write_back_some(only, memory, 2 * size)
        return None

    def _write_back_some(self, handles: list[int], memory: int, size: int) -> None:
        """Ask for *size* bytes of *handles*, of which *memory* has the only copies, elsewhere."""
        for handle in handles:
            if size <= 0:
                break
            size -= self.copies.size[handle]
            self._write_back(handle, memory)

    def _write_back(self, handle: int, memory: int) -> None:
        """Ask for the only copy of *handle*, which must leave *memory*, to be written home."""
        home = self.copies.home[handle]
        request = self._ask(handle, home, FETCH, 0, -1, True, False)
        while request.source != memory:  # by another memory: the first copy is the one that counts
            before = [r for r in self._open[handle] if r.next_hop is request]
            if not before:
                return
            request = before[0]
        request.reason = WRITE_BACK
