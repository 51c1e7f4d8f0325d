"""Selective execution, redone: what is told of tunings, and a tiny experiment."""

import json
import sys

import pandas as pd
import pytest

from experiments.selective_execution.__main__ import main
from experiments.selective_execution.exhibits import PAPER_EXHIBITS, headline
from experiments.selective_execution.problems import PROBLEMS
from experiments.selective_execution.tunings import configurations, tunings

TINY_DESIGN = [
    "--policies=online,eager", "--tolerances=0.5,0.05", "--cholesky-n=96",
    "--cholesky-tiles=24,32", "--cholesky-lookahead=1", "--qr-n=64", "--qr-tiles=16,32",
    "--qr-inner=8", "--recursive-n=64", "--recursive-blocks=16,32", "--recursive-bases=gather",
    "--pipelined-n=32", "--pipelined-blocks=8,16", "--pipelined-rows=2", "--path-tiles=3",
    "--overhead-runs=1",
]  # fmt: skip


def choice(value, **changed):
    return {
        "values": {"graph.tile_size": value},
        "makespan_s": 1.1,
        "executed": 5,
        "tasks": 10,
        "wall_s": 0.5,
        "full_s": 1.0,
        "prediction_error": -0.9,
        "alone_error": 0.1,
        "full_alone_s": 0.5,
        "busiest_s": 0.25,
        "full_busiest_s": 1.0,
        "path_error": -0.02,
        **changed,
    }


def tuning(problem, policy, tolerance, error, speedup, others=0.0):
    return {
        "problem": problem,
        "policy": policy,
        "tolerance": tolerance,
        "tuning_s": 1.0,
        "speedup": speedup,
        "mean_error": 2.5 * error,
        "others_percent": others,
        "choices": [
            choice(8, path_error=error, alone_error=2.5 * error),
            choice(16, path_error=-error, alone_error=2.5 * error, full_alone_s=0.4),
        ],
    }


def found(speedup=3.0, loose=0.04, tight=0.01, eager=2.0, others=0.0):
    """Tunings of which the eager ones are *eager* times as fast."""
    return {
        "tunings": [
            tuning(
                one.name, policy, tolerance, error,
                speedup * (eager if policy == "eager" else 1.0), others,
            )
            for one in PROBLEMS
            for policy in ("online", "eager")
            for tolerance, error in ((0.5, loose), (0.01, tight))
        ]
    }  # fmt: skip


def exhibit(number):
    return next(e for e in PAPER_EXHIBITS if e.name == f"figure-{number}")


def test_a_row_per_tuning_and_per_configuration():
    rows = tunings(found())
    assert len(rows) == 4 * len(PROBLEMS)
    first = rows.iloc[0]
    assert first["full tuning (s)"] == 3.0
    assert first["full longest kernel time (s)"] / first["longest kernel time (s)"] == 4.0
    assert first["executed (%)"] == 50.0
    assert first["regret (%)"] == pytest.approx(25.0)
    assert first["bias (%)"] == pytest.approx(10.0)
    assert first["error of path's kernel time (%)"] == pytest.approx(4.0)
    each = configurations(found(), "online")
    assert len(each) == 4 * len(PROBLEMS)
    assert each["configuration"].tolist()[:2] == ["tile_size=8", "tile_size=16"]


@pytest.mark.parametrize(
    ("number", "good", "bad"),
    [
        (4, {}, {"eager": 0.9}),
        (4, {}, {"loose": 0.01, "tight": 0.04}),
        (4, {}, {"speedup": 0.4}),
        (5, {"speedup": 1.5}, {"speedup": 2.5}),
        (5, {"speedup": 1.5}, {"speedup": 1.5, "loose": 0.01, "tight": 0.04}),
    ],
)
def test_the_verdict_follows_what_was_found(number, good, bad):
    shown = exhibit(number).show(found(**good), {})
    assert shown.agrees is True
    assert len(shown.figure.axes) == 8
    assert exhibit(number).show(found(**bad), {}).agrees is False


def test_what_others_took_is_told():
    assert (
        "Other programs had the cores for up to 30 %"
        in exhibit(4).show(found(others=30.0), {}).said
    )
    assert "Other programs" not in exhibit(4).show(found(others=1.0), {}).said


def test_the_headline_is_the_fastest_tuning_that_is_accurate():
    assert "up to 6.0x, off by" in headline(found(), {}).here
    assert "6.0x where the path's kernel time" in headline(found(), {}).here
    assert "where" not in headline(found(loose=0.5, tight=0.4), {}).here


def test_the_overhead_is_told_of_one_node_and_of_ranks():
    def row(ranks, full_s, profiled_s):
        return {
            "problem": "tiled QR", "ranks": ranks, "configuration": "tile_size=8", "tasks": 100,
            "executed": 100, "full_s": full_s, "profiled_s": profiled_s,
        }  # fmt: skip

    show = next(e for e in PAPER_EXHIBITS if e.name == "overhead").show
    shown = show({"overhead": [row(1, 1.0, 1.05), row(1, 1.0, 1.01), row(2, 1.0, 2.0)]}, {})
    assert shown.agrees is True
    assert "On one node a run that executes all its tasks takes +3 % longer" in shown.said
    assert "(+5 % at most), 300 us per task; over 2 ranks" in shown.said
    assert shown.table["overhead per task (us)"].tolist() == pytest.approx([500.0, 100.0, 1e4])
    assert show({"overhead": [row(1, 1.0, 1.2)]}, {}).agrees is False
    assert "rank 0" not in show({"overhead": [row(1, 1.0, 1.2)]}, {}).said


@pytest.mark.slow
@pytest.mark.usefixtures("commands_here")
def test_a_tiny_experiment(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments.selective_execution", *TINY_DESIGN, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    folder = tmp_path / "selective-execution"
    results = json.loads(out)
    assert [e["name"] for e in results["exhibits"]] == [e.name for e in PAPER_EXHIBITS]
    for exhibit in PAPER_EXHIBITS:
        assert (folder / "figures" / f"{exhibit.name}.png").stat().st_size > 10_000
        assert len(pd.read_csv(folder / "tables" / f"{exhibit.name}.csv"))
    commands = (folder / "commands.txt").read_text().splitlines()
    assert any(
        line.startswith("tasksim autotune recursive-cholesky n=64 side=2 --over block=16")
        for line in commands
    )
    assert any("cholesky n=96 --over tile_size=24,32 lookahead=1" in line for line in commands)
