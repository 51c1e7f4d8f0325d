"""Mover of data, which fetches the data of tasks and releases data that are no longer needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tasksim.engine.data.requests import ENDED, FETCH, IDLE, NO_TASK, PREFETCH, Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.engine.data.accesses import Need, Needs
    from tasksim.engine.data.copies import Copies
    from tasksim.engine.data.eviction import Eviction
    from tasksim.engine.data.open_requests import OpenRequests

__all__ = ["Mover", "Taker"]


class Taker(Protocol):
    """A taker of the data of a task that a worker has popped."""

    task: int
    memory: int
    priority: int

    def arrive(self) -> None:
        """Note that one of the data has arrived."""


class Mover:
    """A mover of data between the memories of a node, for tasks and hints."""

    def __init__(self, copies: Copies, requests: OpenRequests, eviction: Eviction) -> None:
        self._copies = copies
        self._requests = requests
        self._eviction = eviction

    def fetch(self, needs: Needs, taker: Taker) -> int:
        """Bring the data of *needs* to the memory of *taker*, and pin them there.

        Return the number of data that are missing; *taker* hears of each arrival.
        """
        copies, opened, memory = self._copies, self._requests.of, taker.memory
        valid, store, bit = copies.valid, copies.stores[memory], 1 << memory
        missing = 0
        for need in needs:
            handle, reads, writes = need
            if store is not None:
                store.pin(handle)
            if not (valid[handle] & bit and reads) or handle in opened:
                missing += self._fetch(need, taker)
                continue
            if writes and valid[handle] != bit:
                copies.write(handle, memory)
            if store is not None:
                store.take(handle)
        return missing

    def _fetch(self, need: Need, taker: Taker) -> bool:
        """Bring one datum that may be missing; return whether that takes time."""
        handle, reads, writes = need
        copies, memory = self._copies, taker.memory
        store = copies.stores[memory]
        others = self._requests.of.get(handle)
        here = copies.valid[handle] if reads else copies.places[handle] | copies.valid[handle]
        if here >> memory & 1 and not (writes and others):
            if writes:
                copies.write(handle, memory)
            if store is not None:
                store.take(handle)
            if others:
                _cancel_prefetches(self._requests.of_task(handle, taker.task), taker)
            return False
        if not reads and store is None and not others:
            copies.settle(handle, memory)
            copies.write(handle, memory)
            return False
        return self._fetch_later(need, taker)

    def _fetch_later(self, need: Need, taker: Taker) -> bool:
        """Wait for a request of the taker's task; a writer waits for other requests, too."""
        handle, _, writes = need
        memory = taker.memory
        others = self._in_the_way(handle, memory) if writes else []
        own = []
        if not self._copies.valid[handle] >> memory & 1:
            own.append(self._requests.ask(need, memory, (FETCH, taker.task, taker.priority)))
        awaited = own + [r for r in others if r not in own and r.state != ENDED]
        left = len(awaited)

        def one_done() -> None:
            nonlocal left
            left -= 1
            if writes and not left:  # requests begun during the wait, to make room at the datum
                begun = [r for r in self._requests.of.get(handle, ()) if r.begun]
                left = len(begun)
                for request in begun:
                    request.waiters.append(one_done)
            if not left:
                self._take(need, memory)
                taker.arrive()

        for request in awaited:
            request.waiters.append(one_done)
        if not awaited:
            self._take(need, memory)
            _cancel_prefetches(self._requests.of_task(handle, taker.task), taker)
        return bool(awaited)

    def _in_the_way(self, handle: int, memory: int) -> list[Request]:
        """Return the requests that must end before a task in *memory* may write *handle*.

        Requests to *memory* that have not begun are left out: they will find the datum there.
        Prefetches are promoted; otherwise they might wait for room that never comes.
        """
        found = [r for r in self._requests.of.get(handle, ()) if r.begun or r.target != memory]
        for request in found:
            if request.kind == PREFETCH and not request.begun:
                self._requests.promote(request, FETCH)
        return found

    def _take(self, need: Need, memory: int) -> None:
        """Note that a task has taken one of its data."""
        handle, _, writes = need
        store = self._copies.stores[memory]
        if store is not None:
            store.take(handle)
        if writes:
            self._copies.write(handle, memory)
            self._requests.cancel_idle(handle)  # requested while the task waited

    def prefetch(self, needs: Needs, memory: int, task: int, priority: int) -> None:
        """Prefetch the data of *needs* to *memory* for *task*, which has a worker there."""
        copies, bit = self._copies, 1 << memory
        valid, store = copies.valid, copies.stores[memory]
        for handle, reads, writes in needs:
            if (valid[handle] if reads else copies.places[handle]) & bit:
                if writes and reads and valid[handle] != bit:
                    copies.write(handle, memory)
                if store is not None:
                    store.want(handle)
            elif reads or store is not None:
                need = (handle, reads, writes and reads)
                self._requests.ask(need, memory, (PREFETCH, task, priority))

    def will_not_be_used(self, handle: int) -> None:
        """Make *handle* the first victim, and write it back when the links are idle."""
        copies = self._copies
        copies.will_not_be_used(handle)
        home = copies.home[handle]
        if not copies.valid[handle] >> home & 1:
            self._requests.ask((handle, True, False), home, (IDLE, NO_TASK, 0))

    def release(self, needs: Needs, memory: int) -> None:
        """Unpin the data of *needs* in *memory*, whose task has ended."""
        store = self._copies.stores[memory]
        if store is not None:
            for handle, _, _ in needs:
                store.unpin(handle)
            self._eviction.unpinned(memory)


def _cancel_prefetches(requests: Iterable[Request], taker: Taker) -> None:
    """Cancel the prefetches for the taker's task, which has the datum now."""
    for request in requests:
        if request.task == taker.task and request.target == taker.memory:
            request.cancel()
