"""The compiled runtime: when it runs, kernels by address, what it refuses, what it frees."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

from tasksim.base.errors import InputError, TaskFailed
from tasksim.core.library import status
from tasksim.graph.apps.registry import generate
from tasksim.kernels.calls import CallTable, NativeFunction, Tells, address_of
from tasksim.kernels.program import bind
from tasksim.native.compiled import CompiledExecution, calls_of
from tasksim.native.execute import execute
from tasksim.native.runtimes import choose_runtime
from tasksim.platform.description import Platform
from tasksim.runtime.view import Facts
from tasksim.schedulers.registry import create

TWO_CORES = Platform.identical(2)
GRAPH = generate("chain", length=3, duration=0.0)

needs_core = pytest.mark.skipif(not status().available, reason=status().why)


def test_a_runtime_that_is_none_is_refused():
    with pytest.raises(InputError, match="runtime: got 'fast'"):
        execute(GRAPH, TWO_CORES, "eager", runtime="fast")


def test_without_a_core_python_executes_and_says_why(monkeypatch):
    monkeypatch.setenv("TASKSIM_CORE", "off")
    run = execute(GRAPH, TWO_CORES, "eager")
    assert (run.engine, run.engine_why) == (
        "python",
        "the core is switched off by TASKSIM_CORE=off",
    )
    with pytest.raises(InputError, match="runtime=compiled: the core is switched off"):
        execute(GRAPH, TWO_CORES, "eager", runtime="compiled")


def test_python_is_there_for_who_wants_it():
    assert choose_runtime("python", TWO_CORES).why == "asked for"


class ByAddress:
    """Tasks that call a function of C with a number each, and what the worker has of its own."""

    graph = GRAPH

    def __init__(self, function, tells, own=()):
        self.function, self.tells, self.own = function, tells, own
        self.numbers = np.arange(10, 10 + len(GRAPH), dtype=np.int64)

    def calls(self, core):
        table = CallTable(len(GRAPH), len(self.own))
        function = NativeFunction(address_of(self.function), self.tells, self.own)
        table.add(function, np.arange(len(GRAPH)), self.numbers[:, None])
        return table.calls(kept=self.function)

    def run(self, task, worker):
        raise AssertionError("called in Python")

    def reset(self):
        pass

    def check(self):
        pass


def c_function(body, *arguments, result=ctypes.c_int32):
    return ctypes.CFUNCTYPE(result, *arguments)(body)


@needs_core
def test_arguments_are_the_task_s_and_then_the_worker_s():
    called = []
    function = c_function(lambda *given: called.append(given) or 0, *[ctypes.c_int64] * 3)
    program = ByAddress(function, Tells.RESULT, own=[[7, 8], [7, 8]])
    execute(GRAPH, TWO_CORES, "eager", program=program, runtime="compiled")
    assert called == [(10, 7, 8), (11, 7, 8), (12, 7, 8)]


@needs_core
def test_a_function_tells_by_what_it_returns():
    function = c_function(lambda number: 5 if number == 11 else 0, ctypes.c_int64)
    with pytest.raises(TaskFailed, match=r"task #1 .* kernel task: it returned 5"):
        execute(
            GRAPH, TWO_CORES, "eager", program=ByAddress(function, Tells.RESULT), runtime="compiled"
        )


@needs_core
def test_what_a_function_without_a_result_leaves_is_no_error():
    function = c_function(lambda number: 5, ctypes.c_int64)
    execute(
        GRAPH, TWO_CORES, "eager", program=ByAddress(function, Tells.NOTHING), runtime="compiled"
    )


@needs_core
def test_a_matrix_that_cannot_be_factorised_is_told_as_in_python():
    told = []
    for runtime in ("python", "compiled"):
        graph = generate("cholesky", tiles=2, tile_size=4)
        program = bind(graph, 1)
        program.tiles.tile(0, 0)[:] = -1.0
        program.tiles.keep()
        with pytest.raises(TaskFailed) as caught:
            execute(graph, Platform.identical(1), "eager", program=program, runtime=runtime)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "not positive definite" in told[0]


@needs_core
def test_lu_by_halves_is_what_python_does():
    """A tile in whose first column the diagonal is not the largest: no pivoting all the same."""
    results = []
    for runtime in ("python", "compiled"):
        graph = generate("lu", tiles=2, tile_size=16)
        program = bind(graph, 1, seed=1)
        tile = program.tiles.tile(0, 0)
        tile[np.diag_indices(16)] = 1.0
        program.tiles.keep()
        execute(graph, Platform.identical(1), "eager", program=program, runtime=runtime)
        results.append(program.tiles.tile(0, 0).copy())
    assert np.isfinite(results[0]).all()
    np.testing.assert_array_equal(results[0], results[1])


def execution(program):
    return CompiledExecution(Facts.on_any_worker(GRAPH, TWO_CORES, create("eager")), program)


@needs_core
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("address", [0]),
        ("tells", [9]),
        ("tells", [-1]),
        ("function", [0, 0, 1]),
        ("function", [-2, 0, 0]),
        ("argument_ptr", [0, 2, 1, 3]),
        ("argument_ptr", [1, 2, 3, 3]),
        ("argument_ptr", [0, 33, 33, 33]),
        ("own_ptr", [0, -1]),
    ],
)
def test_arrays_out_of_range_are_refused(name, value):
    import dataclasses
    import random

    program = ByAddress(c_function(lambda number: 0, ctypes.c_int64), Tells.RESULT)
    made = execution(program)
    before = getattr(made._calls, name)
    wrong = np.array(value, dtype=before.dtype)
    made._calls = dataclasses.replace(made._calls, **{name: wrong})
    with pytest.raises(RuntimeError, match="the core does not take this run: status 2"):
        made.run(random.Random(0))


@needs_core
def test_runs_and_calls_are_freed():
    import random

    program = bind(GRAPH, 2)
    made = execution(program)
    made.run(random.Random(0))
    run, calls = weakref.ref(made), weakref.ref(calls_of(program))
    del made
    gc.collect()
    assert run() is None
    assert calls() is not None  # until its program is
    del program
    gc.collect()
    assert calls() is None
