import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import CheckFailed
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.platform.description import Memory, Platform, Worker
from tasksim.run.compare import compare
from tasksim.run.critical import practical_critical_path
from tasksim.run.runchecks import check_records, check_run

CHAIN_MESSAGE = (
    r"^task b #1 on worker cpu1: starts at 0\.5 s, before its predecessor a #0 ends at 1"
)


def chain():
    g = GraphBuilder("chain")
    x = g.handle("x", 8)
    g.insert("a", RW(x))
    g.insert("b", R(x))
    return g.build()


def change(run, row, **values):
    columns = {}
    for name, value in values.items():
        column = getattr(run.tasks, name).copy()
        column[row] = value
        columns[name] = column
    return dataclasses.replace(run, tasks=dataclasses.replace(run.tasks, **columns))


def test_possible_runs_pass(make, small):
    check_run(small)
    graph = make.cholesky(6)
    check_run(make.schedule(graph), graph, Platform.identical(3), np.ones((1, len(graph))))
    check_run(make.run([]))


@pytest.mark.parametrize(
    ("row", "values", "message"),
    [
        (2, {"task": 1}, r"^task #1 ran more than once"),
        (2, {"task": 9}, r"^task #9 is not in the graph, which has 4 tasks"),
        (3, {"worker": 2}, r"^task #3: worker is 2; legal: 0 to 1"),
        (3, {"kernel": 2}, r"^task #3: kernel is 2; legal: 0 to 1"),
        (
            0,
            {"submitted_s": -1.0},
            r"^task potrf #0 on worker cpu0: is submitted at -1.0 s, but the",
        ),
        (
            3,
            {"submitted_s": 2.5},
            r"gemm #3 on worker cpu1: is ready at 2.0 s, but is submitted at",
        ),
        (
            2,
            {"start_s": 1.9},
            r"^task gemm #2 on worker cpu0: starts at 1.9 s, but is ready at 2.0",
        ),
        (2, {"end_s": 2.5}, r"ends at 2.5 s, but starts at 3.0 s"),
        (2, {"end_s": np.nan}, r"ends at nan s, but starts at 3.0 s"),
        (
            0,
            {"end_s": 3.5},
            r"gemm #2 on worker cpu0: starts at 3.0 s, before potrf #0 on the same",
        ),
        (
            2,
            {"released_by": 1},
            r"ready at 2.0 s, but the end of gemm #1, which released it, is at 1",
        ),
        (
            2,
            {"released_by": -1},
            r"ready at 2.0 s, but its submission, which released it, is at 0.0",
        ),
        (2, {"released_by": 7}, r"^task #2: released_by is 7; legal: -1 to "),
    ],
)
def test_the_message_names_task_and_worker(small, row, values, message):
    with pytest.raises(CheckFailed, match=message):
        check_run(change(small, row, **values))


def test_records_out_of_order_are_refused(small):
    swapped = change(change(small, 0, task=1), 1, task=0)
    with pytest.raises(CheckFailed, match="not in task order"):
        check_run(swapped)


def test_dependencies(make):
    rows = [(0, 0, 0, 0, 0, 1, -1), (1, 1, 0, 0, 0.5, 2, -1)]
    run = make.run(rows, kernels=("a", "b"))
    check_run(run)
    with pytest.raises(CheckFailed, match=CHAIN_MESSAGE):
        check_run(run, chain())


def test_kernels_of_the_graph(make):
    rows = [(1, 0, 0, 0, 0, 1, -1), (1, 1, 0, 1, 1, 2, 0)]
    run = make.run(rows, kernels=("a", "b"))
    with pytest.raises(CheckFailed, match="a #0 on worker cpu0: ran b, the graph says a"):
        check_run(run, chain())


def test_a_release_by_a_task_that_is_no_predecessor(make):
    graph = make.cholesky(2)  # potrf, trsm, syrk, potrf: a chain
    rows = [(k, 0, 0, t, t, t + 1, t - 1) for t, k in enumerate((0, 1, 2, 0))]
    run = make.run(rows, kernels=("potrf", "trsm", "syrk"))
    check_run(run, graph)
    rows[3] = (0, 0, 0, 2, 3, 4, 1)
    run = make.run(rows, kernels=("potrf", "trsm", "syrk"))
    with pytest.raises(CheckFailed, match=r"is released by trsm #1 .*, which is no predecessor"):
        check_run(run, graph)


