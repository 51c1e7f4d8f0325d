"""The law of the pace: what runs at some pace take, and what is kept of it in files."""

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.files.pacefile import pace_law_in, pace_path, read_paces, write_paces
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples
from tasksim.models.uncertainty.pacelaw import Level, PaceLaw, Slowness, levels_of, slowness_of


def _runs(count=100, spread=0.05, seed=0):
    """Runs that take as long as the pace says, and some noise that is theirs."""
    rng = np.random.default_rng(seed)
    pace_s = 2e-3 * np.exp(0.3 * rng.standard_normal(count))
    slow = np.log(pace_s / 2e-3) + spread * rng.standard_normal(count)
    return Slowness(pace_s, slow, np.full(count, 1e-5))


def _drawn(at, rng, count=400):
    return np.array([at.drawn_level(rng) + at.drawn_rest(rng) for _ in range(count)])


def test_runs_take_what_the_pace_says():
    law = PaceLaw.of(_runs(), {})
    assert law.slope == pytest.approx(1, abs=0.1)
    assert law.at([2e-3]).expected == pytest.approx(0, abs=0.03)
    assert law.at([2.8e-3]).expected - law.at([2e-3]).expected == pytest.approx(
        np.log(1.4), abs=0.05
    )
    rng = np.random.default_rng(1)
    at = law.at([2e-3])
    assert np.std([at.drawn_rest(rng) for _ in range(2000)]) == pytest.approx(0.05, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("count", [15, 40, 150])
def test_intervals_at_a_pace_hold_further_runs(count):
    inside = []
    for seed in range(60):
        law, rng = PaceLaw.of(_runs(count, seed=seed), {}), np.random.default_rng(seed)
        low, high = np.quantile(_drawn(law.at([2.5e-3]), rng), [0.025, 0.975])
        true = np.log(1.25) + 0.05 * rng.standard_normal(200)
        inside.append(((low <= true) & (true <= high)).mean())
    assert 0.92 <= np.mean(inside) <= 0.985


def _shared_machine(rng, seconds, apart_s, stays_s):
    """How slow it is every 10 ms: others come *apart_s* after they left, and stay *stays_s*."""
    busy, slow = False, np.empty(round(seconds / 0.01))
    for step in range(len(slow)):
        busy ^= rng.random() < 0.01 / (stays_s if busy else apart_s)
        slow[step] = 1.9 if busy else 1.0
    return slow


MINUTES = {"calm": (20.0, 0.1), "restless": (0.3, 0.3), "busy": (0.1, 10.0)}
"""Of each kind, how long after they left others come, and how long they stay."""


def _measured(rng, minutes, runs=30):
    """Paces of .06 s, and how slow runs of .1 s right after them are, in minutes of some kinds."""
    found = []
    for kind in minutes:
        slow = _shared_machine(rng, 0.2 * runs, *MINUTES[kind])
        for begun in range(0, 20 * runs, 20):
            pace, run = slow[begun : begun + 6].mean(), slow[begun + 6 : begun + 16].mean()
            noise = np.exp(0.02 * rng.standard_normal(2))
            found.append((1e-3 * pace * noise[0], np.log(run * noise[1]), 1e-5))
    return Slowness(*np.array(found).T)


def _held(kind, seed):
    """Return how many further runs of a kind of minute are inside, and how wide intervals are."""
    rng = np.random.default_rng([seed, 3])
    law = PaceLaw.of(_measured(rng, [*MINUTES, *reversed(MINUTES)] * 2), {})
    runs = _measured(rng, [kind])
    inside, widths = [], []
    for end in range(5, len(runs.slow) + 1):
        at = law.at(runs.pace_s[end - 5 : end])
        low, high = np.quantile(_drawn(at, rng), [0.025, 0.975], method="weibull")
        inside.append(low <= runs.slow[end - 1] <= high)
        widths.append(high - low)
    return np.mean(inside), np.median(widths)


@pytest.mark.slow
def test_intervals_hold_runs_where_others_come_and_go():
    """Where a fast probe is followed by a slow run half of the time, and the other way round."""
    held = {kind: np.mean([_held(kind, seed) for seed in range(12)], axis=0) for kind in MINUTES}
    for inside, _ in held.values():
        assert 0.90 <= inside <= 0.99
    # Calm minutes are known as such: what restless ones do is not held against them.
    assert held["calm"][1] < held["restless"][1] / 2


def test_at_no_pace_runs_are_as_slow_as_any_were():
    """The two of ten minutes that were busy count, however few they are: they may come again."""
    rng = np.random.default_rng(1)
    law = PaceLaw.of(_measured(rng, ["calm", "calm", "calm", "calm", "busy"] * 2), {})
    at = law.at_any()
    low, high = np.quantile(_drawn(at, rng, 2000), [0.025, 0.975])
    assert at.expected == pytest.approx(0, abs=0.02)
    for kind in ("calm", "busy"):
        slow = _measured(rng, [kind]).slow
        assert ((low <= slow) & (slow <= high)).mean() > 0.9


def test_one_pace_says_nothing_of_how_restless_the_machine_is():
    rng = np.random.default_rng(0)
    law = PaceLaw.of(_measured(rng, ["calm", "restless"] * 4), {})
    alone, calm = law.at([1e-3]), law.at([1e-3] * 5)
    restless = law.at([1e-3, 1.9e-3, 1e-3, 1.9e-3, 1e-3])
    assert np.ptp(calm.rest) < np.ptp(alone.rest) <= np.ptp(restless.rest)


def test_beyond_what_was_seen_times_are_in_proportion_and_doubted():
    law, rng = PaceLaw.of(_runs(spread=0.01), {}), np.random.default_rng(0)
    far, further = law.at([0.1]), law.at([0.4])
    assert further.expected - far.expected == pytest.approx(np.log(4))
    near = np.std([law.at([2e-3]).drawn_level(rng) for _ in range(500)])
    assert np.std([far.drawn_level(rng) for _ in range(500)]) > near + 0.2
    # A disturbance may last for the run, or be gone: 95 % hold both.
    low, high = np.quantile(_drawn(far, rng, 2000), [0.025, 0.975])
    assert low < 0.7
    assert np.log(0.1 / 2e-3) < high


def test_few_runs_are_no_law():
    assert PaceLaw.of(_runs(11), {}) is None
    assert PaceLaw.of(_runs(12), {}) is not None


def test_runs_that_are_all_alike_leave_nothing():
    law = PaceLaw.of(Slowness(np.full(20, 2e-3), np.full(20, 0.1), np.zeros(20)), {})
    assert law.at([2e-3]).expected == pytest.approx(0.1)
    assert abs(law.at([2e-3]).drawn_rest(np.random.default_rng(0))) < 1e-6


def test_a_few_stalled_runs_do_not_move_the_line():
    runs = _runs()
    slow = runs.slow.copy()
    slow[::20] += 2.0
    law = PaceLaw.of(runs._replace(slow=slow), {})
    assert law.at([2e-3]).expected == pytest.approx(0, abs=0.05)


def _stalling(seed=0):
    """Samples of short and long tasks in runs of different paces; short ones stall now and then."""
    rng = np.random.default_rng(seed)
    paces = {run: 2e-3 * (1 + run % 3) for run in range(12)}
    n = np.tile([10.0, 1000.0], 12 * 100)
    runs = np.repeat(np.arange(12), 200)
    durations = 1e-6 * n * np.array([paces[run] for run in runs]) / 4e-3
    stall = (n == 10) & (rng.random(len(n)) < 0.05)
    return Samples(("n",), n[:, None], durations + 1e-4 * stall, runs), paces


def test_kernels_take_altogether_what_they_took():
    samples, paces = _stalling()
    rows = Samples(("n",), [[10.0], [1000.0]] * 10, [1e-5, 1e-3] * 10)
    models = {"work": HistoryModel().fit(rows)}
    levels = levels_of({"work": samples}, models, paces)
    level = levels["work"](np.array([1e-5, 1e-3]))
    # Of 20 tasks of 10 us one stalls for 100 us: half of their time, at the pace in the middle.
    assert np.exp(level) == pytest.approx([1.5, 1.0], rel=0.25)
    found = slowness_of({"work": samples}, models, levels, paces)
    assert sorted(found) == list(range(12))
    slow = {paces[run]: row[1] for run, row in found.items()}
    assert slow[6e-3] - slow[2e-3] == pytest.approx(np.log(3), abs=0.1)


def test_runs_without_pace_do_not_count():
    samples, paces = _stalling()
    models = {"work": HistoryModel().fit(samples)}
    few = {run: pace for run, pace in paces.items() if run % 2}
    assert sorted(
        slowness_of({"work": samples}, models, levels_of({"work": samples}, models, few), few)
    ) == sorted(few)
    assert levels_of({"work": samples}, models, {}) == {}


def test_files_say_the_same_again(tmp_path):
    runs = _runs(30)
    rows = {run: tuple(map(float, row)) for run, row in enumerate(np.transpose(runs))}
    levels = {"gemm": Level(np.array([1e-5, 1e-3]), np.array([0.5, 0.0]))}
    write_paces(tmp_path, rows, levels)
    assert read_paces(pace_path(tmp_path)) == rows
    law, again = PaceLaw.of(runs, levels), pace_law_in(tmp_path)
    assert again.at([3e-3]).expected == law.at([3e-3]).expected
    at = np.array([2e-5, 1.0])
    assert again.of_kernel("gemm", at).tolist() == law.of_kernel("gemm", at).tolist()
    assert again.of_kernel("trsm", at).tolist() == at.tolist()


def test_no_file_is_no_law(tmp_path):
    assert pace_law_in(tmp_path) is None


@pytest.mark.parametrize(
    "line",
    ["x,1,1,1", "1,0,1,1", "1,nan,1,1", "1,1,inf,1", "1,1,1,-1", "1,1,1", "1,1,1,1,1", "1,a,1,1"],
)
def test_damaged_lines_are_named(tmp_path, line):
    pace_path(tmp_path).write_text(f"run,pace_s,slow,noise\n{line}\n")
    with pytest.raises(InputError, match=r"pace.csv:2"):
        pace_law_in(tmp_path)


def test_damaged_levels_are_named(tmp_path):
    levels = tmp_path / "pace-levels.csv"
    levels.write_text("kernel,expected_s,level\ngemm,2e-3,0\ngemm,1e-3,0\n")
    with pytest.raises(InputError, match=r"pace-levels.csv:3"):
        pace_law_in(tmp_path)
    levels.write_text("kernel,level\n")
    with pytest.raises(InputError, match=r"pace-levels.csv:1"):
        pace_law_in(tmp_path)
