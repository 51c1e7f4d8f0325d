"""Pairs of random numbers, counted (after EP of the NAS parallel benchmarks)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.application import application
from tasksim.applications.flow import TaskFlow  # noqa: TC001 - read at run time
from tasksim.applications.foreign import compiled_in
from tasksim.applications.kernel import kernel
from tasksim.graph.access_codes import RW, R, W
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.applications.store import Results

__all__ = ["ep"]

NAS_LOOPS = "tasksim.kernels.nas"
ANNULI = 10
"""Number of square annuli that are counted."""
ROUNDING_SHARE = 1e-6
"""Share of the pairs that rounding may move to another annulus, or out of the circle."""

TALLY = kernel(
    compiled_in(NAS_LOOPS, "tally"), name="tally", operands={"counts": W},
    arguments="counts pairs:int64 first:int64", parameters=lambda pairs: {"pairs": pairs},
)  # fmt: skip
ADD_COUNTS = kernel(
    compiled_in(NAS_LOOPS, "add_all"), name="add_counts", operands={"total": RW, "part": R},
    arguments="total part total.size:int64",
)  # fmt: skip


@application("ep")
def ep(g: TaskFlow, block_rows: Count, block_columns: Count, block_size: Count = 256) -> None:
    """Normal deviates of random pairs, counted by size (after EP of the NAS benchmarks).

    Each block makes its pairs without data of others; their counts are summed over a binomial
    tree.

    Parameters
    ----------
    block_rows, block_columns
        The blocks of pairs.
    block_size
        Its square is the number of pairs of a block.
    """
    counts = g.tiles("counts", block_rows, block_columns, (ANNULI,))
    blocks = [counts[i, j] for i in range(block_rows) for j in range(block_columns)]
    pairs = block_size * block_size
    g.announce(2 * len(blocks) - 1)
    for number, block in enumerate(blocks):
        g.insert(TALLY, block, pairs=pairs, first=number * pairs)
    distance = 1
    while distance < len(blocks):
        for first in range(0, len(blocks) - distance, 2 * distance):
            g.insert(ADD_COUNTS, blocks[first], blocks[first + distance])
        distance *= 2

    def error(results: Results) -> float:
        made: Any = results[counts]
        total = len(blocks) * pairs
        return float(np.abs(made[0][0] - _exact(total)).sum() / total)

    g.check(error, tolerance=ROUNDING_SHARE, what="share of pairs in another annulus")


def _exact(pairs: int) -> Any:
    """Return the counts of the first *pairs* pairs."""
    with np.errstate(over="ignore"):
        z = np.arange(1, 2 * pairs + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        z ^= z >> np.uint64(31)
    uniform = 2.0 * ((z >> np.uint64(11)).astype(np.float64) * 2.0**-53) - 1.0
    x, y = uniform[::2], uniform[1::2]
    square = x * x + y * y
    inside = (square > 0.0) & (square <= 1.0)
    scale = np.sqrt(-2.0 * np.log(square[inside]) / square[inside])
    larger = np.maximum(np.abs(x[inside]), np.abs(y[inside])) * scale
    return np.bincount(np.minimum(larger.astype(int), ANNULI - 1), minlength=ANNULI)
