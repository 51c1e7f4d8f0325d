"""`tasksim run`: real runs, checked."""

from __future__ import annotations

import re

import pytest

from tasksim.run.runfolder import load


def test_computes_and_checks_a_factorisation(tasksim, tmp_path):
    called = tasksim("run cholesky tiles=4 tile_size=32 --workers 2 --scheduler prio --json -o n")
    assert called.code == 0, called.err
    result = called.json
    assert result["kind"] == "native"
    assert (result["workers"], result["scheduler"]) == (2, "prio")
    assert result["graph"]["tasks"] == 20
    assert 0 <= result["residual"] <= result["residual_tolerance"]
    assert result["makespan_s"] >= max(result["bounds"].values())
    run = load(tmp_path / "n")
    assert run.makespan_s == result["makespan_s"]
    assert run.config["graph"]["settings"][0] == "tiles=4"


def test_without_check_there_is_no_residual(tasksim):
    result = tasksim(
        "run cholesky tiles=2 tile_size=16 --workers 1 --no-check --no-pin --json"
    ).json
    assert result["residual"] is None


def test_text_ends_with_the_residual(tasksim):
    called = tasksim("run lu tiles=2 tile_size=16 --workers 1")
    assert called.code == 0
    assert "(tolerance " in called.out.splitlines()[-1]


def test_text_says_the_error_of_the_forces_too(tasksim):
    called = tasksim("run fmm particles=500 height=4 group_size=20 --workers 1")
    assert called.code == 0, called.err
    *_, potential, force = called.out.splitlines()
    assert re.fullmatch(
        r"relative error of the potentials \(2-norm, against the direct sum\): \S+"
        r" \(tolerance 1.41e-05\)",
        potential,
    )
    said = re.fullmatch(r"force error, likewise: (\S+)", force)
    assert 1e-7 < float(said[1]) < 1e-3
    unchecked = tasksim("run fmm particles=500 height=4 group_size=20 --workers 1 --no-check")
    assert "force" not in unchecked.out


def test_waiting_graphs_have_no_residual(tasksim):
    called = tasksim("run chain length=3 duration=0.001 --workers 1 --json")
    assert called.json["residual"] is None
    assert called.json["makespan_s"] >= 0.003


def test_a_wrong_result_fails_the_check(tasksim, monkeypatch, tmp_path):
    from tasksim.kernels import program

    made = program.bind

    def wrong(*args, **kwargs):
        bound = made(*args, **kwargs)
        bound.check = lambda: program.Residual(2.0, 1.0, "residual")
        return bound

    monkeypatch.setattr(program, "bind", wrong)
    called = tasksim("run cholesky tiles=2 tile_size=16 --workers 1 -o n")
    assert called.code == 3
    assert called.errors == ["Error: cholesky: residual is 2, more than 1"]
    assert load(tmp_path / "n").kind == "native"


def test_some_schedulers_need_models(tasksim, monkeypatch):
    from tasksim.native import this_machine

    monkeypatch.setattr(this_machine, "machine_name", lambda: "no-such-machine")
    called = tasksim("run cholesky tiles=2 tile_size=16 --scheduler dm --workers 1")
    assert called.code == 2
    assert called.errors == [
        "Error: scheduler dm needs kernel models, and this machine (no-such-machine) has none; "
        "give --models DIR, or measure them: tasksim calibrate GRAPH"
    ]


def test_existing_outputs_are_refused_before_the_run(tasksim, tmp_path, monkeypatch):
    from tasksim.native import execute

    monkeypatch.setattr(execute, "execute", lambda *_, **__: pytest.fail("it ran"))
    (tmp_path / "n").mkdir()
    called = tasksim("run cholesky tiles=2 -o n")
    assert (called.code, called.errors) == (2, ["Error: n exists; give --force to replace it"])


@pytest.mark.parametrize(("patience_s", "calm"), [(0.0, False), (60.0, True)])
def test_calm_runs_until_nobody_else_used_the_cores(tasksim, monkeypatch, patience_s, calm):
    from tasksim.native import calm_moments
    from tasksim.scenario import solving

    shares = iter([0.12, 0.01])
    gate = calm_moments.MeasuredGate(lambda _: next(shares))
    monkeypatch.setattr(calm_moments, "gate_of", lambda _share, _workers: gate)
    monkeypatch.setattr(solving.execute_calmly, "__kwdefaults__", {
        "check": True, "patience_s": patience_s, "progress": None
    })  # fmt: skip
    called = tasksim("run chain length=2 duration=0 --workers 1 --calm --json")
    assert (called.code, called.json["calm"]) == (0, calm)
    said = (
        "Warning: the machine was not calm: in 1 of 1 runs other programs had a core for up to 12 %"
    )
    assert called.err.startswith(said) is not calm
    assert tasksim("run chain length=2 duration=0 --workers 1 --json").json["calm"] is None
