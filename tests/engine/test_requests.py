"""Requests for copies: classes, priorities, limits, what is put back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.engine.data.requests import (
    ENDED,
    FETCH,
    IDLE,
    NO_TASK,
    PREFETCH,
    UNDER_WAY,
    Post,
    Request,
)


def request(kind, priority=0, handle=0):
    return Request(handle, (0, 1), (kind, NO_TASK, priority))


class Desk:
    """A post, what it starts, and how much room there is."""

    def __init__(self, limits=(5, 2, 1), peers=3, room=10**6):
        self.post = Post(peers, limits)
        self.started = []
        self.ended = []
        self.room = room

    def ask(self, kind, priority=0, peer=0, outward=False):
        asked = request(kind, priority, handle=len(self.started) + 100)
        channels = self.post.outward if outward else self.post.inward
        self.post.add(asked, channels[peer])
        return asked

    def start(self, asked):
        if not self.room:
            return False
        self.room -= 1
        self.started.append(asked)
        asked.state = UNDER_WAY
        asked.channel.pending += 1
        return True
        yield

    def arrive(self, asked):
        self.ended.append(asked)
        asked.state = ENDED
        return
        yield

    def arrived(self, asked):
        asked.channel.arrived.append(asked)
        self.post.arrived += 1

    def serve(self):
        steps = self.post.serve(self.start, self.arrive)
        try:
            while True:
                next(steps)
        except StopIteration as end:
            return end.value


def test_classes_come_in_order_of_urgency():
    desk = Desk(limits=(9, 9, 9))
    ahead, needed = desk.ask(PREFETCH), desk.ask(FETCH)
    assert desk.serve()
    assert desk.started == [needed, ahead]


def test_inside_a_class_the_larger_priority_comes_first_then_the_older_request():
    desk = Desk()
    low, high, same = desk.ask(FETCH, 1), desk.ask(FETCH, 5), desk.ask(FETCH, 1)
    desk.serve()
    assert desk.started == [high, low, same]


@pytest.mark.parametrize(("kind", "limit"), [(FETCH, 5), (PREFETCH, 2), (IDLE, 1)])
def test_each_class_has_a_limit_of_copies_under_way(kind, limit):
    desk = Desk()
    asked = [desk.ask(kind) for _ in range(7)]
    desk.serve()
    assert desk.started == asked[:limit]
    assert desk.post.waiting == 7 - limit
    assert not desk.serve()
    desk.arrived(asked[0])
    desk.serve()
    assert desk.started == asked[: limit + 1]


def test_copies_under_way_count_whatever_their_class():
    """Three that tasks wait for leave no room for one ahead; a limit of five, for two more."""
    desk = Desk()
    for _ in range(3):
        desk.ask(FETCH)
    desk.serve()
    ahead = desk.ask(PREFETCH)
    desk.serve()
    assert ahead not in desk.started
    urgent = [desk.ask(FETCH) for _ in range(3)]
    desk.serve()
    assert desk.started[3:] == urgent[:2]


def test_limits_are_per_peer_and_direction():
    desk = Desk()
    both = [desk.ask(PREFETCH, peer=p, outward=o) for p in (0, 1) for o in (False, True)]
    more = [desk.ask(PREFETCH, peer=p, outward=o) for p in (0, 1) for o in (False, True)]
    last = [desk.ask(PREFETCH, peer=p, outward=o) for p in (0, 1) for o in (False, True)]
    desk.serve()
    assert set(desk.started) == {*both, *more}
    assert not set(last) & set(desk.started)


def test_idle_copies_start_only_when_nothing_comes_in():
    desk = Desk()
    needed = desk.ask(FETCH, peer=1)
    desk.serve()
    idle = desk.ask(IDLE, peer=0)
    desk.serve()
    assert idle not in desk.started
    desk.arrived(needed)
    desk.serve()
    assert desk.started == [needed, idle]


def test_what_found_no_room_stays_first_in_its_class():
    desk = Desk(room=1)
    first, second, third = (desk.ask(FETCH) for _ in range(3))
    assert desk.serve()
    assert desk.started == [first]
    assert not desk.serve()
    desk.room = 9
    desk.serve()
    assert desk.started == [first, second, third]


def test_where_there_is_no_room_nothing_less_urgent_is_tried():
    desk = Desk(room=0)
    desk.ask(FETCH, peer=0)
    ahead = desk.ask(PREFETCH, peer=1)
    desk.serve()
    assert ahead not in desk.started
    assert desk.post.waiting == 2


def test_a_request_made_more_urgent_starts_once():
    desk = Desk(limits=(5, 1, 1))
    others = [desk.ask(PREFETCH) for _ in range(2)]
    promoted = desk.ask(PREFETCH)
    desk.post.promote(promoted, FETCH)
    desk.serve()
    assert desk.started == [promoted]
    for asked in (promoted, *others):
        desk.arrived(asked) if asked in desk.started else None
        desk.serve()
    assert desk.started == [promoted, *others]
    assert desk.post.waiting == 0


def test_what_arrives_together_is_seen_in_order_of_priority():
    desk = Desk()
    low, high = desk.ask(FETCH, 1), desk.ask(FETCH, 9)
    desk.serve()
    desk.arrived(low)
    desk.arrived(high)
    assert desk.serve()
    assert desk.ended == [high, low]
    assert desk.post.arrived == 0


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "serve", "end", "promote"]),
        st.integers(0, 2),
        st.integers(-2, 2),
        st.integers(0, 2),
        st.booleans(),
    ),
    max_size=40,
)


@given(ACTIONS, st.integers(0, 20))
def test_every_request_starts_exactly_once_in_the_end(actions, room):
    desk, asked = Desk(room=room), []
    for action, kind, priority, peer, outward in actions:
        under_way = [a for a in desk.started if a.state != ENDED and a not in a.channel.arrived]
        if action == "ask":
            asked.append(desk.ask(kind, priority, peer, outward))
        elif action == "serve":
            desk.serve()
        elif action == "end" and under_way:
            desk.arrived(under_way[0])
        elif action == "promote" and asked and not asked[-1].begun and asked[-1].kind > kind:
            desk.post.promote(asked[-1], kind)
    desk.room = 10**6
    for _ in range(2 * len(asked) + 2):
        desk.serve()
        for one in desk.started:
            if one.state != ENDED and one not in one.channel.arrived:
                desk.arrived(one)
    assert len(desk.started) == len(asked)
    assert set(desk.started) == set(asked)
    assert desk.post.waiting == 0
