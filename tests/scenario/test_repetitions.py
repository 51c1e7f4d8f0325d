"""Repetitions: the arithmetic of a scenario's runs, and the order of the native ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tasksim.base.errors import InputError
from tasksim.native.calm_moments import Calmness, MeasuredGate
from tasksim.run.record import Disturbance
from tasksim.scenario import repetitions
from tasksim.scenario.repetitions import ErrorSummary, ScenarioRuns, calm_warning, measure, solved
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.solving import Checked

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
CASE = Scenario(
    "cholesky tiles=2 tile_size=8",
    workers=2,
    durations=DURATIONS_S,
    scheduler="eager",
    clock="native",
)


def runs_of(*makespans_s):
    return ScenarioRuns(CASE, tuple(SimpleNamespace(makespan_s=seconds) for seconds in makespans_s))


def test_the_spread_is_that_of_all_runs():
    assert runs_of(10.0, 9.0, 12.0).spread == pytest.approx(0.3)
    assert runs_of(10.0).spread == 0.0


@pytest.mark.parametrize(
    ("measured_s", "median_s", "run"),
    [([3.0, 1.0, 2.0], 2.0, 2), ([4.0, 1.0, 3.0, 2.0], 2.5, 3), ([7.0], 7.0, 0)],
)
def test_the_median_and_its_run(measured_s, median_s, run):
    """Of an even number of runs, the lower of the two in the middle."""
    found = runs_of(*measured_s)
    assert found.median_s == median_s
    assert found.median_run is found.runs[run]


def test_errors_in_short():
    found = ErrorSummary.of([0.1, -0.3, -0.1])
    assert (found.median, found.worst) == (pytest.approx(0.1), pytest.approx(0.3))
    assert found.mean_signed == pytest.approx(-0.1)
    with pytest.raises(InputError, match="no errors to summarise"):
        ErrorSummary.of([])


def test_the_median_run_alone_is_of_the_runs_that_know_theirs():
    def run(alone_s):
        return SimpleNamespace(
            disturbance=None if alone_s is None else Disturbance((), (), alone_s=alone_s)
        )

    runs = tuple(map(run, [3.0, None, 1.0, 2.0]))
    assert ScenarioRuns(CASE, runs).alone_s == 2.0
    assert ScenarioRuns(CASE, runs[1:2]).alone_s is None


def test_a_scenario_is_solved_once():
    scenario = CASE.vary(clock="simulated")
    assert solved(scenario).runs == (scenario.solve(),)
    assert solved(scenario).median_s == 8.0


class Recorder:
    """Stands in for native runs, and notes their order."""

    def __init__(self, monkeypatch):
        self.bound, self.runs, self.checked = [], [], []
        monkeypatch.setattr("tasksim.kernels.program.bind", self.bind)
        monkeypatch.setattr(repetitions, "execute", self.execute)

    def bind(self, graph, workers, seed):
        self.bound.append((graph.name, workers, seed))
        return f"program of {graph.name}"

    def execute(self, resolved, check, program):
        scenario = resolved.scenario
        assert program == f"program of {resolved.graph.name}"
        if check:
            self.checked.append(len(self.runs))
        self.runs.append((resolved.graph.name, scenario.scheduler))
        return Checked(SimpleNamespace(makespan_s=float(len(self.runs))))


@pytest.fixture
def recorder(monkeypatch):
    return Recorder(monkeypatch)


CASES = [
    CASE,
    CASE.vary(scheduler="dm"),
    Scenario("chain length=3 duration=0", workers=2, clock="native"),
]


def test_repetitions_are_interleaved_after_one_run_of_each_graph(recorder):
    found = measure(CASES, 3)
    warm_up = [("cholesky", "eager"), ("chain", "lws")]
    round_ = [("cholesky", "eager"), ("cholesky", "dm"), ("chain", "lws")]
    assert recorder.runs == warm_up + 3 * round_
    assert [c.makespans_s for c in found.scenarios] == [[3, 6, 9], [4, 7, 10], [5, 8, 11]]
    assert [c.scenario for c in found.scenarios] == CASES
    assert found.calm is None


def test_a_graph_is_bound_once_and_every_run_is_verified_if_wanted(recorder):
    measure(CASES, 2)
    assert recorder.bound == [("cholesky", 2, 0), ("chain", 2, 0)]
    assert recorder.checked == list(range(8))
    recorder.checked.clear()
    measure(CASES, 2, check=False)
    assert len(recorder.checked) == 2  # the first of each graph


def test_progress_is_told_before_each_run(recorder):
    told = []
    measure(CASES[:2], 2, progress=lambda *what: told.append(what))
    text = "cholesky tiles=2 tile_size=8"
    assert told == [
        (f"{text}, eager", 0.0), (f"{text}, dm", 0.25), (f"{text}, eager", 0.5),
        (f"{text}, dm", 0.75),
    ]  # fmt: skip


def test_with_a_gate_it_says_how_calm_the_machine_was(recorder):
    shares = iter([0.01, 0.12])
    gate = MeasuredGate(lambda _run: next(shares))
    found = measure(CASES[:2], 1, gate=gate, patience_s=0.0)
    assert [len(c.runs) for c in found.scenarios] == [1, 1]
    assert (found.calm.kept, found.calm.disturbed) == (2, 1)
    said = calm_warning(found.calm)
    assert said.startswith(
        "the machine was not calm: in 1 of 2 runs other programs had a core for up to 12 % of"
        " the time"
    )
    assert calm_warning(Calmness(2, 0, 0, 1.0, "others had nothing")) is None
    assert calm_warning(None) is None


def test_real_runs():
    found = measure([CASE.vary(durations=None)], 2)
    assert [run.kind for run in found.scenarios[0].runs] == ["native"] * 2
    assert found.scenarios[0].median_s > 0
