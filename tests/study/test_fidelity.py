"""Predicted against measured: the arithmetic, and the order of the runs."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tasksim.engine.simulate import simulate
from tasksim.graph.apps.registry import generate
from tasksim.models.kinds.constant import ConstantLibrary
from tasksim.platform.description import Platform
from tasksim.study import fidelity
from tasksim.study.fidelity import Case, Outcome, measure, predict

MODELS = ConstantLibrary({"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0, "task": 0.5})
CASE = Case("cholesky", {"tiles": 2, "tile_size": 8}, "eager")
TWO = Platform.identical(2)


def outcome(predicted_s, *measured_s):
    runs = [SimpleNamespace(makespan_s=seconds) for seconds in measured_s]
    return Outcome(CASE, SimpleNamespace(makespan_s=predicted_s), runs)


def test_the_error_is_signed_and_relative_to_the_median():
    assert outcome(11.0, 10.0, 9.0, 50.0).error == pytest.approx(0.1)
    assert outcome(8.0, 10.0, 9.0, 50.0).error == pytest.approx(-0.2)


def test_the_spread_is_that_of_all_runs():
    assert outcome(1.0, 10.0, 9.0, 12.0).spread == pytest.approx(0.3)
    assert outcome(1.0, 10.0).spread == 0.0


@pytest.mark.parametrize(
    ("measured_s", "median_s", "run"),
    [([3.0, 1.0, 2.0], 2.0, 2), ([4.0, 1.0, 3.0, 2.0], 2.5, 3), ([7.0], 7.0, 0)],
)
def test_the_median_and_its_run(measured_s, median_s, run):
    """Of an even number of runs, the lower of the two in the middle."""
    found = outcome(1.0, *measured_s)
    assert found.median_s == median_s
    assert found.median_run is found.native[run]


def test_as_plain_data():
    data = outcome(11.0, 10.0, 12.0, 9.0).to_json()
    assert json.loads(json.dumps(data)) == {
        "graph": "cholesky tiles=2 tile_size=8",
        "scheduler": "eager",
        "predicted_s": 11.0,
        "measured_s": [10.0, 12.0, 9.0],
        "median_s": 10.0,
        "spread": pytest.approx(0.3),
        "error": pytest.approx(0.1),
    }


def test_predictions_are_simulations_of_the_means():
    cases = [CASE, Case("chain", {"length": 3}, "lws")]
    found = predict(cases, TWO, MODELS)
    assert [o.case for o in found] == cases
    assert [o.predicted_s for o in found] == [8.0, 1.5]
    expected = simulate(generate("chain", length=3), TWO, MODELS, "lws")
    assert found[1].simulated.tasks == expected.tasks
    assert [o.native for o in found] == [[], []]


class Recorder:
    """Stands in for native runs, and notes their order."""

    def __init__(self, monkeypatch):
        self.bound, self.runs, self.options = [], [], []
        monkeypatch.setattr(fidelity, "bind", self.bind)
        monkeypatch.setattr(fidelity, "execute", self.execute)

    def bind(self, graph, workers):
        self.bound.append((graph.name, workers))
        return f"program of {graph.name}"

    def execute(self, graph, platform, scheduler, **options):
        self.runs.append((graph.name, scheduler))
        self.options.append(options)
        return SimpleNamespace(makespan_s=float(len(self.runs)))


@pytest.fixture
def recorder(monkeypatch):
    return Recorder(monkeypatch)


CASES = [CASE, Case("cholesky", CASE.arguments, "dm"), Case("chain", {"length": 3}, "lws")]


def test_repetitions_are_interleaved_after_one_run_of_each_graph(recorder):
    outcomes = predict(CASES, TWO, MODELS)
    measure(outcomes, TWO, MODELS, repetitions=3)
    warm_up = [("cholesky", "eager"), ("chain", "eager")]
    round_ = [("cholesky", "eager"), ("cholesky", "dm"), ("chain", "lws")]
    assert recorder.runs == warm_up + 3 * round_
    assert [o.measured_s for o in outcomes] == [[3, 6, 9], [4, 7, 10], [5, 8, 11]]


def test_a_graph_is_bound_once_and_every_run_is_verified(recorder):
    measure(predict(CASES, TWO, MODELS), TWO, MODELS, repetitions=2)
    assert recorder.bound == [("cholesky", 2), ("chain", 2)]
    for (graph, _), options in zip(recorder.runs, recorder.options, strict=True):
        assert options["program"] == f"program of {graph}"
    assert all(options["check"] for options in recorder.options[2:])


def test_the_scheduler_believes_the_models(recorder):
    measure(predict(CASES[1:2], TWO, MODELS), TWO, MODELS, repetitions=1)
    assert recorder.options[-1]["estimates"] == [[1.0, 3.0, 3.0, 1.0]]


def test_progress_is_told_before_each_run(recorder):
    told = []
    measure(predict(CASES[:2], TWO, MODELS), TWO, MODELS, 2, lambda *what: told.append(what))
    text = "cholesky tiles=2 tile_size=8"
    assert told == [
        (f"{text}, eager", 0.0), (f"{text}, dm", 0.25), (f"{text}, eager", 0.5),
        (f"{text}, dm", 0.75),
    ]  # fmt: skip


def test_real_runs():
    outcomes = predict([CASE], TWO, MODELS)
    measure(outcomes, TWO, MODELS, repetitions=2)
    assert [run.kind for run in outcomes[0].native] == ["native"] * 2
    assert 0 < outcomes[0].median_s < 1
    assert outcomes[0].error > 1  # of 8 s predicted, from invented durations
