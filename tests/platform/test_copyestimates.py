"""Schedulers' estimates of copies: as measured alone, times contention."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import GPU0, GPU1, RAM, machine
from strategies import machines

from tasksim.platform.copyestimates import CopyEstimates, copy_seconds
from tasksim.platform.description import Copying, Link, Memory, Platform, Route, Worker


def believed(platform, devices):
    return CopyEstimates(platform, devices)


def two_links(contention=0.0, **measured):
    """Routes from main memory to a device by a link of 100 and one of 50, 0.25 s each."""
    return Platform(
        name="two links",
        workers=(Worker(0, "cpu0", "cpu", 0),),
        memories=(Memory(0, "ram"), Memory(1, "gpu")),
        links=(Link(0, "a", None, 100.0, 0.25, **measured), Link(1, "b", None, 50.0, 0.25)),
        routes=(Route(0, 1, (0, 1)), Route(1, 0, (0,))),
        copying=Copying(contention=contention),
    )


def test_a_copy_takes_latencies_and_bytes_over_the_least_bandwidth():
    assert believed(two_links(), 1).copy_s(100, 0, 1) == 2.5
    assert believed(two_links(), 1).copy_s(100, 1, 0) == 1.25


def test_what_was_measured_from_end_to_end_counts_instead():
    platform = two_links(measured_bandwidth_bytes_per_s=25.0, measured_latency_s=1.0)
    assert believed(platform, 1).copy_s(100, 0, 1) == 5.0


@pytest.mark.parametrize(
    ("contention", "devices", "factor"), [(0.0, 3, 1), (2.0, 1, 2), (2.0, 3, 6), (0.1, 3, 1)]
)
def test_contention_multiplies_the_bytes_not_the_latency(contention, devices, factor):
    """StarPU: 2 directions times the devices in use, at least 1."""
    assert believed(two_links(contention), devices).copy_s(100, 0, 1) == 0.5 + factor * 2


def test_a_route_of_a_single_link_is_for_one_device_only():
    assert believed(two_links(2.0), 3).copy_s(100, 1, 0) == 0.25 + 2 * 1


def test_a_link_crossed_twice_has_half_the_bandwidth():
    platform = replace(two_links(), routes=(Route(0, 1, (0, 0)), Route(1, 0, (0,))))
    assert believed(platform, 1).copy_s(100, 0, 1) == 0.5 + 2


def test_without_a_way_of_its_own_two_copies_are_added():
    estimates = believed(machine(devices=2), 2)
    assert estimates.copy_s(3, GPU0, GPU1) == 6
    assert believed(machine(devices=2, direct=True), 2).copy_s(3, GPU0, GPU1) == 3


def test_nothing_takes_no_time():
    estimates = believed(two_links(), 1)
    assert estimates.copy_s(0, 0, 1) == 0
    assert estimates.copy_s(100, 1, 1) == 0


def test_the_nearest_copy_is_the_one_that_arrives_first():
    platform = machine(devices=2, direct=True)
    links = list(platform.links)
    fast = next(i for i, r in enumerate(platform.routes) if (r.source, r.target) == (GPU0, GPU1))
    links[fast] = replace(links[fast], bandwidth_bytes_per_s=2.0)
    estimates = believed(replace(platform, links=tuple(links)), 2)
    everywhere = 1 << RAM | 1 << GPU0
    assert estimates.nearest(everywhere, GPU1, 4) == GPU0
    assert estimates.best_s(everywhere, GPU1, 4) == 2
    assert estimates.nearest(1 << RAM, GPU1, 4) == RAM
    assert estimates.best_s(1 << RAM, GPU1, 4) == 4


def test_of_equals_the_first_memory_and_a_way_of_its_own_come_first():
    assert believed(machine(devices=2, direct=True), 2).nearest(0b011, GPU1, 3) == RAM
    assert believed(machine(devices=2), 2).nearest(0b011, GPU1, 3) == RAM


@given(machines(), st.integers(1, 100))
def test_plans_and_replays_believe_the_same(platform, size):
    """Schedulers that plan ahead ask another function; both must say the same."""
    driven = {w.memory for w in platform.workers if platform.device(w.architecture).pipeline}
    estimates = believed(platform, len(driven))
    memories = range(len(platform.memories))
    for source in memories:
        for target in memories:
            expected = copy_seconds(platform, size, source, target)
            assert estimates.copy_s(size, source, target) == pytest.approx(expected)
