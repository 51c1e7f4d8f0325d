"""Crowding: what others on the same processor cost a task that has its core."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tasksim
from tasksim.run.crowding import (
    BEAT_EXPONENTS,
    COLD_SHARES,
    DETOUR_READ_EXPONENT,
    DETOUR_S,
    DETOUR_SHARES,
    DISPLACEMENT_WEIGHT,
    DISPLACEMENT_WEIGHTS,
    MAX_BEAT,
    MAX_READ_RATIO,
    MAX_TWIN_PULSE,
    PULSE_WEIGHT,
    PULSE_WEIGHTS,
    READ_EXPONENT,
    READ_EXPONENTS,
    TYPICAL_DETOUR_SHARE,
    UNKNOWN_CACHES,
    CacheState,
    crowding,
    crowding_at,
    crowding_now,
    crowding_weights,
    detour_shares,
)
from tasksim.run.record import Disturbance
from tasksim.run.undisturbed import undisturbed_s


def test_a_slower_clock_slows_tasks_and_what_the_other_hyper_thread_costs(make):
    run = make.losing([0.0] * 5, [0] * 5)
    pulse, beat = [1.0, 1.0, 2.0, 2.0, np.nan], [1.1, 9.9, 1.2, np.nan, 1.1]
    tasks = replace(run.tasks, pulse=pulse, beat=beat)
    idle, busy = BEAT_EXPONENTS
    slower = np.power([1.1, MAX_BEAT, 1.2, 1.0, 1.1], [idle, idle, busy, busy, idle])
    full = 1 + PULSE_WEIGHTS["gemm"]
    factors = slower * [1.0, 1.0, full, full, 1.0]
    assert crowding(replace(run, tasks=tasks)) == pytest.approx(factors)


def test_others_on_the_processor_cost_kernels_that_fill_their_core_most():
    builder = tasksim.GraphBuilder("one task per kernel")
    kernels = ["P2P_in", "gemm", "L2P", "somebody's"]
    for kernel in kernels:
        builder.insert(kernel)
    run = tasksim.simulate(builder.build(), workers=1, durations=dict.fromkeys(kernels, 1.0))
    tasks = replace(run.tasks, cpu_s=np.ones(4), preemptions=np.zeros(4, int), pulse=np.full(4, 2))
    found = dict(zip(kernels, crowding(replace(run, kind="native", tasks=tasks)), strict=True))
    assert found["P2P_in"] < 1.1 < found["somebody's"] < found["gemm"] < found["L2P"] < 2.0
    assert found["somebody's"] == pytest.approx(1 + PULSE_WEIGHT)


def test_only_kernels_that_slow_their_like_pay_for_pulses_beyond_two():
    gemm, p2p = crowding_weights(["gemm", "P2P_in"])
    pulse, beat = np.array([2.0, MAX_TWIN_PULSE, 9.0]), np.full(3, np.nan)
    assert np.ptp(crowding_at(pulse, beat, gemm)) == 0.0
    alike = crowding_at(pulse, beat, p2p)
    assert alike[1] > 1.4 * alike[0]
    assert alike[2] == alike[1]


@pytest.mark.parametrize(("displaced_share", "expected"), [(None, 0.0), (0.0, 0.0), (0.5, 0.5)])
def test_data_that_others_displace_lengthen_the_tasks_that_need_them(
    make, displaced_share, expected
):
    run = make.losing([0.0, 0.0], [0, 0])
    told = Disturbance((0.0,), (0,), displaced_share=displaced_share)
    run = replace(run, tasks=replace(run.tasks, pulse=[1.0, np.nan]), disturbance=told)
    assert crowding(run) == pytest.approx([1.0 + expected * DISPLACEMENT_WEIGHTS["gemm"], 1.0])
    assert (crowding(replace(run, kernel_names=("potrf", "P2P_in"))) == 1.0).all()


@pytest.mark.parametrize("read_ratio", [None, 1.0, 2.0, MAX_READ_RATIO, 1e300])
def test_reads_that_take_longer_lengthen_the_tasks_that_need_them(make, read_ratio):
    run = make.losing([0.0, 0.0], [0, 0])
    told = Disturbance((0.0,), (0,), read_ratio=read_ratio)
    run = replace(run, tasks=replace(run.tasks, pulse=[1.0, np.nan]), disturbance=told)
    counted = min(read_ratio or 1.0, MAX_READ_RATIO)
    longer = counted ** READ_EXPONENTS["gemm"]
    assert crowding(run) == pytest.approx([longer, 1.0])
    assert (crowding(replace(run, kernel_names=("potrf", "P2P_in"))) == 1.0).all()
    found = crowding_now(np.ones(1), np.ones(1), CacheState(None, read_ratio), None, 0.0)
    assert found["gemm"] == pytest.approx(longer)
    assert found[""] == pytest.approx(counted**READ_EXPONENT)


def test_the_crowding_of_a_moment_is_that_of_each_kernel():
    found = crowding_now(np.array([1.0, 2.0]), np.array([1.0, 1.0]), CacheState(0.5), None, 0.0)
    for kernel, weight, near in (
        ("gemm", PULSE_WEIGHTS["gemm"], DISPLACEMENT_WEIGHTS["gemm"]),
        ("", PULSE_WEIGHT, DISPLACEMENT_WEIGHT),
    ):
        assert found[kernel] == pytest.approx((1.0 + 0.5 * weight) * (1.0 + 0.5 * near))


@pytest.mark.parametrize("others_share", [0.0, 0.5])
def test_cold_data_and_detours_lengthen_kernels_at_a_moment(others_share):
    one, nan = np.ones(1), np.full(1, np.nan)
    beside = 1.0 - others_share, others_share
    found = crowding_now(one, nan, UNKNOWN_CACHES, DETOUR_S, others_share)
    for kernel in ("gemm", "tpmqrt", ""):
        cold = 1.0 + others_share * COLD_SHARES.get(kernel, (0.0,))[0]
        detour = np.dot(beside, np.add((TYPICAL_DETOUR_SHARE, 0.0), DETOUR_SHARES.get(kernel, 0.0)))
        assert found[kernel] == pytest.approx(cold * (1.0 + detour))


def test_a_detour_costs_more_while_others_keep_the_memory_busy():
    calm, beside = DETOUR_SHARES["M2L_out"]
    for others_share, read_ratio, longer in ((0.0, 2.0, 1.0), (1.0, 2.0, 2.0), (0.5, None, 1.0)):
        found = detour_shares(["M2L_out", "somebody's"], others_share, read_ratio)
        beside_others = beside * longer**DETOUR_READ_EXPONENT
        expected = (1.0 - others_share) * calm + others_share * beside_others
        assert found == pytest.approx([expected, 0.0])


def test_a_kernel_that_waits_does_not_mind_others_on_the_processor(make):
    run = make.losing([1.0, 1.0, 1.0], [0, 0, 0])
    told = Disturbance((0.0,), (0,), displaced_share=1.0)
    run = replace(run, tasks=replace(run.tasks, pulse=[2.0] * 3), disturbance=told)
    assert undisturbed_s(run) == pytest.approx([2.0, 2.0, 2.0])


def test_where_no_reading_is_known_only_cold_data_lengthen_kernels():
    unknown = np.full(2, np.nan)
    found = crowding_now(unknown, unknown, UNKNOWN_CACHES, None, 0.0)
    assert set(found.values()) == {1.0}
