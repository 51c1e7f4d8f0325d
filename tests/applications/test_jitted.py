"""Jitted functions: Numba's, called by the core without Python, with the same results."""

from __future__ import annotations

import ctypes

import numba
import numpy as np
import pytest

import tasksim
from tasksim import RW, R, W
from tasksim.applications.jitted import entry_of
from tasksim.base.errors import TaskFailed
from tasksim.core.library import library, status

core = pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")


@tasksim.kernel
@numba.njit(nogil=True)
def blend(out: W, one: R, other: R = None, shift=0, factor=1.0):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = factor * one[i, j] + shift
            if other is not None:
                out[i, j] += other[i, j] / 3


@tasksim.kernel
@numba.njit(nogil=True)
def add_up(total: RW, part: R):
    for value in part.flat:
        total[()] += value


@tasksim.kernel
@numba.njit(nogil=True)
def halve(x: RW, limit=4):
    if limit < 0:
        raise ValueError("no limit")
    for i in range(len(x)):
        x[i] /= 2


@tasksim.application("blending")
def blending(g, n=12):
    rows = g.tiles(
        "rows", 2, 3, (n, n // 2), order="F", initial=lambda rng, i, j: rng.random((n, n // 2))
    )
    columns = g.cut("columns", (3 * n, n // 2), 3, initial=lambda rng: rng.random((3 * n, n // 2)))
    out = g.tiles("out", 2, 3, (n, n // 2), "float32")
    total = g.array("total")
    for step in range(4):
        for i in range(2):
            for j in range(3):
                other = columns[j] if (i + j) % 2 else None
                g.insert(blend, out[i, j], rows[i, j], other, shift=step, factor=0.1 * step)
                g.insert(add_up, total, out[i, j])


@tasksim.application("halving")
def halving(g, limit=4):
    g.insert(halve, g.array("x", 4, initial=1.0), limit=limit)


def called_by_the_core(program):
    return (program.calls(library()).function >= 0).tolist()


@pytest.mark.slow
@core
def test_the_core_calls_them_with_the_same_results():
    results = []
    for runtime in ("python", "compiled"):
        program = blending.program(graph := blending(), 2)
        run = tasksim.execute(graph, workers=2, program=program, runtime=runtime)
        assert len(run.tasks) == len(graph)
        results.append(b"".join(data.tobytes() for data in program.store.data))
    assert results[0] == results[1]
    assert all(called_by_the_core(program))
    program.reset()
    tasksim.execute(graph, workers=2, program=program, runtime="compiled")
    assert b"".join(data.tobytes() for data in program.store.data) == results[0]


def test_what_they_raise_is_told_under_both_runtimes(runtime):
    program = halving.program(graph := halving(limit=-1), 1)
    with pytest.raises(TaskFailed, match=r"ValueError: no limit"):
        tasksim.execute(graph, workers=1, program=program, runtime=runtime)
    assert program.store.data[0].tolist() == [1.0] * 4


def compiled_for(function, *arguments):
    function.compile(tuple(map(numba.typeof, arguments)))
    return entry_of(function, arguments)


def test_strides_and_numbers_come_as_they_are():
    @numba.njit(nogil=True)
    def scale(x, shift, factor):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = factor * x[i, j] + shift

    whole = np.arange(24.0).reshape(4, 6)
    part = whole[::2, ::-3]
    entry = compiled_for(scale, part, 7, 0.5)
    addresses, integers, reals = entry.passed([part, 7, 0.5])
    expected = 0.5 * part + 7
    tables = np.array(integers, np.int64), np.array(reals)
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(entry.function.address)
    assert call(*addresses, *(table.ctypes.data for table in tables)) == 0
    assert np.array_equal(part, expected)


def test_what_has_no_place_is_left_to_python():
    @numba.njit
    def holds_the_lock(x):
        x[0] = 1

    @numba.njit(nogil=True)
    def returns(x):
        return x[0]

    @numba.njit(nogil=True)
    def takes(x, given):
        x[0] = 1

    x = np.ones(3)
    read_only = np.ones(3)
    read_only.flags.writeable = False
    assert compiled_for(holds_the_lock, x) is None
    assert compiled_for(returns, x) is None
    assert compiled_for(takes, x, (1, 2)) is None
    assert compiled_for(takes, x, np.float32(1)) is None
    assert compiled_for(takes, x, read_only) is None
    assert compiled_for(takes, x, x > 0) is None
    assert compiled_for(takes, x, None) is not None
