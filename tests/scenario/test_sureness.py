"""Predictions of scenarios with intervals, from replications that draw what is uncertain."""

import numpy as np
import pytest
from tiers import LONG

import tasksim
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples
from tasksim.models.uncertainty.runeffects import RunEffect
from tasksim.models.uncertainty.slowdownlaw import Probe, SlowdownLaw
from tasksim.scenario.resolved import resolve
from tasksim.scenario.sureness import how_sure_of

DURATIONS_S = {"potrf": 1e-3, "trsm": 3e-3, "syrk": 3e-3, "gemm": 6e-3}


class Fitted:
    """Histories of a number of samples each, and how far runs differ."""

    def __init__(self, graph, noise=0.1, count=20, effect=None):
        rng = np.random.default_rng(5)
        self.effect, self.models = effect, {}
        for index, name in enumerate(graph.model_names):
            table = np.repeat(graph.parameters[index][:1], count, axis=0)
            times = DURATIONS_S[name] * np.exp(noise * rng.standard_normal(count))
            model = HistoryModel().fit(Samples(graph.parameter_names[index], table, times))
            model.label = f"{name} on cpu"
            self.models[name] = model

    def model(self, kernel, architecture):
        return self.models[kernel]

    def locality(self, kernel, architecture):
        return None

    def run_effect(self, kernel, architecture):
        return self.effect


GRAPH = tasksim.generate("cholesky", tiles=4)


def _scenario(scheduler="prio", seed=0, graph=GRAPH, **made):
    models = Fitted(graph, **made)
    return tasksim.Scenario(graph, models=models, workers=3, scheduler=scheduler, seed=seed)


def test_all_that_is_said():
    sure = tasksim.how_sure(_scenario(effect=RunEffect(0.05, 0.02, 30)), replications=300)
    assert sure.run_low_s < sure.mean_low_s < sure.mean_s < sure.mean_high_s < sure.run_high_s
    assert sure.sources == ("models", "runs", "tasks")
    assert sum(sure.shares.values()) == pytest.approx(1)
    assert sure.replications == 300
    assert sure.bias_s == pytest.approx(sure.mean_s - sure.means_s)
    assert sum(kernel.share for kernel in sure.kernels) > 0.5
    data = sure.to_json()
    assert list(data)[:8] == [
        "mean_s", "median_s", "mean_low_s", "mean_high_s", "run_low_s", "run_high_s", "level",
        "shares",
    ]  # fmt: skip
    assert str(sure).startswith("makespan ")


@pytest.mark.slow
def test_runs_make_one_run_wider_and_share_by_their_variance():
    calm = tasksim.how_sure(_scenario(effect=RunEffect(0.0, 0.0, 30)), replications=600)
    busy = tasksim.how_sure(_scenario(effect=RunEffect(0.2, 0.0, 300)), replications=600)
    assert calm.shares["runs"] < 0.3
    assert busy.shares["runs"] > 0.7
    assert busy.run_high_s - busy.run_low_s > 1.5 * (calm.run_high_s - calm.run_low_s)


@pytest.mark.parametrize(
    ("effect", "said"), [(None, "files lack it"), (RunEffect(0, 0, 1), "in a single run")]
)
def test_what_is_not_known_of_runs_is_said(effect, said):
    sure = tasksim.how_sure(_scenario(effect=effect), replications=60)
    assert sure.sources == ("models", "tasks")
    assert any(said in line and "calibrate again" in line for line in sure.warnings())
    with pytest.raises(tasksim.InputError, match=said):
        tasksim.how_sure(_scenario(effect=effect), uncertainty="runs")


def test_both_engines_say_the_same():
    asked = _scenario(effect=RunEffect(0.05, 0.02, 30))
    numbers = [
        tasksim.how_sure(asked, replications=60, engine=engine, threads=threads).to_json()
        for engine, threads in (("simpy", 1), ("auto", 1), ("auto", 2))
    ]
    assert numbers[0] == numbers[1] == numbers[2]


def test_luck_does_not_depend_on_the_scheduler():
    a, b = (tasksim.how_sure(_scenario(name), replications=90) for name in ("prio", "eager"))
    assert (a.found.ratios == b.found.ratios).all()
    apart = tasksim.difference(a, b)
    assert apart.mean_s == pytest.approx(b.mean_s - a.mean_s)
    alone = np.hypot(a.run_high_s - a.run_low_s, b.run_high_s - b.run_low_s)
    assert apart.run_high_s - apart.run_low_s < alone
    assert tasksim.difference(a, a).first_wins == 0.5


def test_replications_meet_all_slowdowns_evenly():
    """Each of fifty groups takes its slowdown from another fiftieth of the distribution."""
    asked = _scenario(effect=RunEffect(0.05, 0.02, 30))
    found = tasksim.how_sure(asked, replications=150, probes=3.0).found
    slowdowns = np.sort(np.log(found.ratios / found.alone_ratios)[:, 0, 0])
    bounds = SlowdownLaw.of([]).at([Probe(3.0)]).quantiles(np.linspace(0, 1, len(slowdowns) + 1))
    assert len(slowdowns) == 50
    assert (bounds[:-1] <= slowdowns + 1e-12).all()
    assert (slowdowns <= bounds[1:] + 1e-12).all()


