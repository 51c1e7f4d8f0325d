"""Stencil: heat on a plate, by Jacobi's iteration over blocks of rows; in NumPy, Numba or C.

tasksim run examples/stencil.py n=2048 steps=20 --workers 2
tasksim simulate examples/stencil.py n=16384 --workers 24 --durations sweep=2ms
"""

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

import numba
import numpy as np

import tasksim
from tasksim import R, W


def size(after):
    """Return what the model of a sweep depends on."""
    rows, columns = after.shape
    return {"rows": rows, "columns": columns}


@tasksim.kernel(name="sweep_numpy", parameters=size)
def with_numpy(after: W, before: R, above: R = None, below: R = None):
    """Do one sweep over a block; at the border of the grid there is no block above, or below."""
    first, last = 0 if above is not None else 1, len(before) if below is not None else -1
    up, down = np.empty_like(before), np.empty_like(before)
    up[1:], down[:-1] = before[:-1], before[1:]
    if above is not None:
        up[0] = above[-1]
    if below is not None:
        down[-1] = below[0]
    after[...] = before
    rows = slice(first, last)
    inner = (rows, slice(1, -1))
    after[inner] = 0.25 * (((up[inner] + down[inner]) + before[rows, :-2]) + before[rows, 2:])


@tasksim.kernel(name="sweep_numba", parameters=size)
@numba.njit(nogil=True)
def with_numba(after: W, before: R, above: R = None, below: R = None):
    """Do the same, row by row; compiled."""
    rows, columns = before.shape
    for i in range(rows):
        after[i, :] = before[i, :]
        if i > 0:
            up = before[i - 1]
        elif above is not None:
            up = above[-1]
        else:
            continue
        if i < rows - 1:
            down = before[i + 1]
        elif below is not None:
            down = below[0]
        else:
            continue
        for j in range(1, columns - 1):
            after[i, j] = 0.25 * (((up[j] + down[j]) + before[i, j - 1]) + before[i, j + 1])


@tasksim.kernel(
    name="sweep_c",
    operands={"after": W, "before": R, "above": R, "below": R},
    arguments="after before above below rows:int64 columns:int64 above.shape0:int64",
    parameters=size,
)
def with_c():
    """Compile stencil.c and return its function; only when it is to run."""
    return library().sweep


@cache
def library():
    source = Path(__file__).with_suffix(".c")
    folder = tempfile.mkdtemp(prefix="stencil-")
    made = Path(folder) / "libstencil.so"
    subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-o", made, source], check=True)
    return ctypes.CDLL(str(made))


KERNELS = {"numpy": with_numpy, "numba": with_numba, "c": with_c}


@tasksim.application("stencil")
def stencil(g, n=1024, steps=20, blocks=16, language: Literal["numpy", "numba", "c"] = "numpy"):
    """Heat on a plate of n x n cells: steps sweeps over blocks of rows."""

    def hot(rng):
        plate = np.zeros((n, n))
        plate[0], plate[1:] = 1.0, rng.random((n - 1, n))
        return plate

    x = g.cut("x", (n, n), blocks, initial=hot)
    y = g.cut("y", (n, n), blocks)
    before, after = x, y
    for _ in range(steps):
        for i in range(blocks):
            g.insert(
                KERNELS[language], after[i], before[i], before.get(i - 1), before.get(i + 1)
            )  # fmt: skip
        before, after = after, before

    def error(results):
        plate = results.initial(x)
        for _ in range(steps):
            inner = plate[1:-1, 1:-1]
            up, down = plate[:-2, 1:-1], plate[2:, 1:-1]
            mean = 0.25 * (((up + down) + plate[1:-1, :-2]) + plate[1:-1, 2:])
            plate = plate.copy()
            inner = plate[1:-1, 1:-1]
            inner[...] = mean
        return np.abs(results[before] - plate).max()

    g.check(error, tolerance=0.0, what="difference from sweeps over the whole")
