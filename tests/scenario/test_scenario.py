"""Scenarios: what they hold, how they vary, and what tells one from another."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.scenario.scenario import Scenario

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
SMALL_SCENARIO = Scenario("cholesky tiles=3", workers=2, durations=DURATIONS_S)


def test_the_same_question_in_other_words_is_the_same():
    texts = "potrf=1,trsm=3 s,syrk=3,gemm=6"
    other = Scenario("cholesky", {"tiles": 3}, workers=np.int64(2), durations=texts)
    assert other == SMALL_SCENARIO
    assert hash(other) == hash(SMALL_SCENARIO)
    assert other.fingerprint == SMALL_SCENARIO.fingerprint
    assert Scenario("cholesky", ["tiles=3"], workers=2, models=DURATIONS_S) == SMALL_SCENARIO


def test_scenarios_go_to_other_processes_and_into_dictionaries():
    copied = pickle.loads(pickle.dumps(SMALL_SCENARIO))
    assert {SMALL_SCENARIO: "answer"}[copied] == "answer"
    assert copied.solve() == SMALL_SCENARIO.solve()


def test_objects_may_stand_for_names():
    graph, platform = tasksim.generate("cholesky", tiles=3), tasksim.Platform.identical(2)
    models = tasksim.ConstantLibrary(DURATIONS_S)
    scenario = Scenario(graph, platform=platform, models=models)
    assert hash(scenario) == hash(pickle.loads(pickle.dumps(scenario)))
    assert scenario.solve().tasks == SMALL_SCENARIO.solve().tasks
    with pytest.raises(InputError, match="its models were made in Python"):
        scenario.fingerprint  # noqa: B018
    with pytest.raises(InputError, match="platform and models made in Python"):
        scenario.to_json()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"graph": 7}, r"graph: got 7 \(int\); legal: the name of a generator, a file"),
        ({"settings": "tiles=3"}, "settings: got 'tiles=3' .*; legal: a list of texts"),
        ({"platform": 3}, r"platform: got 3 \(int\); legal: a name, a path, or a Platform"),
        ({"workers": 0}, "workers: got 0 .*legal: a whole number from 1 to"),
        ({"workers": 2.0}, r"workers: got 2\.0 \(float\)"),
        ({"workers": True}, r"workers: got True \(bool\)"),
        ({"models": 3}, r"models: got 3 \(int\); legal: a name, a path"),
        ({"durations": {"potrf": -1}}, "durations: potrf: got -1; legal: a finite time from 0"),
        ({"durations": {"potrf": "1_0"}}, "durations: potrf: "),
        ({"durations": 3}, "durations: got 3"),
        ({"scheduler": 3}, r"scheduler: got 3 \(int\); legal: a name, or a Scheduler or its class"),
        ({"seed": "a"}, r"seed: got 'a' \(str\); legal: a whole number from 0"),
        ({"seed": -1}, "seed: got -1"),
        ({"noise": "Model"}, r"noise: got 'Model' .*did you mean 'model'.*legal: none, model"),
        ({"noise": True}, r"noise: got True \(bool\)"),
        ({"clock": "real"}, "clock: got 'real'"),
        ({"pin": 1}, "pin: got 1"),
        ({"platform": "xeon-2c"}, "platform and workers exclude each other"),
        ({"models": "xeon-2c", "durations": "means"}, "models and durations=means exclude each ot"),
        ({"model_names": "x_{kernel}", "durations": "measured"}, "model_names and durations=meas"),
        ({"changes": ["engine.simultaneous_pushes=no"]}, "set engine.simultaneous_pushes=no: unkn"),
        ({"changes": "platform.x=1"}, "changes: got 'platform.x=1'"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(values, message):
    given = {"graph": "cholesky", "workers": 2, "durations": DURATIONS_S, **values}
    with pytest.raises(InputError, match=message):
        Scenario(**given)


def test_vary_knows_settings_changes_and_parameters():
    base = Scenario("cholesky tiles=4", platform="xeon-2c", changes=["platform.arch.cpu.speed=2"])
    other = base.vary(
        {"graph.tiles": 8, "graph.tile_size": 64, "platform.arch.cpu.speed": 3}, scheduler="dm"
    )
    assert other.settings == ("tiles=8", "tile_size=64")
    assert other.changes == ("platform.arch.cpu.speed=3",)
    assert (other.scheduler, base.scheduler) == ("dm", "lws")
    assert other.vary(workers=2).platform is None
    with pytest.raises(InputError, match="unknown parameter of a scenario 'sed', did you mean"):
        base.vary(sed=3)


def test_variants_are_all_combinations_in_order():
    found = SMALL_SCENARIO.variants({"scheduler": ["eager", "prio"], "seed": [0, 1]})
    assert [(s.scheduler, s.seed) for s in found] == [
        ("eager", 0), ("eager", 1), ("prio", 0), ("prio", 1)
    ]  # fmt: skip
    assert len({s.fingerprint for s in found}) == 4


def test_a_fingerprint_changes_with_the_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    platform = tmp_path / "p.yaml"
    platform.write_text("version: 1\nworkers: {cpu: {count: 2}}\n")
    scenario = Scenario("cholesky tiles=2", platform="./p.yaml", durations=DURATIONS_S)
    before = scenario.fingerprint
    assert (
        Scenario("cholesky tiles=2", platform=platform, durations=DURATIONS_S).fingerprint == before
    )
    assert scenario.vary({"platform.workers.cpu.count": 2}).fingerprint == before
    assert scenario.vary({"platform.workers.cpu.count": 3}).fingerprint != before
    platform.write_text("version: 1\nworkers: {cpu: {count: 3}}\n")
    assert scenario.fingerprint != before


def test_a_graph_file_counts_with_its_content(tmp_path):
    tasksim.save_graph(tasksim.generate("cholesky", tiles=2), tmp_path / "g.npz")
    scenario = Scenario(tmp_path / "g.npz", workers=1, durations=DURATIONS_S)
    before = scenario.fingerprint
    tasksim.save_graph(tasksim.generate("cholesky", tiles=3), tmp_path / "g.npz", force=True)
    assert scenario.fingerprint != before


def test_native_scenarios_run_here():
    run = Scenario("chain length=3 duration=0", workers=1, clock="native").solve(check=True)
    assert (run.kind, len(run), run.config["clock"]) == ("native", 3, "native")
    assert run.bounds["critical_path_s"] <= run.makespan_s


def test_a_scheduler_class_makes_a_new_scheduler_for_every_run():
    class Last(tasksim.Scheduler):
        def attach(self, view, rng):
            self.view, self.tasks = view, []

        def push(self, task):
            self.tasks.append(task)
            self.view.wake_all(task)

        def pop(self, worker):
            return self.tasks.pop() if self.tasks else None

    scenario = SMALL_SCENARIO.vary(scheduler=Last)
    assert scenario.solve() == scenario.solve()
    assert scenario.solve().scheduler == "Last"


def test_a_misspelt_kernel_in_synchronous_is_refused(tmp_path):
    def platform(names):
        path = tmp_path / "p.yaml"
        path.write_text(
            f"version: 1\narch: {{cpu: {{}}, cuda: {{pipeline: 2, synchronous: {names}}}}}\n"
            "memories: {ram: {}, gpu0: {}}\nlinks: {ram-gpu0: {between: [ram, gpu0], "
            "bandwidth: 6 GB/s}}\n"
            "workers: {cpu: {count: 1, memory: ram}, cuda: {count: 1, memory: gpu0}}\n"
        )
        return str(path)

    def solve(names):
        return Scenario("cholesky tiles=3", platform=platform(names), durations=DURATIONS_S).solve()

    with pytest.raises(InputError, match=r"arch.cuda.synchronous: unknown kernel 'potfr', did you"):
        solve("[potfr]")
    for legal in ("[potrf]", "[potrf, getrf]", "[getrf]", "[lu_model_getrf]"):
        assert len(solve(legal)) == 10
