"""Runs over ranks, started by mpiexec: right results, one run, and ends that everyone hears of."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from time import monotonic

import pytest
from study_cases import mpiexec

from tasksim.formats.runs import load_run
from tasksim.graph.apps.registry import generate
from tasksim.native.this_machine import usable_cores
from tasksim.run.runchecks import check_run

pytestmark = pytest.mark.usefixtures("alone")
DYING_PROGRAM = """
import os, signal, time
import tasksim
from tasksim import RW


@tasksim.kernel
def step(x: RW, how=0):
    time.sleep(0.05)
    if os.environ["PMI_RANK"] == "1" and how:
        if how == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("no")


@tasksim.application("dying")
def dying(g, how=0):
    x = g.arrays("x", [(8,)] * 4)
    for k in range(200):
        g.insert(step, x[k % 4], how=how * (k == 6 or k == 7))
"""
WITHIN_S = 30
"""Seconds after which a run that should have ended at once has not; room for busy machines."""


@pytest.fixture
def alone(monkeypatch):
    """Ranks as mpiexec starts them, whatever this process was started by."""
    for name in list(os.environ):
        if name.startswith(("PMI_", "OMPI_")):
            monkeypatch.delenv(name)


def run(*arguments, ranks=2, **options):
    """Return what ``mpiexec -n 2 tasksim run`` with *arguments* has come to."""
    command = [mpiexec(), "-n", str(ranks), sys.executable, "-m", "tasksim", "run", *arguments]
    command += ["--workers", "1"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def test_two_ranks_factorise_together_and_record_one_run(tmp_path):
    done = run(
        "cholesky", "tiles=4", "tile_size=32", "--grid", "1x2", "-o", tmp_path / "run", "--json"
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["residual"] <= said["residual_tolerance"]
    assert said["nodes"] == 2
    assert said["messages"] == {**said["messages"], "count": 6, "bytes": 6 * 32 * 32 * 8}
    recorded = load_run(tmp_path / "run")
    assert [worker.node for worker in recorded.workers] == [0, 1]
    assert len(recorded) == 20
    check_run(recorded, generate("cholesky", tiles=4, tile_size=32))
    assert len(recorded.messages) == 6
    assert (recorded.messages.end_s > recorded.messages.start_s).all()


CORES = """
import os
import tasksim
from tasksim import W


@tasksim.kernel
def look(x: W):
    x[0] = len(os.sched_getaffinity(0))


@tasksim.application("cores")
def cores(g):
    x = g.arrays("x", [(1,)] * 3)
    for each in x:
        g.insert(look, each)
    missing = lambda results: max(2 - each[0] for each in results[x])
    g.check(missing, tolerance=0.5, what="cores that a worker may not use")
"""


@pytest.mark.slow
@pytest.mark.skipif(len(usable_cores()) < 2, reason="two cores that ranks share")
def test_ranks_that_share_cores_are_not_kept_on_the_first(tmp_path):
    file = tmp_path / "cores.py"
    file.write_text(CORES)
    two = usable_cores()[:2]
    done = run(
        file, "--owner", "round-robin", "-o", tmp_path / "run", ranks=3,
        preexec_fn=lambda: os.sched_setaffinity(0, two),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = load_run(tmp_path / "run")
    assert found.config["shared_cores"] == 2
    assert found.disturbance is None  # ranks wait for each other, too


WRONG_PROGRAM = """
import tasksim
from tasksim import R, RW, W


@tasksim.kernel
def fill(x: W):
    x[:] = 1.0


@tasksim.kernel
def add(x: R, y: RW, bad=0):
    y += x
    if bad:
        x += 1.0


@tasksim.application("wrong")
def wrong(g, bad=0):
    x = g.arrays("x", [(64,)] * 6)
    for each in x:
        g.insert(fill, each)
    for k in range(5):
        g.insert(add, x[k], x[k + 1], bad=bad * (k == 2))
"""


@pytest.mark.parametrize("bad", [0, 1])
def test_each_rank_checks_what_its_tasks_write(tmp_path, bad):
    file = tmp_path / "wrong.py"
    file.write_text(WRONG_PROGRAM)
    done = run(file, f"bad={bad}", "--owner", "round-robin", "--check-accesses")
    assert done.returncode == bad, done.stderr
    if bad:
        assert re.search(
            r"Error: rank 1: add #8 .* it wrote x\[2\].*only declared to read", done.stderr
        )
        assert len(done.stderr.strip().splitlines()) == 1


CALM_PROGRAM = """
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.native.cluster.ranks import world
from tasksim.scenario.over_ranks import RankedScenario
from tasksim.scenario.scenario import Scenario

