"""Devices: as many as there are workers; copies of those described, or fewer of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tasksim.platform.load import load

if TYPE_CHECKING:
    from tasksim.platform.description import Platform

# Two GPUs under one switch and one alone, as in many machines of three: every way to the GPU alone
# crosses the host's bus, from and to another GPU twice.
MACHINE = """
    version: 1
    name: machine
    memories: {ram: {}, gpu0: {size: 5 GiB}, gpu1: {size: 6 GiB}, gpu2: {size: 6 GiB}}
    arch: {cpu: {}, cuda: {pipeline: 2, synchronous: [potrf]}}
    workers:
      cuda: {count: 3, memory: [gpu0, gpu1, gpu2], models: [m0, m1, m2], drivers: cpu}
      cpu: {count: 9, memory: ram}
    links:
      host: {bandwidth: 6 GB/s}
      slot0: {bandwidth: 5 GB/s}
      switch: {bandwidth: 5 GB/s}
      slot1: {bandwidth: 5 GB/s}
      slot2: {bandwidth: 5 GB/s}
      ram-gpu0: {bandwidth: 6 GB/s, latency: 10 us, measured_bandwidth: 5.9 GB/s}
      gpu0-ram: {bandwidth: 6.5 GB/s, latency: 11 us}
      ram-gpu1: {bandwidth: 6 GB/s, latency: 10 us}
      gpu1-ram: {bandwidth: 6.5 GB/s, latency: 11 us}
      ram-gpu2: {bandwidth: 6 GB/s, latency: 10 us}
      gpu2-ram: {bandwidth: 6.5 GB/s, latency: 11 us}
      gpu0-gpu1: {bandwidth: 3 GB/s, latency: 24 us}
      gpu1-gpu0: {bandwidth: 3.8 GB/s, latency: 25 us}
      gpu0-gpu2: {bandwidth: 3 GB/s, latency: 24 us}
      gpu2-gpu0: {bandwidth: 3.8 GB/s, latency: 25 us}
      gpu1-gpu2: {bandwidth: 5 GB/s, latency: 16 us}
      gpu2-gpu1: {bandwidth: 5 GB/s, latency: 16 us}
    routes:
      - {from: ram, to: gpu0, links: [ram-gpu0, host, slot0]}
      - {from: gpu0, to: ram, links: [gpu0-ram, slot0, host]}
      - {from: ram, to: gpu1, links: [ram-gpu1, host, switch, slot1]}
      - {from: gpu1, to: ram, links: [gpu1-ram, slot1, switch, host]}
      - {from: ram, to: gpu2, links: [ram-gpu2, host, switch, slot2]}
      - {from: gpu2, to: ram, links: [gpu2-ram, slot2, switch, host]}
      - {from: gpu0, to: gpu1, links: [gpu0-gpu1, slot0, host, host, switch, slot1]}
      - {from: gpu1, to: gpu0, links: [gpu1-gpu0, slot1, switch, host, host, slot0]}
      - {from: gpu0, to: gpu2, links: [gpu0-gpu2, slot0, host, host, switch, slot2]}
      - {from: gpu2, to: gpu0, links: [gpu2-gpu0, slot2, switch, host, host, slot0]}
      - {from: gpu1, to: gpu2, links: [gpu1-gpu2, slot1, slot2]}
      - {from: gpu2, to: gpu1, links: [gpu2-gpu1, slot2, slot1]}
