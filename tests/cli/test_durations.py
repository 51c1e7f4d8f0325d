"""Durations that are given on the command line, for all architectures and for one."""

from __future__ import annotations

import pytest

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Memory, Platform, Worker
from tasksim.scenario.durations import (
    known_durations,
    seconds_by_name,
    seconds_of_graph,
)

CHAIN = generate("cholesky", tiles=1, tile_size=1)
MEMORIES = (Memory(0, "ram"),)
WORKERS = (
    Worker(0, "cuda0", "cuda", 0, models="cuda0"),
    Worker(1, "cuda1", "cuda", 0, models="cuda1"),
    Worker(2, "cpu0", "cpu", 0),
)
BOX = Platform("box", WORKERS, MEMORIES)


def seconds(text, platform=BOX):
    """Return per architecture of models what potrf takes; None where it cannot run."""
    given = seconds_of_graph(seconds_by_name(text), CHAIN)
    library = known_durations(CHAIN, platform, given)
    found = []
    for architecture in ("cuda0", "cuda1", "cpu"):
        try:
            found.append(float(library.model("potrf", architecture).predict([[1]])[0]))
        except InputError:
            found.append(None)
    return found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("potrf=3", [3.0, 3.0, 3.0]),
        ("potrf=3,cuda:potrf=1", [1.0, 1.0, 3.0]),
        ("cuda:potrf=1,potrf=3", [1.0, 1.0, 3.0]),
        ("cuda0:potrf=500 ms,cuda:potrf=1,potrf=3", [0.5, 1.0, 3.0]),
        ("cuda:potrf=1", [1.0, 1.0, None]),
        ("cpu:potrf = 2", [None, None, 2.0]),
    ],
)
def test_what_is_said_of_less_comes_first_and_nothing_said_is_nothing_run(given, expected):
    assert seconds(given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("cud:potrf=1", r"durations: unknown architecture 'cud', did you mean 'cuda'\?"),
        ("cuda2:potrf=1", r"\(known: cuda, cpu, cuda0, cuda1\)"),
        ("cuda:potr=1", r"durations: unknown kernel 'potr', did you mean 'potrf'\?"),
        ("cuda:potrf=1,cuda:potrf=1", "durations: cuda:potrf is given twice"),
        (":potrf=1", r"durations: got ':potrf=1'; legal: KERNEL=SECONDS,"),
        ("cuda:=1", "durations: got 'cuda:=1'"),
        ("cuda:potrf=-1", "durations: cuda:potrf: got -1; legal: a finite time from 0"),
    ],
)
def test_mistakes_are_told(given, message):
    with pytest.raises(InputError, match=message):
        seconds(given)


def test_a_kind_without_workers_may_be_spoken_of():
    platform = Platform("box", (Worker(0, "cpu0", "cpu", 0),), MEMORIES, speeds={"cuda": 1.0})
    assert seconds("potrf=3,cuda:potrf=1", platform)[2] == 3.0


def test_kinds_that_share_their_models_cannot_be_told_from_each_other():
    workers = (Worker(0, "a", "fast", 0, models="cpu"), Worker(1, "b", "slow", 0, models="cpu"))
    platform = Platform("box", workers, MEMORIES)
    assert seconds("cpu:potrf=2", platform)[2] == 2.0
    with pytest.raises(InputError, match=r"unknown architecture 'fast' \(known: cpu\)"):
        seconds("potrf=1,fast:potrf=2", platform)


def test_durations_that_keep_a_kernel_from_workers_are_told(tasksim, tmp_path):
    (tmp_path / "box.yaml").write_text(
        "version: 1\nextends: xeon-2c\nworkers: {cuda: {count: 1}}\narch: {cuda: {}}\n"
    )
    line = "simulate cholesky tiles=3 --platform box.yaml --durations"
    assert (
        "Warning: --durations replaces the models of gemm everywhere: they never run on cpu, "
        "unless it has cpu:gemm=SECONDS, too\n"
    ) in tasksim(f"{line} cuda:gemm=1ms").err
    assert "never run" not in tasksim(f"{line} cuda:gemm=1ms,cpu:gemm=2ms").err


def test_runs_with_durations_per_architecture_can_be_repeated(tasksim, tmp_path):
    (tmp_path / "box.yaml").write_text("version: 1\nworkers: {cuda: {count: 1}, cpu: {count: 1}}\n")
    what = "potrf=4,cuda:potrf=1"
    line = f"simulate cholesky tiles=1 --platform box.yaml --durations {what} --scheduler dm"
    assert tasksim(f"{line} -o first --json").json["makespan_s"] == 1.0
    assert tasksim("simulate --from first -o second --json").json["makespan_s"] == 1.0
    assert tasksim(f"bounds {line[9:].partition(' --sched')[0]} --json").json["bounds"] == {
        "critical_path_s": 1.0,
        "area_s": 0.8,
    }
