"""``tasksim autotune``: what it prints and refuses."""

from __future__ import annotations

import json

import pytest

AUTOTUNE_COMMAND = "autotune cholesky n=96 --workers 2 --over tile_size=24,32 scheduler=eager,lws"


def test_a_tuning_is_told(tasksim):
    called = tasksim(f"{AUTOTUNE_COMMAND} --tolerance 100% --judge 1 --json")
    assert called.code == 0, called.err
    told = called.json
    assert told["by"] == "selective"
    assert (told["policy"], told["tolerance"], told["statistics"]) == ("online", 1.0, "reset")
    assert told["runs"] == len(told["choices"]) == 4
    assert told["best"] == told["choices"][0]["values"]
    assert told["speedup"] > 0
    assert all(row["executed"] <= row["tasks"] for row in told["choices"])


def test_the_text(tasksim):
    said = tasksim(f"{AUTOTUNE_COMMAND} --judge 1 --policy eager").out
    for word in ("selective, eager, tolerance 5 %", "speed-up", "regret", "best ", " of 20"):
        assert word in said


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--policy onlin", "unknown policy 'onlin', did you mean 'online'?"),
        ("--tolerance 0", "tolerance=0; legal: above 0, at most 1 (4% or 0.04)"),
        ("--tolerance 150%", "tolerance=1.5; legal: above 0, at most 1 (4% or 0.04)"),
        ("--search halving", "halving needs several runs; give --repetitions"),
    ],
)
def test_what_is_refused(tasksim, options, error):
    called = tasksim(f"{AUTOTUNE_COMMAND} {options}")
    assert called.code == 2
    assert error in called.err


def test_simulation_of_nodes(tasksim):
    asked = "autotune cholesky n=96 --over tile_size=24,32 --by simulation --workers 2 --durations"
    seconds = "potrf=1ms,trsm=2ms,syrk=2ms,gemm=3ms"
    alone = tasksim(f"{asked} {seconds} --json").json["choices"]
    network = "--nodes 2 --grid 1x2 --network switch:bandwidth=1MB/s,latency=1ms"
    nodes = tasksim(f"{asked} {seconds} {network} --json").json["choices"]
    assert nodes[0]["makespan_s"] > alone[0]["makespan_s"]


def test_nodes_of_real_runs_are_ranks(tasksim):
    called = tasksim(f"{AUTOTUNE_COMMAND} --nodes 2")
    assert called.code == 2
    assert "mpiexec -n N" in called.err


def test_a_result_is_written_and_chooses_for_a_run(tasksim, tmp_path):
    called = tasksim(f"{AUTOTUNE_COMMAND} -o at.json")
    assert called.code == 0, called.err
    assert called.err.endswith("Wrote at.json\n")
    kept = json.loads((tmp_path / "at.json").read_text())
    assert kept["format"] == "tasksim-autotuned"
    best = kept["best"]
    ran = tasksim("run cholesky n=96 tile_size=auto --scheduler auto --auto at.json --workers 2")
    assert ran.code == 0, ran.err
    chosen = f"chosen    tile_size={best['graph.tile_size']} scheduler={best['scheduler']}"
    assert chosen in ran.err
    again = tasksim(f"{AUTOTUNE_COMMAND} -o at.json")
    assert (again.code, again.err) == (2, "Error: at.json exists; give --force to replace it\n")
    assert json.loads((tmp_path / "at.json").read_text()) == kept
    assert tasksim(f"{AUTOTUNE_COMMAND} -o at.json --force").code == 0


def test_what_is_printed_chooses_as_well(tasksim, tmp_path):
    (tmp_path / "at.json").write_text(tasksim(f"{AUTOTUNE_COMMAND} --json").out)
    ran = tasksim("run cholesky n=96 tile_size=auto --auto at.json --workers 2")
    assert ran.code == 0, ran.err


def test_only_json_is_written(tasksim):
    called = tasksim(f"{AUTOTUNE_COMMAND} -o at.yaml")
    assert called.code == 2
    assert ".json" in called.err


@pytest.mark.parametrize("text", ['{"format": "tasksim-study"}', "[1]"])
def test_other_files_choose_nothing(tasksim, tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    called = tasksim("run cholesky n=96 tile_size=auto --auto x.json --workers 2")
    assert called.code == 2
    for form in ("'tasksim-tree'", "'tasksim-tuned'", "'tasksim-autotuned'"):
        assert form in called.err
