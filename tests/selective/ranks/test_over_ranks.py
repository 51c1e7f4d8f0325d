"""Selective runs over ranks, started by mpiexec: real kernels, real messages, and their ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from time import monotonic, sleep

import pytest
from study_cases import mpiexec

from tasksim.base.interruption import INTERRUPTED_EXIT_CODE

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def alone(monkeypatch):
    """Ranks as mpiexec starts them, whatever this process was started by."""
    for name in list(os.environ):
        if name.startswith(("PMI_", "OMPI_")):
            monkeypatch.delenv(name)


def called(*arguments, ranks=2, tool=("-m", "tasksim", "autotune")):
    """Return what ``mpiexec -n 2 tasksim autotune`` with *arguments* has come to."""
    command = [mpiexec(), "-n", str(ranks), sys.executable, *tool, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


AUTOTUNE_ARGUMENTS = ("cholesky", "n=144", "--grid", "1x2", "--workers", "1", "--over")


@pytest.mark.slow
def test_two_ranks_tune_together_and_rank_0_tells():
    done = called(
        *AUTOTUNE_ARGUMENTS, "tile_size=24,36,50", "scheduler=lws,prio", "--policy", "local",
        "--tolerance", "100%", "--judge", "1", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["policy"] == "local"
    assert told["messages"] == "all"
    works = [row for row in told["choices"] if row["makespan_s"] is not None]
    assert sorted(row["values"]["graph.tile_size"] for row in works) == [24, 24, 36, 36]
    assert "multiple" in told["choices"][-1]["error"]
    for row in works:
        assert 0 < row["executed"] <= row["tasks"]
        assert 0 < row["sent"] <= row["messages"]
        assert row["full_s"] > 0
    assert told["regret"] >= 0
    assert told["speedup"] > 0


@pytest.mark.slow
def test_the_grid_of_ranks_is_an_axis():
    line = [word for word in AUTOTUNE_ARGUMENTS if word not in ("--grid", "1x2")]
    done = called(
        *line, "grid=1x2,2x1,1x3", "owner=row,diamond", "tile_size=24",
        "--judge", "1", "--no-fall-back", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = {tuple(row["values"].values())[:2]: row for row in json.loads(done.stdout)["choices"]}
    assert len(rows) == 6
    # As many messages as in a simulation on two nodes.
    sent = [place for place in rows if place[0] != "1x3"]
    assert {place: rows[place]["messages"] for place in sent} == {
        ("1x2", "row"): 15, ("1x2", "diamond"): 20, ("2x1", "row"): 15, ("2x1", "diamond"): 20,
    }  # fmt: skip
    assert all(rows[place]["full_s"] > 0 for place in sent)
    assert "mpiexec -n 3" in rows[("1x3", "row")]["error"]


@pytest.mark.slow
def test_a_configuration_that_no_rank_can_run_leaves_the_others():
    done = called(*AUTOTUNE_ARGUMENTS, "tile_size=24", "scheduler=lws,heft,prio", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["values"]["scheduler"]: row for row in json.loads(done.stdout)["choices"]}
    assert rows["heft"]["error"]
    assert rows["lws"]["makespan_s"] > 0
    assert rows["prio"]["makespan_s"] > 0


AUTOTUNE_PROGRAM = """
import tasksim
from tasksim.graph.distribution.parts import cut_by
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.native.cluster.execute import RankExecution, platform_of_rank
from tasksim.native.cluster.ranks import world
from tasksim.selective.policies import POLICIES
from tasksim.selective.ranks.choosing import statistics_of_ranks
from tasksim.selective.ranks.execute import execute_over_ranks
from tasksim.selective.ranks.mail import Wires
from tasksim.selective.statistics import Statistics
from tasksim.run.runchecks import check_run

