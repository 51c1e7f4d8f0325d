"""Load of the memory beside what is measured: its processes, and what two loads tell."""

import os
from pathlib import Path

import pytest

from tasksim.base.errors import InputError
from tasksim.calibration.counters import campaign
from tasksim.calibration.counters.campaign import CounterOptions, measure_counters
from tasksim.calibration.counters.load import (
    check_load,
    faster_beside,
    latency_factor,
    loaded_memory,
)
from tasksim.calibration.domain import parse_domain
from tasksim.core.compiler import NotBuilt, find_compiler
from tasksim.formats.samples import read_samples
from tasksim.models.kinds.counted import CounterModel
from tasksim.native.this_machine import usable_cores

LATENCIES_ALONE = {"l1": 1e-9, "memory": 100e-9}
LATENCIES_BESIDE = {"l1": 1e-9, "memory": 180e-9}
CPI, BF, HZ = 0.5, 0.4, 2e9
several_cores = pytest.mark.skipif(len(usable_cores()) < 2, reason="there is one core")


def has_compiler():
    try:
        find_compiler()
    except NotBuilt:
        return False
    return True


def test_accesses_to_memory_are_slower_those_to_caches_are_not():
    counted = {"l1_hits": 200.0, "memory_accesses": 2.0}
    assert latency_factor(counted, LATENCIES_ALONE, LATENCIES_BESIDE) == pytest.approx(1.4)
    assert latency_factor({"l1_hits": 200.0}, LATENCIES_ALONE, LATENCIES_BESIDE) == 1.0
    assert latency_factor(counted, LATENCIES_BESIDE, LATENCIES_ALONE) == 1.0
    assert latency_factor({}, LATENCIES_ALONE, LATENCIES_BESIDE) == 1.0


def test_a_load_that_makes_memory_faster_is_a_disturbed_measurement():
    assert faster_beside(LATENCIES_ALONE, LATENCIES_BESIDE) == []
    assert faster_beside({"l1": 1e-9}, {"l1": 0.97e-9}) == []
    assert faster_beside({"memory": 90e-9}, {"memory": 60e-9}) == [
        "disturbed, off by 33 % at least: memory answers after 60 ns beside the load, and 90 ns "
        "alone"
    ]


@several_cores
def test_two_loads_tell_computing_from_memory(tmp_path, monkeypatch):
    """Instructions and accesses grow together, so that one load alone would tell nothing."""
    state = {"loaded": False}

    def counted(_kernel, configurations, _options):
        # Both are of one size: alone they are one column, twice.
        return [counters_of(c["m"]) for c in configurations], [], None

    def counters_of(m):
        return {"instructions": 10.0 * m**2, "l1_hits": 3.0 * m**2, "memory_accesses": 0.02 * m**2}

    def timed(_kernel, configurations, options):
        one = [counters_of(c["m"]) for c in configurations]
        latency = LATENCIES_BESIDE if state["loaded"] else LATENCIES_ALONE
        seconds = [
            CPI * c["instructions"] / HZ
            + BF * (c["l1_hits"] * latency["l1"] + c["memory_accesses"] * latency["memory"])
            for c in one
        ]
        return [[s] * options.runs for s in seconds]

    class Loaded:
        def __init__(self, processes):
            self.processes = processes

        def __enter__(self):
            state["loaded"] = self.processes > 0

        def __exit__(self, *_error):
            state["loaded"] = False

    load = "tasksim.calibration.counters.load"
    monkeypatch.setattr(campaign, "_counted", counted)
    monkeypatch.setattr(campaign, "timed", timed)
    monkeypatch.setattr(campaign, "core_frequency", lambda: HZ)
    monkeypatch.setattr(f"{load}.loaded_memory", Loaded)
    monkeypatch.setattr(
        f"{load}.latencies", lambda: LATENCIES_BESIDE if state["loaded"] else LATENCIES_ALONE
    )
    domain = parse_domain("lacpy", ["m=64..512", "n=64"])
    options = CounterOptions(samples=8, load=1)
    summary = measure_counters(domain, tmp_path / "two.csv", options)
    assert summary.samples == 2 * 8 * 3
    assert summary.notes == ("beside 1 streaming, memory latency is 1.80 times as high",)
    samples = read_samples(tmp_path / "two.csv")
    assert set(samples.counters["latency_factor"].round(6)) == {1.0, 1.32}
    model = CounterModel(latencies_s=LATENCIES_ALONE).fit(samples)
    assert model.cpi_core_ == pytest.approx(CPI, rel=1e-6)
    assert model.bf_mem_ == pytest.approx(BF, rel=1e-6)


@pytest.mark.slow
@several_cores
@pytest.mark.skipif(not has_compiler(), reason="there is no compiler")
def test_processes_stream_on_other_cores_and_end():
    before = usable_cores()
    with loaded_memory(1):
        assert usable_cores() == before[:1]
        children = streaming_children()
        assert len(children) == 1
        assert os.sched_getaffinity(children[0]) == {before[1]}
    assert usable_cores() == before
    assert streaming_children() == []


def streaming_children():
    """The processes of this one that stream."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"counters.load" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def test_a_load_needs_cores_and_kernels_that_are_timed_here(tmp_path):
    cores = len(usable_cores())
    with pytest.raises(InputError, match=f"may use {cores} cores, and the measurement needs one"):
        check_load(cores)
    with pytest.raises(InputError, match="load=-1; legal: 0 or more"):
        CounterOptions(load=-1)
