"""Devices take cores to drive them; what was measured follows its link."""

from __future__ import annotations

import pytest

from tasksim.platform.load import load

PLATFORM_FILE = """
    version: 1
    name: machine
    memories: {ram: {}, gpu0: {}, gpu1: {}, gpu2: {}}
    workers:
      cuda: {count: 3, memory: [gpu0, gpu1, gpu2], drivers: cpu}
      cpu: {count: 9, memory: ram, cores: [3, 4, 5, 6, 7, 8, 9, 10, 11]}
    links:
      a: {bandwidth: 6 GB/s, latency: 10 us, between: [ram, gpu0],
          measured_bandwidth: 5 GB/s, measured_latency: 9 us}
      b: {bandwidth: 6 GB/s, latency: 10 us, between: [ram, gpu1]}
      c: {bandwidth: 6 GB/s, latency: 10 us, between: [ram, gpu2]}
"""


@pytest.fixture
def counts(write):
    """Return how many workers of each group there are under settings of counts."""
    path = write(PLATFORM_FILE)

    def of(*settings: str) -> tuple[int, int]:
        platform = load(path, settings=[f"platform.workers.{setting}" for setting in settings])
        found = [worker.architecture for worker in platform.workers]
        return found.count("cuda"), found.count("cpu")

    return of


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], (3, 9)),
        (["cuda.count=1"], (1, 11)),
        (["cuda.count=0"], (0, 12)),
        (["cuda.count=4"], (4, 8)),
        (["cuda.count=12"], (12, 0)),
        (["cuda.count=x2"], (6, 6)),
        (["cuda.count=1", "cuda.count=2"], (2, 10)),
        (["cuda.count=1", "cpu.count=0"], (1, 0)),
        (["cpu.count=0", "cuda.count=1"], (1, 0)),
        (["cpu.count=4", "cuda.count=0"], (0, 4)),
        (["*.count=x2"], (6, 18)),
        (["cpu.count=0"], (3, 0)),
        (["cpu.count=20"], (3, 20)),
        (["cuda.count=13", "cpu.count=1"], (13, 1)),
    ],
)
def test_cores_that_drive_no_device_work(counts, settings, expected):
    assert counts(*settings) == expected


def test_a_core_given_back_is_bound_to_none(write):
    cores = [
        w.core
        for w in load(write(PLATFORM_FILE), settings=["platform.workers.cuda.count=2"]).workers
    ]
    assert cores == [None, None, 3, 4, 5, 6, 7, 8, 9, 10, 11, None]


def test_more_devices_than_cores(write, errors):
    setting = "platform.workers.cuda.count=13"
    assert errors(write(PLATFORM_FILE), settings=[setting]) == [
        f"--set {setting}: 13 workers of cuda need 13 cores of cpu for their drivers, but there "
        "are 12 (9 workers of cpu, 3 drivers)"
    ]


def test_neither_devices_nor_cores(write, errors):
    settings = ["platform.workers.cuda.count=0", "platform.workers.cpu.count=0"]
    assert errors(write(PLATFORM_FILE), settings=settings) == [
        "p.yaml:5:3: workers: at least one worker is needed (got none)"
    ]


def test_several_groups_may_share_the_cores(write):
    text = PLATFORM_FILE.replace(
        "      cpu:", "      fpga: {count: 2, memory: ram, drivers: cpu}\n      cpu:"
    )
    settings = ["platform.workers.cuda.count=2", "platform.workers.fpga.count=0"]
    found = [worker.architecture for worker in load(write(text), settings=settings).workers]
    assert (found.count("cuda"), found.count("fpga"), found.count("cpu")) == (2, 0, 12)


def test_counts_of_a_variant_are_final(write):
    write(PLATFORM_FILE, "base.yaml")
    path = write("version: 1\nextends: base\nworkers: {cuda: {count: 1}}\n")
    assert len(load(path).workers) == 1 + 9
    # Settings count from what the variant says.
    assert len(load(path, settings=["platform.workers.cuda.count=0"]).workers) == 10


def test_a_wrong_count_is_told_once(write, errors):
    setting = "platform.workers.cuda.count=many"
    assert errors(write(PLATFORM_FILE), settings=[setting]) == [
        f"--set {setting}: workers.cuda.count: must be a whole number (got 'many')"
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], (6e9, 5e9, 10e-6, 9e-6)),
        (["bandwidth=x2"], (12e9, 10e9, 10e-6, 9e-6)),
        (["bandwidth=12 GB/s"], (12e9, None, 10e-6, 9e-6)),
        (["latency=x0.5"], (6e9, 5e9, 5e-6, 4.5e-6)),
        (["latency=0"], (6e9, 5e9, 0.0, None)),
        (["*bandwidth=x2"], (12e9, 10e9, 10e-6, 9e-6)),
        (["measured_bandwidth=x0.5"], (6e9, 2.5e9, 10e-6, 9e-6)),
        (["bandwidth=12 GB/s", "measured_bandwidth=11 GB/s"], (12e9, 11e9, 10e-6, 9e-6)),
        (["measured_bandwidth=11 GB/s", "bandwidth=12 GB/s"], (12e9, None, 10e-6, 9e-6)),
        (["*latency=1 us"], (6e9, 5e9, 1e-6, 1e-6)),
    ],
)
def test_what_was_measured_follows_its_link(write, settings, expected):
    link = load(
        write(PLATFORM_FILE), settings=[f"platform.links.a.{setting}" for setting in settings]
    ).links[0]
    assert expected == (
        link.bandwidth_bytes_per_s,
        link.measured_bandwidth_bytes_per_s,
        link.latency_s,
        link.measured_latency_s,
    )


def test_links_without_measures_are_scaled_too(write):
    links = load(write(PLATFORM_FILE), settings=["platform.links.*.bandwidth=x2"]).links
    assert [link.bandwidth_bytes_per_s for link in links] == [12e9] * 3
    assert [link.measured_bandwidth_bytes_per_s for link in links] == [10e9, None, None]


def test_a_variant_with_another_link_forgets_what_was_measured(write):
    write(PLATFORM_FILE, "base.yaml")
    link = load(write("version: 1\nextends: base\nlinks: {a: {bandwidth: 12 GB/s}}\n")).links[0]
    assert (link.measured_bandwidth_bytes_per_s, link.measured_latency_s) == (None, 9e-6)
    both = "links: {a: {bandwidth: 12 GB/s, measured_bandwidth: 11 GB/s}}"
    link = load(write(f"version: 1\nextends: base\n{both}\n")).links[0]
    assert link.measured_bandwidth_bytes_per_s == 11e9
