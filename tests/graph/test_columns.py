"""The column builder, and the generators that use it: the graphs that loops give, to the byte."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import GraphError, InputError
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.columns import RW as UPDATE
from tasksim.graph.columns import ColumnBuilder
from tasksim.graph.columns import R as READ
from tasksim.graph.columns import W as WRITE


def cholesky(g, N, b, element):
    A = g.matrix("A", N, N, size_bytes=b * b * element)
    for k in range(N):
        urgency = 2 * N - 2 * k
        g.insert("potrf", RW(A[k, k]), n=b, priority=urgency)
        for m in range(k + 1, N):
            g.insert("trsm", R(A[k, k]), RW(A[m, k]), m=b, n=b, priority=urgency - m)
        g.wont_use(A[k, k])
        for n in range(k + 1, N):
            g.insert("syrk", R(A[n, k]), RW(A[n, n]), n=b, k=b, priority=urgency - n)
            for m in range(n + 1, N):
                g.insert(
                    "gemm", R(A[m, k]), R(A[n, k]), RW(A[m, n]),
                    m=b, n=b, k=b, priority=urgency - m - n,
                )  # fmt: skip
            g.wont_use(A[n, k])


def lu(g, N, b, element):
    A = g.matrix("A", N, N, size_bytes=b * b * element)
    for k in range(N):
        g.insert("getrf", RW(A[k, k]), n=b, priority=3 * N - 3 * k)
        for i in range(k + 1, N):
            urgency = 3 * N - (2 * k + i)
            g.insert("trsm_ll", R(A[k, k]), RW(A[k, i]), m=b, n=b, priority=urgency)
            g.insert("trsm_ru", R(A[k, k]), RW(A[i, k]), m=b, n=b, priority=urgency)
        g.wont_use(A[k, k])
        for i in range(k + 1, N):
            for j in range(k + 1, N):
                g.insert(
                    "gemm", R(A[i, k]), R(A[k, j]), RW(A[i, j]),
                    m=b, n=b, k=b, priority=3 * N - (k + i + j),
                )  # fmt: skip
        for i in range(k + 1, N):
            g.wont_use(A[i, k])
            g.wont_use(A[k, i])


def qr(g, P, Q, b, ib, element):
    N, K = max(P, Q), min(P, Q)
    A = g.matrix("A", P, Q, size_bytes=b * b * element)
    T = g.matrix("T", P, K, size_bytes=ib * b * element)
    V = g.vector("V", K, size_bytes=b * b * element)
    for k in range(K):
        g.insert(
            "geqrt", RW(A[k, k]), W(V[k]), W(T[k, k]),
            m=b, n=b, ib=ib, priority=3 * N - 3 * k,
        )  # fmt: skip
        for n in range(k + 1, Q):
            g.insert(
                "gemqrt", R(V[k]), R(T[k, k]), RW(A[k, n]),
                m=b, n=b, k=b, ib=ib, priority=3 * N - (2 * k + n),
            )  # fmt: skip
        g.wont_use(V[k])
        g.wont_use(T[k, k])
        for m in range(k + 1, P):
            g.insert(
                "tpqrt", RW(A[k, k]), RW(A[m, k]), W(T[m, k]),
                m=b, n=b, ib=ib, priority=3 * N - (2 * k + m),
            )  # fmt: skip
            for n in range(k + 1, Q):
                g.insert(
                    "tpmqrt", R(A[m, k]), R(T[m, k]), RW(A[k, n]), RW(A[m, n]),
                    m=b, n=b, k=b, ib=ib, priority=3 * N - (k + m + n),
                )  # fmt: skip
            g.wont_use(A[m, k])
            g.wont_use(T[m, k])
        for n in range(k, Q):
            g.wont_use(A[k, n])


def by_loop(name, arguments, fill, *sizes):
    """Return the graph that a loop makes, called as the generator *name* calls its own."""
    made = generate(name, **arguments)
    models = dict(zip(made.kernels, made.model_names, strict=True))
    g = GraphBuilder(name, made.arguments, models)
    fill(g, *sizes)
    return made, g.build()


@pytest.mark.parametrize("tiles", [*range(1, 9), 13, 20])
@pytest.mark.parametrize(("dtype", "element"), [("float64", 8), ("float32", 4)])
@pytest.mark.parametrize(("name", "fill"), [("cholesky", cholesky), ("lu", lu)])
def test_factorisations_are_those_of_the_loop(name, fill, tiles, dtype, element):
    arguments = {"tiles": tiles, "tile_size": 10 + tiles, "dtype": dtype}
    made, expected = by_loop(name, arguments, fill, tiles, 10 + tiles, element)
    assert made.same_as(expected)
    assert [column.dtype for column in vars(made).values() if isinstance(column, np.ndarray)] == [
        column.dtype for column in vars(expected).values() if isinstance(column, np.ndarray)
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("columns", [1, 2, 4, 6])
def test_qr_is_that_of_the_loop(rows, columns):
    arguments = {"rows": rows, "columns": columns, "tile_size": 24, "ib": 8, "dtype": "float32"}
    made, expected = by_loop("qr", arguments, qr, rows, columns, 24, 8, 4)
    assert made.same_as(expected)


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_chain_is_that_of_the_loop(length):
    g = GraphBuilder("chain", generate("chain", length=length).arguments)
    x = g.handle("x", size_bytes=0)
    for _ in range(length):
        g.insert("task", RW(x), duration_s=1e-3)
    assert generate("chain", length=length).same_as(g.build())


def test_kernels_come_as_their_tasks_do_whatever_was_inserted_first():
    g = ColumnBuilder("mixed", tasks=4)
    x = g.vector("x", 2, size_bytes=8)
    g.insert("late", np.array([1, 3]), (READ, x.at(np.array([0, 1]))), n=2)
    g.insert("early", np.array([0, 2]), (WRITE, x.at(np.array([0, 1]))), priority=np.array([5, 6]))
    graph = g.build()
    assert graph.kernels == ("early", "late")
    assert [graph.kernel_of(task) for task in range(4)] == ["early", "late", "early", "late"]
    assert graph.priority.tolist() == [5, 0, 6, 0]
    assert [graph.successors_of(task) for task in range(4)] == [[1], [], [3], []]


def test_equal_insertions_share_a_configuration():
    g = ColumnBuilder("two parts", tasks=3)
    g.insert("task", np.array([0, 2]), n=1)
    g.insert("task", np.array([1]), n=1)
    graph = g.build()
    assert graph.parameters[0].tolist() == [[1.0]]
    assert graph.row.tolist() == [0, 0, 0]


def test_accesses_of_one_task_to_one_handle_are_merged():
    g = ColumnBuilder("merged", tasks=2)
    x = g.handle("x", size_bytes=8)
    g.insert("task", np.arange(2), (READ, x), (UPDATE, x))
    assert g.build().access_handle.tolist() == [0, 0]


@pytest.mark.parametrize("places", [[0, 1], [0, 1, 1], [0, 2, 2]])
def test_numbers_are_given_once_each(places):
    g = ColumnBuilder("holes", tasks=3)
    g.insert("task", np.array(places))
    with pytest.raises(GraphError, match="tasks were inserted, which are not all from 0 to 2"):
        g.build()


def test_no_tasks():
    graph = ColumnBuilder("empty", tasks=0).build()
    assert (len(graph), graph.edges, graph.hints) == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("cholesky", {"tiles": 5000}), ("lu", {"tiles": 2**31}), ("chain", {"length": 10**10})],
)
def test_more_tasks_than_can_be_numbered_are_refused(name, arguments):
    with pytest.raises(GraphError, match=rf"{name}: a graph of \d+ tasks; legal: fewer than"):
        generate(name, **arguments)


def test_what_has_no_room_is_refused_before_memory_is_gone(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda _: 2**14)  # pages, and their size: 256 MiB
    with pytest.raises(InputError, match="1335334000 tasks needs 373 GiB"):
        generate("cholesky", tiles=2000)
    assert len(generate("cholesky", tiles=20)) == 1540
