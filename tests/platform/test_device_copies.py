"""Devices: as many as there are workers; copies of those described, or fewer of them."""

from __future__ import annotations

import doctest
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.platform import description, device_copies
from tasksim.platform.description import check_platform
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


@given(st.integers(0, 9))
def test_every_memory_has_ways_to_every_other(count):
    platform = loaded(MACHINE, f"platform.workers.cuda.count={count}")
    check_platform(platform)
    assert len(platform.memories) == 1 + count
    assert len(platform.routes) == (count + 1) * count
    here = names(platform.memories)
    for source, target in permutations(here, 2):
        crossed = route(platform, source, target)
        assert crossed is not None
        assert crossed[0] == f"{source}-{target}"
        between_roots = {source, target} <= set(here[1:]) and not shares_switch(source, target)
        assert crossed.count("host") == (2 if between_roots else "ram" in (source, target))
    crossed = {link for way in platform.routes for link in way.links}
    assert crossed == {link.id for link in platform.links}


def shares_switch(*gpus: str) -> bool:
    """Return whether GPUs are copies of the two under the switch."""
    return all(int(name[3:]) % 3 for name in gpus)


def loaded(text: str, *settings: str) -> Platform:
    """Return a platform of a text without a test's own folder, which Hypothesis does not renew."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "machine.yaml"
        path.write_text(dedent(text), encoding="utf-8")
        return load(path, settings=settings)


def test_what_was_measured_goes_with_the_copies(machine):
    links = {link.name: link for link in machine("workers.cuda.count=4").links}
    assert links["ram-gpu3"].measured_bandwidth_bytes_per_s == 5.9e9
    assert links["ram-gpu3"].latency_s == 10e-6
    assert links["gpu3-gpu1"].bandwidth_bytes_per_s == links["gpu0-gpu1"].bandwidth_bytes_per_s


def test_settings_reach_the_copies(machine):
    platform = machine(
        *("workers.cuda.count=4", "memories.gpu0.size=x2", "links.ram-gpu0.bandwidth=x2")
    )
    copied = {link.name: link for link in platform.links}["ram-gpu3"]
    assert platform.memories[4].size_bytes == 10 * 2.0**30
    assert copied.bandwidth_bytes_per_s == 12e9
    assert copied.measured_bandwidth_bytes_per_s == 11.8e9


def test_the_order_of_memories_and_links_is_that_of_the_file_copies_last(machine):
    described, more = machine(), machine("workers.cuda.count=5")
    assert more.memories[:4] == described.memories
    assert more.links[:17] == described.links
    assert more.routes[:12] == described.routes


def test_nodes_have_devices_each(machine):
    platform = machine("nodes=2", "workers.cuda.count=4")
    assert names(platform.memories)[4:7] == ["node0/gpu3", "node1/ram", "node1/gpu0"]
    assert len(platform.routes) == 40
    one = machine("workers.cuda.count=4")
    for way in one.routes:
        links = [one.links[link].name for link in way.links]
        for node, first in enumerate((0, 5)):
            there = platform.route(way.source + first, way.target + first)
            assert names(platform.links[link] for link in there) == [
                f"node{node}/{name}" for name in links
            ]
    assert platform.route(0, 5) is None
    check_platform(platform)


def test_a_variant_may_have_more_devices(write, machine):
    machine()
    more = load(write("version: 1\nextends: p.yaml\nworkers: {cuda: {count: 4}}\n", "more.yaml"))
    assert len(more.memories) == 5
    # Counts in files are final: of the cores, too.
    assert len(more.workers) == 4 + 9


NVLINK = """
    version: 1
    memories: {ram: {}, gpu0: {}, gpu1: {}}
    workers:
      cpu: {count: 1, memory: ram}
      cuda: {count: 2, memory: [gpu0, gpu1]}
    links:
      pcie0: {bandwidth: 12 GB/s, between: [ram, gpu0]}
      pcie1: {bandwidth: 12 GB/s, between: [ram, gpu1]}
      nvlink: {bandwidth: 50 GB/s, between: [gpu0, gpu1]}
