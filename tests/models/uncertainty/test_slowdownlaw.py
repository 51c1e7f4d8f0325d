"""The law of slowdowns: what a run meets after a probe, and what is kept of it in files."""

from __future__ import annotations

import numpy as np
import pytest
from tiers import few

from tasksim.base.errors import InputError
from tasksim.models.uncertainty.slowdownlaw import (
    UNSEEN_MINUTES_FACTOR,
    Probe,
    SlowdownLaw,
    SlowdownRow,
    read_slowdowns,
    slowdown_path,
    write_slowdowns,
)

DAMAGED = (
    "1,0.5,1,1",
    "1,1",
    "1,1,1",
    "1,1,1,1,1",
    "x,1,1,1",
    "1,nan,1,1",
    "1,1,1,inf",
    "1,1,0.9,1",
)
EARLIER = "run,probe,restless,slowdown"


def rows_of(count, busy=1.0, scatter=0.05, seed=0):
    """Return runs that are slowed as the probe before them, and some more or less."""
    rng = np.random.default_rng(seed)
    probes = np.exp(np.log(busy) * (1 + 0.1 * rng.standard_normal(count)))
    slowed = probes * np.exp(scatter * rng.standard_normal(count))
    return [
        SlowdownRow(max(float(p), 1.0), 1.0, max(float(s), 1.0))
        for p, s in zip(probes, slowed, strict=True)
    ]


def moments(slowdowns, crowding=0.0):
    return [Probe(slowdown, crowding) for slowdown in slowdowns]


def drawn(expected, count=4000):
    return np.exp(expected.quantiles((np.arange(count) + 0.5) / count))


def test_on_a_calm_machine_runs_are_not_slowed():
    law = SlowdownLaw.of([SlowdownRow(1.0, 1.0, 1.001)] * 40)
    found = drawn(law.at(moments([1.0] * 5)))
    assert law.at(moments([1.0])).expected == pytest.approx(0.0, abs=0.002)
    assert np.quantile(found, 0.95) < 1.03
    assert found.min() >= 1


def test_on_a_busy_machine_runs_are_slowed_as_those_of_the_calibration():
    law = SlowdownLaw.of(rows_of(60, busy=2.5))
    found = drawn(law.at(moments([2.5] * 5)))
    assert np.median(found) == pytest.approx(2.5, rel=0.05)
    assert 1.8 < np.quantile(found, 0.1) < np.quantile(found, 0.9) < 3.2


def test_a_load_that_began_after_the_calibration_slows_as_the_probe_says():
    law = SlowdownLaw.of([SlowdownRow(1.0, 1.0, 1.0)] * 40)
    found = drawn(law.at(moments([3.0] * 5)))
    assert np.median(found) == pytest.approx(3.0, rel=0.05)
    low, high = np.quantile(found, (0.025, 0.975))
    assert 2.5 < low < 2.9
    assert 3.2 < high < 4.5


def test_runs_are_slower_than_probes_by_as_much_as_those_of_the_calibration():
    law = SlowdownLaw.of([SlowdownRow(1.1, 1.0, 1.21, 0.1, 1.1)] * 40)
    assert np.median(drawn(law.at(moments([1.1] * 5)))) == pytest.approx(1.21, rel=0.01)
    assert np.median(drawn(law.at(moments([3.0] * 5)))) == pytest.approx(3.0 * 1.1, rel=0.05)


def test_moments_beside_one_process_on_two_cores_are_not_calm():
    law = SlowdownLaw.of([SlowdownRow(1.1, 1.0, 1.1, 0.1, 1.1)] * 300)
    assert np.median(drawn(law.at(moments([1.4] * 5)))) == pytest.approx(1.4, rel=0.05)


def test_probes_beside_a_steady_load_differ_by_a_time_slice():
    """Two probes that differ by a tenth tell less of a busy machine than of a calm one."""
    law = SlowdownLaw.of([])
    calm, busy = (law.at(moments([level, level * 1.1])) for level in (1.0, 3.0))
    assert busy.scatter < law.at(moments([3.0 * 0.9, 3.0 * 1.2])).scatter
    assert calm.scatter > 0.04
    assert busy.scatter == pytest.approx(law.at(moments([3.0 * 1.1**0.5] * 2)).scatter, rel=0.01)


