"""Flows: single messages, shared links, windows and cross traffic, by their formulas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasksim.engine.clock import Clock
from tasksim.engine.cluster.flows import Flows
from tasksim.network.description import Network
from tasksim.network.load import read_network
from tasksim.network.models import MODELS
from tasksim.network.topologies.explicit import Explicit, NamedLink


def ends_of(network, messages):
    """Return when each of *messages* (source, target, bytes[, start in seconds]) has arrived."""
    clock = Clock()
    flows = Flows(clock, network)
    ends = [0.0] * len(messages)

    def note(number):
        ends[number] = clock.now * 1e-9

    def begin(alarm):
        number, (source, target, size, *_) = alarm.value
        flows.send(source, target, size, note, number)

    for message in enumerate(messages):
        start = message[1][3] if len(message[1]) > 3 else 0.0
        clock.alarm(round(start * 1e9), begin, message)
    clock.run()
    return ends


def pairs(model, latencies_s, bandwidth=1e9):
    """Two pairs of hosts that share a link, each after a link of its own with its latency."""
    links = [NamedLink("shared", bandwidth, 0.0)]
    links += [NamedLink(f"own{k}", bandwidth, latency) for k, latency in enumerate(latencies_s)]
    routes = {}
    for k in range(len(latencies_s)):
        routes[2 * k, 2 * k + 1] = (k + 1, 0)
    for k in range(len(latencies_s)):
        # A way back of its own, so that cross traffic does not show.
        links.append(NamedLink(f"back{k}", bandwidth, 0.0))
        routes[2 * k + 1, 2 * k] = (len(links) - 1,)
    hosts = tuple(f"h{k}" for k in range(2 * len(latencies_s)))
    return Network("pairs", Explicit(hosts, tuple(links), routes), MODELS.find(model))


@pytest.mark.parametrize(
    ("model", "factor", "bandwidth_factor"),
    [("cm02", 1.0, 1.0), ("lv08", 13.01, 0.97), ("smpi", 11.6436, 0.940694)],
)
def test_one_message_takes_its_latency_and_its_bytes(model, factor, bandwidth_factor):
    network = read_network(f"switch:bandwidth=1.25GB/s,latency=10us,model={model}").sized(2)
    formula = factor * 20e-6 + (4194304 + 16) / (bandwidth_factor * 1.25e9)
    assert ends_of(network, [(0, 1, 4194304)]) == [pytest.approx(formula, abs=2e-9)]


@pytest.mark.parametrize(
    ("size", "latency_factor", "bandwidth_factor"),
    [
        (240, 2.01467, 0.812084), (242, 1.95341, 0.338112), (1024, 1.9503, 0.341987),
        (2048, 1.61075, 0.608902), (4096, 1.88101, 0.77493), (8192, 2.18796, 1.08739),
        (10000, 2.59299, 0.58729), (16384, 3.48845, 0.697866), (65456, 3.48845, 0.697866),
        (65457, 11.6436, 0.940694),
    ],
)  # fmt: skip
def test_factors_hold_above_their_bounds_only(size, latency_factor, bandwidth_factor):
    network = read_network("switch:bandwidth=1.25GB/s,latency=10us,model=smpi").sized(2)
    formula = latency_factor * 20e-6 + (size + 16) / (bandwidth_factor * 1.25e9)
    assert ends_of(network, [(0, 1, size)]) == [pytest.approx(formula, abs=2e-9)]


@pytest.mark.parametrize(
    ("model", "ends"),
    [("smpi", (0.1402, 0.2128)), ("cm02", (0.1200, 0.2000)), ("lv08", (0.1475, 0.2064))],
)
def test_unequal_latencies_share_a_link_by_their_penalties(model, ends):
    network = pairs(model, (20e-6, 100e-6))
    assert ends_of(network, [(0, 1, 1e8), (2, 3, 1e8)]) == pytest.approx(ends, abs=5e-5)


def test_messages_of_unequal_latency_share_evenly_where_the_model_has_no_weights():
    network = pairs("hockney", (20e-6, 20e-6))
    assert ends_of(network, [(0, 1, 1e8), (2, 3, 5e7)]) == pytest.approx((0.15002, 0.10002))


def test_the_window_bounds_a_long_route():
    network = read_network("switch:bandwidth=4GB/s,latency=10ms,model=smpi").sized(2)
    assert ends_of(network, [(0, 1, 1e8)]) == [pytest.approx(1.2467, abs=1e-4)]
    open_window = replace(network, model=replace(network.model, window_bytes=float("inf")))
    assert ends_of(open_window, [(0, 1, 1e8)]) == [pytest.approx(0.2595, abs=1e-4)]


def test_both_directions_at_once_pay_for_the_way_back():
    network = read_network("switch:bandwidth=4GB/s,latency=1us,model=smpi").sized(2)
    (alone,) = ends_of(network, [(0, 1, 4194304)])
    both = ends_of(network, [(0, 1, 4194304), (1, 0, 4194304)])
    latency = 11.6436 * 2e-6
    assert both == [pytest.approx(latency + (alone - latency) * 1.05, abs=4e-9)] * 2


def test_a_backbone_is_shared_and_the_way_back_weighs_on_it():
    text = (
        "backbone:bandwidth=1.25GB/s,latency=10us,backbone_bandwidth=2.5GB/s,"
        "backbone_latency=5us,model=smpi"
    )
    network = read_network(text).sized(16)
    # Four disjoint pairs: the backbone gives each 2.5 / 4 / 1.05 GB/s.
    messages = [(2 * k, 2 * k + 1, 4194304) for k in range(4)]
    formula = 11.6436 * 25e-6 + 4194320 * 4 * 1.05 / (0.940694 * 2.5e9)
    assert ends_of(network, messages) == [pytest.approx(formula, abs=4e-9)] * 4
    # Two find room: 2 x 1.25 x 1.05 is a little more than 2.5.
    formula = 11.6436 * 25e-6 + 4194320 * 2 * 1.05 / (0.940694 * 2.5e9)
    assert ends_of(network, messages[:2]) == [pytest.approx(formula, abs=4e-9)] * 2


def test_an_ideal_network_slows_nobody_down():
    network = read_network("switch:bandwidth=1GB/s,latency=1us,model=ideal").sized(4)
    assert ends_of(network, [(k, 0, 1000) for k in (1, 2, 3)]) == pytest.approx([3e-6] * 3)


def test_what_leaves_gives_its_share_to_the_rest():
    network = read_network("switch:bandwidth=1GB/s").sized(3)
    # Two share the way into node 0 until the short one ends at 2 ms; then 1 MB is left.
    ends = ends_of(network, [(1, 0, 2e6), (2, 0, 1e6)])
    assert ends == pytest.approx([3e-3, 2e-3])
    # A third comes at 1 ms.
    ends = ends_of(network, [(1, 0, 2e6), (2, 0, 1e6, 1e-3)])
    assert ends == pytest.approx([3e-3, 3e-3])


def test_half_duplex_cables_are_shared_by_both_ways():
    network = read_network("switch:bandwidth=1GB/s,full_duplex=false").sized(2)
    assert ends_of(network, [(0, 1, 1e6), (1, 0, 1e6)]) == pytest.approx([2e-3, 2e-3])


def test_done_is_called_in_the_order_of_the_beginnings():
    network = read_network("switch:bandwidth=1GB/s").sized(9)
    clock = Clock()
    flows = Flows(clock, network)
    order = []
    for source in (3, 1, 2, 4):
        flows.send(source, source + 4, 1e6, order.append, source)
    clock.run()
    assert order == [3, 1, 2, 4]


def test_a_note_takes_what_it_takes_alone_and_nothing_of_the_others():
    network = read_network("switch:bandwidth=1GB/s,latency=10us,model=smpi").sized(2)
    clock = Clock()
    flows, ends = Flows(clock, network), {}

    def note(what):
        ends[what] = clock.now * 1e-9

    flows.send(0, 1, 1_000_000, note, "data")
    clock.alarm(500_000, lambda _: flows.send_note(0, 1, 32, note, "envelope"))
    clock.run()
    assert [ends["data"]] == ends_of(network, [(0, 1, 1_000_000)])
    assert ends["envelope"] == pytest.approx(500e-6 + ends_of(network, [(0, 1, 32)])[0], abs=1e-12)
