"""Scenarios for live pages."""

import pytest

from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore

MACHINE = """\
version: 1
memories: {ram: {}, gpu0: {size: 40 MiB}, gpu1: {size: 40 MiB}}
arch: {cuda: {pipeline: 2, speed: 1.5}, cpu: {}}
workers:
  cuda: {count: 2, memory: [gpu0, gpu1], drivers: cpu}
  cpu: {count: 4, memory: ram}
links:
  host: {bandwidth: 6.5 GB/s}
  up: {bandwidth: 6.01 GB/s, latency: 11 us, measured_bandwidth: 6.03 GB/s,
    measured_latency: 9.8 us}
  down: {bandwidth: 5.9 GB/s, latency: 10.3 us}
  apart: {bandwidth: 3.07 GB/s, latency: 24 us, shared: false}
routes:
- {from: ram, to: gpu0, links: [down, host]}
- {from: gpu0, to: ram, links: [up, host, host]}
- {from: ram, to: gpu1, links: [apart, host]}
- {from: gpu1, to: ram, links: [apart]}
overheads: {submission: 1 us, task: 2.5 us, push: 1 us, kernel: 7 us, copy: 3 us}
allocation: {allocate: 175 us, free: 750 us, usable: 0.9}
copying: {serialised: true, contention: 2}
"""
DURATIONS = (
    "potrf=9ms,cuda:potrf=17ms,trsm=11ms,cuda:trsm=3ms,syrk=10ms,cuda:syrk=2.1ms,"
    "gemm=21ms,cuda:gemm=1.7ms"
)


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """The file of a machine with two GPUs, whose memory is small."""
    path = tmp_path_factory.mktemp("machine") / "node.yaml"
    path.write_text(MACHINE)
    return path


@pytest.fixture(scope="session")
def hybrid(machine):
    """Cholesky on that machine."""
    return Scenario(
        "cholesky tiles=6 tile_size=512", platform=machine, durations=DURATIONS, scheduler="dmda"
    )


@pytest.fixture(scope="session")
def hybrid_page(hybrid):
    """Its live page."""
    return explore(hybrid)