def test_where_others_come_and_go_a_run_may_meet_either():
    law = SlowdownLaw.of([])
    steady, restless = law.at(moments([2.0] * 5)), law.at(moments([1.0, 3.0, 1.0, 3.0, 2.0]))
    assert np.ptp(np.quantile(drawn(restless), (0.05, 0.95))) > 2 * np.ptp(
        np.quantile(drawn(steady), (0.05, 0.95))
    )


def test_where_others_came_and_went_a_calm_moment_says_little():
    """Of runs after a calm probe among restless ones half met others, after steady ones none."""
    rows = [SlowdownRow(1.0, 3.0, slowdown) for slowdown in (1.0, 3.0) * 40]
    law = SlowdownLaw.of([*rows, *[SlowdownRow(1.0, 1.0, 1.0)] * 80])
    assert 0.35 < (drawn(law.at(moments([3.0, 1.0, 3.0, 1.0]))) > 2).mean() < 0.65
    assert (drawn(law.at(moments([1.0] * 4))) > 2).mean() < 0.05


def test_a_row_knows_how_restless_its_probes_were():
    probes = moments([9.0, 1.0, 2.0, 4.0, 2.0])
    assert SlowdownRow.of(probes, 1.5, 0.1) == (2.0, 4.0, 1.5, 0.1, 2.0, 0.0)
    probes = [Probe(2.0, 1.5), Probe(2.0, 1.0), Probe(2.0, 1.0), Probe(2.0, 1.5)]
    assert SlowdownRow.of(probes, 1.5).crowding == pytest.approx(1.5**0.5)
    assert SlowdownRow.of([*probes, Probe(2.0)], 1.5).crowding == 0.0


def test_a_probe_counts_as_one_of_the_kernels_of_a_run():
    probe = Probe(2.4, 1.2, {"": 1.2, "gemm": 1.5, "P2P_in": 1.0})
    assert probe.of_work({"gemm": 3.0, "P2P_in": 1.0})[:2] == pytest.approx((2.75, 1.375))
    assert probe.of_work({"somebody's": 1.0})[:2] == pytest.approx((2.4, 1.2))
    assert probe.of_work({}) is probe
    assert Probe(2.0).of_work({"gemm": 1.0}) == Probe(2.0)


@pytest.mark.parametrize("factor", [0.5, np.inf, np.nan])
def test_a_crowding_is_one_or_more(factor):
    assert Probe(2.0, 1.5, {"gemm": 1.5}).legal
    assert not Probe(2.0, factor).legal
    assert not Probe(2.0, 1.5, {"gemm": factor}).legal


def test_in_no_moment_in_particular_a_run_is_as_any_was():
    law = SlowdownLaw.of([SlowdownRow(1.0, 1.0, 1.0)] * 30 + [SlowdownRow(3.0, 1.0, 3.0)] * 30)
    found = drawn(law.at_any())
    assert 0.3 < (found > 2).mean() < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("count", [12, 40, 150])
def test_intervals_hold_further_runs(count):
    inside = []
    for seed in range(few(60)):
        law = SlowdownLaw.of(rows_of(count, busy=2.5, seed=seed))
        low, high = np.quantile(drawn(law.at(moments([2.5] * 5)), 1000), [0.025, 0.975])
        true = np.array([row.slowdown for row in rows_of(200, busy=2.5, seed=1000 + seed)])
        true *= 2.5 / np.array([row.probe for row in rows_of(200, busy=2.5, seed=1000 + seed)])
        inside.append(((low <= true) & (true <= high)).mean())
    assert 0.92 <= np.mean(inside) <= 1.0


def test_a_file_keeps_what_was_seen(tmp_path):
    rows = {3: SlowdownRow(1.5, 1.1, 1.25, 0.25, 1.4, 1.2), 1: SlowdownRow(1.0, 1.0, 1.0)}
    write_slowdowns(tmp_path, rows)
    assert read_slowdowns(slowdown_path(tmp_path)) == rows
    assert slowdown_path(tmp_path).read_text().splitlines() == [
        "run,probe,restless,slowdown,alone_s,usual,crowding",
        "1,1.0,1.0,1.0,0.0,0.0,0.0",
        "3,1.5,1.1,1.25,0.25,1.4,1.2",
    ]
    assert read_slowdowns(tmp_path / "none.csv") == {}