"""


@pytest.fixture
def machine(write):
    path = write(MACHINE)

    def with_settings(*settings: str) -> Platform:
        return load(path, settings=[f"platform.{setting}" for setting in settings])

    return with_settings


def route(platform: Platform, source: str, target: str) -> list[str] | None:
    number = {memory.name: memory.id for memory in platform.memories}
    links = platform.route(number[source], number[target])
    return None if links is None else [platform.links[link].name for link in links]


def names(things) -> list[str]:
    return [thing.name for thing in things]


def workers(platform: Platform) -> list[tuple[str, str, str | None]]:
    """Return per worker its name, its memory and its models."""
    return [(w.name, platform.memories[w.memory].name, w.models) for w in platform.workers]


def test_as_described(machine):
    platform = machine()
    assert workers(platform)[:4] == [
        ("cuda0", "gpu0", "m0"),
        ("cuda1", "gpu1", "m1"),
        ("cuda2", "gpu2", "m2"),
        ("cpu0", "ram", None),
    ]
    assert len(platform.workers) == 12
    assert len(platform.links) == 17
    assert len(platform.routes) == 12
    assert route(platform, "gpu0", "gpu1") == [
        *("gpu0-gpu1", "slot0", "host", "host", "switch", "slot1")
    ]
    assert platform.device("cuda").pipeline == 2
    assert platform.device("cuda").synchronous == ("potrf",)
    assert platform.device("cpu").pipeline == 0


def test_fewer_devices_are_the_first_ones(machine):
    platform = machine("workers.cuda.count=1")
    assert names(platform.memories) == ["ram", "gpu0"]
    assert names(platform.links) == ["host", "slot0", "ram-gpu0", "gpu0-ram"]
    assert len(platform.routes) == 2
    assert len(platform.workers) == 12
    assert workers(platform)[:2] == [("cuda0", "gpu0", "m0"), ("cpu0", "ram", None)]


def test_no_device_leaves_the_first_memory_alone(machine):
    platform = machine("workers.cuda.count=0")
    assert names(platform.memories) == ["ram"]
    assert platform.links == platform.routes == ()
    assert platform.architectures == ("cpu",)
    assert len(platform.workers) == 12


def test_no_core_leaves_the_first_memory_too(machine):
    platform = machine("workers.cpu.count=0")
    assert names(platform.memories) == ["ram", "gpu0", "gpu1", "gpu2"]
    assert platform.architectures == ("cuda",)


def test_a_fourth_device_is_a_copy_of_the_first(machine):
    platform = machine("workers.cuda.count=4")
    assert workers(platform)[3] == ("cuda3", "gpu3", "m0")
    assert names(platform.memories) == ["ram", "gpu0", "gpu1", "gpu2", "gpu3"]
    assert platform.memories[4].size_bytes == 5 * 2.0**30
    assert route(platform, "ram", "gpu3") == ["ram-gpu3", "host", "slot0-gpu3"]
    assert route(platform, "gpu3", "ram") == ["gpu3-ram", "slot0-gpu3", "host"]
    assert route(platform, "gpu3", "gpu1") == [
        *("gpu3-gpu1", "slot0-gpu3", "host", "host", "switch", "slot1")
    ]
    assert route(platform, "gpu2", "gpu3") == [
        *("gpu2-gpu3", "slot2", "switch", "host", "host", "slot0-gpu3")
    ]


def test_a_copy_and_its_template_meet_where_the_template_meets_another(machine):
    platform = machine("workers.cuda.count=4")
    assert route(platform, "gpu0", "gpu3") == [
        *("gpu0-gpu3", "slot0", "host", "host", "slot0-gpu3")
    ]
    assert route(platform, "gpu3", "gpu0") == [
        *("gpu3-gpu0", "slot0-gpu3", "host", "host", "slot0")
    ]


def test_a_copy_shares_what_the_neighbours_of_its_template_share(machine):
    platform = machine("workers.cuda.count=5")
    assert route(platform, "ram", "gpu4") == ["ram-gpu4", "host", "switch", "slot1-gpu4"]
    assert route(platform, "gpu1", "gpu4") == ["gpu1-gpu4", "slot1", "slot1-gpu4"]
    assert route(platform, "gpu3", "gpu4") == [
        *("gpu3-gpu4", "slot0-gpu3", "host", "host", "switch", "slot1-gpu4")
    ]


def test_copies_of_one_device(machine):
    platform = machine("workers.cuda.count=7", "workers.cpu.count=0")
    assert workers(platform)[6] == ("cuda6", "gpu6", "m0")
    assert route(platform, "gpu3", "gpu6") == [
        *("gpu3-gpu6", "slot0-gpu3", "host", "host", "slot0-gpu6")
    ]
    assert route(platform, "gpu6", "gpu3") == [
        *("gpu6-gpu3", "slot0-gpu6", "host", "host", "slot0-gpu3")
    ]
