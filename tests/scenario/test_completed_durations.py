"""Durations that are given, models and the tasks themselves complete each other."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import tasksim as package
from tasksim import ConstantLibrary, InputError, Platform, Scenario, generate, simulate
from tasksim.base.library import find
from tasksim.models.files.store import ModelLibrary
from tasksim.scenario.fingerprints import fingerprint
from tasksim.scenario.recorded import scenario_of
from tasksim.scenario.resolved import resolve
from tasksim.scenario.solving import solve

CHOLESKY = ("potrf", "trsm", "syrk", "gemm")
BULK = Scenario("bulk-cholesky tiles=4", platform="xeon-24c")


def total_s(run, graph, kernel):
    """Return what the tasks of *kernel* took together."""
    tasks = run.tasks
    of = graph.kernel[tasks.task] == graph.kernels.index(kernel)
    return float((tasks.end_s - tasks.start_s)[of].sum())


@pytest.mark.parametrize("graph", ["bulk-cholesky tiles=4", "summa tiles=3 rows=2"])
def test_barriers_need_no_model_and_take_no_time(graph):
    found = resolve(Scenario(graph, platform="xeon-24c"))
    assert found.sources["barrier"] == "tasks"
    assert total_s(solve(found, check=True), found.graph, "barrier") == 0.0
    assert found.bounds()["critical_path_s"] > 0


def test_a_barrier_takes_what_it_is_told_to_take():
    free, told = (resolve(s) for s in (BULK, BULK.vary(durations="barrier=1ms")))
    assert told.sources == {**dict.fromkeys(CHOLESKY, "models"), "barrier": "given"}
    barriers = sum(free.graph.kernel_of(t) == "barrier" for t in range(len(free.graph)))
    runs = [solve(found) for found in (free, told)]
    assert total_s(runs[1], told.graph, "barrier") == pytest.approx(barriers * 1e-3)
    # They are one after the other, and everything else is between them.
    assert runs[1].makespan_s - runs[0].makespan_s == pytest.approx(barriers * 1e-3, rel=0.02)


def test_what_is_given_wins_and_models_give_the_rest():
    library = ModelLibrary(find("models", "xeon-2c"))
    graph = generate("cholesky", tiles=3)
    given = {"gemm": 5e-3}
    asked = Scenario(graph, platform="xeon-24c", durations=given)
    named = asked.vary(models=library)
    alone = resolve(Scenario(graph, platform="xeon-24c"))
    for found in map(resolve, (asked, named)):
        assert found.sources == {k: "given" if k == "gemm" else "models" for k in CHOLESKY}
        run = solve(found)
        assert total_s(run, graph, "gemm") == pytest.approx(5e-3)
        for kernel in ("potrf", "trsm", "syrk"):
            expected = total_s(solve(alone), graph, kernel)
            assert total_s(run, graph, kernel) == pytest.approx(expected, abs=1e-8)


def test_models_made_in_python_are_completed_too():
    models = ConstantLibrary({"potrf": 1.0, "trsm": 3.0, "syrk": 3.0})
    run = simulate("cholesky tiles=3", workers=1, models=models, durations={"gemm": 6.0})
    assert run.makespan_s == 3 * 1 + 3 * 3 + 3 * 3 + 1 * 6
    told = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    bulk = simulate(generate("bulk-cholesky", tiles=3), Platform.identical(1), told)
    assert bulk.makespan_s == run.makespan_s


def test_a_kernel_in_neither_is_named():
    graph = generate("cholesky", tiles=2)
    graph = replace(
        graph, kernels=("mystery", *graph.kernels[1:]), model_names=("mystery", *graph.kernels[1:])
    )
    with pytest.raises(InputError, match="no model of kernel 'mystery'"):
        resolve(Scenario(graph, platform="xeon-24c", durations={"syrk": 1.0}))
    with pytest.raises(InputError, match="unknown kernel 'gem', did you mean 'gemm'"):
        resolve(Scenario("cholesky tiles=3", platform="xeon-24c", durations={"gem": 1.0}))
    with pytest.raises(InputError, match=r"kernel gemm of graph cholesky missing; .*or models=DIR"):
        resolve(Scenario("cholesky tiles=3", workers=1,
                         durations={"potrf": 1, "trsm": 1, "syrk": 1}))  # fmt: skip


def test_the_error_proposes_durations_of_what_has_no_model():
    """No shipped machine has models of jacobi's kernels."""
    jacobi = Scenario("jacobi block_rows=2 block_columns=2", platform="xeon-24c")
    with pytest.raises(InputError, match=r"; or give durations=pack=SECONDS,relax=SECONDS; or"):
        resolve(jacobi)
    with pytest.raises(InputError, match=r"; or give durations=relax=SECONDS as well; or"):
        resolve(jacobi.vary(durations="pack=1us"))
    assert solve(resolve(jacobi.vary(durations="pack=1us,relax=1ms"))).makespan_s > 0
    with pytest.raises(InputError, match=r"\(known: .*\)$"):
        resolve(jacobi.vary(clock="native", scheduler="dmdas", models="xeon-2c"))


@pytest.mark.parametrize("more", [{"models": "xeon-24c"}, {"model_names": "x_{kernel}"}])
def test_models_that_nobody_would_ask_are_refused(more):
    asked = Scenario("cholesky tiles=2", workers=1, durations=dict.fromkeys(CHOLESKY, 1.0), **more)
    with pytest.raises(InputError, match="durations has all kernels already; leave one out"):
        resolve(asked)


def test_a_run_records_what_came_from_where_and_is_repeated(tmp_path):
    asked = BULK.vary(durations="gemm=1ms")
    run = solve(resolve(asked))
    said = run.config["models"]
    assert said["durations_s"] == {"gemm": 0.001}
    assert said["path"].endswith("xeon-2c")
    assert said["sources"] == {
        "potrf": "models", "barrier": "tasks", "trsm": "models", "syrk": "models", "gemm": "given",
    }  # fmt: skip
    package.save_run(run, tmp_path / "run")
    again = solve(resolve(scenario_of(package.load_run(tmp_path / "run"), tmp_path)))
    assert again.makespan_s == run.makespan_s


def test_models_beside_durations_tell_scenarios_apart(tmp_path):
    plain = Scenario("cholesky tiles=3", workers=2, durations={"gemm": 1.0})
    prints = {fingerprint(plain.vary(models=name)) for name in ("xeon-2c",)}
    assert len(prints | {fingerprint(plain)}) == 2


def test_the_command_says_what_came_from_where(tmp_path):
    from click.testing import CliRunner

    from tasksim.cli.main import cli

    words = [
        "simulate",
        "bulk-cholesky",
        "tiles=4",
        "--platform",
        "xeon-24c",
        "--durations",
        "gemm=1ms",
    ]
    result = CliRunner().invoke(cli, words, prog_name="tasksim")
    assert result.exit_code == 0, result.stderr
    said = "durations by   models: potrf, trsm, syrk; tasks: barrier; given: gemm"
    assert said in result.stdout
    result = CliRunner().invoke(cli, [*words, "--json"], prog_name="tasksim")
    assert json.loads(result.stdout)["durations_from"]["barrier"] == "tasks"
