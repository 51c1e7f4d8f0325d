"""Kernels of Python, Numba and C: called alike, with what they declare to take."""

import ctypes
import subprocess
from shutil import which

import numba
import numpy as np
import pytest

import tasksim
from tasksim import RW, R, W
from tasksim.base.errors import InputError, TaskFailed

C = """
#include <stdint.h>
void axpy(double *y, const double *x, int64_t n, double alpha) {
  for (int64_t i = 0; i < n; ++i) y[i] += alpha * x[i];
}
void axpy_(double *y, const double *x, const int32_t *n, const double *alpha) {
  for (int32_t i = 0; i < *n; ++i) y[i] += *alpha * x[i];
}
int positive(const double *x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) if (x[i] < 0) return (int)(i + 1);
  return 0;
}
void mixed(double a, double *y, float b, int64_t i, const double *x, double c, int32_t j, float d,
           int64_t k, int64_t l, int64_t m, int64_t n) {
  y[0] = a + 10 * b + 100 * x[0] + 1000 * c + 1e4 * d;
  y[1] = i + 10 * j + 100 * k + 1000 * l + 1e4 * m + 1e5 * n;
}
int null(const double *x, int64_t rows) { return x || rows ? 1 : 0; }
int shape(const double *x, int64_t rows, int64_t columns, int64_t size, const int32_t *bytes) {
  return !(rows == 3 && columns == 5 && size == 15 && *bytes == 120);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = which("cc") or which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("c")
    (folder / "axpy.c").write_text(C)
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", "axpy.so", "axpy.c"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "axpy.so"))


def axpy_of(form, library):
    operands, parameters = {"y": RW, "x": R}, lambda y, alpha: {"n": len(y)}
    if form == "python":
        return tasksim.kernel(lambda y, x, alpha: y.__iadd__(alpha * x) is None, name="axpy",
                              operands=operands, parameters=parameters)  # fmt: skip
    if form == "numba":

        @numba.njit(nogil=True)
        def axpy(y, x, alpha):
            for i in range(len(y)):
                y[i] += alpha * x[i]

        return tasksim.kernel(axpy, operands=operands, parameters=parameters)
    arguments = {"c": "y x n:int64 alpha:float64", "fortran": "y x n:int32& alpha:float64&"}
    function = {"c": library.axpy, "fortran": library.axpy_}
    if form == "address":
        address = ctypes.cast(library.axpy, ctypes.c_void_p).value
        return tasksim.kernel(address, name="axpy", operands=operands, parameters=parameters,
                              arguments=arguments["c"])  # fmt: skip
    return tasksim.kernel(function[form], name="axpy", operands=operands, parameters=parameters,
                          arguments=arguments[form])  # fmt: skip


def adding(axpy, name):
    @tasksim.application(name)
    def application(g, length=100, steps=10):
        y = g.array("y", length, initial=lambda rng: rng.random(length))
        x = g.array("x", length, initial=lambda rng: rng.random(length))
        for step in range(steps):
            g.insert(axpy, y, x, alpha=0.5 * step)
        g.check(lambda results: np.abs(results[y]).sum(), tolerance=np.inf, what="sum")

    return application


@pytest.mark.parametrize("form", ["numba", "c", "fortran", "address"])
def test_all_sorts_of_kernels_give_the_same(form, library, runtime):
    made = adding(axpy_of(form, library), f"adding-{form}-{runtime}")
    graph = made()
    program = made.program(graph, 2)
    before = [data.copy() for data in program.store.data]
    tasksim.execute(graph, workers=2, program=program, runtime=runtime)
    y, x = before
    for step in range(10):
        y = y + 0.5 * step * x
    assert np.allclose(program.store.data[0], y, rtol=1e-14)
    assert graph.label(0) == "axpy #0 (n=100)"


def test_tasks_end_by_the_clock_or_not():
    with pytest.raises(InputError, match=r"by_clock: got 'no' \(str\); legal: True or False"):
        tasksim.kernel(lambda x: None, operands={"x": RW}, by_clock="no")


def test_locks_are_known_of_numba_and_c(library):
    @numba.njit
    def held(x):
        x[0] = 1

    assert tasksim.kernel(held, operands={"x": RW}).lock == "held"
    assert axpy_of("numba", library).lock == "released"
    assert axpy_of("c", library).lock == "released"
    assert axpy_of("python", library).lock == "unknown"


def test_functions_of_c_tell_that_they_failed(library, runtime):
    positive = tasksim.kernel(
        library.positive, operands={"x": R}, arguments="x n:int64", fails="nonzero",
        parameters=lambda x: {"n": len(x)},
    )  # fmt: skip

    @tasksim.application(f"failing-{runtime}")
    def failing(g):
        g.insert(positive, g.array("x", 3, initial=[1.0, -1.0, 2.0]))

    with pytest.raises(TaskFailed, match=r"positive #0 \(n=3\) failed on worker .*returned 2"):
        tasksim.execute(f"failing-{runtime}", workers=1, runtime=runtime)


def test_numbers_of_all_sorts_are_passed(library, runtime):
    mixed = tasksim.kernel(
        library.mixed, operands={"y": W, "x": R}, parameters=lambda y: {"i": 1, "j": 2},
        arguments="a:float64 y b:float32 i:int64 x c:float64 j:int32 d:float32 "
        "k:int64 l:int64 m:int64 n:int64",
    )  # fmt: skip
    values = {"a": 1.0, "b": 2, "c": 4.0, "d": 5.5, "k": -3, "l": 4, "m": 5, "n": 6}

    @tasksim.application(f"mixed-{runtime}")
    def application(g):
        g.insert(mixed, g.array("y", 2), g.array("x", 1, initial=3.0), **values)

    program = application.program(application(), 1)
    tasksim.execute(application(), workers=1, program=program, runtime=runtime)
    reals, integers = program.store.data[0].tolist()
    assert reals == 1 + 10 * 2 + 100 * 3 + 1000 * 4 + 10_000 * 5.5
    assert integers == 1 + 10 * 2 - 100 * 3 + 1000 * 4 + 10_000 * 5 + 100_000 * 6


def test_what_is_left_out_is_null(library, runtime):
    null = tasksim.kernel(library.null, operands={"x": R}, arguments="x x.shape0:int64",
                          fails="nonzero")  # fmt: skip

    @tasksim.application(f"null-{runtime}")
    def nothing(g):
        g.insert(null, None)

    assert len(tasksim.execute(f"null-{runtime}", workers=1, runtime=runtime)) == 1


def test_sizes_of_operands_are_passed(library, runtime):
    shape = tasksim.kernel(
        library.shape, operands={"x": R}, fails="nonzero",
        arguments="x x.shape0:int64 x.shape1:int64 x.size:int64 x.nbytes:int32&",
    )  # fmt: skip

    @tasksim.application(f"shape-{runtime}")
    def shaped(g):
        g.insert(shape, g.array("x", (3, 5)))

    assert len(tasksim.execute(f"shape-{runtime}", workers=1, runtime=runtime)) == 1
    assert shaped().label(0) == "shape #0 (x=15)"


def test_a_library_is_loaded_when_it_is_to_run(runtime):
    @tasksim.kernel(operands={"x": R}, arguments="x")
    def nosuch():
        return ctypes.CDLL("nosuch.so").nosuch

    @tasksim.application(f"not-there-{runtime}")
    def not_there(g):
        g.insert(nosuch, g.array("x", 3))

    assert len(not_there()) == 1
    with pytest.raises(InputError, match=r"kernel nosuch cannot be loaded: OSError: nosuch.so"):
        tasksim.execute(f"not-there-{runtime}", workers=1, runtime=runtime)


def test_functions_of_cffi_are_called(library):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("int positive(const double *x, int64_t n);")
    opened = ffi.dlopen(library._name)
    kernel = tasksim.kernel(
        opened.positive, name="positive", operands={"x": R}, arguments="x n:int64",
        fails="nonzero", parameters=lambda x: {"n": len(x)},
    )  # fmt: skip
    assert kernel(np.array([1.0, -1.0]), n=2) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("y n:int64", "lacks its operand x"),
        ("y x m", "unknown operand 'm'"),
        ("y x z.size:int64", r"legal: OPERAND.SIZE with an operand \(y, x\)"),
        ("y x y.shape9:int64", r"and a size \(size, nbytes, shape0"),
        ("y x n:int63", "unknown type 'int63', did you mean 'int64'"),
    ],
)
def test_wrong_signatures_are_refused(arguments, message, library):
    with pytest.raises(InputError, match=message):
        tasksim.kernel(library.axpy, operands={"y": RW, "x": R}, arguments=arguments)


def test_a_number_that_no_task_has_is_named(library):
    kernel = tasksim.kernel(library.axpy, operands={"y": RW, "x": R}, arguments="y x m:int64")

    @tasksim.application("lacking")
    def lacking(g):
        g.insert(kernel, g.array("y", 3), g.array("x", 3))

    with pytest.raises(InputError, match="the function takes m, but its tasks only have y, x"):
        tasksim.execute("lacking", workers=1)
