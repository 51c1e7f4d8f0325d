"""Kernels on data of their own, to be measured."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.kernels import kernel_names, standalone
from tasksim.kernels.pointers import ALIGNMENT_BYTES

SIZES = {"m": 20, "n": 12, "k": 12, "ib": 5}


def sizes_of(name):
    return {parameter: SIZES[parameter] for parameter in kernel_names()[name]}


def copies(body):
    return {name: data.copy() for name, data in body.operands.items()}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, data in one.items():
        np.testing.assert_array_equal(data, other[name])


@pytest.mark.parametrize("name", kernel_names())
def test_restore_makes_the_next_execution_the_same_as_the_first(name):
    body = standalone(name, sizes_of(name))
    initial = copies(body)
    body.run()
    first = copies(body)
    body.reset()
    assert_same(initial, copies(body))
    body.run()
    assert_same(first, copies(body))


@pytest.mark.parametrize("name", kernel_names())
def test_what_is_restored_outside_python_is_what_reset_copies(name):
    body = standalone(name, sizes_of(name))
    initial = copies(body)
    body.run()
    assert body.restored()
    for where, saved, count in body.restored():
        ctypes.memmove(where, saved, count)
    assert_same(initial, copies(body))


@pytest.mark.parametrize("name", kernel_names())
def test_only_the_operands_that_are_written_change(name):
    body = standalone(name, sizes_of(name))
    initial = copies(body)
    body.run()
    for operand, data in body.operands.items():
        changed = not np.array_equal(data, initial[operand])
        assert changed == (operand in body.kernel.written)


def test_same_seed_same_data():
    one, same, other = (standalone("tpmqrt", sizes_of("tpmqrt"), seed=s) for s in (1, 1, 2))
    assert_same(one.operands, same.operands)
    assert not np.array_equal(one.operands["V"], other.operands["V"])


def test_operands_start_at_cache_lines():
    body = standalone("gemm", {"m": 5, "n": 7, "k": 3}, "float32")
    assert {data.ctypes.data % ALIGNMENT_BYTES for data in body.operands.values()} == {0}


def test_more_data_than_memory():
    with pytest.raises(InputError, match=r"^kernel gemm needs .*iB of memory, this machine has "):
        standalone("gemm", {"m": 10**9, "n": 10**9, "k": 1})


def test_dtype_follows_the_name():
    assert standalone("gemm_float32", {"m": 2, "n": 2, "k": 2}).operands["A"].dtype == "f4"
    assert standalone("gemm", {"m": 2, "n": 2, "k": 2}, "float32").operands["A"].dtype == "f4"
    with pytest.raises(InputError, match="kernel gemm_float32 is not of float64"):
        standalone("gemm_float32", {"m": 2, "n": 2, "k": 2}, "float64")
