"""The network: exact rates and end times of copies that share links, and what is fair."""

from __future__ import annotations

from math import inf, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.engine.clock import Clock
from tasksim.engine.data.network import Network, Path, fair_rates
from tasksim.engine.ticks import ticks
from tasksim.platform.description import Link, Memory, Platform, Route, Worker


def platform(memories, links, routes):
    """*links*: (bandwidth, latency[, shared]); *routes*: (source, target) -> links."""
    return Platform(
        name="network",
        workers=(Worker(0, "cpu0", "cpu", 0),),
        memories=tuple(Memory(i, f"m{i}") for i in range(memories)),
        links=tuple(
            Link(i, f"l{i}", None, link[0], link[1], shared=link[2] if len(link) > 2 else True)
            for i, link in enumerate(links)
        ),
        routes=tuple(
            Route(source, target, tuple(route)) for (source, target), route in routes.items()
        ),
    )


def ends(machine, copies):
    """Send *copies* (when, source, target, size); return when each has arrived, in seconds."""
    env = Clock()
    network = Network(env, machine)
    found = [inf] * len(copies)

    def arrived(number):
        found[number] = env.now * 1e-9

    for number, (when, source, target, size) in enumerate(copies):

        def send(event, source=source, target=target, size=size):
            network.send(source, target, size, arrived, event.value)

        env.alarm(ticks(when), send, number)
    env.run()
    return found


def star(ports, bandwidth=100.0):
    """Workers that each send and receive at most at *bandwidth*."""
    links = [(bandwidth, 0.0)] * (2 * ports)
    pairs = [(a, b) for a in range(ports) for b in range(ports) if a != b]
    return platform(ports, links, {(a, b): (a, ports + b) for a, b in pairs})


# End times


def test_a_copy_takes_the_latency_and_its_size_over_the_least_bandwidth():
    machine = platform(2, [(100.0, 0.25), (50.0, 0.5)], {(0, 1): (0, 1), (1, 0): (0,)})
    assert ends(machine, [(0, 0, 1, 200)]) == pytest.approx([4.75])
    assert ends(machine, [(0, 1, 0, 200)]) == pytest.approx([2.25])


def test_nothing_to_copy_takes_the_latency():
    assert ends(platform(2, [(100.0, 0.25)], {(0, 1): (0,)}), [(1, 0, 1, 0)]) == [1.25]


def test_copies_one_after_the_other_and_together():
    """Estee's simple case (Estee 5ba5421, tests/test_estee/test_netmodels.py)."""
    copies = [(0, 0, 1, 200), (2, 0, 1, 200), (2, 2, 3, 300), (5, 0, 1, 200), (5, 0, 1, 300)]
    assert ends(star(4), copies) == pytest.approx([2.0, 4.0, 5.0, 9.0, 10.0])


def test_copies_that_come_and_go():
    """Estee's mixed case, same file, its two last copies, which share one stream there, as one."""
    copies = [(0, 0, 1, 200), (1, 0, 2, 200), (1, 3, 1, 1000), (3.5, 0, 1, 200)]
    assert ends(star(4), copies) == pytest.approx([3.0, 4.5, 14.0, 7.5])


def test_every_copy_is_a_flow_also_between_the_same_two_memories():
    """The same as two copies: from 3.5, three flows leave port 0 and three enter port 1."""
    copies = [(0, 0, 1, 200), (1, 0, 2, 200), (1, 3, 1, 1000), (3.5, 0, 1, 100), (3.5, 0, 1, 100)]
    assert ends(star(4), copies) == pytest.approx([3.0, 5.0, 14.0, 6.5, 6.5])


def test_a_copy_does_not_count_while_its_latency_lasts():
    """The second is in its latency until 3: the first has the link alone until then."""
    machine = platform(3, [(100.0, 0.0), (1e9, 1.0), (1e9, 1.0)], {(0, 1): (0, 1), (0, 2): (0, 2)})
    # 1 to 3: 200 of 300 bytes; then 50 bytes/s each; from 5 on the second is alone.
    found = ends(machine, [(0, 0, 1, 300), (2, 0, 2, 200)])
    assert found == pytest.approx([5.0, 6.0])


def test_shares_are_as_one_over_the_latency():
    """Routes of 1 s and of 3 s share 80 bytes/s as 3 to 1: 60 and 20."""
    machine = platform(3, [(80.0, 0.0), (1e9, 1.0), (1e9, 3.0)], {(0, 1): (0, 1), (0, 2): (0, 2)})
    # At 3, both are flows: the first has 600 - 2 * 80 = 440 left.
    found = ends(machine, [(0, 0, 1, 600), (0, 0, 2, 1000)])
    first = 3 + 440 / 60
    second = first + (1000 - 20 * 440 / 60) / 80
    assert found == pytest.approx([first, second])


def test_a_link_that_is_crossed_twice_counts_twice():
    machine = platform(3, [(90.0, 0.0)], {(0, 1): (0, 0), (0, 2): (0,)})
    assert ends(machine, [(0, 0, 1, 90)]) == pytest.approx([2.0])
    # Together 30 each, which makes 2 * 30 + 30; the second then has the link alone.
    found = ends(machine, [(0, 0, 1, 90), (0, 0, 2, 180)])
    assert found == pytest.approx([3.0, 4.0])


def test_links_that_are_not_shared_slow_nobody_down():
    machine = platform(2, [(100.0, 0.0, False)], {(0, 1): (0,)})
    assert ends(machine, [(0, 0, 1, 200), (0, 0, 1, 300), (1, 0, 1, 100)]) == [2.0, 3.0, 2.0]


