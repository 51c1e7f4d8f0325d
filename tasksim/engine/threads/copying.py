"""Copying as threads do it: they look after requests round by round, and hold locks meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.engine.data.landing import LONG, MAIN
from tasksim.engine.data.requests import FETCH, IDLE, PREFETCH, UNDER_WAY
from tasksim.engine.machine.intake import COMING, THERE
from tasksim.engine.threads.kernel import Actor, Mutex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.engine.clock import TickClock
    from tasksim.engine.data.accesses import Need, Needs
    from tasksim.engine.data.channels import Channel, Post
    from tasksim.engine.data.engines import Copy
    from tasksim.engine.data.landing import Landing
    from tasksim.engine.data.memories import Memories
    from tasksim.engine.data.requests import Request
    from tasksim.engine.machine.intake import Intake
    from tasksim.engine.machine.node import Node
    from tasksim.engine.threads.kernel import Calls, Kernel
    from tasksim.engine.threads.locks import DataLocks
    from tasksim.engine.threads.workers import Office, Worker

__all__ = ["Copying"]

ATTEMPTS: Final = 10
"""So often a thread that has better things to do looks after requests instead of waiting for the
lock of a datum: StarPU's ``STARPU_SPIN_MAXTRY``."""


class _List:
    """The requests of a memory to or from one peer: who waits, and whose copies are under way."""

    __slots__ = ("channel", "flying", "pending", "waiting")

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.pending, self.waiting = Mutex(), Mutex()
        self.flying: list[Request] = []


