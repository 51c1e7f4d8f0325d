"""Timed tasks, through the core and without it: times, failures, data that are made safe."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tasksim
from tasksim.core.library import status
from tasksim.kernels.calls import KernelError
from tasksim.kernels.program import bind
from tasksim.selective import timedtasks
from tasksim.selective.timedtasks import TimedTasks


@pytest.fixture(params=["core", "python"])
def runtime(request, monkeypatch):
    """Let tasks be called by the core, if it is there, or by Python."""
    if request.param == "python":
        monkeypatch.setattr(timedtasks, "status", lambda: SimpleNamespace(available=False))
    elif not status().available:
        pytest.skip(f"the core is {status().why}")
    return request.param


def small(name="cholesky"):
    return bind(tasksim.generate(name, tiles=2, tile_size=8), 2)


@pytest.mark.usefixtures("runtime")
def test_a_task_is_executed_and_timed():
    program, same = small(), small()
    tasks = TimedTasks(program, 2)
    tasks.expect(1)
    assert tasks.elapsed_s(1) == 0.0
    for task in range(len(program.graph)):
        tasks.run(task, 1, safe=False)
        same.run(task, 0)
        assert tasks.elapsed_s(1) > 0.0
    assert np.array_equal(program.tiles.buffer.bytes, same.tiles.buffer.bytes)
    assert tasks.elapsed_s(0) == 0.0


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("name", ["cholesky", "lu"])
def test_a_kernel_that_fails_on_wrong_data_gets_its_first_data_back(name):
    program = small(name)
    tasks = TimedTasks(program, 1)
    first = program.tiles.tile(0, 0).copy()
    program.tiles.tile(0, 0)[:] = 0.0
    with pytest.raises(KernelError, match=r"positive definite|pivot 1 is zero"):
        tasks.run(0, 0, safe=False)
    tasks.run(0, 0, safe=True)
    program.make_safe(0)
    assert np.array_equal(program.tiles.tile(0, 0), first)


@pytest.mark.parametrize("kernel", ["geqrt", "tpqrt"])
def test_a_factorisation_of_qr_does_not_meet_what_is_not_finite(kernel):
    program = small("qr")
    graph = program.graph
    task = next(t for t in range(len(graph)) if graph.kernel_of(t) == kernel)
    matrix = [h for h, _ in graph.accesses_of(task) if program.tiles.restores(h)]
    first = [program.datum(handle).copy() for handle in matrix]
    program.tiles.buffer.bytes[:] = 0xFF  # nothing that is a number
    program.make_safe(task)
    for handle, data in zip(matrix, first, strict=True):
        assert np.array_equal(program.datum(handle), data)
    program.run(task, 0)
    assert np.isfinite(program.tiles.tile(0, 0)).all()


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_what_is_given_back_is_the_same_without_python(name):
    program = small(name)
    copies, tiles = program.safe_copies(), program.tiles
    for task in range(len(program.graph)):
        tiles.buffer.bytes[:] = 0xFF
        program.make_safe(task)
        back = {int(handle) for handle in np.flatnonzero(tiles.offsets >= 0)
                if not (tiles.buffer.bytes[tiles.offsets[handle] :][:8] == 0xFF).all()}  # fmt: skip
        targets = copies.target[copies.pointer[task] : copies.pointer[task + 1]]
        assert set(targets.tolist()) == {int(tiles.addresses()[handle]) for handle in back}


def test_only_what_can_fail_gets_its_data_back():
    program = small()
    kernels = [program.graph.kernel_of(task) for task in range(len(program.graph))]
    trsm = kernels.index("trsm")
    program.tiles.tile(1, 0)[:] = 7.0
    program.make_safe(trsm)
    assert (program.tiles.tile(1, 0) == 7.0).all()


def test_python_functions_are_called_and_timed():
    graph = tasksim.generate("chain", length=2)
    called = []
    tasks = TimedTasks(bind(graph, 1, functions=dict.fromkeys(graph.kernels, called.append)), 1)
    tasks.run(1, 0, safe=True)
    assert called == [1]
    assert tasks.elapsed_s(0) > 0.0


class Clock:
    """A clock of threads that says what a script says."""

    def __init__(self, monkeypatch, says_s, preempted):
        said, counts = iter(says_s), iter(preempted)
        clock = SimpleNamespace(now_s=lambda: next(said))
        monkeypatch.setattr(timedtasks, "ThreadClock", lambda: clock)
        monkeypatch.setattr(timedtasks, "preemptions", lambda: next(counts))


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("preempted", [True, False])
def test_a_task_that_was_preempted_takes_its_processor_time(monkeypatch, preempted):
    Clock(monkeypatch, [1.0, 1.0 + 1e-9], [5, 5 + preempted])
    tasks = TimedTasks(small(), 1)
    tasks.expect(0)
    tasks.run(0, 0, safe=False)
    assert (tasks.elapsed_s(0) == pytest.approx(1e-9)) is preempted


def test_while_others_have_the_core_of_a_task_it_takes_nothing(monkeypatch):
    Clock(monkeypatch, [1.0, 1.0 + 2e-9, 1.0 + 3e-9], [0, 1])
    graph, seen = tasksim.generate("chain", length=1), []
    tasks = TimedTasks(
        bind(graph, 1, functions={"task": lambda _: seen.append(tasks.elapsed_s(0))}), 1
    )
    tasks.expect(0)
    tasks.run(0, 0, safe=False)
    assert seen == pytest.approx([2e-9])
    assert tasks.elapsed_s(0) == pytest.approx(3e-9)


def test_without_a_clock_that_others_can_read_tasks_take_what_they_took(monkeypatch):
    Clock(monkeypatch, [np.nan] * 3, [0, 1])
    tasks = TimedTasks(small(), 1)
    tasks.expect(0)
    tasks.run(0, 0, safe=False)
    assert tasks.elapsed_s(0) > 1e-9


@pytest.mark.parametrize(("wall_s", "own_s"), [(0.0002, 0.0002), (0.005, 0.0001)])
def test_who_was_preempted_only_by_a_thread_beside_it_takes_what_it_took(
    monkeypatch, wall_s, own_s
):
    Clock(monkeypatch, [1.0, 1.0001], [5, 9])
    monkeypatch.setattr(timedtasks, "status", lambda: SimpleNamespace(available=False))
    wall = iter([0.5, 0.5 + wall_s])
    monkeypatch.setattr(timedtasks, "perf_counter", lambda: next(wall))
    tasks = TimedTasks(small(), 1, beside=lambda: 0.0)
    tasks.expect(0)
    tasks.run(0, 0, safe=False)
    assert tasks.elapsed_s(0) == pytest.approx(own_s)
