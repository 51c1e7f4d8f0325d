"""Autotuning: what searches tell, with real runs and without; nothing of how fast they are."""

from __future__ import annotations

from statistics import median

import pytest

from tasksim.base.errors import InputError
from tasksim.scenario.scenario import Scenario
from tasksim.tuning import one_node as module
from tasksim.tuning.autotune import Autotuned, SelectiveSettings, TuningRun, autotune
from tasksim.tuning.over import axes_of, candidates
from tasksim.tuning.search import Tried, Tuned
from tasksim.tuning.watch import Watch


def insisting():
    """Return a watch under which nothing is executed in full that may be skipped."""
    return Watch(fall_back=False)


SMALL_SCENARIO = Scenario("cholesky", ["n=96"], workers=2, clock="native")
TUNED_AXES = axes_of(["tile_size=24,32,36", "scheduler=eager,lws"])


def test_every_configuration_is_told_with_what_was_executed():
    found = autotune(
        candidates(SMALL_SCENARIO, TUNED_AXES),
        judge=2,
        selection=SelectiveSettings(tolerance=1.0),
        watch=insisting(),
    )
    assert len(found.tuned.tried) == 6
    works = [tried for tried in found.tuned.tried if tried.makespans_s]
    assert {tried.values["graph.tile_size"] for tried in works} == {24, 32}
    assert "multiple" in found.tuned.tried[-1].error  # 36 does not divide 96
    for tried in works:
        (ran,) = found.of(tried)
        assert ran.tasks == {24: 20, 32: 10}[tried.values["graph.tile_size"]]
        assert 4 <= ran.executed <= ran.tasks
        assert len(ran.full) == 2
        assert 0 < ran.busiest_s <= ran.wall_s
        assert 0 < ran.path_s <= (1 + 1e-12) * ran.makespan_s
        assert all(0 < full.alone_s <= full.makespan_s for full in ran.full)
        assert found.alone_error(tried) == tried.mean_s / median(f.alone_s for f in ran.full) - 1
        assert found.path_error(tried) == ran.path_s / median(f.path_s for f in ran.full) - 1
    assert found.wall_s == pytest.approx(sum(found.of(t)[0].wall_s for t in works))
    assert not found.interrupted
    assert found.regret >= 0
    assert found.mean_error > 0


@pytest.mark.parametrize(("reuse", "least"), [(False, 8), (True, 4)])
def test_statistics_are_reset_unless_they_are_reused(reuse, least):
    base = SMALL_SCENARIO.vary({"graph.tile_size": 24})
    told = SelectiveSettings("conditional", 1.0, reuse=reuse)
    found = autotune(
        candidates(base, axes_of(["scheduler=eager,lws,prio"])), selection=told, watch=insisting()
    )
    executed = [ran.executed for runs in found.runs.values() for ran in runs]
    # Of each of four kernels at least two samples, or one of each configuration.
    assert len(executed) == 3
    assert all(count >= least for count in executed[1:])
    assert SelectiveSettings("eager").reuses
    assert not SelectiveSettings("online").reuses


def test_a_grid_is_one_of_ranks():
    over = axes_of(["grid=1x2,2x1", "tile_size=24"])
    some = candidates(SMALL_SCENARIO, over)
    assert [(c.grid.rows, c.grid.columns) for c in some] == [(1, 2), (2, 1)]
    with pytest.raises(InputError, match="grid and owner are for ranks"):
        autotune(some, watch=insisting())
    with pytest.raises(InputError, match="got '2y1'; legal: ROWSxCOLUMNS"):
        candidates(SMALL_SCENARIO, axes_of(["grid=2y1"]))


def test_full_runs():
    found = autotune(candidates(SMALL_SCENARIO, axes_of(["tile_size=24,32"])), by="full")
    assert [ran.executed == ran.tasks for runs in found.runs.values() for ran in runs] == [True] * 2
    assert found.mean_error is None
    assert found.regret is None


def test_halving_gives_the_better_ones_more_runs():
    over = axes_of(["tile_size=24,32,48"])
    found = autotune(candidates(SMALL_SCENARIO, over), repetitions=3, how="halving", by="full")
    assert [len(tried.makespans_s) for tried in found.tuned.tried] == [3, 1, 1]
    assert found.tuned.simulations == 5


def test_simulation_alone_runs_nothing_unless_it_is_judged():
    base = Scenario(
        "cholesky", ["n=96"], workers=2, durations="potrf=1us,trsm=3us,syrk=3us,gemm=6us"
    )
    over = axes_of(["tile_size=24,32"])
    found = autotune(candidates(base, over), by="simulation")
    assert found.runs == {}
    assert found.speedup is None
    judged = autotune(candidates(base, over), by="simulation", judge=1)
    assert [tried.mean_s for tried in judged.tuned.tried] == [t.mean_s for t in found.tuned.tried]
    assert judged.mean_error is not None
    assert judged.regret >= 0


def test_an_interruption_keeps_what_is_done(monkeypatch):
    real, calls = module.execute_selectively, []

    def interrupted(*args, **given):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(1)
        return real(*args, **given)

    monkeypatch.setattr(module, "execute_selectively", interrupted)
    found = autotune(candidates(SMALL_SCENARIO, axes_of(["tile_size=24,32,48"])), watch=insisting())
    assert found.interrupted
    assert len(found.tuned.tried) == found.tuned.simulations == 2
    calls[:] = [1, 1]
    with pytest.raises(KeyboardInterrupt):
        autotune(candidates(SMALL_SCENARIO, axes_of(["tile_size=24"])))


@pytest.mark.parametrize(
    ("told", "error"),
    [
        (SelectiveSettings(tolerance=0.0), "above 0, at most 1"),
        (SelectiveSettings(tolerance=1.5), "above 0, at most 1"),
        (SelectiveSettings("onlin"), "did you mean 'online'"),
        (SelectiveSettings(confidence=1.0), "less than 1"),
        (SelectiveSettings(intervals="gauss"), "intervals"),
    ],
)
def test_what_is_no_selection(told, error):
    with pytest.raises(InputError, match=error):
        autotune(candidates(SMALL_SCENARIO, TUNED_AXES), selection=told)


def test_errors_regret_and_speedup_are_what_they_are_called():
    slow, fast = Tried({"x": 1}, (2.2,)), Tried({"x": 2}, (0.9,))
    runs = {
        0: [TuningRun(2.2, 0.5, 3, 9, (TuningRun(2.0, 2.5, 9, 9),) * 2)],
        1: [TuningRun(0.9, 0.5, 3, 9, (TuningRun(2.5, 2.5, 9, 9),) * 2)],
    }
    found = Autotuned(Tuned((fast, slow), 2), runs, {(1,): 0, (2,): 1}, 1.0, 0.0)
    assert found.error(slow) == pytest.approx(0.1)
    assert found.error(fast) == pytest.approx(-0.64)
    assert found.mean_error == pytest.approx(0.37)
    assert found.regret == pytest.approx(0.25)  # chosen is what takes 2.5 s
    assert found.speedup == pytest.approx(5.0)