ranks = world("a test")
wires = Wires(ranks)
platforms = ranks.comm.allgather(platform_of_rank(ranks, 1))
for name in ("cholesky", "lu", "qr"):
    graph = tasksim.generate(name, tiles=5, tile_size=24)
    cut = cut_by(graph, NodeGrid(1, 2), "row")
    execution = RankExecution(ranks, graph, cut, platforms[ranks.rank])
    for policy in POLICIES:
        statistics = statistics_of_ranks(policy, Statistics, 2)
        for rule in ("all", "any"):
            done = execute_over_ranks(
                ranks, wires, execution, platforms, policy=policy, tolerance=1.0,
                statistics=statistics, messages=rule,
            )
            if done is None:
                continue
            check_run(done.run, graph)
            effort, sent = done.effort, done.messages
            assert effort.skipped + effort.accompanied + effort.executed == len(graph)
            assert sent.executed + sent.skipped == len(cut.messages) == len(done.run.messages)
            assert done.path.end_s == done.run.makespan_s
            assert policy != "conditional" or effort.executed > 3
    full = execution.run("lws")  # the data are well again
if not ranks.rank:
    print("all", len(full.ranks))
"""


@pytest.mark.slow
def test_real_kernels_and_messages_under_all_policies(tmp_path):
    file = tmp_path / "all.py"
    file.write_text(AUTOTUNE_PROGRAM)
    done = called(file, tool=())
    assert done.stdout == "all 2\n", done.stderr
    assert done.returncode == 0


FAILING_PROGRAM = """
import os
import tasksim
from tasksim import RW


@tasksim.kernel
def step(x: RW, how=0):
    if os.environ["PMI_RANK"] == "1" and how:
        raise ValueError("no")


@tasksim.application("failing")
def failing(g, how=0):
    x = g.arrays("x", [(8,)] * 4)
    for k in range(40):
        g.insert(step, x[k % 4], how=how * (k % 2))
"""
WITHIN_S = 30


@pytest.mark.slow
def test_a_task_that_fails_on_one_rank_ends_all_with_one_message(tmp_path):
    file = tmp_path / "failing.py"
    file.write_text(FAILING_PROGRAM)
    begun = monotonic()
    done = called(
        file, "how=1", "--owner", "round-robin", "--workers", "1", "--over", "scheduler=lws,prio",
    )  # fmt: skip
    assert monotonic() - begun < WITHIN_S
    assert done.returncode == 1
    assert re.search(r"Error: rank 1: step #\d.* no", done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("tile_size=24", "--tolerance", "0"), "tolerance=0; legal: above 0"),
        (("tile_size=24", "--policy", "loca"), "did you mean 'local'?"),
        (("tile_size=24", "--grid", "2x2"), "mpiexec -n 4"),
        (("tile_size=24", "--network", "switch:latency=1us"), "are for --by simulation"),
        (("tile_size=24", "scheduler=heft"), "scheduler heft"),
        (("tile_size=24", "--by", "simulation"), "run it without mpiexec"),
    ],
)
def test_bad_input_is_one_message(options, error):
    done = called(*AUTOTUNE_ARGUMENTS, *options)
    assert done.returncode == 2
    assert done.stderr.count("Error") == 1
    assert error in done.stderr


SLOW_PROGRAM = """
import time
from pathlib import Path
import tasksim
from tasksim import RW


@tasksim.kernel
def step(x: RW, n=1):
    if n == 2:
        (Path(__file__).parent / "begun").touch()
    time.sleep(0.01)


@tasksim.application("slow")
def slow(g, n=1):
    x = g.arrays("x", [(8,)] * 4)
    for k in range(10 if n == 1 else 10_000):
        g.insert(step, x[k % 4], n=n)
"""


@pytest.mark.slow
def test_an_interruption_tells_what_is_done_and_ends_all(tmp_path):
    file, begun = tmp_path / "slow.py", tmp_path / "begun"
    file.write_text(SLOW_PROGRAM)
    command = [
        mpiexec(), "-n", "2", sys.executable, "-m", "tasksim", "autotune", file, "--owner",
        "round-robin", "--workers", "1", "--over", "n=1,2", "--by", "full", "--json",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        while not begun.exists() and running.poll() is None:
            sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WITHIN_S)
    assert running.returncode == INTERRUPTED_EXIT_CODE, err
    told = json.loads(out[out.index("{") :])  # mpiexec has a word to say before
    assert told["interrupted"]
    assert [row["values"]["graph.n"] for row in told["choices"]] == [1]
    assert "these are the results so far" in err
