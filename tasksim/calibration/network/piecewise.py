"""Piecewise-linear fit of what messages take by size, with its break points found.

Messages of different sizes go different ways: in one packet, by copies, after a handshake. So
``a + b s`` holds between break points. All ways to cut the sizes are compared, by dynamic
programming; what counts are relative errors, as times span decades; how many pieces there are,
Schwarz's criterion (BIC) decides. G. Schwarz, "Estimating the dimension of a model", Annals of
Statistics 6(2), 1978.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf, log
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Line", "fit_pieces", "relative_errors"]

LEAST_POINTS: Final = 3
"""Sizes per piece: two make any line perfect."""
MOST_PIECES: Final = 6
"""More than SMPI's table of a real cluster needed at this number of sizes; noise makes the rest."""
NOISE: Final = 0.02
"""Relative errors below this are not worth a piece: medians of repeats on a quiet machine differ by
one or two percent."""
SHORTEST_S: Final = 1e-9
"""The least latency, and what a gigabyte takes at the least: formats want them above 0."""


class Line(NamedTuple):
    """Messages of more than so many bytes take ``latency_s + bytes * per_byte_s``."""

    above_bytes: float
    latency_s: float
    per_byte_s: float

    def seconds(self, size_bytes: float) -> float:
        """Return what a message of *size_bytes* takes."""
        return self.latency_s + size_bytes * self.per_byte_s


def fit_pieces(sizes: Sequence[float], seconds: Sequence[float]) -> list[Line]:
    """Return the pieces of what messages of these *sizes* took, by size.

    Parameters
    ----------
    sizes : sequence of float
        Bytes, each once.
    seconds : sequence of float
        What each took, above 0.

    Raises
    ------
    InputError
        If there are fewer sizes than a line needs.

    Examples
    --------
    >>> sizes = [2**k for k in range(20)]
    >>> taken = [1e-6 + 1e-9 * s if s <= 1000 else 5e-6 + 0.2e-9 * s for s in sizes]
    >>> [(round(above), round(1e9 * latency_s)) for above, latency_s, _ in fit_pieces(sizes, taken)]
    [(0, 1000), (512, 5000)]
    """
    if len(sizes) < LEAST_POINTS:
        raise InputError(f"{len(sizes)} sizes of messages; legal: {LEAST_POINTS} or more")
    order = np.argsort(sizes, kind="stable")
    size, taken = np.asarray(sizes, float)[order], np.asarray(seconds, float)[order]
    cuts = _best_cuts(size, taken)
    lines = []
    for begin, end in pairwise(cuts):
        (a, b), _ = _line(size[begin:end], taken[begin:end])
        lines.append(Line(float(size[begin - 1]) if begin else 0.0, a, b))
    return lines


def relative_errors(
    lines: Sequence[Line], sizes: Sequence[float], seconds: Sequence[float]
) -> NDArray[np.float64]:
    """Return by how much *lines* miss what messages took, relative to that."""
    found = []
    for size, taken in zip(sizes, seconds, strict=True):
        line = [line for line in lines if size > line.above_bytes or not line.above_bytes][-1]
        found.append(line.seconds(size) / taken - 1.0)
    return np.array(found)


def _best_cuts(size: NDArray[np.float64], taken: NDArray[np.float64]) -> list[int]:
    """Return where pieces begin, and the end, of the number of pieces that explains most."""
    n = len(size)
    loss = np.full((n, n + 1), inf)
    for begin in range(n):
        for end in range(begin + LEAST_POINTS, n + 1):
            loss[begin, end] = _line(size[begin:end], taken[begin:end])[1]
    most = min(MOST_PIECES, n // LEAST_POINTS)
    best = loss[0].copy()  # of so many pieces, up to each end
    before: list[NDArray[np.int64]] = []
    chosen, least = [0, n], _criterion(float(best[n]), n, 1)
    for pieces in range(2, most + 1):
        every = best[:n, None] + loss
        best = every.min(axis=0)
        before.append(every.argmin(axis=0))
        criterion = _criterion(float(best[n]), n, pieces)
        if criterion < least:
            least, chosen = criterion, _traced(before, n)
    return chosen


def _traced(before: list[NDArray[np.int64]], end: int) -> list[int]:
    cuts = [end]
    for begins in reversed(before):
        cuts.append(int(begins[cuts[-1]]))
    return [0, *reversed(cuts)]


def _criterion(loss: float, points: int, pieces: int) -> float:
    """Return Schwarz's criterion: two numbers per piece, and where it begins."""
    if loss == inf:
        return inf
    return points * log(loss / points + NOISE**2) + (3 * pieces - 1) * log(points)


def _line(
    size: NDArray[np.float64], taken: NDArray[np.float64]
) -> tuple[tuple[float, float], float]:
    """Return latency and seconds per byte of least relative squares, and that sum."""
    columns = np.column_stack([1.0 / taken, size / taken])
    a, b = np.linalg.lstsq(columns, np.ones(len(size)), rcond=None)[0]
    if b < 0:
        a, b = (1.0 / taken).sum() / (1.0 / taken**2).sum(), 0.0
    elif a < 0:
        a, b = 0.0, (size / taken).sum() / ((size / taken) ** 2).sum()
    a, b = max(float(a), SHORTEST_S), max(float(b), SHORTEST_S * 1e-9)
    return (a, b), float(((columns @ [a, b] - 1.0) ** 2).sum())
