"""First difference: where two runs part."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tasksim
from tasksim import InputError, Scenario
from tasksim.run.first_difference import events, first_difference

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
CHOLESKY_SCENARIO = Scenario("cholesky tiles=4", workers=2, durations=DURATIONS_S)


def test_equal_runs_have_none():
    assert first_difference(CHOLESKY_SCENARIO.solve(), CHOLESKY_SCENARIO.solve()) is None
    assert (
        first_difference(CHOLESKY_SCENARIO.solve(engine="simpy"), CHOLESKY_SCENARIO.solve()) is None
    )


def test_the_earliest_is_named():
    run = CHOLESKY_SCENARIO.vary(scheduler="eager").solve()
    other = CHOLESKY_SCENARIO.vary(scheduler="prio").solve()
    where = min(
        float(times[0 if times[0] < times[1] else 1])
        for times in zip(run.tasks.start_s, other.tasks.start_s, strict=True)
        if times[0] != times[1]
    )
    told = first_difference(run, other)
    assert told is not None
    assert float(told.split()[1]) <= where


def test_one_late_task_is_found():
    run = CHOLESKY_SCENARIO.solve()
    end_s = run.tasks.end_s.copy()
    end_s[5] += 1e-9
    late = replace(run, tasks=replace(run.tasks, end_s=end_s))
    told = first_difference(run, late)
    assert told is not None
    assert run.label(5) in told
    assert "ends" in told


def test_copies_count():
    platform = tasksim.Platform(
        "small",
        (tasksim.Worker(0, "gpu", "cuda", 1),),
        (tasksim.Memory(0, "ram"), tasksim.Memory(1, "gpu0")),
        links=(tasksim.Link(0, "bus", (0, 1), 1e9, 1e-6),),
        devices={"cuda": tasksim.Device(pipeline=2)},
    )
    run = Scenario("cholesky tiles=3", platform=platform, durations=DURATIONS_S).solve()
    without = replace(run, transfers=replace(run.transfers, handle=run.transfers.handle[::-1]))
    assert "copy of datum" in first_difference(run, without)
    assert sum("copy" in event.what for event in events(run)) == 3 * len(run.transfers)


def test_runs_are_asked_for():
    with pytest.raises(InputError, match="run"):
        first_difference(CHOLESKY_SCENARIO.solve(), "run")
