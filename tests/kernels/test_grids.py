"""Programs that run step by step: conjugate gradients, Jacobi's iteration, SUMMA."""

from dataclasses import replace

import numpy as np
import pytest

from tasksim.base.errors import CheckFailed, InputError
from tasksim.core.library import library
from tasksim.graph.apps.registry import generate
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.graph.distribution.parts import cut_by
from tasksim.kernels.program import bind
from tasksim.run.runchecks import check_run
from tasksim.scenario.public import simulate

CASES = {
    "cg": {"block_rows": 2, "block_columns": 3, "block_size": 8, "iterations": 5},
    "jacobi": {"block_rows": 3, "block_columns": 2, "block_size": 8, "iterations": 5},
    "summa": {"tiles": 3, "tile_size": 8, "rows": 2, "columns": 1},
}


def executed(name, **more):
    program = bind(generate(name, **{**CASES[name], **more}), 1, seed=3)
    for task in range(len(program.graph)):
        program.run(task, 0)
    return program


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_right_and_again_after_a_reset(name):
    program = executed(name)
    assert program.check().ok
    program.reset()
    assert not program.check().ok
    for task in range(len(program.graph)):
        program.run(task, 0)
    assert program.check().ok


@pytest.mark.parametrize("name", CASES)
def test_what_one_task_leaves_out_shows(name):
    program = bind(generate(name, **CASES[name]), 1, seed=3)
    left_out = program.graph.kernels.index({"cg": "stencil", "jacobi": "pack"}.get(name, "gemm"))
    without = int(np.flatnonzero(program.graph.kernel == left_out)[-1])
    for task in range(len(program.graph)):
        if task != without:
            program.run(task, 0)
    assert not program.check().ok


def test_conjugate_gradients_reach_the_solution_and_stay_there():
    program = executed("cg", block_rows=1, block_columns=2, block_size=4, iterations=80)
    assert program.check().value < 1e-12
    r = np.concatenate([program.blocks.array(program.blocks.handle("r", 0, j)) for j in (0, 1)])
    assert np.abs(r).max() < 1e-12


@pytest.mark.parametrize("name", CASES)
def test_a_rank_has_memory_for_what_it_owns_or_reads(name):
    graph = generate(name, **CASES[name])
    whole = bind(graph, 1, seed=3)
    for part in cut_by(graph, NodeGrid(2, 1)).parts:
        some = bind(graph, 1, seed=3, held=part.handle)
        for handle in range(graph.handles):
            datum = some.datum(handle)
            assert (datum is not None) == (handle in set(part.handle.tolist()))
            assert datum is None or np.array_equal(datum, whole.datum(handle))
    with pytest.raises(InputError, match="is on another process"):
        some.check()


@pytest.mark.skipif(library() is None, reason="no compiled core here")
@pytest.mark.parametrize("name", CASES)
def test_all_tasks_are_called_without_python(name):
    program = bind(generate(name, **CASES[name]), 1)
    calls = program.calls(library())
    assert (calls.function >= 0).all()


def test_float32_is_multiplied_in_float32():
    program = executed("summa", dtype="float32")
    assert program.check().ok
    assert program.blocks.datum(0).nbytes == 8 * 8 * 4


def test_who_overwrites_what_is_being_sent_is_released_by_who_had_it_sent():
    graph = generate("jacobi", block_rows=1, block_columns=2, block_size=8, iterations=3)
    run = simulate(
        graph, workers=1, nodes=2, grid="1x2", network="switch:bandwidth=1GB/s,latency=1us",
        durations={"pack": 1e-6, "relax": 1e-5},
    )  # fmt: skip
    check_run(run, graph)
    packs = np.flatnonzero(graph.kernel == graph.kernels.index("pack"))
    relaxes = np.flatnonzero(graph.kernel == graph.kernels.index("relax"))
    # The edge of the first step has been sent since the first pack, the relaxed block never is.
    check_run(_released(run, packs[4], packs[0]), graph)
    with pytest.raises(CheckFailed, match="which is no predecessor"):
        check_run(_released(run, packs[4], relaxes[0]), graph)


def _released(run, task, by):
    released_by = run.tasks.released_by.copy()
    released_by[task] = by
    return replace(run, tasks=replace(run.tasks, released_by=released_by))
