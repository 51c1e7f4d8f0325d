"""Public functions: names or objects everywhere, and arguments checked as the command line does."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
GRAPH = tasksim.generate("cholesky", tiles=3)
TWO_CORES = tasksim.Platform.identical(2)
MODELS = tasksim.ConstantLibrary(DURATIONS_S)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_names_and_objects_ask_the_same():
    expected = tasksim.simulate(GRAPH, TWO_CORES, MODELS)
    for graph in (GRAPH, "cholesky tiles=3"):
        assert tasksim.simulate(graph, TWO_CORES, DURATIONS_S).tasks == expected.tasks
    assert tasksim.simulate("cholesky", settings={"tiles": 3}, workers=2, models=DURATIONS_S) == (
        tasksim.simulate("cholesky tiles=3", workers=2, durations=DURATIONS_S)
    )
    named = tasksim.simulate(GRAPH, "xeon-2c", "xeon-2c", "dm")
    assert named == tasksim.simulate("cholesky tiles=3", platform="xeon-2c", scheduler="dm")
    made = (tasksim.load_platform("xeon-2c"), tasksim.ModelLibrary("xeon-2c"))
    assert tasksim.simulate(GRAPH, *made, "dm").tasks == named.tasks


def test_what_was_asked_by_name_is_kept_and_repeated():
    run = tasksim.simulate(GRAPH, "xeon-2c", scheduler="dm", seed=np.int64(3))
    assert tasksim.Scenario.from_json(run.config).solve() == run
    assert run.config["seed"] == 3
    blind = tasksim.simulate(GRAPH, "xeon-2c", simultaneous_pushes="blind")
    assert blind.config["platform"]["set"] == ["engine.simultaneous_pushes=blind"]
    assert tasksim.simulate(GRAPH, TWO_CORES, MODELS, config={"a": 1}).config == {"a": 1}


def test_bounds_and_durations_take_names_too():
    assert tasksim.bounds(GRAPH, TWO_CORES, DURATIONS_S).critical_path_s == 17.0
    seconds = tasksim.durations(GRAPH, TWO_CORES, DURATIONS_S)
    assert tasksim.bounds(GRAPH, seconds, [2]) == tasksim.bounds(
        "cholesky tiles=3", TWO_CORES, DURATIONS_S
    )
    assert tasksim.bounds(GRAPH, "xeon-2c").best_s > 0


def test_runs_may_be_named_by_their_folders(here):
    run = tasksim.simulate(GRAPH, TWO_CORES, DURATIONS_S)
    tasksim.save_run(run, "r")
    assert tasksim.compare("r", run).error_percent == 0.0
    tasksim.check_run("r", GRAPH)
    assert tasksim.practical_critical_path(Path("r")) == tasksim.practical_critical_path(run)
    tasksim.save_figure(tasksim.figure("r"), "r.png")
    assert Path("r.png").is_file()


def test_native_runs_take_names():
    run = tasksim.execute("chain length=3 duration=0", workers=1, check=True)
    assert (run.kind, len(run), run.config["clock"]) == ("native", 3, "native")
    small = "cholesky tiles=2 tile_size=8"
    assert tasksim.execute(small, workers=1, scheduler="dm", models=DURATIONS_S).scheduler == "dm"
    believed = [[1.0] * 4]
    assert len(tasksim.execute(small, workers=1, scheduler="dm", estimates=believed)) == 4


def test_noise_that_nothing_has_is_warned_of():
    with pytest.warns(UserWarning, match="no kernel of cholesky has a model with a distribution"):
        tasksim.simulate(GRAPH, TWO_CORES, DURATIONS_S, noise="model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tasksim.simulate(GRAPH, "xeon-2c", noise="model")


WRONG_CALLS = {
    "simulate, graph": (lambda: tasksim.simulate(3, TWO_CORES, MODELS), "graph: got 3"),
    "simulate, platform": (lambda: tasksim.simulate(GRAPH, 3, MODELS), "platform: got 3"),
    "simulate, models": (lambda: tasksim.simulate(GRAPH, TWO_CORES, 3), "models: got 3"),
    "simulate, scheduler": (
        lambda: tasksim.simulate(GRAPH, TWO_CORES, MODELS, 3),
        "scheduler: got 3",
    ),
    "simulate, noise": (
        lambda: tasksim.simulate(GRAPH, TWO_CORES, MODELS, noise="bogus"),
        r"noise: got 'bogus' .*legal: none, model",
    ),
    "simulate, noise True": (
        lambda: tasksim.simulate(GRAPH, TWO_CORES, MODELS, noise=True),
        "noise: got True",
    ),
    "simulate, seed": (
        lambda: tasksim.simulate(GRAPH, TWO_CORES, MODELS, seed="a"),
        "seed: got 'a'",
    ),
    "simulate, seed -1": (
        lambda: tasksim.simulate(GRAPH, TWO_CORES, MODELS, seed=-1),
        "seed: got -1",
    ),
    "simulate, check": (
        lambda: tasksim.simulate(GRAPH, TWO_CORES, MODELS, check=1),
        "check: got 1",
    ),
    "simulate, pushes": (
        lambda: tasksim.simulate(GRAPH, TWO_CORES, MODELS, simultaneous_pushes="x"),
        "simultaneous_pushes: got 'x'",
    ),
    "simulate, nowhere": (
        lambda: tasksim.simulate(GRAPH),
        "the platform is missing: give workers=N or platform=NAME",
    ),
    "execute, workers": (lambda: tasksim.execute(GRAPH, workers=0), "workers: got 0"),
    "execute, pin": (lambda: tasksim.execute(GRAPH, workers=1, pin="no"), "pin: got 'no'"),
    "generate": (lambda: tasksim.generate(3), "generator: expected str, got 3"),
    "generate, tiles": (lambda: tasksim.generate("cholesky", tiles=2.5), "tiles: got 2.5"),
    "bounds": (lambda: tasksim.bounds(GRAPH, "nix"), "unknown platform 'nix'"),
    "durations, rng": (lambda: tasksim.durations(GRAPH, TWO_CORES, MODELS, 3), "rng: got 3"),
    "compare": (lambda: tasksim.compare(3, 3), "a: expected Run, got 3"),
    "check_run, graph": (
        lambda: tasksim.check_run(tasksim.simulate(GRAPH, TWO_CORES, MODELS), "cholesky"),
        "graph: expected TaskGraph",
    ),
    "figure": (lambda: tasksim.figure(3), "runs: got 3"),
    "figure, panels": (
        lambda: tasksim.figure(tasksim.simulate(GRAPH, TWO_CORES, MODELS), panels=3),
        "panels: got 3",
    ),
    "save_graph": (lambda: tasksim.save_graph(GRAPH, 3), "path: got 3"),
    "save_graph, force": (lambda: tasksim.save_graph(GRAPH, "a.npz", force=1), "force: got 1"),
    "save_run": (
        lambda: tasksim.save_run(tasksim.simulate(GRAPH, TWO_CORES, MODELS), 3),
        "folder: got 3",
    ),
    "save_run, force": (
        lambda: tasksim.save_run(tasksim.simulate(GRAPH, TWO_CORES, MODELS), "r", force="no"),
        "force: got 'no'",
    ),
    "save_figure": (
        lambda: tasksim.save_figure(tasksim.figure(tasksim.simulate(GRAPH, TWO_CORES, MODELS)), 3),
        "path: got 3",
    ),
    "load_run": (lambda: tasksim.load_run(3), "run: got 3"),
    "load_platform": (lambda: tasksim.load_platform(None), "platform: got None"),
    "ModelLibrary": (lambda: tasksim.ModelLibrary("nix"), "unknown model 'nix'"),
    "ConstantLibrary": (lambda: tasksim.ConstantLibrary(3), "durations_s: expected Mapping"),
    "calibrate": (lambda: tasksim.calibrate("cholesky", "lib"), "items: got 'cholesky'"),
    "calibrate, item": (lambda: tasksim.calibrate([3], "lib"), "items: got 3"),
    "calibrate, workers": (
        lambda: tasksim.calibrate([GRAPH], "lib", workers=-1),
        "workers: got -1",
    ),
    "calibrate, library": (lambda: tasksim.calibrate([GRAPH], 3), "library: got 3"),
    "plan": (lambda: tasksim.plan("heft", 3), "problem: expected Problem"),
    "schedule_of": (lambda: tasksim.schedule_of(3), "run: expected Run"),
    "read_schedule": (lambda: tasksim.read_schedule(3), "path: got 3"),
    "to_networkx": (lambda: tasksim.to_networkx(3), "graph: expected TaskGraph"),
    "from_networkx": (lambda: tasksim.from_networkx(3), "G: expected Graph"),
    "import_machine": (lambda: tasksim.import_machine(3, None, "lib"), "sampling: got 3"),
    "export_models": (lambda: tasksim.export_models("x", "h", 3), "sampling: got 3"),
}


@pytest.mark.parametrize("what", WRONG_CALLS)
def test_wrong_arguments_are_told_as_the_command_line_does(here, what):
    call, message = WRONG_CALLS[what]
    with pytest.raises(InputError, match=message):
        call()
    assert list(here.iterdir()) == []


def test_names_of_arguments_that_there_are_not_are_type_errors():
    with pytest.raises(TypeError, match=r"simulate\(\) got an unexpected keyword argument 'sede'"):
        tasksim.simulate(GRAPH, TWO_CORES, MODELS, sede=3)


def test_a_seed_that_is_saved_is_read_back(here):
    tasksim.save_run(tasksim.simulate(GRAPH, TWO_CORES, MODELS, seed=np.uint8(7)), "r")
    assert tasksim.load_run("r").seed == 7


def test_existing_files_are_replaced_with_force(here):
    run = tasksim.simulate(GRAPH, TWO_CORES, MODELS)
    tasksim.save_run(run, "r")
    with pytest.raises(InputError, match="r exists; give force=True to replace it"):
        tasksim.save_run(run, "r")
    tasksim.save_run(run, "r", force=True)
