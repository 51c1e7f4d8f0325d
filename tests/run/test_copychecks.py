import dataclasses

import numpy as np
import pytest
from growth import nearly_linear
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import CheckFailed
from tasksim.graph.builder import RW, GraphBuilder, R, Reduce, W
from tasksim.platform.description import Memory, Platform, Worker
from tasksim.run.record import MemoryInfo, MemoryTable, TransferTable, WorkerInfo
from tasksim.run.runchecks import check_run


def change(run, table, row, **values):
    columns = {}
    for name, value in values.items():
        column = getattr(getattr(run, table), name).copy()
        column[row] = value
        columns[name] = column
    return dataclasses.replace(run, **{table: dataclasses.replace(getattr(run, table), **columns)})


def without(run, row):
    columns = {name: np.delete(getattr(run.transfers, name), row) for name in TransferTable.dtypes}
    return dataclasses.replace(run, transfers=TransferTable(**columns))


def test_a_run_with_copies_is_possible(travelled, make):
    check_run(travelled)
    check_run(travelled, make.two_memories())


@pytest.mark.parametrize(
    ("table", "row", "values", "message"),
    [
        ("transfers", 1, {"source": 2}, r"^transfer #1: source is 2; legal: 0 to 1"),
        ("transfers", 1, {"target": -1}, r"^transfer #1: target is -1; legal: 0 to 1"),
        ("transfers", 1, {"task": 4}, r"^transfer #1: task is 4; legal: -1 to 3"),
        ("transfers", 1, {"reason": 4}, r"^transfer #1: reason is 4; legal: 0 to 3"),
        ("transfers", 1, {"handle": 3}, r"^copy #1: handle 3 does not exist"),
        (
            "transfers",
            1,
            {"target": 0},
            r"^copy #1 of a from ram to ram has the same source and target",
        ),
        (
            "transfers",
            1,
            {"start_s": 1.5},
            r"^copy #1 of a from ram to gpu0 starts at 1.5 s, but is requested at 2.0 s$",
        ),
        ("transfers", 1, {"end_s": 1.5}, r"ends at 1.5 s, but starts at 2.0 s"),
        ("transfers", 0, {"requested_s": -1.0}, r"requested at -1.0 s, but the run begins at 0.0"),
        ("transfers", 1, {"end_s": np.nan}, r"ends at nan s, but starts at 2.0 s"),
        ("transfers", 1, {"size_bytes": 41}, r"from ram to gpu0 has 41 bytes, the datum 40"),
        (
            "transfers",
            1,
            {"end_s": 3.5},
            r"^task gemm #1 \(i=1\) on worker gpu0: starts at 3.0 s, before the data that are "
            r"copied for it arrive at 3.5 s",
        ),
        (
            "tasks",
            1,
            {"popped_s": 1.5},
            r"gemm #1 .* on worker gpu0: is popped at 1.5 s, but is ready at 2.0",
        ),
        ("tasks", 1, {"popped_s": 3.5}, r"starts at 3.0 s, but is popped at 3.5 s"),
        ("memory", 2, {"time_s": 1.0}, r"^change #2 of what is allocated is at 1.0 s, the one"),
        ("memory", 1, {"memory": 2}, r"^change #1: memory is 2; legal: 0 to 1"),
        (
            "memory",
            1,
            {"used_bytes": 101},
            r"^memory gpu0: 101 bytes are allocated at 2.0 s, it has 100",
        ),
        (
            "memory",
            0,
            {"memory": 0, "used_bytes": -1},
            r"^change #0: used_bytes is -1; legal: 0 or more",
        ),
    ],
)
def test_the_message_names_what_is_impossible(travelled, make, table, row, values, message):
    with pytest.raises(CheckFailed, match=message):
        check_run(change(travelled, table, row, **values), make.two_memories())


def test_a_copy_that_is_missing(travelled, make):
    with pytest.raises(
        CheckFailed,
        match=r"gemm #2 .*on worker gpu0: starts at 6.0 s, but gpu0 has no valid copy of c then$",
    ):
        check_run(without(travelled, 3), make.two_memories())


def test_a_copy_made_before_the_datum_was_written_is_stale(travelled, make):
    early = change(travelled, "transfers", 1, requested_s=1.0, start_s=1.0, task=-1)
    with pytest.raises(
        CheckFailed, match=r"copy #1 of a from ram to gpu0 starts at 1.0 s, but ram has no valid"
    ):
        check_run(early, make.two_memories())
    # Begun together with the writer: a copy of what was there before, of no use to a reader.
    first = change(travelled, "transfers", 1, requested_s=0.0, start_s=0.0, task=-1)
    with pytest.raises(
        CheckFailed, match=r"gemm #1 .*starts at 3.0 s, but gpu0 has no valid copy of a"
    ):
        check_run(first, make.two_memories())


def test_a_writer_elsewhere_makes_copies_invalid(travelled, make):
    moved = dataclasses.replace(travelled, workers=(travelled.workers[0],) * 2)
    with pytest.raises(CheckFailed, match=r"copy #2 of a from gpu0 to ram .*gpu0 has no valid"):
        check_run(moved, make.two_memories())


def test_rounding_is_no_mistake(travelled, make):
    tasks = travelled.tasks
    near = change(travelled, "transfers", 1, end_s=3.0 + 1e-13, start_s=2.0 - 1e-13)
    check_run(near, make.two_memories())
    late = dataclasses.replace(tasks, end_s=tasks.end_s + np.array([1e-12, 0, 0, 0]))
    check_run(dataclasses.replace(travelled, tasks=late), make.two_memories())


