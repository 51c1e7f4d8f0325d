"""``tasksim optimize``: what it prints and writes, and what it refuses."""

from __future__ import annotations

import re

import pytest

SMALL_QUESTION = "cholesky tiles=5 --workers 3 --durations potrf=1,trsm=3,syrk=3,gemm=6"
SEARCH = "--method annealing"


def test_it_says_what_it_found_and_writes_a_plan(tasksim):
    done = tasksim(f"optimize {SMALL_QUESTION} --steps 200 {SEARCH} -o best")
    assert done.code == 0
    first = [line.split()[0] for line in done.out.splitlines()]
    assert first == [
        "graph", "platform", "heuristic", "optimised", "bound", "search", "prio", "dmdas"
    ]  # fmt: skip
    follow = tasksim(f"simulate {SMALL_QUESTION} --scheduler static:file=best/plan.csv --json")
    found = tasksim(f"optimize {SMALL_QUESTION} --steps 200 {SEARCH} --json").json
    assert follow.json["makespan_s"] == found["makespan_s"] == 47.0
    assert found["best_heuristic"] == "heft"


def test_it_resumes_and_does_not_replace_without_being_told(tasksim):
    tasksim(f"optimize {SMALL_QUESTION} --steps 20 {SEARCH} -o best")
    again = tasksim(f"optimize {SMALL_QUESTION} --steps 20 {SEARCH} -o best")
    assert again.code == 2
    assert again.errors == ["Error: best exists; give --force to replace it"]
    resumed = tasksim(f"optimize {SMALL_QUESTION} --steps 20 {SEARCH} --resume -o best --json")
    assert resumed.json["steps"] == 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--time 0s", "must be more than 0"),
        ("--steps 0", "0 is not in the range x>=1"),
        ("--resume", "--resume goes on from the folder of --output"),
        ("--method x", "'x' is not one of"),
    ],
)
def test_bad_options_are_refused(tasksim, options, message):
    done = tasksim(f"optimize {SMALL_QUESTION} {options}")
    assert done.code == 2
    assert message in done.err


def test_tight_bounds_say_what_binds(tasksim):
    done = tasksim(f"bounds {SMALL_QUESTION} --tight --time 1s")
    assert done.code == 0
    assert "mixed bound" in done.out
    assert re.search(r"load of cpu +100\.0 %", done.out)
    found = tasksim(f"bounds {SMALL_QUESTION} --tight --time 1s --json").json
    assert found["bounds"]["area_s"] < found["bounds"]["mixed_s"] <= 47.0
    assert found["tight"][0]["binding"]["classes"]["cpu"] == pytest.approx(1.0)


def test_tight_bounds_are_for_graphs(tasksim):
    tasksim(f"simulate {SMALL_QUESTION} -o run")
    done = tasksim("bounds run --tight")
    assert done.code == 2
    assert done.errors == ["Error: run is a run; legal with --tight: a graph"]


def test_blame_of_a_run_that_takes_no_time_has_no_shares(tasksim):
    tasksim("simulate chain length=2 duration=0 --workers 1 -o run")
    found = tasksim("bounds run --blame")
    assert found.code == 0
    assert "%" not in found.out


def test_blame_splits_the_makespan_of_a_run(tasksim):
    tasksim(f"simulate {SMALL_QUESTION} --scheduler eager -o run")
    done = tasksim("bounds run --blame")
    assert done.code == 0
    assert "idle at the end" in done.out
    found = tasksim("bounds run --blame --json").json["blame"]
    assert found["bound_s"] + sum(
        found[f"{name}_s"] for name in ("start", "dependency", "transfer", "queue", "end", "unused")
    ) == pytest.approx(found["makespan_s"])
    graph = tasksim(f"bounds {SMALL_QUESTION} --blame")
    assert graph.errors == ["Error: --blame is for a run; got the graph cholesky tiles=5"]


def test_blame_compares_with_the_best_known_plan(tasksim):
    tasksim(f"simulate {SMALL_QUESTION} --scheduler eager -o run")
    tasksim(f"optimize {SMALL_QUESTION} --steps 200 {SEARCH} -o best")
    done = tasksim("bounds run --blame --best best")
    assert done.code == 0
    assert "best known" in done.out
    found = tasksim("bounds run --blame --best best --json").json
    assert found["blame_of_best"]["makespan_s"] == 47.0
    alone = tasksim("bounds run --best best")
    assert (alone.code, alone.errors) == (2, ["Error: --best is for --blame, which is missing"])
