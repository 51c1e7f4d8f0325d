"""Flows: what is inserted becomes the graph that the accesses imply, and nothing is made."""

import tracemalloc

import numpy as np
import pytest

import tasksim
from tasksim import RW, Commute, R, Reduce, Scratch, TaskFlow, W
from tasksim.base.errors import GraphError, InputError


def never(*_):
    raise AssertionError("a description calls no kernel, and makes no datum")


@tasksim.kernel
def fill(x: W): ...


@tasksim.kernel(parameters=lambda y, x, degree: {"n": len(y), "read": x.nbytes, "degree": degree})
def update(y: RW, x: R = None, degree=2): ...


@tasksim.kernel
def contribute(total: Reduce, x: R): ...


@tasksim.kernel
def gather(into: W, *parts: R): ...


@tasksim.kernel
def use(x: RW, work: Scratch): ...


@tasksim.kernel
def scaled(x: RW, factor): ...


def test_dependencies_follow_from_the_operands():
    g = TaskFlow("example")
    x, y = g.array("x", 10, initial=never), g.arrays("y", [10, 20], "float32")
    assert [g.insert(fill, x), g.insert(fill, y[0]), g.insert(gather, y[1], x, y[0])] == [0, 1, 2]
    graph = g.graph()
    assert graph.successors_of(0) == graph.successors_of(1) == [2]
    assert graph.handle_size.tolist() == [80, 40, 80]
    assert [graph.handle_name(handle) for handle in range(3)] == ["x", "y[0]", "y[1]"]
    assert graph.label(2) == "gather #2 (into=20, parts=20)"


def test_parameters_are_derived_from_forms_and_values():
    g = TaskFlow("example")
    x, y = g.array("x", (5, 4), "float32"), g.array("y", 7)
    g.insert(update, y, x, degree=3)
    assert g.graph().label(0) == "update #0 (n=7, read=80, degree=3)"


def test_a_reduction_ends_before_others_see_it():
    g = TaskFlow("sum")
    total, x = g.array("total"), g.arrays("x", [3, 3, 3])
    for part in x:
        g.insert(contribute, total, part)
    g.insert(gather, x[0], total)
    g.insert(contribute, total, x[1])
    graph = g.graph()
    assert [graph.kernel_of(task) for task in range(len(graph))] == [
        *["contribute"] * 3, "combine", "gather", "contribute", "combine",
    ]  # fmt: skip
    assert graph.label(3) == "combine #3 (n=1, parts=3)"
    assert [graph.successors_of(task) for task in range(6)] == [[3, 4], [3], [3], [4], [5], [6]]


def test_kernels_that_hold_the_lock_take_turns():
    @tasksim.kernel(lock="held")
    def slow(x: RW): ...

    g = TaskFlow("turns")
    for x in g.arrays("x", [1, 1, 1]):
        g.insert(slow, x)
    graph = g.graph()
    assert graph.edges == 0
    run = tasksim.simulate(graph, workers=3, models={"slow": 1.0})
    assert run.makespan_s == 3.0


