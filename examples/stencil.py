"""Stencil: a line of cells, each of which becomes the mean of itself and its neighbours."""

import numpy as np

import tasksim
from tasksim import RW, R


@tasksim.kernel(parameters=lambda block: {"n": len(block)})
def smooth(block: RW, left: R = None, right: R = None):
    """Replace each cell by the mean of itself and its neighbours; the ends stay as they are."""
    before = block[0] if left is None else left[-1]
    after = block[-1] if right is None else right[0]
    padded = np.concatenate([[before], block, [after]])
    block[:] = (padded[:-2] + padded[1:-1] + padded[2:]) / 3


@tasksim.application("stencil")
def stencil(g, n=4096, steps=50, blocks=16):
    """Sweep over a line of cells, cut into blocks."""
    x = g.cut("x", n, blocks, initial=lambda rng: rng.random(n))
    for _ in range(steps):
        for i in range(blocks):
            g.insert(smooth, x[i], x.get(i - 1), x.get(i + 1))

    def error(results):
        line = results.initial(x)
        bounds = [n * i // blocks for i in range(blocks + 1)]
        for _ in range(steps):
            for begin, end in zip(bounds, bounds[1:]):
                before = line[max(begin - 1, 0)]
                after = line[min(end, n - 1)]
                padded = np.concatenate([[before], line[begin:end], [after]])
                line[begin:end] = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
        return np.abs(results[x] - line).max()

    g.check(error, tolerance=1e-14, what="difference from one sweep after the other")
