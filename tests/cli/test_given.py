"""Graphs that say how long their tasks take need no models."""

from __future__ import annotations

import pytest

from tasksim.graph.graph_file import save


@pytest.mark.parametrize(
    ("graph", "makespan_s"),
    [
        ("chain length=3", 0.003),
        ("chain length=4 duration=0.5", 2.0),
        ("fork-join width=4 stages=2", 0.007),
        ("random-layered layers=1 width=1 duration=2", 8.0),  # the seed draws 4 times 2 s
    ],
)
def test_a_graph_with_durations_takes_as_long_as_it_says(tasksim, graph, makespan_s):
    called = tasksim(f"simulate {graph} --workers 2 --json")
    assert (called.code, called.err) == (0, "")
    assert called.json["makespan_s"] == pytest.approx(makespan_s)
    assert called.json["extrapolated"] == []


def test_noise_and_checks_and_schedulers_with_estimates(tasksim):
    line = "simulate random-layered layers=5 width=4 --workers 2 --check --json"
    means = tasksim(f"{line} --scheduler dm").json["makespan_s"]
    assert tasksim(f"{line} --scheduler dm --noise model").json["makespan_s"] == means


def test_durations_and_models_win(tasksim):
    line = "simulate chain length=3 --workers 2"
    assert tasksim(f"{line} --durations task=2 --json").json["makespan_s"] == 6.0
    measured = "calibrate chain length=3 duration=0.004 --library lib --name here --workers 1"
    assert tasksim(f"{measured} --max-time 0.1s").code == 0
    with_models = tasksim(f"{line} --models lib/models/here --json")
    assert with_models.code == 2
    assert "(duration_s=0.001)" in with_models.errors[0]  # it was not measured
    with_platform = tasksim(
        "simulate chain length=3 duration=0.004 --platform here --library lib --json"
    )
    # Of unknown kernels a task takes 1 ms; this machine, slowed by others or not, needs more.
    assert with_platform.json["makespan_s"] > 0.0033


def test_a_platform_without_models(tasksim):
    called = tasksim("simulate chain length=3 --platform identical-8 --json")
    assert called.json["makespan_s"] == pytest.approx(0.003)
    faster = tasksim(
        "simulate chain length=3 --platform identical-8 --set platform.arch.cpu.speed=2 --json"
    )
    assert faster.json["makespan_s"] == pytest.approx(0.0015)


def test_a_recorded_run_is_repeated(tasksim):
    line = "simulate random-layered layers=4 width=5 seed=7 duration=0.25 --workers 3"
    first = tasksim(f"{line} --seed 3 --scheduler ws --json -o first")
    again = tasksim("simulate --from first --json -o second")
    assert (again.code, again.err) == (0, "Wrote second\n")
    assert again.json["makespan_s"] == first.json["makespan_s"]
    assert tasksim("compare first second --max-error 0%").code == 0


def test_a_file_of_such_a_graph(tasksim, tmp_path):
    from tasksim.graph.apps.registry import generate

    save(generate("chain", length=5), tmp_path / "chain.npz")
    assert tasksim("simulate chain.npz --workers 1 --json").json["makespan_s"] == 0.005


def test_bounds_need_no_models_either(tasksim):
    found = tasksim("bounds fork-join width=4 --workers 2 --json").json["bounds"]
    assert found == pytest.approx({"critical_path_s": 0.003, "area_s": 0.003})


def test_graphs_that_do_not_say_still_need_models(tasksim):
    called = tasksim("simulate cholesky tiles=2 --workers 2")
    assert called.code == 2
    assert "no kernel models: identical workers have none" in called.errors[0]


def test_names_of_models_are_for_models(tasksim):
    called = tasksim("simulate chain length=2 --workers 2 --model-names x_{kernel}")
    assert "no kernel models" in called.errors[0]
