"""BLAS and LAPACK by pointer: found, called, refused in words."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from lock_of_python import lets_others_run

from tasksim.base.errors import InputError
from tasksim.kernels import standalone
from tasksim.kernels.pointers import argument_count, character, integer, precision_of, real, routine


@pytest.mark.parametrize(("name", "count"), [("dgemm", 13), ("spotrf", 5), ("dtpmqrt", 17)])
def test_number_of_arguments_is_that_of_the_reference_implementation(name, count):
    assert argument_count(name) == count


def test_the_pointers_are_had_without_the_rest_of_linear_algebra():
    """Whoever imports all of it later has the same modules."""
    code = (
        "import sys; from tasksim.kernels.pointers import argument_count; argument_count('dgemm');"
        "assert 'scipy.linalg' not in sys.modules; import scipy.linalg;"
        "from scipy.linalg import cython_blas; import scipy.linalg.cython_lapack as lapack;"
        "assert sys.modules['scipy.linalg.cython_blas'] is cython_blas;"
        "assert 'dpotrf' in lapack.__pyx_capi__; argument_count('spotrf')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_routine_computes_in_place_on_memory_given_by_reference():
    x = np.array([3.0, 4.0])
    y = np.array([10.0, 20.0])
    x_ref, y_ref = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)
    routine("daxpy")(integer(2), real(2.0, "float64"), x_ref, integer(1), y_ref, integer(1))
    assert y.tolist() == [16.0, 28.0]
    assert x.tolist() == [3.0, 4.0]


def test_holders_are_made_once():
    assert integer(17) is integer(17)
    assert character("N") is character("N")
    assert real(1.0, "float32") is not real(1.0, "float64")


def test_unknown_routine_names_the_nearest():
    with pytest.raises(InputError, match=r"no BLAS or LAPACK routine 'dgeqtr'.*did you mean"):
        routine("dgeqtr")


def test_function_is_refused():
    with pytest.raises(InputError, match="'ddot' is a function"):
        routine("ddot")


def test_unknown_dtype_names_the_legal_ones():
    with pytest.raises(InputError, match=r"'float16', did you mean 'float64'.*float64, float32"):
        precision_of("float16")


def test_other_threads_run_python_while_a_kernel_runs():
    gemm = standalone("gemm", {"m": 1200, "n": 1200, "k": 1200})
    assert lets_others_run(gemm.run, 5)  # it takes some 100 ms
