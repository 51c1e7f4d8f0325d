"""Selective execution, redone: what is told of tunings, and a tiny experiment."""

import json
import sys

import pandas as pd
import pytest

from experiments.selective_execution.__main__ import main
from experiments.selective_execution.exhibits import EXHIBITS, headline
from experiments.selective_execution.problems import PROBLEMS
from experiments.selective_execution.tunings import configurations, tunings

TINY = [
    "--policies=online,eager", "--tolerances=0.5,0.05", "--cholesky-n=96",
    "--cholesky-tiles=24,32", "--qr-n=64", "--qr-tiles=16,32", "--qr-inner=8",
]  # fmt: skip


def choice(value, **changed):
    return {
        "values": {"graph.tile_size": value},
        "makespan_s": 1.1,
        "executed": 5,
        "tasks": 10,
        "wall_s": 0.5,
        "full_s": 1.0,
        "prediction_error": 0.1,
        "busiest_s": 0.25,
        "full_busiest_s": 1.0,
        "path_error": -0.02,
        **changed,
    }


def tuning(problem, policy, tolerance, error, speedup):
    return {
        "problem": problem,
        "policy": policy,
        "tolerance": tolerance,
        "tuning_s": 1.0,
        "speedup": speedup,
        "mean_error": 0.1,
        "regret": 0.0,
        "choices": [choice(8, path_error=error), choice(16, path_error=-error)],
    }


def found(speedup=3.0, loose=0.04, tight=0.01):
    return {
        "tunings": [
            tuning(one.name, policy, tolerance, error, speedup)
            for one in PROBLEMS
            for policy in ("online", "conditional")
            for tolerance, error in ((0.5, loose), (0.01, tight))
        ]
    }


def test_a_row_per_tuning_and_per_configuration():
    rows = tunings(found())
    assert len(rows) == 4 * len(PROBLEMS)
    first = rows.iloc[0]
    assert first["full tuning (s)"] == 3.0
    assert first["full longest kernel time (s)"] / first["longest kernel time (s)"] == 4.0
    assert first["executed (%)"] == 50.0
    assert first["error of path's kernel time (%)"] == pytest.approx(4.0)
    each = configurations(found(), "online")
    assert len(each) == 4 * len(PROBLEMS)
    assert each["configuration"].tolist()[:2] == ["tile_size=8", "tile_size=16"]


@pytest.mark.parametrize("number", range(4, 6))
def test_the_verdict_follows_what_was_found(number):
    exhibit = next(e for e in EXHIBITS if e.name == f"figure-{number}")
    good = exhibit.show(found(), {})
    assert good.agrees is True
    assert "up to 3.0 times as fast" in good.said
    assert len(good.figure.axes) >= 6
    assert exhibit.show(found(speedup=0.9), {}).agrees is False
    assert exhibit.show(found(loose=0.01, tight=0.04), {}).agrees is False


def test_the_headline_is_the_fastest_tuning_that_is_accurate():
    assert "up to 3.0x, off by 10.0 % in the mean; 3.0x where" in headline(found(), {}).here
    assert "where" not in headline(found(loose=0.5, tight=0.4), {}).here


@pytest.mark.slow
def test_a_tiny_experiment(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments.selective_execution", *TINY, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    folder = tmp_path / "selective-execution"
    results = json.loads(out)
    assert [e["name"] for e in results["exhibits"]] == [e.name for e in EXHIBITS]
    for exhibit in EXHIBITS:
        assert (folder / "figures" / f"{exhibit.name}.png").stat().st_size > 10_000
        assert len(pd.read_csv(folder / "tables" / f"{exhibit.name}.csv"))
    commands = (folder / "commands.txt").read_text().splitlines()
    assert commands[0].startswith("tasksim autotune cholesky n=96 --over tile_size=24,32")
