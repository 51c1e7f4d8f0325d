"""Parts of a run over ranks that need no MPI to be seen: calls, data, clocks, versions."""

from __future__ import annotations

import sys
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.cli.over_ranks import grid_of
from tasksim.core import interface
from tasksim.core.library import status
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder, Reduce
from tasksim.graph.distribution.owners import NodeGrid, owners_of
from tasksim.graph.distribution.parts import distribute
from tasksim.kernels.program import bind
from tasksim.native.cluster.clocks import ClockComparison, clock_of
from tasksim.native.cluster.communicator import Communicator
from tasksim.native.cluster.execute import RankProgram, cut_for, platform_of_rank, refuse_planner
from tasksim.native.cluster.parcels import rows_of
from tasksim.native.cluster.ranks import refuse_unequal, world
from tasksim.native.cluster.records import without_own_thread
from tasksim.native.machine_account import MachineAccount, disturbance_of
from tasksim.native.processor_time import ThreadAccount
from tasksim.run.record import TaskTable
from tasksim.schedulers.registry import create


@pytest.mark.skipif(not status().available, reason=status().why)
def test_the_tasks_of_a_part_call_what_they_call_in_the_whole():
    core = interface.functions()
    graph = generate("cholesky", tiles=4, tile_size=8)
    program = bind(graph, 2)
    whole = program.calls(core)
    for part in distribute(graph, owners_of(graph, NodeGrid(1, 2)), 2).parts:
        calls = RankProgram(part, program).calls(core)
        for local, number in enumerate(part.task.tolist()):
            here = slice(calls.argument_ptr[local], calls.argument_ptr[local + 1])
            if number < 0:
                assert calls.function[local] == -1
                assert here.start == here.stop
                continue
            there = slice(whole.argument_ptr[number], whole.argument_ptr[number + 1])
            assert calls.function[local] == whole.function[number]
            assert calls.arguments[here].tolist() == whole.arguments[there].tolist()


def test_a_v_within_a_tile_is_what_is_below_its_diagonal():
    graph = generate("qr", tiles=2, tile_size=4, ib=2)
    program = bind(graph, 1)
    tile = program.tiles.tile(0, 0)
    tile[:] = 0.0
    v = next(block for block in graph.handle_blocks if block.name == "V")
    for piece in program.pieces(v.first):
        piece[:] = 1.0
    assert np.array_equal(tile, np.tril(np.ones((4, 4)), -1))


def test_rows_of_an_array_are_contiguous():
    array = np.arange(24).reshape(2, 3, 4)[:, :2, 1:3]
    rows = list(rows_of(array))
    assert np.array_equal(np.concatenate([row.ravel() for row in rows]), array.ravel())
    with pytest.raises(InputError, match="gaps"):
        list(rows_of(np.arange(6)[::2]))


def test_a_drift_is_stated_where_it_is_more_than_what_is_not_known():
    clock = clock_of(ClockComparison(10.0, 5.0, 1e-6), ClockComparison(20.0, 5.001, 1e-6))
    assert clock.drift == pytest.approx(1e-4)
    assert clock.aligned(np.array([10.0, 20.0])) == pytest.approx([15.0, 25.001])
    assert (
        clock_of(ClockComparison(10.0, 5.0, 1e-6), ClockComparison(20.0, 5.0 + 1e-6, 1e-6)).drift
        == 0.0
    )


def test_unequal_versions_are_refused_by_rank():
    refuse_unequal(["1.0", "1.0"])
    with pytest.raises(InputError, match=r"rank 1 has 0\.9, the others 1\.0"):
        refuse_unequal(["1.0", "0.9", "1.0"])


@pytest.mark.parametrize("text", ["2", "0x2", "2x", "axb", "-1x2"])
def test_what_is_no_grid_is_refused(text):
    with pytest.raises(InputError, match="ROWSxCOLUMNS"):
        grid_of(text, 2)


def test_a_grid_of_another_number_of_nodes_says_how_to_start_it():
    graph = generate("cholesky", tiles=2, tile_size=8)
    with pytest.raises(InputError, match="mpiexec -n 6"):
        cut_for(graph, NodeGrid(2, 3), "row", 2)


def test_without_mpi4py_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(InputError, match=r"pip install 'tasksim\[mpi\]'"):
        world("a run over ranks")


def test_more_ranks_than_cores_are_refused_unless_workers_are_said():
    ranks = SimpleNamespace(here=(0, 3), cores=[0, 1])
    with pytest.raises(InputError, match="3 ranks share 2 cores of this machine"):
        platform_of_rank(ranks, None)
    assert len(platform_of_rank(ranks, 1).workers) == 1


@pytest.mark.parametrize("name", ["heft", "graph_test"])
def test_schedulers_that_plan_are_refused(name):
    with pytest.raises(InputError, match="plans a whole graph"):
        refuse_planner(create(name))


def test_reductions_over_ranks_are_refused():
    g = GraphBuilder("sum")
    total = g.handle("total", size_bytes=8)
    for _ in range(2):
        g.insert("add", Reduce(total))
    with pytest.raises(InputError, match="reductions"):
        cut_for(g.build(), NodeGrid(1, 2), "row", 2)


def table(duration_s, cpu_s, preemptions):
    """Return records of tasks that began at 0."""
    nothing = np.zeros(len(duration_s))
    numbers = dict.fromkeys(("kernel", "worker", "priority", "released_by"), nothing.astype(int))
    times = dict.fromkeys(("submitted_s", "ready_s", "popped_s", "start_s"), nothing)
    return TaskTable(
        task=np.arange(len(duration_s)), end_s=duration_s, cpu_s=cpu_s, preemptions=preemptions,
        **numbers, **times,
    )  # fmt: skip


def test_what_the_ranks_own_thread_took_from_its_tasks_is_not_others():
    tasks = table(
        duration_s=[0.010, 0.010, 0.010, 0.010, 0.010],
        cpu_s=[0.009, 0.0088, 0.005, 0.010, np.nan],
        preemptions=[7, 9, 3, 0, -1],
    )
    found = without_own_thread(tasks, np.full(5, 0.001))
    assert found.cpu_s[:4] == pytest.approx([0.010, 0.0098, 0.006, 0.010])
    assert np.isnan(found.cpu_s[4])
    assert found.preemptions.tolist() == [0, 0, 3, 0, -1]
    assert np.array_equal(found.end_s, tasks.end_s)


def test_the_thread_that_communicates_knows_when_it_had_a_core():
    communicator = Communicator.__new__(Communicator)
    communicator._looks = array("d", (0.0, 0.0, 1.0, 0.1, 3.0, 0.7))
    used_s = communicator.used_s(np.array([0.0, 0.5, 2.0]), np.array([1.0, 2.0, 9.0]))
    assert used_s == pytest.approx([0.1, 0.35, 0.3])


def test_of_workers_that_have_fewer_cores_nobody_knows_what_others_took(monkeypatch):
    monkeypatch.setattr("tasksim.native.machine_account.usable_cores", lambda: [0, 1])
    monkeypatch.setattr("tasksim.native.machine_account.has_thread_clock", lambda: True)
    account, machine = ThreadAccount(1.0, 0.5, 3), MachineAccount(0.0, None, 0.25)
    assert disturbance_of([account] * 2, machine).waited_s == (0.5, 0.5)
    assert disturbance_of([account] * 3, machine) is None