def test_files_of_before_lack_lengths_and_means(tmp_path):
    path = slowdown_path(tmp_path)
    path.write_text(f"{EARLIER}\n3,1.5,1.1,1.25\n")
    assert read_slowdowns(path) == {3: SlowdownRow(1.5, 1.1, 1.25)}
    path.write_text(f"{EARLIER},alone_s\n3,1.5,1.1,1.25,0.25\n")
    assert read_slowdowns(path) == {3: SlowdownRow(1.5, 1.1, 1.25, 0.25)}
    path.write_text(f"{EARLIER},alone_s,usual\n3,1.5,1.1,1.25,0.25,1.4\n")
    assert read_slowdowns(path) == {3: SlowdownRow(1.5, 1.1, 1.25, 0.25, 1.4)}


def moody(count, follows, seed=0):
    """Return runs of moods that single probes hardly tell: slowdowns follow means of probes."""
    rng = np.random.default_rng(seed)
    mood = np.abs(0.2 * rng.standard_normal(count))
    probe = np.maximum(mood + 0.1 * rng.standard_normal(count), 0.0)
    slowed = 0.1 + follows * mood
    columns = np.exp([probe, np.zeros(count), slowed, np.full(count, -3.0), mood])
    return [SlowdownRow(*map(float, row)) for row in columns.T]


@pytest.mark.parametrize("follows", [0.0, 0.5, 1.0])
def test_slowdowns_follow_the_mean_of_the_probes_as_those_of_the_calibration(follows):
    law = SlowdownLaw.of(moody(200, follows))
    calm, busy = (law.at(moments([level] * 4)).expected for level in (1.0, 1.3))
    share = 200 / 208 if follows else 80 / 88  # of runs seen, beside the prior
    assert busy - calm >= 0.9 * follows * share * np.log(1.3)


def test_calm_probes_do_not_tell_how_slowdowns_follow_them():
    rows = [SlowdownRow(1.0, 1.0, 1.2, 0.1, 1.0 + k / 1e4) for k in range(40)]
    assert SlowdownLaw.of(rows)._follows(np.zeros(40)) == 0.0


def crowded(count, seed=0):
    """Return runs of which others had half of the cores and made 0 to 30 % longer what was left."""
    rng = np.random.default_rng(seed)
    crowding = 1.0 + 0.3 * rng.random(count)
    probe, slowed = crowding * np.exp(0.7 + 0.05 * rng.standard_normal((2, count)))
    ones = np.ones(count)
    columns = probe, ones, slowed, 0.1 * ones, probe, crowding
    return [SlowdownRow(*map(float, row)) for row in np.transpose(columns)]


@pytest.mark.parametrize("crowding", [1.0, 1.15, 1.5])
def test_runs_are_as_crowded_as_the_last_probes(crowding):
    """Others had as much of the cores in all moments of the calibration: all of them count."""
    law = SlowdownLaw.of(crowded(200))
    found = drawn(law.at(moments([2.0 * crowding] * 4, crowding)))
    assert np.median(found) == pytest.approx(2.0 * crowding, rel=0.02)
    assert np.ptp(np.quantile(np.log(found), [0.16, 0.84])) == pytest.approx(2 * 0.05, rel=0.3)


def test_where_crowding_changes_from_probe_to_probe_a_run_may_meet_more_or_less():
    law = SlowdownLaw.of([SlowdownRow(1.0, 1.0, 1.0, 0.1, 1.0, 1.0)] * 80)
    steady, changing = (
        np.log(drawn(law.at([Probe(level, level) for level in levels])))
        for levels in ([1.2] * 4, [1.1, 1.3, 1.1, 1.3])
    )
    assert np.median(changing) == pytest.approx(np.median(steady), rel=0.05)
    middles = [np.ptp(np.quantile(each, [0.16, 0.84])) for each in (steady, changing)]
    assert middles[1] > 3 * middles[0]


def test_a_moment_of_unknown_crowding_is_as_the_calibration():
    law = SlowdownLaw.of(crowded(200))
    assert np.median(drawn(law.at(moments([2.3] * 4)))) == pytest.approx(2.3, rel=0.03)
    assert np.median(drawn(law.at_any())) == pytest.approx(2.3, rel=0.03)