def test_commutative_accesses_exclude_each_other(make):
    graph = make.reduction(2)
    rows = [(0, 0, 0, 0, 0, 2, -1), (0, 1, 0, 2, 2, 3, 0), (1, 0, 0, 3, 3, 4, 1)]
    check_run(make.run(rows, kernels=("add", "read")), graph)
    rows[1] = (0, 1, 0, 0, 1, 3, -1)
    with pytest.raises(
        CheckFailed, match=r"add #1 .*before add #0 .*, which updates the same handle"
    ):
        check_run(make.run(rows, kernels=("add", "read")), graph)


def test_a_native_run_may_take_a_moment_to_release(make):
    rows = [(0, 0, 0, 0.1, 0.1, 1, -1), (1, 1, 0, 1.1, 1.2, 2, 0)]
    check_run(make.run(rows, kernels=("a", "b"), kind="native"), chain())
    with pytest.raises(CheckFailed, match="its submission, which released it"):
        check_run(make.run(rows, kernels=("a", "b")), chain())


def test_a_driver_may_take_a_moment_to_release(make):
    rows = [(0, 0, 0, 0.0, 0.0, 1, -1), (1, 1, 0, 1.1, 1.2, 2, 0)]
    run = make.run(rows, kernels=("a", "b"))
    known = dataclasses.replace(run.tasks, popped_s=[0.0, 1.15])
    check_run(dataclasses.replace(run, tasks=known), chain())
    with pytest.raises(CheckFailed, match=r"b #1 .* is ready at 1.1 s, but the end of a #0"):
        check_run(run, chain())


def test_workers_of_the_platform(small):
    with pytest.raises(CheckFailed, match="has 2 workers, platform identical-3 has 3"):
        check_run(small, platform=Platform.identical(3))
    workers = (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu0", "gpu", 1))
    mixed = Platform("mixed", workers, (Memory(0, "ram"), Memory(1, "gpu0")))
    with pytest.raises(
        CheckFailed, match="worker 1 of the run is cpu1 cpu, on platform mixed it is"
    ):
        check_run(small, platform=mixed)


def test_workers_must_be_able(make):
    workers = (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu0", "gpu", 1))
    mixed = Platform("mixed", workers, (Memory(0, "ram"), Memory(1, "gpu0")))
    run = make.run([(0, 0, 0, 0, 0, 1, -1), (1, 1, 0, 0, 0, 1, -1)], workers=("cpu0", "gpu0"))
    durations = np.array([[1.0, 1.0], [1.0, np.inf]])
    check_run(run, platform=mixed)
    with pytest.raises(CheckFailed, match="gemm #1 on worker gpu0: has no implementation for gpu"):
        check_run(run, platform=mixed, durations_s=durations)


@given(seed=st.integers(0, 1000), workers=st.integers(1, 5), tiles=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_moving_any_dependent_task_to_the_start_is_seen(make, seed, workers, tiles):
    graph = make.cholesky(tiles)
    rng = np.random.default_rng(seed)
    run = make.schedule(graph, workers, rng.uniform(0.5, 2.0, len(graph)))
    check_run(run, graph)
    row = int(rng.integers(1, len(graph)))  # all but the first potrf wait for another
    early = change(run, row, ready_s=0.0, start_s=0.0, end_s=0.1, released_by=-1)
    with pytest.raises(CheckFailed):
        check_run(early, graph)


def test_records_are_checked_without_a_graph(small):
    run = small
    check_records(run)
    tasks = dataclasses.replace(run.tasks, start_s=run.tasks.start_s - 1)
    with pytest.raises(CheckFailed, match=r"^here: no run has such records: task .* is ready at"):
        check_records(dataclasses.replace(run, tasks=tasks), "here")
    other = dataclasses.replace(run, tasks=dataclasses.replace(run.tasks, worker=[0] * len(run)))
    for a, b, name in ((run, other, "b"), (other, run, "a")):
        with pytest.raises(CheckFailed, match=f"^run {name}: no run has such records"):
            compare(a, b)
    with pytest.raises(CheckFailed, match="no run has such records"):
        practical_critical_path(other)
