"""The JSON of scenarios: what is written is read, and so is what earlier versions wrote."""

from __future__ import annotations

import json

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.scenario.recorded import scenario_of
from tasksim.scenario.scenario import Scenario

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}

OLD_SIMULATED = {
    "graph": {"name": "cholesky", "path": None, "settings": ["tiles=4", "priorities=none"]},
    "platform": {
        "name": "xeon-2c",
        "path": "/gone/xeon-2c.yaml",
        "workers": None,
        "set": ["platform.workers.cpu.count=1"],
    },
    "models": {"name": "xeon-2c", "path": "/gone/models", "durations_s": None, "names": None},
    "library": None,
    "sha256": {"/gone/xeon-2c.yaml": "00"},
    "scheduler": "prio",
    "seed": 3,
    "noise": "model",
}
OLD_NATIVE = {
    "graph": {"name": "chain", "settings": ["length=2", "duration=0.0", "priorities=app"]},
    "workers": 1,
    "scheduler": "lws",
    "seed": 2,
    "pin": False,
    "models": None,
    "library": None,
}


def through_json(data):
    return json.loads(json.dumps(data))


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("cholesky tiles=3", workers=2, durations=DURATIONS_S),
        Scenario("lu", platform="xeon-2c", scheduler="dmda:alpha=2", seed=4, noise="model"),
        Scenario("qr tiles=2", platform="xeon-2c", models="xeon-2c", changes=["platform.a=1"]),
        Scenario("qr tiles=2", clock="native", workers=2, pin=False, scheduler="ws"),
        Scenario("cholesky", platform="xeon-2c", model_names="x_{kernel}"),
        Scenario("cholesky", platform="xeon-2c", model_names={"potrf": "x_11", "trsm": "x_21"}),
    ],
)
def test_what_is_written_is_read(scenario):
    assert Scenario.from_json(through_json(scenario.to_json())) == scenario


def test_runs_keep_the_scenario_and_what_it_meant():
    scenario = Scenario("cholesky tiles=3", platform="xeon-2c", scheduler="dm")
    config = through_json(scenario.solve().config)
    assert config["version"] == 2
    assert config["graph"]["settings"][:2] == ["tiles=3", "tile_size=256"]
    assert config["platform"]["name"] == config["models"]["name"] == "xeon-2c"
    assert len(config["sha256"]) == 5
    assert Scenario.from_json(config).fingerprint == scenario.fingerprint


def test_simulated_runs_of_the_first_version_are_read():
    scenario = Scenario.from_json(OLD_SIMULATED)
    assert scenario == Scenario(
        "cholesky",
        ["tiles=4", "priorities=none"],
        platform="xeon-2c",
        models="xeon-2c",
        changes=["platform.workers.cpu.count=1"],
        scheduler="prio",
        seed=3,
        noise="model",
    )
    assert scenario.solve().makespan_s > 0


def test_native_runs_of_the_first_version_are_read():
    scenario = Scenario.from_json(OLD_NATIVE)
    assert (scenario.clock, scenario.workers, scenario.pin) == ("native", 1, False)
    assert len(scenario.solve()) == 2


def test_what_was_made_in_python_says_so():
    builder = tasksim.GraphBuilder("mine")
    builder.insert("work", tasksim.RW(builder.handle("x", 8)), n=1)
    run = tasksim.simulate(builder.build(), tasksim.Platform.identical(1), {"work": 1.0})
    assert run.makespan_s == 1.0
    with pytest.raises(InputError, match=r"r: the run has no .* made in Python \(identical-1\)"):
        scenario_of(run, "r")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 9}, "config.version: version 9 is newer than 2"),
        ({"noise": "loud"}, "config.noise"),
        ({"clock": None}, "config.clock"),
        ({"pin": 1}, "config.pin: expected true or false"),
        ({"seed": -1}, "config.seed"),
        ({"graph": []}, "config.graph"),
    ],
)
def test_mistakes_are_told_with_their_place(change, message):
    data = {**Scenario("cholesky", workers=1, durations=DURATIONS_S).to_json(), **change}
    with pytest.raises(InputError, match=message):
        Scenario.from_json(data)