def test_a_description_takes_no_memory_and_calls_nothing():
    tracemalloc.start()
    g = TaskFlow("large")
    x = g.cut("x", 10**12, 4, initial=never)
    tree = g.opaque("tree", never, size_bytes=10**12)
    work = g.scratch("work", 10**12)
    for part in x:
        g.insert(update, part, part)
        g.insert(use, part, work)
    g.insert(fill, tree)
    graph = g.graph()
    tasksim.simulate(graph, workers=2, models=dict.fromkeys(graph.kernels, 1.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**8
    assert graph.handle_size[0] == 2 * 10**12


def test_data_have_places():
    g = TaskFlow("example")
    x = g.cut("x", (10, 3), [0, 4, 10])
    A = g.tiles("A", 2, 3, (4, 4), order="F")
    assert [datum.form.shape for datum in x] == [(4, 3), (6, 3)]
    assert [x.get(-1), x.get(2), A.get(2, 0), A.get(0, -1)] == [None] * 4
    assert repr(A[1, 2]) == "<A[1, 2]: 4 x 4 float64>"
    assert [piece.form.shape for piece in g.cut("z", 10, 3)] == [(3,), (3,), (4,)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda g, x: g.insert("fill", x), r"insert: got 'fill' \(str\); legal: what @tasksim"),
        (lambda g, x: g.insert(fill), r"<Kernel fill\(x\)>: x is missing"),
        (lambda g, x: g.insert(fill, x, x), r"takes 1 data, got 2"),
        (lambda g, x: g.insert(fill, 0), r"x: got 0 \(int\); legal: a datum"),
        (lambda g, x: g.insert(fill, x, n=3), r"unknown value 'n'"),
        (lambda g, x: g.insert(scaled, x), r"value factor is missing"),
        (lambda g, x: g.insert(update, x), r"parameters=: AttributeError: .*test_flow.py:\d+"),
        (lambda g, x: g.insert(use, x, x), r"work is Scratch, and x is not from g.scratch"),
        (lambda g, x: g.insert(fill, g.scratch("s", 3)), r"x is W, and s is scratch"),
        (lambda g, x: g.insert(fill, TaskFlow("other").array("x")), r"a datum that this flow"),
        (lambda g, x: g.insert(contribute, g.opaque("o", never, 8), x), r"o is no array to reduce"),
        (lambda g, x: g.array("y", -1), r"shape: got -1"),
        (lambda g, x: g.array("y", 3, "nosuch"), r"dtype: got 'nosuch'"),
        (lambda g, x: g.array("y", 3, object), r"objects: g.opaque"),
        (lambda g, x: g.array(3), r"data: name: got 3"),
        (lambda g, x: g.array("y", reduction="summ"), r"unknown reduction 'summ', did you mean"),
        (lambda g, x: g.cut("y", 3, 5), r"data y: pieces"),
        (lambda g, x: g.cut("y", 3, [0, 2]), r"ascending bounds from 0 to 3"),
        (lambda g, x: g.arrays("y", []), r"data y: there are none"),
        (lambda g, x: g.arrays("y", [3])[1], r"y\[1\]: it has 1 data"),
        (lambda g, x: g.tiles("A", 2, 2, 3)[0], r"A\[0\]: it has 2 x 2 data"),
        (lambda g, x: g.opaque("o", 3, 8), r"make: got 3"),
        (lambda g, x: g.check(3, tolerance=1), r"check: got 3"),
    ],
)
def test_wrong_descriptions_are_refused(wrong, message):
    g = TaskFlow("example")
    x = g.array("x", 4)
    with pytest.raises((InputError, GraphError), match=message):
        wrong(g, x)
    assert len(g) == 0


def test_two_kernels_of_one_name_are_refused():
    g = TaskFlow("example")
    x = g.array("x")
    g.insert(fill, x)
    other = tasksim.kernel(lambda x: None, name="fill", operands={"x": W})
    with pytest.raises(InputError, match="two kernels are called fill"):
        g.insert(other, x)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tasksim.kernel(3), r"kernel: got 3"),
        (lambda: tasksim.kernel(lambda x: None), r"has no operand; annotate operands with R, W"),
        (lambda: tasksim.kernel(lambda x: None, operands={"x": 3}), r"x: 3 \(int\); legal: R, W"),
        (lambda: tasksim.kernel(lambda n, x: None, operands={"x": R}), r"x comes after values"),
        (
            lambda: tasksim.kernel(lambda x: None, operands={"x": R}, parameters=lambda y: {}),
            r"asks for y, which is none of",
        ),
        (lambda: tasksim.kernel(lambda x: None, operands={"x": R}, lock="no"), r"lock: got 'no'"),
    ],
)
def test_wrong_kernels_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        wrong()


def test_commute_is_one_at_a_time():
    @tasksim.kernel
    def add(total: Commute, x: R): ...

    g = TaskFlow("commute")
    total = g.array("total")
    for part in g.arrays("x", [2, 2]):
        g.insert(add, total, part)
    graph = g.graph()
    assert graph.edges == 0
    assert tasksim.simulate(graph, workers=2, models={"add": 1.0}).makespan_s == 2.0


def test_priorities_hints_and_after_reach_the_graph():
    g = TaskFlow("example")
    x = g.array("x")
    g.insert(fill, x, priority=3)
    g.wont_use(x)
    g.insert(fill, g.array("y"), after=[0])
    graph = g.graph()
    assert graph.priority.tolist() == [3, 0]
    assert graph.hint_after.tolist() == [1]
    assert graph.successors_of(0) == [1]
    assert np.array_equal(graph.hint_handle, [0])
