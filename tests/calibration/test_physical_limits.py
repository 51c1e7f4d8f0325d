"""Figures beyond physical limits: measured again, and told where they stay."""

from __future__ import annotations

from itertools import chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.calibration import kernels_under_load, memory, neighbours
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.calibration.memory import (
    Level,
    disturbed,
    low_rates,
    measure_memory,
    write_memory,
)
from tasksim.calibration.neighbours import MeasuredContention, measure_bandwidth, measure_kernels
from tasksim.calibration.parallelism import Parallelism, measure_parallelism
from tasksim.calibration.timed_executions import ExecutionTimes
from tasksim.native.caches import Cache
from tasksim.platform.load import load


@pytest.mark.parametrize(
    ("rates", "low"),
    [
        ([10.0, 20.0, 30.0], []),
        ([10.0, 10.0, 10.0], []),
        ([19.6, 13.4], [(2, 0.316)]),
        ([2.45, 26.5], [(1, 0.815)]),
        ([10.0, 18.0, 17.0], [(3, 0.056)]),
    ],
)
def test_more_cores_get_no_less_and_none_more_than_alone(rates, low):
    assert [(one.cores, round(one.off_by, 3)) for one in low_rates(rates)] == low


def level(name, latency_s, *rates):
    return Level(name, None, latency_s, rates, 1, 1.0)


def test_nearer_levels_are_faster():
    levels = [level("l1", 2e-9, 86.5e9, 103e9), level("l2", 1.5e-9, 90e9, 100e9)]
    assert [(one.level, one.cores, one.text) for one in disturbed(levels)] == [
        (0, 1, "1 core: l1 gives 86.5 GB/s, and l2, which is farther, 90"),
        (0, 0, "l1 answers after 2 ns, and l2, which is farther, after 1.5"),
    ]


class Tool:
    """Stands in for what touches memory: rates by (size, threads), in turn, the last for ever."""

    def __init__(self, rates, latencies_s):
        self._rates = {key: chain(values, repeat(values[-1])) for key, values in rates.items()}
        self._latencies_s = latencies_s

    def latencies(self, size_bytes, _line_bytes, _steps):
        return repeat(self._latencies_s[size_bytes])

    def bandwidth(self, size_bytes, threads, _seconds):
        return next(self._rates[size_bytes, threads])