scenario = Scenario("cholesky", ("tiles=4", "tile_size=16"), workers=1, clock="native")
found = RankedScenario(scenario, world("a test"), NodeGrid(1, 2), "row").run_calmly(
    check=True, patience_s=0.0
)
if found is not None:
    checked, calmness = found
    print(checked.problem, len(checked.run), calmness.kept)
"""


@pytest.mark.slow
def test_rank_0_says_when_all_run_again(tmp_path):
    file = tmp_path / "calm.py"
    file.write_text(CALM_PROGRAM)
    done = subprocess.run(
        [mpiexec(), "-n", "2", sys.executable, file], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "None 20 1\n", done.stderr


def test_a_run_over_ranks_cannot_be_isolated():
    done = run("cholesky", "tiles=4", "--isolate")
    assert done.returncode == 2
    assert done.stderr.count("each rank is already a process of its own") == 1


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["python", "auto"])
@pytest.mark.parametrize(
    ("graph", "ranks"),
    [
        ("lu tiles=5 tile_size=24", 2),
        ("qr tiles=5 tile_size=24", 3),
        ("qr rows=6 columns=3 tile_size=16", 4),
        ("cholesky tiles=6 tile_size=24 dtype=float32", 4),
        ("fmm particles=2000 height=4 group_size=16", 3),
    ],
)
def test_results_are_right_on_any_number_of_ranks(graph, ranks, runtime):
    owner = ["--owner", "morton"] if graph.startswith("fmm") else []
    done = run(*graph.split(), *owner, "--runtime", runtime, ranks=ranks)
    assert done.returncode == 0, done.stderr


def test_a_grid_of_other_ranks_is_one_message(tmp_path):
    done = run("cholesky", "tiles=4", "--grid", "2x2")
    assert done.returncode == 2
    assert done.stderr.count("Error") == 1
    assert "mpiexec -n 4" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nope"], "No such option '--nope'"),
        (["--seed", "x"], "'x' is not"),
        (["--isolate", "--calm"], "--calm is for measurements"),
        (["--auto", "nosuch.json"], "nosuch.json: nothing to choose"),
    ],
)
def test_a_wrong_command_line_is_one_message(arguments, said):
    done = run("cholesky", "tiles=4", *arguments)
    assert done.returncode == 2
    assert (done.stderr.count("Error"), done.stderr.count(said)) == (1, 1), done.stderr
    assert done.stderr.count("Usage") <= 1


@pytest.mark.parametrize("rank", [0, 1])
def test_what_is_wrong_with_one_rank_alone_is_told_and_ends_all(rank):
    each = [["-n", "1", sys.executable, "-m", "tasksim", "run", "cholesky"] for _ in range(2)]
    each[rank] += ["--nope"]
    done = subprocess.run(
        [mpiexec(), *each[0], ":", *each[1]],
        capture_output=True, text=True, timeout=WITHIN_S,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Error: rank {rank}: No such option '--nope'")


@pytest.fixture
def dying(tmp_path):
    """The file of an application one of whose tasks fails, or kills its process, on rank 1."""
    path = tmp_path / "dying.py"
    path.write_text(DYING_PROGRAM)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["python", "auto"])
@pytest.mark.parametrize(
    ("how", "said"),
    [
        (1, r"Error: rank 1: step #\d.* no"),
        (2, r"Error: rank 1: its process was killed \(SIGKILL\)"),
    ],
)
def test_a_rank_that_fails_or_is_killed_ends_all_with_one_message(dying, how, said, runtime):
    begun = monotonic()
    done = run(dying, f"how={how}", "--owner", "round-robin", "--runtime", runtime)
    assert monotonic() - begun < WITHIN_S
    assert done.returncode == 1
    assert re.search(said, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1


def test_ranks_of_one_machine_read_one_clock_and_others_compare_theirs():
    script = (
        "from tasksim.native.cluster import clocks\n"
        "from tasksim.native.cluster.ranks import world\n"
        "ranks = world('this test')\n"
        "same = clocks.compared_clock(ranks)\n"
        "assert same.offset_s == same.uncertainty_s == 0.0\n"
        "clocks._clock_name = lambda: ''\n"
        "found = clocks.compared_clock(ranks)\n"
        "assert (found.uncertainty_s > 0.0) == (ranks.rank > 0)\n"
        "assert abs(found.offset_s) <= found.uncertainty_s, found\n"
    )
    command = [mpiexec(), "-n", "3", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