"""


def test_links_between_two_memories_are_copied_as_such(write):
    platform = load(write(NVLINK), settings=["platform.workers.cuda.count=4"])
    assert platform.routes == ()
    between = {
        link.name: names(platform.memories[i] for i in link.between) for link in platform.links
    }
    assert between == {
        "pcie0": ["ram", "gpu0"],
        "pcie1": ["ram", "gpu1"],
        "nvlink": ["gpu0", "gpu1"],
        "pcie0-gpu2": ["ram", "gpu2"],
        "pcie1-gpu3": ["ram", "gpu3"],
        "nvlink-gpu0-gpu2": ["gpu0", "gpu2"],
        "nvlink-gpu0-gpu3": ["gpu0", "gpu3"],
        "nvlink-gpu2-gpu1": ["gpu2", "gpu1"],
        "nvlink-gpu3-gpu1": ["gpu3", "gpu1"],
        "nvlink-gpu2-gpu3": ["gpu2", "gpu3"],
    }


def test_a_link_between_memories_that_others_cross_is_shared(write):
    text = NVLINK + "    routes: [{from: ram, to: gpu1, links: [pcie0, nvlink]}]\n"
    platform = load(write(text), settings=["platform.workers.cuda.count=3"])
    assert route(platform, "ram", "gpu2") == ["pcie0"]
    assert route(platform, "gpu2", "ram") == ["pcie0"]


def test_without_other_devices_data_go_through_the_first_memory(write):
    text = """
        version: 1
        memories: {ram: {}, gpu: {size: 4 GiB}}
        workers: {cuda: {count: 1, memory: [gpu]}, cpu: {count: 1, memory: ram}}
        links: {pcie: {bandwidth: 12 GB/s}}
        routes: [{from: ram, to: gpu, links: [pcie]}, {from: gpu, to: ram, links: [pcie]}]
    """
    platform = load(write(text), settings=["platform.workers.cuda.count=2"])
    assert names(platform.memories) == ["ram", "gpu", "gpu1"]
    assert route(platform, "gpu", "gpu1") is None
    assert route(platform, "ram", "gpu1") == ["pcie-gpu1"]


def test_workers_may_share_a_device(write):
    text = NVLINK.replace(
        "count: 2, memory: [gpu0, gpu1]", "count: 4, memory: [gpu0, gpu0, gpu1, gpu1]"
    )
    assert [memory for _, memory, _ in workers(load(write(text)))][1:] == [
        *("gpu0", "gpu0", "gpu1", "gpu1")
    ]
    more = load(write(text), settings=["platform.workers.cuda.count=6"])
    assert [memory for _, memory, _ in workers(more)][5:] == ["gpu2", "gpu2"]
    fewer = load(write(text), settings=["platform.workers.cuda.count=2"])
    assert names(fewer.memories) == ["ram", "gpu0"]


def test_a_memory_named_alone_is_one_for_all(write):
    text = NVLINK.replace("[gpu0, gpu1]}\n    links", "gpu0}\n    links")
    platform = load(write(text), settings=["platform.workers.cuda.count=3"])
    assert [memory for _, memory, _ in workers(platform)] == ["ram", "gpu0", "gpu0", "gpu0"]
    assert names(platform.memories) == ["ram", "gpu0", "gpu1"]


def test_models_may_differ_without_devices(write):
    text = "version: 1\nworkers: {cpu: {count: 3, models: [big, little]}}\n"
    platform = load(write(text))
    assert [w.models for w in platform.workers] == ["big", "little", "big"]
    assert [(c.models, c.workers) for c in platform.classes] == [("big", (0, 2)), ("little", (1,))]
    assert (
        load(write("version: 1\nworkers: {cpu: {count: 1, models: big}}\n")).classes[0].models
        == "big"
    )


def test_links_that_no_way_crosses_stay(write):
    text = NVLINK + "      spare: {bandwidth: 1 GB/s}\n"
    assert "spare" in names(load(write(text)).links)


def test_names_of_copies_are_new(write):
    text = NVLINK.replace("gpu1: {}}", "gpu1: {}, gpu7: {}}")
    platform = load(write(text), settings=["platform.workers.cuda.count=3"])
    assert names(platform.memories) == ["ram", "gpu0", "gpu1", "gpu7", "gpu8"]


def test_the_summary_tells_devices(machine):
    assert machine("workers.cuda.count=1", "arch.cuda.speed=1.5").summary() == (
        "machine: 1 cuda (speed 1.5, pipeline 2) + 11 cpu; 2 memories: ram, gpu0 5 GiB; "
        "no overheads"
    )


def test_the_summary_of_many_memories_is_short(machine):
    text = machine("workers.cuda.count=9").summary()
    assert text.startswith("machine: 9 cuda (pipeline 2) + 3 cpu; 10 memories: ram, gpu0 5 GiB, ")
    assert text.endswith("gpu4 6 GiB, ...; no overheads")


@pytest.mark.parametrize("module", [device_copies, description])
def test_examples_in_the_docstrings_hold(module):
    assert doctest.testmod(module).failed == 0