def test_a_link_that_is_not_shared_limits_each_copy_beside_one_that_is():
    """10 of the 100 for the limited one, the rest for the other."""
    machine = platform(3, [(100.0, 0.0), (10.0, 0.0, False)], {(0, 1): (0, 1), (0, 2): (0,)})
    assert ends(machine, [(0, 0, 1, 100), (0, 0, 2, 180)]) == pytest.approx([10.0, 2.0])


def test_both_directions_of_a_link_share_it():
    machine = platform(2, [(100.0, 0.0)], {(0, 1): (0,), (1, 0): (0,)})
    assert ends(machine, [(0, 0, 1, 100), (0, 1, 0, 100)]) == pytest.approx([2.0, 2.0])


def test_copies_over_a_link_that_is_not_shared_do_not_slow_each_other():
    machine = platform(3, [(1.0, 0.0), (1.0, 0.0, False)], {(0, 1): (0,), (1, 2): (1,)})
    network = Network(Clock(), machine)
    assert [network.shares(*p) for p in [(0, 1), (1, 2)]] == [True, False]


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 3), st.integers(0, 3), st.integers(0, 500)),
        max_size=12,
    )
)
def test_no_copy_is_faster_than_alone_and_none_slower_than_all_in_a_row(wanted):
    copies = [(0.1 * when, a, b, size) for when, a, b, size in wanted if a != b]
    found = ends(star(4), copies)
    whole = sum(copy[3] for copy in copies) / 100
    for (when, _, _, size), end in zip(copies, found, strict=True):
        assert end >= when + size / 100 - 1e-6
        assert end <= 2.0 + whole + 1e-6


# Rates


def rates(routes, capacity, latencies=None):
    latencies = latencies or [1.0] * len(routes)
    paths = [Path(i, route, latencies[i]) for i, route in enumerate(routes)]
    return fair_rates(paths, capacity)


def grid(send, receive, flows):
    """*flows*: (sender, receiver); their rates, by links of senders and receivers."""
    routes = [(s, len(send) + r) for s, r in flows]
    return rates(routes, [*send, *receive])


@pytest.mark.parametrize(
    ("send", "receive", "flows", "expected"),
    [
        ([1, 1], [1], [(0, 0), (1, 0)], [0.5, 0.5]),
        ([1], [1, 1], [(0, 0), (0, 1)], [0.5, 0.5]),
        ([1, 1], [1, 1], [(0, 0), (0, 1), (1, 0)], [0.5, 0.5, 0.5]),
        # The slow receiver leaves 0.75 of sender 0, but receiver 0 has only 0.5 for it.
        ([1, 1], [1, 0.25], [(0, 0), (0, 1), (1, 0)], [0.5, 0.25, 0.5]),
        (
            [0.1, 0.2, 0.3, 0.4],
            [1, 0.2, 0.2, 0.1],
            [(i, i) for i in range(4)],
            [0.1, 0.2, 0.2, 0.1],
        ),
    ],
)
def test_maximal_minimal_rates_by_hand(send, receive, flows, expected):
    """Cases of Estee's test_maxmin_flow (5ba5421), with the sums done by hand."""
    assert grid(send, receive, flows) == pytest.approx(expected)


def test_sixteen_flows_of_which_one_sender_is_slow():
    """Senders of 0.4, 1, 1, 1 to receivers of 1, 1, 0.8, 1, and one more to the last."""
    flows = [(s, r) for s in range(3) for r in range(4)] + [(3, 3)]
    found = grid([0.4, 1, 1, 1], [1, 1, 0.8, 1], flows)
    assert found == pytest.approx([0.1] * 4 + [0.25] * 8 + [0.4])


def test_a_flow_stopped_elsewhere_leaves_its_share_to_the_others():
    """Three share link 0; one of them is held at 1 by link 1."""
    assert rates([(0,), (0,), (0, 1)], [10.0, 1.0]) == pytest.approx([4.5, 4.5, 1.0])


@st.composite
def networks(draw):
    capacity = draw(st.lists(st.floats(0.1, 10), min_size=1, max_size=5))
    link = st.integers(0, len(capacity) - 1)
    routes = draw(st.lists(st.lists(link, min_size=1, max_size=4), min_size=1, max_size=8))
    latencies = draw(
        st.lists(st.sampled_from([1.0, 0.5, 3.0]), min_size=len(routes), max_size=len(routes))
    )
    limits = draw(
        st.lists(st.sampled_from([inf, 0.2, 2.0]), min_size=len(routes), max_size=len(routes))
    )
    return capacity, routes, latencies, limits


@given(networks())
def test_no_link_carries_more_than_it_can_and_every_flow_has_a_bottleneck(network):
    """Weighted max-min fairness: a flow is at its own limit, or crosses a full link where none has
    more than it for its weight (Bertsekas and Gallager, section 6.5.2)."""
    capacity, routes, latencies, limits = network
    paths = [Path(i, *rest) for i, rest in enumerate(zip(routes, latencies, limits, strict=True))]
    found = fair_rates(paths, capacity)
    load = [
        sum(rate * route.count(link) for rate, route in zip(found, routes, strict=True))
        for link in range(len(capacity))
    ]
    assert all(used <= size * (1 + 1e-6) for used, size in zip(load, capacity, strict=True))
    level = [rate * latency for rate, latency in zip(found, latencies, strict=True)]
    for flow, route in enumerate(routes):
        assert 0 < found[flow] <= limits[flow] * (1 + 1e-6)
        if isclose(found[flow], limits[flow], rel_tol=1e-6):
            continue
        assert any(
            isclose(load[link], capacity[link], rel_tol=1e-6)
            and level[flow] >= max(level[k] for k, r in enumerate(routes) if link in r) * (1 - 1e-6)
            for link in route
        )