def test_copies_without_a_graph(travelled):
    named = change(travelled, "transfers", 1, end_s=1.5)
    with pytest.raises(CheckFailed, match=r"^copy #1 of handle #0 from ram to gpu0 ends at 1.5"):
        check_run(named)


def two_workers():
    return {
        "workers": (WorkerInfo("cpu0", "cpu"), WorkerInfo("gpu0", "gpu", memory=1)),
        "memories": (MemoryInfo("ram"), MemoryInfo("gpu0")),
        "memory": MemoryTable.empty(),
        "transfers": TransferTable.empty(),
    }


def test_what_is_only_written_need_not_be_there(make):
    g = GraphBuilder("write")
    x = g.handle("x", 8)
    g.insert("a", W(x))
    g.insert("b", R(x))
    rows = [(0, 1, 0, 0, 0, 1, -1), (1, 1, 0, 1, 1, 2, 0)]
    run = dataclasses.replace(make.run(rows, kernels=("a", "b")), **two_workers())
    check_run(run, g.build())


def test_every_worker_has_its_part_of_a_reduction(make):
    g = GraphBuilder("sum")
    x = g.handle("x", 8)
    for _ in range(2):
        g.insert("a", Reduce(x))
    rows = [(0, 0, 0, 0, 0, 1, -1), (0, 1, 0, 0, 0, 1, -1)]
    run = dataclasses.replace(make.run(rows, kernels=("a",)), **two_workers())
    check_run(run, g.build())


def test_tasks_without_duration_hand_on_at_one_instant(make):
    g = GraphBuilder("instant")
    x = g.handle("x", 8)
    for _ in range(4):
        g.insert("a", RW(x))
    rows = [(0, 0, 0, 0, 0, 0, t - 1) for t in range(4)]
    run = dataclasses.replace(make.run(rows, kernels=("a",)), **two_workers())
    check_run(run, g.build())
    elsewhere = change(run, "tasks", 2, worker=1)
    with pytest.raises(CheckFailed, match=r"a #2 on worker gpu0.* gpu0 has no valid copy of x"):
        check_run(elsewhere, g.build())


def test_memories_of_the_platform(travelled):
    workers = (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu0", "gpu", 1))
    memories = (Memory(0, "ram"), Memory(1, "gpu0", 0, 100.0))
    check_run(travelled, platform=Platform("same", workers, memories))
    smaller = Platform("other", workers, (Memory(0, "ram"), Memory(1, "gpu0", 0, 90.0)))
    with pytest.raises(
        CheckFailed, match=r"memories ram, gpu0 \(100 bytes\), platform other has ram, gpu0 \(90 b"
    ):
        check_run(travelled, platform=smaller)
    moved = Platform("o", (workers[0], Worker(1, "gpu0", "gpu", 0)), memories)
    with pytest.raises(CheckFailed, match=r"gpu0 of the run is in memory 1, on platform o in 0"):
        check_run(travelled, platform=moved)


def test_workers_in_memories_that_do_not_exist(travelled):
    lost = dataclasses.replace(travelled.workers[1], memory=2)
    run = dataclasses.replace(travelled, workers=(travelled.workers[0], lost))
    with pytest.raises(CheckFailed, match="worker gpu0: memory 2 does not exist, the run has 2"):
        check_run(run)


def two_node_chain(tasks, moves, seed):
    """A chain on one datum, each task where *moves* says, with the copies that it takes."""
    g = GraphBuilder("chain")
    x = g.handle("x", 8)
    for _ in range(tasks):
        g.insert("a", RW(x))
    rng = np.random.default_rng(seed)
    rows, copies, now, where = [], [], 0.0, 0
    for task, memory in enumerate(moves[:tasks]):
        ready = now
        if memory != where:
            copy_s = float(rng.uniform(0.1, 1))
            copies.append((0, where, memory, 8, now, now, now + copy_s, 0, task))
            now, where = now + copy_s, memory
        rows.append((0, memory, 0, ready, now, now + 1.0, task - 1))
        now += 1.0
    return g.build(), rows, copies


@given(moves=st.lists(st.integers(0, 1), min_size=2, max_size=12), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_every_copy_counts(make, moves, seed):
    graph, rows, copies = two_node_chain(len(moves), moves, seed)
    table = TransferTable(*zip(*copies, strict=True)) if copies else TransferTable.empty()
    base = make.run(rows, kernels=("a",))
    run = dataclasses.replace(base, **(two_workers() | {"transfers": table}))
    check_run(run, graph)
    for row in range(len(copies)):
        with pytest.raises(CheckFailed, match="no valid copy"):
            check_run(without(run, row), graph)


def test_large_runs_are_checked_in_a_moment(make):
    def made(tasks):
        moves = np.random.default_rng(0).integers(0, 2, tasks).tolist()
        graph, rows, copies = two_node_chain(tasks, moves, 0)
        transfers = {"transfers": TransferTable(*zip(*copies, strict=True))}
        run = make.run(rows, kernels=("a",))
        return dataclasses.replace(run, **(two_workers() | transfers)), graph

    runs = {tasks: made(tasks) for tasks in (2_500, 20_000)}
    assert nearly_linear(lambda tasks: check_run(*runs[tasks]), 2_500, 20_000)