def test_later_minutes_vary_more_than_those_of_a_calibration():
    logs = 0.3 + 0.05 * np.random.default_rng(0).standard_normal(2000)
    law = SlowdownLaw.of([SlowdownRow(1.35, 1.0, float(np.exp(each))) for each in logs])
    found = np.log(drawn(law.at_any()))
    assert found.std() == pytest.approx(UNSEEN_MINUTES_FACTOR * 0.05, rel=0.1)
    # A calibration beside others that came and went has seen what they do.
    logs = 2.0 + 0.5 * np.random.default_rng(0).standard_normal(2000)
    law = SlowdownLaw.of([SlowdownRow(7.4, 1.0, float(np.exp(each))) for each in logs])
    assert np.log(drawn(law.at_any())).std() == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "run,probe\n",
        f"{EARLIER}\n1,1,1,1,1\n",
        f"{EARLIER},alone_s\n1,1,1,1\n",
        f"{EARLIER},alone_s\n1,1,1,1,-1\n",
        f"{EARLIER},alone_s\n1,1,1,1,inf\n",
        f"{EARLIER},alone_s,usual\n1,1,1,1,1,0.5\n",
        f"{EARLIER},alone_s,usual\n1,1,1,1,1,inf\n",
        f"{EARLIER},alone_s,usual\n1,1,1,1,1\n",
        f"{EARLIER},alone_s,usual,crowding\n1,1,1,1,1,1,0.5\n",
        f"{EARLIER},alone_s,usual,crowding\n1,1,1,1,1,1\n",
        *(f"{EARLIER}\n{line}\n" for line in DAMAGED),
        *(f"{EARLIER},alone_s\n{line},1\n" for line in DAMAGED),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, text):
    slowdown_path(tmp_path).write_text(text)
    with pytest.raises(InputError, match=r"slowdown.csv:\d: expected"):
        read_slowdowns(slowdown_path(tmp_path))


@pytest.mark.parametrize(
    "probes", [[1, 1, 1, 4.3], [1, 4.3, 4.3, 4.3], [1.05, 2, 3, 4.3], [4.3, 1, 4.3, 1], [17, 1]]
)
def test_an_interval_holds_the_calmest_and_the_busiest_of_the_last_moments(probes):
    """A run that meets the calm one takes what is predicted for it alone."""
    found = drawn(SlowdownLaw.of([]).at(moments(probes)))
    assert np.quantile(found, 0.025) <= min(probes)
    assert np.quantile(found, 0.975) >= max(probes)


def sliced(count, length_s, rng, slice_s=3e-3):
    """Return slowdowns of runs of which others take slices of time, as often as the run has."""
    slices = rng.poisson(length_s / slice_s, count)
    return 1.0 + np.array([rng.exponential(slice_s, n).sum() for n in slices]) / length_s


@pytest.mark.parametrize("length_s", [0.005, 0.02, 0.06, 0.2])
def test_long_runs_vary_less_than_short_ones(length_s):
    """Intervals fit runs of other lengths than those of the calibration, of 10 and 100 ms."""
    rng = np.random.default_rng(1)
    rows = [
        SlowdownRow(2.0, 1.0, float(slowdown), known_s)
        for known_s in (0.01, 0.1)
        for slowdown in sliced(60, known_s, rng)
    ]
    found = drawn(SlowdownLaw.of(rows).at(moments([2.0] * 4), length_s))
    low, high = np.quantile(found, (0.025, 0.975))
    runs = sliced(20000, length_s, rng)
    assert ((low <= runs) & (runs <= high)).mean() > 0.9
    true_low, true_high = np.quantile(runs, (0.025, 0.975))
    assert high - low == pytest.approx(true_high - true_low, rel=0.6)
    assert found.mean() == pytest.approx(2.0, rel=0.1)


def test_where_moments_differ_long_runs_vary_as_much():
    rng = np.random.default_rng(2)
    rows = [
        SlowdownRow(2.0, 1.0, float(slowdown), known_s)
        for known_s in (0.01, 0.1)
        for slowdown in rng.uniform(1.0, 3.0, 60)
    ]
    law = SlowdownLaw.of(rows)
    spread = [np.ptp(np.quantile(drawn(law.at_any(s)), (0.05, 0.95))) for s in (0.0, 1.0)]
    assert spread[1] == pytest.approx(spread[0], rel=0.3)


def test_of_runs_of_one_length_nothing_is_known_about_others():
    rows = [SlowdownRow(1.0, 1.0, slowdown, 0.1) for slowdown in (1.0, 2.0, 3.0) * 10]
    law = SlowdownLaw.of(rows)
    assert law.at_any(10.0).seen.tolist() == law.at_any().seen.tolist()