class Copying:
    """What threads do for the requests of *memories* (``datawizard/data_request.c``).

    *look* is what a look at the requests of a memory costs in ticks.
    """

    def __init__(
        self,
        clock: TickClock,
        kernel: Kernel,
        memories: Memories,
        locks: DataLocks,
        office: Office,
        look: int,
        landing: Landing | None = None,
    ) -> None:
        self._clock, self._kernel, self._look = clock, kernel, look
        self._requests, self._handling = memories.requests, memories.handling
        self._mover, self._landing = memories.mover, landing
        self._locks, self._office = locks, office
        self._chunks = Mutex()
        posts = memories.requests.posts
        self._inward = [list(map(_List, post.inward)) for post in posts]
        self._outward = [list(map(_List, post.outward)) for post in posts]

    # Looking after requests

    def look_after_all(self, me: Worker | None) -> Calls:
        """Look after the requests of all memories that *me* looks after; None: the main thread."""
        worked = yield from self.look_after(0, me)
        if me is not None and me.memory:
            worked |= yield from self.look_after(me.memory, me)
        return worked

    def look_after(self, memory: int, me: Worker | None) -> Calls:
        """Note what has come to or from *memory*, and start what may; say whether there was any."""
        yield self._look
        post, worked = self._requests.posts[memory], False
        groups = [self._inward[memory], *([lists] for lists in self._outward[memory])]
        for group in groups:
            for requests in group:
                worked |= yield from self._note_arrivals(requests, post, me)
            if self._landing is not None and memory == MAIN and group is groups[0]:
                worked |= yield from self._make_room(self._landing, me)
            worked |= yield from self._start_all(group, post, me)
        return worked

    def _make_room(self, landing: Landing, me: Worker | None) -> Calls:
        """Make room for what comes from other nodes, and leave to others what takes too long."""
        asked = landing.take()
        begun = self._clock._now
        place = 0
        while place < len(asked) and self._clock._now < begun + LONG:
            _, _, size, done = asked[place]
            yield -2
            if not landing.take_kept(size):
                yield self._chunks
                ticks = landing.allocate(size)
                if ticks:
                    yield ticks
                yield self._chunks
            yield from self._office.tell_all(MAIN, me)
            landing.open -= 1
            done()
            yield from self._office.stir(MAIN)
            place += 1
        if place < len(asked):
            landing.put_back(asked[place:])
            yield self._look
            yield from self._office.tell_all(MAIN, me)
        return bool(asked)

    def _note_arrivals(self, requests: _List, post: Post, me: Worker | None) -> Calls:
        channel = requests.channel
        yield requests.pending
        flying = sorted(requests.flying, key=lambda request: -request.priority)
        requests.flying = []
        yield requests.pending
        if not flying:
            return False
        kept = []
        for request in flying:
            yield from self._locks.take(request.handle)
            if request in channel.arrived:
                channel.arrived.remove(request)
                post.arrived -= 1
                yield from self._complete(request, me)
            else:
                self._locks.give(request.handle)
                kept.append(request)
        yield requests.pending
        channel.pending -= len(flying) - len(kept)
        requests.flying += kept
        yield requests.pending
        return len(kept) < len(flying)

    def _start_all(self, group: list[_List], post: Post, me: Worker | None) -> Calls:
        worked, quiet = False, True
        for kind in (FETCH, PREFETCH, IDLE):
            if kind == IDLE and not quiet:
                break
            for requests in group:
                started, room = yield from self._start_some(requests, kind, post, me)
                worked |= started
                if kind == PREFETCH and requests.channel.pending:
                    quiet = False
                if not room:
                    return worked
        return worked

    def _start_some(self, requests: _List, kind: int, post: Post, me: Worker | None) -> Calls:
        """Start requests of class *kind*: whether any was, whether there was room."""
        channel, limit, started = requests.channel, post.limits[kind], False
        yield requests.waiting
        taken = post.take(channel, kind)
        yield requests.waiting
        for place, request in enumerate(taken):
            room = channel.pending < limit
            if room and (yield from self._start(request, requests, me)):
                started = True
                channel.waiting -= 1
                post.waiting -= 1
                continue
            post.put_back(channel, taken[place:], kind)
            yield requests.waiting
            yield requests.waiting
            return started, not room
        return started, True

    def _start(self, request: Request, requests: _List, me: Worker | None) -> Calls:
        """Begin what *request* asks for; return False if there is no room for it now."""
        handling, handle = self._handling, request.handle
        yield from self._locks.take(handle)
        there = handling.is_there(request)
        if there or handling.source_left(request):
            if there or handling.is_cancelled(request):
                yield from self._complete(request, me)
            else:
                self._locks.give(handle)
            return True
        if handling.follow(request):
            self._locks.give(handle)
            return True
        if not (yield from self._make_place(request)):
            self._locks.give(handle)
            return False
        if request.source < 0 or handling.is_cancelled(request):
            yield from self._complete(request, me)
            return True
        request.state = UNDER_WAY
        yield handling.copy_ticks
        handling.hand_over(request, self._on_copied)
        yield -1
        self._locks.give(handle)
        yield requests.pending
        requests.channel.pending += 1
        requests.flying.append(request)
        yield requests.pending
        return True

    def _make_place(self, request: Request) -> Calls:
        """Make a place for the datum of *request*, which is not locked meanwhile."""
        slow = self._handling.needs_place(request)
        if slow:
            self._locks.give(request.handle)
            yield -2
        found = yield from self._handling.make_place(request)
        if slow:
            yield from self._locks.take(request.handle)
        return found

    def _on_copied(self, copy: Copy) -> None:
        request: Request = copy.value
        self._handling.log_copy(copy)
        self._requests.arrived(request)
        memory = self._requests.handler(request)
        Actor(self._clock, self._kernel).begin(self._office.tell_all(memory, None))

    def _complete(self, request: Request, me: Worker | None) -> Calls:
        """Note that *request* is done, whose datum is locked, and is free afterwards."""
        self._handling.settle(request)
        if request.next_hop is not None:
            yield from self._post(request.next_hop, me)
        yield from self._office.tell_all(request.target, me)
        self._locks.give(request.handle)
        for follower in reversed(request.followers):
            yield from self._locks.take(request.handle)
            yield from self._complete(follower, me)
        for waiter in reversed(request.waiters):  # a list to which StarPU adds in front
            waiter()
            yield from self._office.stir(request.target)

    def _post(self, request: Request, me: Worker | None) -> Calls:
        """Tell who handles *request*, which was queued just now."""
        handler = self._requests.handler(request)
        if handler == request.target:
            peer = request.source if request.source >= 0 else request.target
            requests = self._inward[handler][peer]
        else:
            requests = self._outward[handler][request.target]
        yield requests.waiting
        yield requests.waiting
        yield from self._office.tell_all(handler, me)

    # What tasks and hints ask for

    def fetch(self, needs: Needs, intake: Intake, me: Worker, cost: int) -> Calls:
        """Ask for the data of a task, one after the other."""
        for need in needs:
            yield from self._fetch_one(need, intake, me)
            yield cost
        intake.state = COMING if intake.missing else THERE

    def _fetch_one(self, need: Need, intake: Intake, me: Worker) -> Calls:
        if not intake.moves:  # there is but one memory
            intake.missing -= 1
            yield from self._office.stir(intake.memory)
            return
        handle = need[0]
        yield from self._locks.take(handle)
        before = self._open(handle)
        if self._mover.fetch((need,), intake):
            yield from self._post_new(handle, before, me)
            self._locks.give(handle)
        else:
            self._locks.give(handle)
            intake.missing -= 1
            yield from self._office.stir(intake.memory)

    def hand_over(self, node: Node, task: int, released_by: int, me: Worker | None) -> Calls:
        """Hand the communication *task* of *node* over, and ask for its datum in main memory."""
        handle = node.needs[task][0][0]
        yield from self._locks.take(handle)
        before, landing = self._open(handle), self._landing
        waited = landing is not None and landing.open
        node.hand_over(task, released_by)
        yield from self._post_new(handle, before, me)
        if landing is not None and landing.open > waited:
            yield from self._office.tell_all(MAIN, me)
        self._locks.give(handle)

    def will_not_be_used(self, handle: int, me: Worker | None) -> Calls:
        """Follow a hint about *handle*."""
        yield from self._locks.take(handle)
        before = self._open(handle)
        self._mover.will_not_be_used(handle)
        yield from self._post_new(handle, before, me)
        self._locks.give(handle)

    def _open(self, handle: int) -> list[Request]:
        return list(self._requests.of.get(handle, ()))

    def _post_new(self, handle: int, before: Iterable[Request], me: Worker | None) -> Calls:
        new = [request for request in self._open(handle) if request not in before]
        if new:
            yield from self._post(new[0], me)

    def touch_patiently(self, needs: Needs, me: Worker | None) -> Calls:
        """Lock the data of a task, one after the other; look after requests rather than wait."""
        for handle, _, _ in needs:
            for _ in range(ATTEMPTS):
                if self._locks.try_take(handle):
                    break
                yield from self.look_after_all(me)
            else:
                yield from self._locks.take(handle)
            self._locks.give(handle)
