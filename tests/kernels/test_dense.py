"""Every kernel against NumPy and SciPy, in both precisions, at odd sizes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sla

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.kernels import KernelError, kernel_names, standalone
from tasksim.kernels.dense import KERNELS, dense_kernel
from tasksim.kernels.pointers import argument_count

DTYPES = ("float64", "float32")
SIZES = (1, 5, 33, 64)


def before_and_after(kernel, dtype, **sizes):
    """Run *kernel* once; return its operands before and after, in double precision."""
    body = standalone(kernel, sizes, dtype, seed=3)
    operands = body.operands
    before = {name: array.astype(np.float64) for name, array in operands.items()}
    body.run()
    assert all(array.dtype == dtype for array in operands.values())
    return before, {name: array.astype(np.float64) for name, array in operands.items()}


def assert_close(got, expected, dtype):
    scale = max(1.0, np.abs(expected).max())
    tolerance = 50 * len(expected) * np.finfo(dtype).eps * scale
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


def reflected(v, t, ib):
    """Return Q = Q1 Q2 ... of blocks of *ib* reflectors, each I - V T Vᵀ (LAPACK, dgeqrt)."""
    rows, columns = v.shape
    q = np.eye(rows)
    for first in range(0, columns, ib):
        block = v[:, first : first + ib]
        width = block.shape[1]
        q = q @ (np.eye(rows) - block @ np.triu(t[:width, first : first + width]) @ block.T)
    return q


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
class TestCholeskyKernels:
    def test_potrf_replaces_the_lower_part_only(self, n, dtype):
        before, after = before_and_after("potrf", dtype, n=n)
        symmetric = np.tril(before["A"]) + np.tril(before["A"], -1).T
        assert_close(np.tril(after["A"]), np.linalg.cholesky(symmetric), dtype)
        np.testing.assert_array_equal(np.triu(after["A"], 1), np.triu(before["A"], 1))

    def test_trsm_solves_with_the_transposed_triangle_from_the_right(self, n, dtype):
        before, after = before_and_after("trsm", dtype, m=7, n=n)
        expected = sla.solve_triangular(before["L"], before["B"].T, lower=True).T
        assert_close(after["B"], expected, dtype)

    def test_syrk_updates_the_lower_part_only(self, n, dtype):
        before, after = before_and_after("syrk", dtype, n=n, k=9)
        expected = before["C"] - before["A"] @ before["A"].T
        assert_close(np.tril(after["C"]), np.tril(expected), dtype)
        np.testing.assert_array_equal(np.triu(after["C"], 1), np.triu(before["C"], 1))

    def test_gemm_subtracts_a_times_b_transposed(self, n, dtype):
        before, after = before_and_after("gemm", dtype, m=6, n=n, k=9)
        assert_close(after["C"], before["C"] - before["A"] @ before["B"].T, dtype)


def lu_without_pivoting(a):
    a = a.copy()
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
class TestLuKernels:
    def test_getrf_of_a_dominant_diagonal(self, n, dtype):
        before, after = before_and_after("getrf", dtype, n=n)
        assert_close(after["A"], lu_without_pivoting(before["A"]), dtype)

    def test_getrf_does_not_interchange_rows_where_pivoting_would(self, n, dtype):
        body = standalone("getrf", {"n": n}, dtype)
        operands = body.operands
        # A product of random unit triangles: its pivots are 1, and seldom the largest.
        rng = np.random.default_rng(n)
        small = rng.uniform(-1, 1, (n, n)) * np.minimum(1, 8 / n)
        lower, upper = np.tril(small, -1) + np.eye(n), np.triu(small, 1) + np.eye(n)
        lower[-1, 0] = 3.0 if n > 1 else 1.0
        a = (lower @ upper).astype(dtype)
        operands["A"][:] = a
        body.run()
        expected = lu_without_pivoting(a.astype(np.float64))
        growth = np.linalg.cond(lower) * np.linalg.cond(upper)
        tolerance = 10 * n * np.finfo(dtype).eps * growth
        np.testing.assert_allclose(operands["A"], expected, rtol=0, atol=tolerance)

    def test_trsm_ll_solves_with_the_unit_lower_triangle_from_the_left(self, n, dtype):
        before, after = before_and_after("trsm_ll", dtype, m=n, n=7)
        expected = sla.solve_triangular(before["L"], before["B"], lower=True, unit_diagonal=True)
        assert_close(after["B"], expected, dtype)

    def test_trsm_ru_solves_with_the_upper_triangle_from_the_right(self, n, dtype):
        before, after = before_and_after("trsm_ru", dtype, m=7, n=n)
        expected = sla.solve_triangular(before["U"], before["B"].T, trans="T").T
        assert_close(after["B"], expected, dtype)

    def test_gemm_nn_subtracts_a_times_b(self, n, dtype):
        before, after = before_and_after("gemm_nn", dtype, m=6, n=n, k=9)
        assert_close(after["C"], before["C"] - before["A"] @ before["B"], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "ib"), [(1, 1), (5, 2), (33, 8), (33, 33), (64, 20)])
class TestQrKernels:
    def test_geqrt_leaves_r_v_and_t(self, n, ib, dtype):
        before, after = before_and_after("geqrt", dtype, m=n + 3, n=n, ib=ib)
        v = np.tril(after["A"], -1) + np.eye(n + 3, n)
        q = reflected(v, after["T"], ib)
        assert_close(q @ np.triu(after["A"]), before["A"], dtype)
        assert_close(q.T @ q, np.eye(n + 3), dtype)

    def test_gemqrt_applies_the_transposed_q_of_geqrt(self, n, ib, dtype):
        before, after = before_and_after("gemqrt", dtype, m=n + 3, n=4, k=n, ib=ib)
        v = np.tril(before["V"], -1) + np.eye(n + 3, n)
        assert_close(after["C"], reflected(v, before["T"], ib).T @ before["C"], dtype)

    def test_tpqrt_factors_a_triangle_on_top_of_a_square(self, n, ib, dtype):
        before, after = before_and_after("tpqrt", dtype, m=n + 2, n=n, ib=ib)
        q = reflected(np.vstack([np.eye(n), after["B"]]), after["T"], ib)
        r = np.vstack([np.triu(after["A"]), np.zeros((n + 2, n))])
        assert_close(q @ r, np.vstack([np.triu(before["A"]), before["B"]]), dtype)
        np.testing.assert_array_equal(np.tril(after["A"], -1), np.tril(before["A"], -1))

    def test_tpmqrt_applies_the_transposed_q_of_tpqrt(self, n, ib, dtype):
        before, after = before_and_after("tpmqrt", dtype, m=n + 2, n=4, k=n, ib=ib)
        q = reflected(np.vstack([np.eye(n), before["V"]]), before["T"], ib)
        expected = q.T @ np.vstack([before["A"], before["B"]])
        assert_close(np.vstack([after["A"], after["B"]]), expected, dtype)


@pytest.mark.parametrize("name", KERNELS)
def test_call_has_as_many_arguments_as_the_routine(name):
    kernel = KERNELS[name]
    if name == "getrf":
        assert kernel.arguments == ("n", "A", "n", "work", "info")
    else:
        assert len(kernel.arguments) == argument_count("d" + kernel.routine)


@pytest.mark.parametrize("app", ["cholesky", "lu", "qr"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_model_of_a_factorisation_is_a_kernel_with_its_parameters(app, dtype):
    graph = generate(app, tiles=3, tile_size=8, dtype=dtype)
    known = kernel_names()
    for model, parameters in zip(graph.model_names, graph.parameter_names, strict=True):
        assert known[model] == parameters
        assert dense_kernel(model)[1].dtype == dtype


def test_matrix_that_is_not_positive_definite_raises_naming_the_kernel():
    body = standalone("potrf", {"n": 4})
    body.operands["A"][2, 2] = -1.0
    with pytest.raises(KernelError, match="leading minor of order 3 is not positive") as caught:
        body.run()
    assert caught.value.kernel == "potrf"
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("matrix", "pivot"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], 1),
        ([[0.0, 0.0], [0.0, 1.0]], 1),
        ([[2.0, 1.0], [2.0, 1.0]], 2),
        ([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [0.0, 1.0, 1.0]], 2),
        ([[4.0, 0.0, 0.0], [0.0, 4.0, 4.0], [0.0, 4.0, 4.0]], 3),
    ],
)
def test_zero_pivot_raises_with_its_number(matrix, pivot):
    body = standalone("getrf", {"n": len(matrix)})
    body.operands["A"][:] = matrix
    with pytest.raises(KernelError, match=f"kernel getrf: pivot {pivot} is zero"):
        body.run()


def test_unknown_kernel_names_the_nearest():
    with pytest.raises(InputError, match="unknown kernel 'gem', did you mean 'gemm'"):
        standalone("gem", {})


@pytest.mark.parametrize(
    ("kernel", "sizes", "message"),
    [
        ("gemm", {"m": 4, "n": 4}, "has parameters m, n, k, got m, n"),
        ("potrf", {"n": 0}, "n=0: not a size"),
        ("potrf", {"n": 2.5}, "n=2.5: not a size"),
        ("potrf", {"n": float("nan")}, "n=nan: not a size"),
        ("potrf", {"n": float("inf")}, "n=inf: not a size; legal: an integer from 1 to 2147483647"),
        ("potrf", {"n": 2**31}, "not a size; legal: an integer from 1 to 2147483647"),
        ("tpqrt", {"m": 4, "n": 4, "ib": 5}, "ib=5 is more than n=4"),
        ("geqrt", {"m": 3, "n": 4, "ib": 2}, "n=4 is more than m=3"),
    ],
)
def test_wrong_sizes_say_what_is_wrong(kernel, sizes, message):
    with pytest.raises(InputError, match=message):
        standalone(kernel, sizes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
class TestWholeMatrices:
    def test_geqrf_leaves_the_r_of_a_factorisation(self, n, dtype):
        before, after = before_and_after("geqrf", dtype, m=n + 3, n=n)
        r = np.triu(after["A"][:n])
        assert_close(r.T @ r, before["A"].T @ before["A"], dtype)

    def test_geqrf_leaves_the_reflectors_and_their_scales(self, n, dtype):
        before, after = before_and_after("geqrf", dtype, m=n + 3, n=n)
        q = np.eye(n + 3)
        for column, scale in enumerate(after["T"].ravel()):
            v = np.where(np.arange(n + 3) > column, after["A"][:, column], 0.0)
            v[column] = 1.0
            q = q @ (np.eye(n + 3) - scale * np.outer(v, v))
        assert_close(q[:, :n] @ np.triu(after["A"][:n]), before["A"], dtype)

    def test_lacpy_copies_all(self, n, dtype):
        before, after = before_and_after("lacpy", dtype, m=n, n=7)
        np.testing.assert_array_equal(after["B"], before["A"])
