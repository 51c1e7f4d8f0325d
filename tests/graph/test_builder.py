"""The builder: what it stores, and what it refuses."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from tasksim.base.errors import GraphError
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, Scratch, W, access
from tasksim.graph.graph_file import load, save


def test_columns_hold_what_was_inserted():
    g = GraphBuilder("small", {"tiles": 2}, {"gemm": "gemm_nn"})
    A = g.matrix("A", 2, 3, size_bytes=80)
    x = g.vector("x", 2, size_bytes=8, home=1)
    s = g.handle("s", size_bytes=0)
    assert g.insert("gemm", R(A[0, 1]), RW(A[1, 2]), m=4, n=5, priority=7) == 0
    assert g.insert("sum", W(s), R(x[1])) == 1
    assert g.insert("gemm", R(x[0]), m=4, n=5) == 2
    assert g.insert("gemm", m=4, n=6, priority=-1) == 3
    assert len(g) == 4
    graph = g.build()

    assert (graph.name, graph.arguments) == ("small", {"tiles": 2})
    assert graph.kernels == ("gemm", "sum")
    assert graph.model_names == ("gemm_nn", "sum")
    assert graph.parameter_names == (("m", "n"), ())
    assert [table.tolist() for table in graph.parameters] == [[[4, 5], [4, 6]], [[]]]
    assert graph.kernel.tolist() == [0, 1, 0, 0]
    assert graph.row.tolist() == [0, 0, 0, 1]
    assert graph.priority.tolist() == [7, 0, 0, -1]
    assert graph.access_ptr.tolist() == [0, 2, 4, 5, 5]
    assert graph.access_handle.tolist() == [1, 5, 8, 7, 6]
    assert graph.access_mode.tolist() == [1, 3, 2, 1, 1]
    assert graph.handle_size.tolist() == [80] * 6 + [8, 8, 0]
    assert graph.handle_home.tolist() == [0] * 6 + [1, 1, 0]
    assert [graph.handle_name(h) for h in (0, 5, 6, 7, 8, 9)] == [
        "A[0, 0]", "A[1, 2]", "x[0]", "x[1]", "s", "handle #9",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "mode"),
    [
        (R, AccessMode.R),
        (W, AccessMode.W),
        (RW, AccessMode.RW),
        (Commute, AccessMode.COMMUTATIVE),
        (Reduce, AccessMode.REDUCTION),
        (Scratch, AccessMode.SCRATCH),
    ],
)
def test_every_mode_has_its_function(function, mode):
    g = GraphBuilder("modes")
    g.vector("unused", 1000, size_bytes=1)
    h = g.handle("x", size_bytes=1)
    assert function(h) == access(h, mode)
    g.insert("task", function(h))
    assert g.build().accesses_of(0) == [(h, mode)]


def test_the_order_of_keywords_does_not_matter():
    g = GraphBuilder("order")
    g.insert("gemm", m=1, n=2)
    g.insert("gemm", n=2, m=1)
    g.insert("gemm", n=1.0, m=np.int64(2))
    graph = g.build()
    assert graph.row.tolist() == [0, 0, 1]
    assert graph.parameters_of(1) == {"m": 1, "n": 2}
    assert graph.parameters_of(2) == {"m": 2, "n": 1}


def test_after_adds_dependencies_without_data():
    g = GraphBuilder("after")
    x = g.handle("x", size_bytes=8)
    g.insert("task", W(x))
    g.insert("task")
    g.insert("task", R(x), after=[1, 0, 1])
    graph = g.build()
    assert graph.successors_of(0) == [2]
    assert graph.successors_of(1) == [2]
    assert g.build(infer=False).edges == 2


def test_a_graph_without_tasks():
    graph = GraphBuilder("empty").build()
    assert (len(graph), graph.edges, graph.handles) == (0, 0, 0)
    assert list(graph.configurations()) == []


def test_build_again_after_more_tasks():
    g = GraphBuilder("grow")
    x = g.handle("x", size_bytes=8)
    g.insert("task", W(x))
    first = g.build()
    g.insert("task", R(x))
    assert (len(first), len(g.build()), g.build().edges) == (1, 2, 1)


@pytest.mark.parametrize(
    ("modes", "merged"),
    [
        ([R, RW], AccessMode.RW),
        ([R, W], AccessMode.RW),
        ([RW, R, R], AccessMode.RW),
        ([R, R], AccessMode.R),
        ([W, W], AccessMode.W),
        ([Commute, Commute], AccessMode.COMMUTATIVE),
        ([Scratch, Scratch], AccessMode.SCRATCH),
    ],
)
def test_accesses_of_one_task_to_one_handle_are_merged(modes, merged):
    g = GraphBuilder("merge")
    x, y = g.handle("x", size_bytes=8), g.handle("y", size_bytes=8)
    g.insert("first", W(x))
    g.insert("task", modes[0](x), R(y), *(mode(x) for mode in modes[1:]))
    graph = g.build()
    assert graph.accesses_of(1) == [(x, merged), (y, AccessMode.R)]
    assert graph.edges == (0 if merged == AccessMode.SCRATCH else 1)


@pytest.mark.parametrize("other", [Commute, Reduce, Scratch])
def test_modes_that_cannot_be_combined_are_refused(other):
    g = GraphBuilder("mixed")
    A = g.matrix("A", 2, 2, size_bytes=8)
    g.insert("fill", W(A[1, 0]))
    g.insert("task", R(A[1, 0]), other(A[1, 0]), n=3)
    with pytest.raises(GraphError, match=r"task #1 \(n=3\): accesses A\[1, 0\] as R and "):
        g.build()


def test_a_handle_without_mode_is_refused():
    g = GraphBuilder("plain")
    x = g.vector("x", 3, size_bytes=8)
    g.insert("task", R(x[0]))
    g.insert("task", R(x[1]), x[2])
    with pytest.raises(GraphError, match=r"task #1: a handle without a mode; write R\(handle\)"):
        g.build()


def test_a_handle_beyond_numbering_is_refused():
    g = GraphBuilder("example")
    g.handle("x", size_bytes=8)
    g.insert("task", R(2**40))  # whose lower half is that of x
    with pytest.raises(GraphError, match=r"task #0: accesses handle 1099511627776: no such"):
        g.build()


def test_a_handle_of_another_builder_is_refused():
    g = GraphBuilder("foreign")
    g.handle("x", size_bytes=8)
    g.insert("task", R(4), n=1)
    with pytest.raises(GraphError, match=r"task #0 \(n=1\): accesses handle 4 \(there are 1\)"):
        g.build()


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), 10**400, "256", None, [1]])
def test_parameters_that_are_no_sizes_are_refused(value):
    g = GraphBuilder("bad")
    g.insert("gemm", m=1)
    with pytest.raises(GraphError, match=r"gemm #1: parameter m is .*; legal: a finite number"):
        g.insert("gemm", m=value)


def test_other_parameter_names_are_refused():
    g = GraphBuilder("bad")
    g.insert("gemm", m=1, n=2)
    with pytest.raises(GraphError, match=r"gemm #1: parameters \(m, k\); .* have \(m, n\)"):
        g.insert("gemm", m=1, k=2)


@pytest.mark.parametrize("priority", [1.5, "high", 2**31])
def test_priorities_are_integers(priority):
    g = GraphBuilder("bad")
    with pytest.raises(GraphError, match=r"gemm #0: priority .*; legal: an integer of 32 bits"):
        g.insert("gemm", m=1, priority=priority)


def test_accesses_are_of_handles():
    g = GraphBuilder("bad")
    with pytest.raises(GraphError, match=r"gemm #0: access 'A'; legal: R, W, RW"):
        g.insert("gemm", "A")


def test_what_was_refused_leaves_nothing_behind():
    g = GraphBuilder("clean")
    x = g.handle("x", size_bytes=8)
    g.insert("task", W(x))
    with pytest.raises(GraphError):
        g.insert("task", R(x), priority="high")
    g.insert("task", R(x))
    graph = g.build()
    assert graph.access_ptr.tolist() == [0, 1, 2]


REFUSED_INSERTIONS = {
    "after a task that is not there": lambda g: g.insert("task", after=[5]),
    "after one that is, and then one that is not": lambda g: g.insert("task", n=1, after=[0, 5]),
    "a new kernel after itself": lambda g: g.insert("new", k=1, after=[1]),
    "after a number": lambda g: g.insert("new", k=1, after=0),
    "after what raises": lambda g: g.insert("new", k=1, after=(1 // k for k in (1, 0))),
    "a priority that is a word": lambda g: g.insert("new", R(0), k=1, priority="high"),
    "a priority that is too large": lambda g: g.insert("new", R(0), k=1, priority=2**31),
    "an access that is a word": lambda g: g.insert("new", R(0), "x", k=1),
    "an access that is too large": lambda g: g.insert("new", R(0), R(2**70), k=1),
    "a parameter that is an empty word": lambda g: g.insert("new", R(0), k=""),
    "a parameter that is complex": lambda g: g.insert("new", R(0), k=np.complex128(1)),
    "other parameters": lambda g: g.insert("first", R(0), n=1),
    "a kernel without name": lambda g: g.insert("", R(0)),
    "a kernel that is a list": lambda g: g.insert(["new"], R(0)),
    "a hint on what is not there": lambda g: g.wont_use(7),
    "a hint on an array": lambda g: g.wont_use(np.array([0, 0])),
    "a matrix without rows": lambda g: g.matrix("A", 0, 2, size_bytes=8),
    "a vector without size": lambda g: g.vector("y", 2, size_bytes=None),
    "a handle in a memory beyond counting": lambda g: g.handle("y", size_bytes=8, home=2**31),
    "a handle of complex size": lambda g: g.handle("y", size_bytes=np.complex128(1)),
}


@pytest.mark.parametrize("call", REFUSED_INSERTIONS.values(), ids=REFUSED_INSERTIONS)
def test_a_call_that_fails_changes_nothing(call):
    def begun():
        g = GraphBuilder("clean")
        x = g.handle("x", size_bytes=8)
        g.insert("first", W(x))
        return g

    untouched, g = begun(), begun()
    with pytest.raises((GraphError, ZeroDivisionError)):
        call(g)
    assert len(g) == 1
    assert g.build().same_as(untouched.build())
    for one in (untouched, g):  # what was refused has fixed neither names nor numbers
        y = one.vector("y", 2, size_bytes=8)
        one.insert("new", R(0), W(y[1]), other=2, after=[0])
        one.wont_use(0)
    assert g.build().same_as(untouched.build())


def test_an_interrupted_insertion_changes_nothing(monkeypatch):
    g = GraphBuilder("interrupted")
    x = g.handle("x", size_bytes=8)
    g.insert("first", W(x))
    monkeypatch.setattr(g, "_ends", Interrupted("q", g._ends))
    with pytest.raises(KeyboardInterrupt):
        g.insert("second", R(x), after=[0])
    monkeypatch.setattr(g, "_ends", array("q", g._ends))
    g.insert("third", RW(x))
    assert g.build().summary()["kernels"] == {"first": 1, "third": 1}


class Interrupted(array):
    def append(self, _):
        raise KeyboardInterrupt


@pytest.mark.parametrize("after", [1, 2, -1])
def test_after_names_earlier_tasks(after):
    g = GraphBuilder("bad")
    g.insert("task")
    with pytest.raises(GraphError, match=rf"task #1: after={after}; legal: tasks 0 to 0"):
        g.insert("task", after=[after])


@pytest.mark.parametrize("after", [0, "0", ["0"], [0.0]])
def test_after_is_a_list_of_numbers(after):
    g = GraphBuilder("bad")
    g.insert("task")
    with pytest.raises(GraphError, match=r"task #1: after=.*; legal: "):
        g.insert("task", after=after)


def test_the_first_task_is_after_none():
    with pytest.raises(GraphError, match=r"after=0; legal: none, it is the first task"):
        GraphBuilder("bad").insert("task", after=[0])


@pytest.mark.parametrize("kernel", ["", 3, None, ["gemm"]])
def test_kernels_have_names(kernel):
    with pytest.raises(GraphError, match=r"task #0: kernel .*; legal: a name"):
        GraphBuilder("bad").insert(kernel)


def test_a_matrix_is_no_handle():
    g = GraphBuilder("bad")
    A, x = g.matrix("A", 2, 2, size_bytes=8), g.vector("x", 2, size_bytes=8)
    with pytest.raises(GraphError, match=r"A is a matrix; access one of its handles, A\[row"):
        R(A)
    with pytest.raises(GraphError, match=r"x is a vector; access one of its handles, x\[index"):
        RW(x)
    with pytest.raises(GraphError, match=r"A\[0\]: legal: A\[row, column\]"):
        A[0]


def test_numpy_integers_are_integers(tmp_path):
    g = GraphBuilder("numpy")
    A = g.matrix("A", *np.array([2, 3]), size_bytes=np.int64(8), home=np.int64(0))
    g.insert("task", W(A[np.int64(1), np.int64(2)]))
    g.insert("task", after=np.array([0]))
    graph = g.build()
    save(graph, tmp_path / "g.npz")
    assert load(tmp_path / "g.npz").same_as(graph)
    assert graph.edges == 1


def test_small_integers_of_numpy_do_not_wrap():
    g = GraphBuilder("numpy")
    A = g.matrix("A", 200, 200, size_bytes=8)
    assert A[np.int8(100), np.uint8(50)] == A[100, 50]
    assert R(np.uint8(200)) == R(200)


def test_what_a_generator_was_called_with_is_plain():
    with pytest.raises(GraphError, match=r"arguments: 'tiles': \[4\]; legal: "):
        GraphBuilder("bad", {"tiles": [4]})
    with pytest.raises(GraphError, match="model_names: 'gemm': 3; legal: "):
        GraphBuilder("bad", model_names={"gemm": 3})


@pytest.mark.parametrize("function", [R, W, RW, Commute, Reduce, Scratch])
def test_only_a_handle_is_accessed(function):
    with pytest.raises(GraphError, match=r"\('x'\); legal: a handle, such as A\[0, 1\]"):
        function("x")


@pytest.mark.parametrize("index", [(2, 0), (0, 3), (-1, 0)])
def test_matrices_have_limits(index):
    A = GraphBuilder("g").matrix("A", 2, 3, size_bytes=8)
    with pytest.raises(GraphError, match=r"A\[.*\]: outside of its 2 x 3 handles"):
        A[index]


def test_vectors_have_limits():
    g = GraphBuilder("g")
    g.handle("s", size_bytes=8)
    x = g.vector("x", 2, size_bytes=8)
    assert (list(x), len(x)) == ([1, 2], 2)
    with pytest.raises(GraphError, match=r"x\[2\]: outside of its 2 handles"):
        x[2]


def test_data_have_positive_extents_and_sizes():
    g = GraphBuilder("g")
    with pytest.raises(GraphError, match=r"data A: shape \(0, 2\)"):
        g.matrix("A", 0, 2, size_bytes=8)
    with pytest.raises(GraphError, match="data x: size_bytes -8"):
        g.handle("x", size_bytes=-8)
    for extent in (2.0, "2", None):
        with pytest.raises(GraphError, match=r"data A: shape .*; legal: integers from 1"):
            g.matrix("A", extent, 2, size_bytes=8)
    for size in ("8", None, float("nan"), 2**63):
        with pytest.raises(GraphError, match=r"size_bytes .*; legal: an integer from 0, less than"):
            g.handle("x", size_bytes=size)
    with pytest.raises(GraphError, match=r"home 'ram'; legal: the number of a memory"):
        g.handle("x", size_bytes=8, home="ram")
    with pytest.raises(GraphError, match=r"data x: size_bytes 0\.5"):
        g.handle("x", size_bytes=0.5)
    with pytest.raises(GraphError, match="data A: 10000000000 handles; legal: fewer than"):
        g.matrix("A", 100_000, 100_000, size_bytes=8)
    assert g.handle("x", size_bytes=1e3) == 0


def test_hints_are_kept_where_they_were_given():
    g = GraphBuilder("hinted")
    x, y = g.handle("x", size_bytes=8), g.handle("y", size_bytes=8)
    g.wont_use(y)
    g.insert("axpy", R(x), RW(y))
    g.insert("axpy", R(x), RW(y))
    g.wont_use(x)
    g.wont_use(y)
    graph = g.build()
    assert (graph.hint_handle.tolist(), graph.hint_after.tolist()) == ([y, x, y], [0, 2, 2])
    assert not graph.hint_handle.flags.writeable
    assert graph.edges == 1


def test_hints_are_on_handles():
    g = GraphBuilder("hinted")
    A = g.matrix("A", 2, 2, size_bytes=8)
    for wrong, got in ((A, "A"), (R(A[0, 0]), "-2"), (4, "4"), ("A", "'A'")):
        with pytest.raises(GraphError, match=rf"^wont_use\({got}\); legal: one of the 4 handles$"):
            g.wont_use(wrong)
