"""Flows against a naive solver that shares everything from scratch at every event."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.engine.clock import Clock
from tasksim.engine.cluster.flows import Flows
from tasksim.engine.cluster.shares import Filling
from tasksim.engine.cluster.ways import Way
from tasksim.network.load import read_network

NETWORK_TEXTS = (
    "switch:bandwidth=1GB/s,latency=1us",
    "switch:bandwidth=1GB/s,latency=1us,model=smpi",
    "switch:bandwidth=1GB/s,latency=1us,full_duplex=false,model=lv08",
    "backbone:bandwidth=1GB/s,latency=1us,backbone_bandwidth=1.7GB/s,model=cm02",
    "backbone:bandwidth=1GB/s,latency=1us,backbone_bandwidth=40GB/s,model=smpi",
    "torus:dimensions=[3,2],bandwidth=1GB/s,latency=3us,model=cm02",
    "fat-tree:children=[3,2],parents=[1,2],cables=[1,1],bandwidth=1GB/s,latency=1us,model=smpi",
)
NODES = 6


def load(claims, rising, link):
    """Return what the flows that still rise take of *link* per level."""
    return sum(u * claims[n].weight for n in rising for k, u in claims[n].uses if k == link)


def naive_shares(claims, capacity):
    """Return the shares by raising one level, in the simplest way."""
    shares = [0.0] * len(claims)
    left = dict(enumerate(capacity))
    rising = set(range(len(claims)))
    while rising:
        loads = {k: total for k in left if (total := load(claims, rising, k))}
        level = min(claims[n].limit / claims[n].weight for n in rising)
        level = min([level, *(left[link] / total for link, total in loads.items())])
        reached = level * (1 + 1e-12)
        full = {link for link, total in loads.items() if left[link] / total <= reached}
        stopped = {
            n
            for n in rising
            if claims[n].limit <= reached * claims[n].weight
            or full & {k for k, _ in claims[n].uses}
        }
        for n in stopped:
            shares[n] = level * claims[n].weight
            for link, use in claims[n].uses:
                left[link] = max(0.0, left[link] - use * shares[n])
        rising -= stopped
    return shares


ways = st.builds(
    lambda latency, limit, weight, links: Way(latency, limit, weight, tuple(links.items())),
    st.just(0.0),
    st.floats(0.05, 2.0),
    st.floats(0.1, 10.0),
    st.dictionaries(st.integers(0, 5), st.sampled_from([0.05, 1.0, 1.05, 2.0]), max_size=4),
)


@given(st.lists(ways, min_size=1, max_size=12), st.lists(st.floats(0.1, 3), min_size=6, max_size=6))
@settings(deadline=None, max_examples=few(200))
def test_shares_are_those_of_the_naive_solver(claims, capacity):
    links = {link for claim in claims for link, _ in claim.uses}
    filling = Filling(claims, {link: capacity[link] for link in sorted(links)})
    filling.fill()
    shares = filling.shares
    assert shares == pytest.approx(naive_shares(claims, capacity), rel=1e-9)
    for link in links:
        taken = sum(
            s * u for s, c in zip(shares, claims, strict=True) for k, u in c.uses if k == link
        )
        assert taken <= capacity[link] * (1 + 1e-9)


messages = st.lists(
    st.tuples(
        st.integers(0, NODES - 1),
        st.integers(0, NODES - 1),
        st.integers(0, 200_000),
        st.sampled_from([0, 0, 0, 1000, 20_000, 50_000]) | st.integers(0, 100_000),
    ).filter(lambda message: message[0] != message[1]),
    min_size=1,
    max_size=14,
)


class Watched(Flows):
    """Flows that look, whenever they have settled, whether all shares are those from scratch."""

    def _settle(self, event):
        super()._settle(event)
        alive = list(self._flows.values())
        expected = naive_shares([flow.way for flow in alive], self._capacity)
        assert [flow.share for flow in alive] == pytest.approx(expected, rel=1e-9)


@given(st.sampled_from(NETWORK_TEXTS), messages)
@settings(deadline=None, max_examples=few(150))
def test_what_is_settled_in_part_is_what_a_whole_solution_says(text, sent):
    network = read_network(text).sized(NODES)
    clock = Clock()
    flows = Watched(clock, network)
    begun, ended = {}, {}

    def begin(alarm):
        number, (source, target, size, _) = alarm.value
        begun[number] = clock.now
        flows.send(source, target, size, lambda n: ended.setdefault(n, clock.now), number)

    for message in enumerate(sent):
        clock.alarm(message[1][3], begin, message)
    clock.run()
    assert len(ended) == len(sent)
    assert not flows._flows
    assert not flows._on
    for number, (source, target, size, _) in enumerate(sent):
        # Nobody is faster than alone, but for the rounding of the latency to ticks.
        alone = network.alone_s(source, target, size) * 1e9
        assert ended[number] - begun[number] >= alone - 1


@given(messages)
@settings(deadline=None, max_examples=few(50))
def test_all_that_is_sent_moves(sent):
    """Work is conserved: what the links have moved is the bytes that were sent."""
    network = read_network("switch:bandwidth=1GB/s,latency=1us").sized(NODES)
    clock = Clock()
    moved = dict.fromkeys(range(2 * NODES), 0.0)

    class Counting(Flows):
        last = 0

        def count(self):
            for flow in self._flows.values():
                for link, use in flow.way.uses:
                    moved[link] += flow.share * use * (clock.now - self.last)
            self.last = clock.now

        def _enter(self, flow):
            self.count()
            super()._enter(flow)

        def _on_alarm(self, event):
            self.count()
            super()._on_alarm(event)

    flows = Counting(clock, network)
    for source, target, size, _ in sent:
        flows.send(source, target, size, lambda _: None, None)
    clock.run()
    expected = dict.fromkeys(moved, 0.0)
    for source, target, size, _ in sent:
        for link in network.topology.route(source, target):
            expected[link] += size
    for link, size in expected.items():
        # Each message ends up to a tick late: a byte.
        assert moved[link] == pytest.approx(size, abs=2.0 * len(sent))


def settled_per_message(nodes):
    """Return how many flows were settled per message when all send to anybody."""
    network = read_network("switch:bandwidth=1GB/s,latency=1us,model=smpi").sized(nodes)
    clock = Clock()
    flows = Counted(clock, network)
    draw = Random(1)
    left = [2000]

    def again(node):
        if left[0]:
            left[0] -= 1
            other = (node + draw.randrange(1, nodes)) % nodes
            flows.send(node, other, draw.randrange(1_000_000), again, node)

    for node in range(nodes):
        again(node)
    clock.run()
    return flows.settled / 2000


class Counted(Flows):
    """Flows that count how many of them were shared anew."""

    settled = 0

    def _can_be_full(self, link):
        self.settled += 1
        return super()._can_be_full(link)


def test_a_message_costs_the_same_on_a_thousand_nodes():
    few, many = settled_per_message(16), settled_per_message(512)
    assert many < 3 * few


def test_a_link_that_nobody_can_fill_connects_nobody():
    network = read_network("backbone:bandwidth=1GB/s,backbone_bandwidth=3GB/s").sized(6)
    clock = Clock()
    flows = Flows(clock, network)
    touched = []
    original = flows._touched
    flows._touched = lambda: touched.append(original()) or touched[-1]
    flows.send(0, 1, 2000, lambda _: None, None)
    clock.alarm(500, lambda _: flows.send(2, 3, 1000, lambda _: None, None))
    clock.run()
    assert [len(found) for found in touched] == [1, 1, 0, 0]