SIZES = (16384, 64 << 20)
"""Bytes over which the two levels are measured."""
LATENCIES_S = {SIZES[0]: 1e-9, SIZES[1]: 9e-8}


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second with each look, and a cache of 32 KiB."""
    monkeypatch.setattr(memory, "data_caches", lambda: [Cache(1, 32768, 8, 64)])
    monkeypatch.setattr(memory, "_available", lambda: 1 << 34)
    seconds = iter(range(10**6))
    monkeypatch.setattr(memory.time, "monotonic", lambda: float(next(seconds)))


def rates(l1_alone=(60e9,), together=(12e9,)):
    """Return what the tool tells; half of the bytes, as threads of a core share what holds them."""
    return {
        (SIZES[0] // 2, 1): l1_alone,
        (SIZES[0] // 2, 2): (100e9,),
        (SIZES[1] // 2, 1): (9e9,),
        (SIZES[1] // 2, 2): together,
    }


@pytest.mark.usefixtures("clock")
def test_what_is_impossible_is_measured_again_until_it_holds():
    first = [6e9] * memory.STREAM_COUNT  # a sixteenth of what two cores get together
    found = measure_memory(cores=2, tool=Tool(rates([*first, 60e9]), LATENCIES_S))
    assert [one.bandwidth_bytes_per_s for one in found.levels] == [(60e9, 100e9), (9e9, 12e9)]
    assert found.warnings == []


@pytest.mark.usefixtures("clock")
def test_what_stays_impossible_is_told_and_written_with_a_word(tmp_path):
    tool = Tool(rates(together=[6e9]), LATENCIES_S)
    found = measure_memory(cores=2, tool=tool)
    told = "disturbed, off by 33 % at least: memory: 2 cores together get 6 GB/s, and 1 gets 9"
    assert found.warnings == [told]
    path = tmp_path / "mine.yaml"
    write_memory(path, found.levels, found.warnings)
    lines = path.read_text().splitlines()
    assert lines[:2] == ["# Written by `tasksim calibrate memory`.", f"# memory_hierarchy: {told}"]
    assert load(str(path)).memory_hierarchy[1].bandwidths_bytes_per_s == (9e9, 6e9)
    write_memory(path, found.levels)  # of a calmer measurement nothing is told
    assert "disturbed" not in path.read_text()


def taking(seconds):
    """Return executions beside each other that take so many *seconds*, undisturbed."""
    each = [np.array([one]) for one in seconds]
    return neighbours.ConcurrentExecutions(
        [ExecutionTimes(one, one, np.ones(len(one))) for one in each]
    )


def test_a_neighbour_that_makes_kernels_faster_is_told_once(monkeypatch):
    monkeypatch.setattr(
        kernels_under_load, "standalone", lambda *_, **__: SimpleNamespace(operands={})
    )
    beside = {1: [1e-3], 2: [0.8e-3, 0.9e-3]}
    monkeypatch.setattr(neighbours, "_together", lambda bodies: taking(beside[len(bodies)]))
    found = MeasuredContention()
    measure_kernels(found, [KernelCall("gemm", {"m": 8.0})], 1.0)
    assert found.beside["gemm"] == {"gemm": (1.0,)}
    assert found.impossible == [
        "disturbed, off by 15 % at least: gemm beside gemm has a slowdown of 0.85, taken as 1"
    ]


def times(*pairs):
    """Return what stands for runs of a kernel: seconds alone and of two, round by round."""
    turns = chain(pairs, repeat(pairs[-1]))
    state = {}

    def timed(workers):
        if workers == 1:
            state["pair"] = next(turns)
            return [state["pair"][0]] * 10
        return [state["pair"][1]] * 20

    return timed


def ticking(seconds):
    count = iter(range(10**6))
    return lambda: next(count) * seconds


def test_threads_are_timed_in_turn_until_the_result_is_possible():
    timed = times(*[(2e-3, 1.7e-3)] * 8, *[(1e-3, 1.25e-3)] * 30)
    found = measure_parallelism(2, timed=timed, clock=ticking(0.001))
    assert found == Parallelism(2, 1e-3, 1.25e-3)
    assert (found.speedup, found.disturbed_by) == (1.6, 0.0)


def test_threads_that_do_more_than_their_number_are_disturbed():
    found = measure_parallelism(2, timed=times((2e-3, 1.6e-3)), clock=ticking(0.1))
    assert (found.speedup, found.ratio) == (2.5, 0.8)
    assert found.disturbed_by == pytest.approx(0.25)
    assert found.text() == (
        "2 threads were measured to do the work of 2.50, and at most 2 are possible: others use "
        "the cores, the measurement is off by 25 % at least"
    )


def test_threads_that_do_less_than_one_are_disturbed():
    found = measure_parallelism(2, timed=times((1e-3, 2.5e-3)), clock=ticking(0.1))
    assert found.disturbed_by == pytest.approx(0.25)
    assert "the work of 0.80, and at least 1 is possible" in found.text()


def test_what_rounds_to_the_limit_is_no_disturbance():
    found = Parallelism(2, 1.0, 0.999)
    assert found.disturbed_by == 0.0
    assert found.text() == (
        "2 threads do the work of 2.00 (a kernel takes 1.00 times as long with all busy)"
    )


def copies(monkeypatch, rate):
    """Let *rate* say what so many cores that copy get together; nobody disturbs them."""

    def together(bodies, *, reset):
        count = len(bodies)
        return taking([count * neighbours.STREAM_BYTES / rate(count)] * count)

    monkeypatch.setattr(neighbours, "_together", together)


def test_bandwidths_of_copies_are_measured_again_until_they_are_possible(monkeypatch):
    alone = chain([2.45e9] * 8, repeat(20e9))
    copies(monkeypatch, lambda count: next(alone) if count == 1 else 26.5e9)
    monkeypatch.setattr(kernels_under_load, "standalone", lambda *_, **__: None)
    found = MeasuredContention()
    measure_bandwidth(found, 2, 60.0, clock=ticking(0.1))
    assert found.bandwidths == pytest.approx([20e9, 26.5e9])
    assert found.impossible == []


def test_bandwidths_that_stay_impossible_are_told(monkeypatch):
    copies(monkeypatch, lambda count: [20.5e9, 6.28e9][count - 1])
    monkeypatch.setattr(kernels_under_load, "standalone", lambda *_, **__: None)
    found = MeasuredContention()
    measure_bandwidth(found, 2, 1.0, clock=ticking(0.1))
    assert found.bandwidths == pytest.approx([20.5e9, 6.28e9])
    assert found.impossible == [
        "disturbed, off by 69 % at least: 2 cores together get 6.28 GB/s, and 1 gets 20.5"
    ]
