"""Whole graphs, executed in the order of their tasks."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from growth import growth

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.kernels import KernelError, Residual, bind, tiled

GRAPHS = [
    ("cholesky", {"tiles": 1, "tile_size": 1}),
    ("cholesky", {"tiles": 4, "tile_size": 5}),
    ("cholesky", {"tiles": 3, "tile_size": 33}),
    ("cholesky", {"tiles": 5, "tile_size": 64}),
    ("lu", {"tiles": 1, "tile_size": 1}),
    ("lu", {"tiles": 4, "tile_size": 5}),
    ("lu", {"tiles": 3, "tile_size": 33}),
    ("lu", {"tiles": 5, "tile_size": 64}),
    ("qr", {"tiles": 1, "tile_size": 1}),
    ("qr", {"tiles": 4, "tile_size": 5, "ib": 2}),
    ("qr", {"tiles": 3, "tile_size": 33, "ib": 8}),
    ("qr", {"tiles": 5, "tile_size": 64, "ib": 20}),
    ("qr", {"rows": 5, "columns": 2, "tile_size": 16, "ib": 5}),
    ("qr", {"rows": 2, "columns": 5, "tile_size": 16, "ib": 16}),
]


def execute(program, worker=0):
    for task in range(len(program.graph)):
        program.run(task, worker)
    return program


def matrix(program, tile):
    """Return the whole matrix; tiles without memory are zeros."""
    tiles = program.tiles
    return np.block(
        [
            [
                tile(i, j) if tiles.used(i, j) else np.zeros((tiles.tile_size, tiles.tile_size))
                for j in range(tiles.columns)
            ]
            for i in range(tiles.rows)
        ]
    ).astype(np.float64)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "arguments"), GRAPHS)
def test_factorisation_has_a_small_residual_and_again_after_reset(name, arguments, dtype):
    program = execute(bind(generate(name, **arguments, dtype=dtype), 1, seed=5))
    first = program.check()
    assert first.ok
    assert first.value < 3
    program.reset()
    assert execute(program).check() == first


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_check_fails_before_the_tasks_have_run(name):
    assert not bind(generate(name, tiles=3, tile_size=16), 1).check().ok


def test_cholesky_is_that_of_numpy():
    program = bind(generate("cholesky", tiles=3, tile_size=7), 1, seed=2)
    lower = np.tril(matrix(program, program.tiles.initial))
    expected = np.linalg.cholesky(lower + np.tril(lower, -1).T)
    execute(program)
    np.testing.assert_allclose(np.tril(matrix(program, program.tiles.tile)), expected, atol=1e-12)


def test_lu_is_a_product_of_triangles_without_permutation():
    program = bind(generate("lu", tiles=3, tile_size=7), 1, seed=2)
    a = matrix(program, program.tiles.initial)
    execute(program)
    factors = matrix(program, program.tiles.tile)
    product = (np.tril(factors, -1) + np.eye(21)) @ np.triu(factors)
    np.testing.assert_allclose(product, a, atol=1e-12)


@pytest.mark.parametrize("shape", [{"tiles": 3}, {"rows": 4, "columns": 2}])
def test_r_is_that_of_numpy_up_to_signs(shape):
    program = bind(generate("qr", **shape, tile_size=7, ib=3), 1, seed=2)
    a = matrix(program, program.tiles.initial)
    execute(program)
    r = np.triu(matrix(program, program.tiles.tile))[: a.shape[1]]
    expected = np.linalg.qr(a, mode="r")
    np.testing.assert_allclose(np.abs(r), np.abs(expected), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
@pytest.mark.parametrize("place", [(0, 0), (2, 0), (2, 2)])
def test_check_sees_one_wrong_element(name, dtype, place):
    program = execute(bind(generate(name, tiles=3, tile_size=32, dtype=dtype), 1))
    assert program.check().ok
    program.tiles.tile(*place)[-1, 0] += 0.1
    residual = program.check()
    assert not residual.ok
    assert "Ax" in residual.what


def test_check_sees_nan():
    program = execute(bind(generate("lu", tiles=2, tile_size=8), 1))
    program.tiles.tile(1, 0)[0, 0] = np.nan
    assert not program.check().ok


def test_which_worker_runs_a_task_does_not_change_the_result():
    graph = generate("qr", tiles=3, tile_size=16, ib=4)
    alone, shared = execute(bind(graph, 1)), bind(graph, 2)
    for task in range(len(graph)):
        shared.run(task, task % 2)
    assert matrix(shared, shared.tiles.tile).tobytes() == matrix(alone, alone.tiles.tile).tobytes()


def levels(graph):
    """Return the tasks by the length of the longest path to them."""
    level = [0] * len(graph)
    for task in range(len(graph)):
        for successor in graph.successors_of(task):
            level[successor] = max(level[successor], level[task] + 1)
    return [
        [task for task in range(len(graph)) if level[task] == at] for at in range(max(level) + 1)
    ]


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_independent_tasks_run_on_threads_at_once(name):
    graph = generate(name, tiles=4, tile_size=48)
    program = bind(graph, 2)

    def work(tasks, worker):
        for task in tasks:
            program.run(task, worker)

    for tasks in levels(graph):
        threads = [threading.Thread(target=work, args=(tasks[w::2], w)) for w in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert program.check().ok


def test_same_seed_same_matrix():
    graph = generate("cholesky", tiles=2, tile_size=9, dtype="float32")
    one, same, other = (bind(graph, 1, seed) for seed in (4, 4, 5))
    assert matrix(one, one.tiles.tile).tobytes() == matrix(same, same.tiles.tile).tobytes()
    assert matrix(one, one.tiles.tile).tobytes() != matrix(other, other.tiles.tile).tobytes()


def test_tiles_are_aligned_and_only_those_accessed_have_memory():
    program = bind(generate("cholesky", tiles=3, tile_size=5), 1)
    tiles = program.tiles
    assert [(i, j) for i in range(3) for j in range(3) if tiles.used(i, j)] == [
        (i, j) for i in range(3) for j in range(i + 1)
    ]
    assert {tiles.tile(i, j).ctypes.data % 64 for i in range(3) for j in range(i + 1)} == {0}


def test_indefinite_matrix_names_the_kernel():
    program = bind(generate("cholesky", tiles=2, tile_size=8), 1)
    program.tiles.tile(1, 1)[3, 3] = -100.0
    with pytest.raises(KernelError, match=r"kernel potrf: the leading minor of order 4") as e:
        execute(program)
    assert e.value.kernel == "potrf"


def test_zero_pivot_names_the_kernel():
    program = bind(generate("lu", tiles=2, tile_size=8), 1)
    program.tiles.tile(0, 0)[:] = 0.0
    with pytest.raises(KernelError, match=r"kernel getrf: pivot 1 is zero"):
        program.run(0, 0)


def test_bind_takes_a_time_in_proportion_to_the_tasks():
    graphs = {tiles: generate("qr", tiles=tiles, tile_size=4) for tiles in (8, 16)}
    few, many = (len(graph) for graph in graphs.values())
    assert growth(lambda tiles: bind(graphs[tiles], 2), 8, 16) < (many / few) ** 1.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "fft"}, "no kernels to execute; legal: graphs of cholesky, lu, qr"),
        ({"arguments": {}}, "no matrix A of tiles"),
        ({"arguments": {"tile_size": 9}}, "tiles of A are not of 648 bytes"),
        ({"arguments": {"tile_size": 8, "dtype": "int8"}}, "unknown dtype 'int8'"),
        ({"model_names": ("potrf", "trsm", "syrk", "axpy")}, "unknown kernel 'axpy'"),
        ({"model_names": ("potrf", "trsm", "gemm", "gemm")}, "has parameters m, n, k, got n, k"),
        ({"model_names": ("potrf", "trsm", "syrk", "gemm_nn"), "name": "x"}, "no kernels"),
    ],
)
def test_graph_that_cannot_be_executed_says_why(changes, message):
    graph = replace(generate("cholesky", tiles=3, tile_size=8), **changes)
    with pytest.raises(InputError, match=message):
        bind(graph, 1)


def test_tasks_whose_sizes_exceed_their_tiles_are_refused():
    graph = generate("cholesky", tiles=3, tile_size=8)
    larger = tuple(table * 2 for table in graph.parameters)
    with pytest.raises(
        InputError, match=r"accesses of its potrf are not the operands.*A \(n x n\)"
    ):
        bind(replace(graph, parameters=larger), 1)


def test_precision_is_that_of_the_graph_whatever_its_models_are_called():
    graph = generate("qr", tiles=2, tile_size=24, ib=6)
    models = tuple(f"{name}_float32" for name in graph.model_names)
    assert execute(bind(replace(graph, model_names=models), 1)).check().ok


def test_failure_is_told_by_the_model_and_named_by_the_kernel():
    graph = generate("cholesky", tiles=1, tile_size=4)
    program = bind(replace(graph, kernels=("factor", *graph.kernels[1:])), 1)
    program.tiles.tile(0, 0)[:] = 0.0
    with pytest.raises(KernelError, match=r"kernel factor: .*not positive definite"):
        program.run(0, 0)


def test_at_least_one_worker():
    with pytest.raises(InputError, match="workers=0: at least 1"):
        bind(generate("chain", length=1), 0)


@pytest.mark.parametrize(
    "graph",
    [
        generate("chain", length=3, duration=0.004),
        generate("fork-join", width=2, duration=0.003),
        generate("random-layered", layers=2, width=2, duration=0.002),
    ],
)
def test_tasks_with_a_duration_take_at_least_that_long(graph):
    program = bind(graph, 1)
    for task in range(len(graph)):
        begun = time.perf_counter()
        program.run(task, 0)
        assert time.perf_counter() - begun >= graph.parameters_of(task)["duration_s"]
    program.reset()
    assert program.check() is None


def test_duration_that_is_none_is_refused():
    graph = replace(generate("chain", length=2), parameters=(np.array([[-1.0]]),))
    with pytest.raises(
        InputError, match=r"task #0 \(duration_s=-1\): illegal duration; legal: 0 to"
    ):
        bind(graph, 1)


def two_kernels():
    g = GraphBuilder("mine")
    x = g.handle("x", size_bytes=8)
    g.insert("double", RW(x))
    g.insert("add", RW(x))
    g.insert("double", RW(x))
    return g.build()


def test_functions_run_with_the_number_of_the_task():
    called = []
    functions = {
        "double": lambda task: called.append(("double", task)),
        "add": lambda task: called.append(("add", task)),
    }
    program = execute(bind(two_kernels(), 1, functions=functions))
    assert called == [("double", 0), ("add", 1), ("double", 2)]
    program.reset()
    assert program.check() is None


def test_exception_of_a_function_becomes_a_kernel_error():
    def fail(task):
        raise ZeroDivisionError("by zero")

    program = bind(two_kernels(), 1, functions={"double": fail, "add": fail})
    with pytest.raises(KernelError, match="kernel add: ZeroDivisionError: by zero") as e:
        program.run(1, 0)
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_functions_that_do_not_match_the_kernels_are_refused():
    with pytest.raises(InputError, match="no function for kernel add"):
        bind(two_kernels(), 1, functions={"double": print})
    with pytest.raises(InputError, match="unknown kernel 'duble', did you mean 'double'"):
        bind(two_kernels(), 1, functions={"duble": print})


@pytest.mark.parametrize(("value", "ok"), [(0.0, True), (2.0, True), (2.1, False), (np.nan, False)])
def test_residual_is_right_up_to_its_tolerance(value, ok):
    assert Residual(value, 2.0, "x").ok is ok


def test_a_matrix_that_no_memory_holds_is_refused():
    with pytest.raises(InputError, match=r"^graph cholesky needs .* of memory, this machine has "):
        bind(generate("cholesky", tiles=4, tile_size=10**6), 1)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", None])
def test_seeds_are_integers(seed):
    with pytest.raises(InputError, match=r"seed=.*; legal: an integer from 0"):
        bind(generate("cholesky", tiles=1, tile_size=4), 1, seed)


def test_a_name_is_no_graph():
    with pytest.raises(InputError, match=r"graph: expected TaskGraph, got 'cholesky' \(str\)"):
        bind("cholesky", 1)


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_a_process_executes_each_kernel_once_on_data_of_its_own_before_it_counts(name, monkeypatch):
    monkeypatch.setattr(tiled, "_warmed_up", {})
    program = bind(generate(name, tiles=3, tile_size=8), 2)
    before = program.tiles.buffer.bytes.copy()
    executed = program.warm_ups(2)
    assert len(executed) == 2
    for warm_up in executed:
        warm_up()
    assert np.array_equal(program.tiles.buffer.bytes, before)
    assert program.warm_ups(2) == []
    assert len(bind(generate(name, tiles=4, tile_size=8), 3).warm_ups(3)) == 3


def test_large_kernels_are_warmed_up_at_a_smaller_size(monkeypatch):
    monkeypatch.setattr(tiled, "_warmed_up", {})
    bind(generate("cholesky", tiles=2, tile_size=300), 1).warm_ups(1)
    assert tiled._warmed_up.keys() >= {("potrf", (256,)), ("trsm", (256, 256))}