def test_other_programs_slow_runs_and_not_what_is_said_of_kernels():
    calm, busy = (
        tasksim.how_sure(_scenario(effect=RunEffect(0.05, 0.02, 30)), replications=90, probes=probe)
        for probe in (1.0, 3.0)
    )
    assert busy.run_low_s > 2 * calm.run_low_s
    of_calm, of_busy = ({k.kernel: k for k in sure.kernels} for sure in (calm, busy))
    for name, kernel in of_calm.items():
        assert of_busy[name].run_low_s == pytest.approx(kernel.run_low_s, rel=1e-9)
        assert of_busy[name].run_high_s == pytest.approx(kernel.run_high_s, rel=1e-9)
        assert kernel.run_low_s < kernel.mean_s < kernel.run_high_s


def test_other_seeds_are_other_luck():
    a, b = (tasksim.how_sure(_scenario(seed=seed), replications=30) for seed in (0, 1))
    assert (a.found.makespans_s != b.found.makespans_s).all()
    with pytest.raises(tasksim.InputError, match="seed: 0 and 1"):
        tasksim.difference(a, b)


def test_models_alone_are_all_of_it():
    sure = tasksim.how_sure(_scenario(), uncertainty="models", replications=60)
    assert sure.shares == {"models": 1.0}


def test_tasks_that_take_their_mean_leave_nothing_to_draw():
    sure = tasksim.how_sure(_scenario(noise=0.0), replications=30)
    assert sure.mean_low_s == pytest.approx(sure.mean_high_s)
    assert sure.bias_s == pytest.approx(0, abs=1e-12)


def test_durations_that_are_given_are_known():
    given = tasksim.Scenario("cholesky tiles=4", workers=3, durations=DURATIONS_S)
    with pytest.raises(tasksim.InputError, match=r"potrf.*gemm on cpu: given durations"):
        tasksim.how_sure(given)


def test_one_sample_is_refused_by_name():
    with pytest.raises(tasksim.TasksimError, match=r"potrf on cpu: measured only once.*measure it"):
        tasksim.how_sure(_scenario(count=1))


def test_until_it_is_known():
    sure = tasksim.how_sure(_scenario(), until=0.02)
    assert sure.converged
    assert sure.largest_error_s <= 0.02 * sure.mean_s
    short = tasksim.how_sure(_scenario(), until=1e-6, replications=200)
    assert short.converged is False
    assert any("not to 0.0001 %" in line for line in short.warnings())


def test_progress_counts_replications():
    told = []
    how_sure_of(resolve(_scenario()), replications=40, progress=lambda *counts: told.append(counts))
    assert told == [(done, 40) for done in range(1, 41)]


def test_progress_expects_as_many_replications_as_the_precision_needs():
    told = []
    sure = how_sure_of(
        resolve(_scenario()), until=0.01, progress=lambda *counts: told.append(counts)
    )
    assert told[-1][0] == sure.replications
    assert all(done <= total <= 20_000 for done, total in told)


@pytest.mark.parametrize(
    "wrong",
    [
        {"until": 0.0}, {"until": 1.5}, {"level": 0.0}, {"level": 1.0}, {"replications": 3},
        {"uncertainty": "none"}, {"uncertainty": "some"}, {"threads": 0}, {"until": float("nan")},
    ],
)  # fmt: skip
def test_illegal_arguments(wrong):
    with pytest.raises(tasksim.InputError):
        tasksim.how_sure(_scenario(), **wrong)


def test_noise_is_drawn_once():
    with pytest.raises(tasksim.InputError, match="give one"):
        tasksim.how_sure(_scenario().vary(noise="model"))


def test_what_is_done_is_kept_when_interrupted(monkeypatch):
    from tasksim.engine.replications import Replicator

    drawn, draw = [], Replicator.draw

    def until_then(self, which):
        drawn.append(which)
        if len(drawn) == 100:
            raise KeyboardInterrupt
        return draw(self, which)

    monkeypatch.setattr(Replicator, "draw", until_then)
    sure = tasksim.how_sure(_scenario(), replications=400, threads=1)
    assert sure.interrupted
    assert sure.replications == 98  # whole groups of two
    assert any(line == "interrupted after 98 replications" for line in sure.warnings())
    drawn[:] = [None] * 95
    with pytest.raises(KeyboardInterrupt):
        tasksim.how_sure(_scenario(), replications=400, threads=1)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [5, 20] if LONG else [5])
def test_intervals_hold_the_truth_as_often_as_they_say(samples):
    from benchmarks.interval_coverage import coverage

    cell = coverage(0.1, samples, tiles=3, repetitions=100, replications=100, truths=500)
    assert cell.mean_holds >= 0.88
    assert 0.92 <= cell.run_holds <= 0.98


def test_the_coverage_benchmark_works():
    from benchmarks.interval_coverage import coverage

    cell = coverage(0.1, 20, tiles=3, repetitions=12, replications=60, truths=60)
    assert cell.mean_holds >= 0.7
    assert cell.run_holds >= 0.85


def test_what_never_differs_comes_from_nowhere():
    sure = tasksim.how_sure(_scenario(noise=0.0), replications=60)
    assert sure.run_low_s == pytest.approx(sure.run_high_s)
    assert sure.shares == {"models": 0.0, "tasks": 0.0}
