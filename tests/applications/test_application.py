"""Applications: executed for real, with kernels of Python, Numba and C, and judged."""

import numpy as np
import pytest

import tasksim
from tasksim import RW, R, Reduce, Scratch, W
from tasksim.base.errors import CheckFailed, InputError, TaskFailed
from tasksim.graph.apps.registry import GENERATORS


@tasksim.kernel
def contribute(total: Reduce, part: R, work: Scratch):
    work[...] = part
    total += work.sum()


@tasksim.kernel
def square(y: W, x: R):
    y[...] = x**2


@tasksim.application("sum-of-squares")
def sum_of_squares(g, parts=8, length=5, wrong=0):
    """Sum of squares, by a reduction."""
    x = g.cut("x", parts * length, parts, initial=lambda rng: rng.random(parts * length))
    y = g.arrays("y", [length] * parts)
    total, work = g.array("total", initial=1.0), g.scratch("work", length)
    for i in range(parts):
        g.insert(square, y[i], x[i])
        g.insert(contribute, total, y[i], work)
    g.check(
        lambda results: abs(results[total] - 1 - (results.initial(x) ** 2).sum()) + wrong,
        tolerance=1e-12,
        what="error of the sum",
    )


def test_it_runs_and_is_right_under_every_scheduler(runtime):
    for scheduler in ("eager", "lws", "prio", "random"):
        run = tasksim.execute(
            "sum-of-squares parts=20", workers=2, scheduler=scheduler, runtime=runtime, check=True
        )
        assert len(run) == 41


def test_a_wrong_result_is_told(runtime):
    with pytest.raises(CheckFailed, match="error of the sum is 1"):
        tasksim.execute("sum-of-squares wrong=1", workers=2, runtime=runtime, check=True)


def test_the_data_begin_anew_with_each_run():
    graph = sum_of_squares()
    program = sum_of_squares.program(graph, workers=2, seed=7)
    for _ in range(3):
        tasksim.execute(graph, workers=2, program=program, check=True)


def test_same_seed_same_data():
    graph = sum_of_squares()

    def first(seed):
        return sum_of_squares.program(graph, 1, seed).store.data[0].tolist()

    assert first(1) == first(1) != first(2)


# What goes wrong


@tasksim.kernel
def raising(x: RW):
    x[:] = np.zeros(7)


@tasksim.kernel
def returning(x: RW):
    return x + 1


@tasksim.application("going-wrong")
def going_wrong(g, kind="raising"):
    x = g.array("x", 3)
    g.insert({"raising": raising, "returning": returning}[kind], x)


def test_what_a_kernel_raises_is_told_with_file_and_line(runtime):
    with pytest.raises(
        TaskFailed, match=r"raising #0 \(x=3\) failed .*shape.*test_application\.py:\d+"
    ):
        tasksim.execute("going-wrong", workers=1, runtime=runtime)


def test_a_kernel_that_returns_its_result_is_told(runtime):
    with pytest.raises(
        TaskFailed, match=r"it returned array.*writes its results into its operands"
    ):
        tasksim.execute("going-wrong kind=returning", workers=1, runtime=runtime)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (lambda rng: np.zeros(4), r"data x: initial has shape \(4,\); legal: \(3,\)"),
        (lambda rng: 1j, r"data x: initial has type complex128; legal: float64"),
        (lambda rng: 1 / 0, r"data x: initial: ZeroDivisionError: .*test_application.py"),
    ],
)
def test_data_that_are_not_as_described_are_refused(initial, message):
    @tasksim.application("wrong-data")
    def wrong(g):
        g.insert(raising, g.array("x", 3, initial=initial))

    with pytest.raises(InputError, match=message):
        wrong.program(wrong(), 1)


def test_too_large_data_are_refused():
    @tasksim.application("too-large")
    def large(g):
        g.insert(raising, g.array("x", 10**15))

    with pytest.raises(InputError, match="of memory, this machine has"):
        tasksim.execute("too-large", workers=1)


def test_an_application_that_changes_its_mind_is_refused():
    counter = iter(range(100))

    @tasksim.application("fickle")
    def fickle(g):
        for x in g.arrays("x", [3] * (1 + next(counter))):
            g.insert(raising, x)

    with pytest.raises(InputError, match="now makes another graph of the same settings"):
        fickle.program(fickle(), 1)


def test_an_application_that_returns_something_is_refused():
    @tasksim.application("returning")
    def returns(g):
        return g

    with pytest.raises(InputError, match="application returning returned"):
        returns()


def test_an_application_may_be_defined_again():
    for parts in (1, 2):

        @tasksim.application("again")
        def again(g, parts=parts):
            """Words for a list."""
            for x in g.arrays("x", [3] * parts):
                g.insert(raising, x)

    assert len(tasksim.generate("again")) == 2
    assert GENERATORS.find("again").summary == "Words for a list."
    with pytest.raises(InputError, match="generator 'again' exists already"):

        @tasksim.application("again")
        def other(g): ...


def test_what_an_application_raises_is_told_with_file_and_line():
    @tasksim.application("dividing")
    def dividing(g, by=0):
        g.array("x", 1 // by)

    with pytest.raises(
        InputError, match=r"application dividing: ZeroDivisionError.*test_applic.*py:\d"
    ):
        dividing()


def test_settings_are_known_by_their_defaults():
    with pytest.raises(InputError, match="sum-of-squares: parts: got 'x'; legal: an integer"):
        tasksim.generate("sum-of-squares", parts="x")
    with pytest.raises(InputError, match="parameter n has no annotation and no default"):
        tasksim.application("no-default")(lambda g, n: None)
    with pytest.raises(InputError, match=r"its function has no parameter; legal: def nothing\(g\)"):
        tasksim.application("nothing")(lambda: None)
