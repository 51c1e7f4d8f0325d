"""Factorisations on grids of ranks, and look-ahead: tasks, sizes and orders by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tasksim
from tasksim.base.errors import InputError
from tasksim.graph.flop import task_flop
from tasksim.kernels.program import bind

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


def counts(graph):
    return graph.summary()["kernels"]


def sizes(graph, kernel):
    """The parameters of the tasks of a kernel, in their order."""
    return [graph.parameters_of(t) for t in range(len(graph)) if graph.kernel_of(t) == kernel]


@pytest.mark.parametrize("base", ["gather", "allgather", "layer"])
@pytest.mark.parametrize("levels", [0, 1, 3])
@pytest.mark.parametrize("side", [1, 2, 3])
def test_tasks_of_the_recursive_cholesky(base, levels, side):
    graph = tasksim.generate("recursive-cholesky", n=6 * 2**levels, block=6, base=base, side=side)
    leaves, inner = 2**levels, 2**levels - 1
    products = 2 * inner + 2 * (inner - levels)
    solving = {"gather": 1, "allgather": side**3, "layer": side**2}[base]
    expected = {
        "trmm": (products - inner) * side**3,
        "syrk": inner * side**3,
        "potrf": leaves * solving,
        "trtri": (leaves - 1) * solving,
    }
    if side > 1:
        expected["bcast"] = 2 * products * side**2
        expected["allreduce"] = products * side**2
        if base == "gather":
            expected["gather"] = expected["scatter"] = leaves
        else:
            expected["allgather"] = leaves * (side if base == "allgather" else 1)
        if base != "allgather":
            expected["bcast"] += leaves * side**2
    assert counts(graph) == {name: count for name, count in expected.items() if count}


def test_collectives_have_the_signatures_of_their_ranks():
    graph = tasksim.generate("recursive-cholesky", n=24, block=12, side=2)
    assert sizes(graph, "gather")[0] == {"bytes": 8 * 12 * 12, "ranks": 4, "stride": 1}
    # Twice as much goes back: the factor and its inverse; not of the last, which nobody needs.
    assert [s["bytes"] for s in sizes(graph, "scatter")] == [2 * 8 * 144, 8 * 144]
    assert {s["stride"] for s in sizes(graph, "bcast")} == {1, 2, 4}
    assert sizes(graph, "allreduce")[0] == {"bytes": 8 * 36, "ranks": 2, "stride": 4}


def bulk_costs(n, block, side, base):
    """Closed costs of the bulk-synchronous model along the critical path of the recursion."""

    def product(rows):
        local = rows // side
        return np.array([3.0, 3.0 * local**2, local**3])

    def factor(rows, inverse):
        if rows == block:
            whole, back = rows**2, (1 + inverse) * rows**2
            moved = {
                "gather": [3.0, whole + back + back / side**2],
                "allgather": [1.0, whole],
                "layer": [2.0, whole + back / side**2],
            }
            return np.array([*moved[base], (1 + inverse) * rows**3 / 3])
        half = rows // 2
        both = factor(half, True) + factor(half, inverse)
        return both + (2 + 2 * inverse) * product(half)

    return factor(n, False)


@settings(max_examples=20, deadline=None)
@given(
    levels=st.integers(0, 3), side=st.integers(2, 3),
    base=st.sampled_from(["gather", "allgather", "layer"]),
)  # fmt: skip
def test_costs_along_the_path_are_the_closed_ones(levels, side, base):
    n = 6 * 2**levels
    graph = tasksim.generate("recursive-cholesky", n=n, block=6, side=side, base=base)
    durations = dict.fromkeys(graph.kernels, 1.0)
    run = tasksim.simulate(graph, workers=side**3, durations=durations, scheduler="eager")
    closed = bulk_costs(n, 6, side, base)
    found = [tasksim.longest_path(run, graph, by).cost for by in ("synchronisations", "words")]
    assert found == pytest.approx(closed[:2])
    # Operations of one rank: each adds up those of its own tasks.
    assert tasksim.longest_path(run, graph, "flop").cost == pytest.approx(closed[2])


def test_tasks_of_the_pipelined_qr():
    graph = tasksim.generate("pipelined-qr", n=16, m=32, block=8, rows=2, columns=2)
    # Two panels of 2 x 2 ranks; the second has 24 rows left: 16 on the second row, 8 on the first.
    assert counts(graph) == {
        "geqrf": 4, "sendrecv": 2, "tpqrt": 2, "ormqr": 4, "getrf": 2, "trsm": 4,
        "bcast": 2 + 2, "gemm": 4, "allreduce": 1, "trmm": 2,
    }  # fmt: skip
    assert [s["m"] for s in sizes(graph, "geqrf")] == [16, 16, 8, 16]
    assert sizes(graph, "allreduce") == [{"bytes": 8 * 8 * 8, "ranks": 2, "stride": 2}]
    assert sizes(graph, "gemm")[0] == {"m": 8, "n": 8, "k": 16}
    assert sizes(graph, "gemm")[2] == {"m": 16, "n": 8, "k": 8}
    # The broadcast of the vectors along the rows comes after those of the first panel's column.
    assert [s["stride"] for s in sizes(graph, "bcast")] == [2, 1, 1, 2]


def test_the_grid_follows_from_all_ranks():
    one = tasksim.generate("pipelined-qr", n=32, block=8, rows=4, ranks=8)
    other = tasksim.generate("pipelined-qr", n=32, block=8, rows=4, columns=2)
    assert counts(one) == counts(other)
    assert one.edges == other.edges


@settings(max_examples=20, deadline=None)
@given(
    wide=st.integers(1, 5), more=st.integers(0, 3), rows=st.integers(1, 4),
    columns=st.integers(1, 3),
)  # fmt: skip
def test_updates_of_all_ranks_are_those_of_one(wide, more, rows, columns):
    """However many ranks share the trailing matrix, all of it is updated with each panel."""
    high, b = wide + more, 4

    def update_flop(rows, columns):
        graph = tasksim.generate(
            "pipelined-qr", n=b * wide, m=b * high, block=b, rows=rows, columns=columns
        )
        flop = task_flop(graph)
        return sum(flop[t] for t in range(len(graph)) if graph.kernel_of(t) == "gemm")

    expected = sum(4 * b * b * (high - j) * b * (wide - j - 1) for j in range(wide))
    assert update_flop(rows, columns) == pytest.approx(expected)


def test_a_shrinking_matrix_has_many_signatures():
    graph = tasksim.generate("pipelined-qr", n=64, block=8, rows=2, columns=2)
    tiled = tasksim.generate("qr", tiles=8, tile_size=8)
    assert sum(map(len, graph.parameters)) > 10 * sum(map(len, tiled.parameters))


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("recursive-cholesky", {"n": 48, "block": 10}, "n=48; legal: .* such as 40 or 80"),
        ("recursive-cholesky", {"n": 20, "block": 5}, "block=5; legal: a multiple of side, 2"),
        ("recursive-cholesky", {"n": 8, "block": 8, "base": "gathr"}, "gather"),
        ("pipelined-qr", {"n": 30, "block": 8}, "n=30; legal: a multiple of block, 8"),
        ("pipelined-qr", {"n": 32, "m": 16, "block": 8}, "m=16; legal: at least n, 32"),
        ("pipelined-qr", {"n": 8, "block": 8, "rows": 3, "ranks": 8}, "ranks=8, rows=3; legal"),
        ("pipelined-qr", {"n": 8, "block": 8, "columns": 3, "ranks": 6}, "columns=3; legal"),
        ("cholesky", {"tiles": 2, "lookahead": -1}, "legal"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(name, given, said):
    with pytest.raises(InputError, match=said):
        tasksim.generate(name, **given)


def ancestors(graph):
    """All tasks that each task waits for."""
    before = [set() for _ in range(len(graph))]
    for task in range(len(graph)):
        for after in graph.successors_of(task):
            before[after] |= before[task] | {task}
    return before


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_panel_waits_for_all_updates_that_are_too_far_behind(depth):
    tiles = 5
    graph = tasksim.generate("cholesky", tiles=tiles, lookahead=depth)
    before, step = ancestors(graph), -1
    updates = {k: set() for k in range(tiles)}
    for task in range(len(graph)):
        kernel = graph.kernel_of(task)
        step += kernel == "potrf"
        if kernel in ("syrk", "gemm"):
            updates[step].add(task)
        elif kernel == "potrf" and step > depth:
            assert updates[step - 1 - depth] <= before[task]
    # With the deepest look-ahead, nothing waits but for its data.
    free = tasksim.generate("cholesky", tiles=tiles, lookahead=tiles)
    assert ancestors(free) == ancestors(tasksim.generate("cholesky", tiles=tiles))


def test_look_ahead_shortens_a_run():
    found = [
        tasksim.simulate(
            f"cholesky tiles=8 lookahead={depth}",
            workers=6,
            durations=DURATIONS_S,
            scheduler="prio",
        ).makespan_s
        for depth in (0, 1, 8)
    ]
    assert found == [116.0, 102.0, 101.0]


def test_a_cholesky_with_look_ahead_executes():
    program = bind(tasksim.generate("cholesky", tiles=4, tile_size=8, lookahead=1), 1)
    program.reset()
    for task in range(len(program.graph)):
        program.run(task, 0)
    assert program.check().ok
