"""Piecewise-linear fit of message times by size, with a search for the break points.

Messages of different sizes take different paths: in one packet, by copies, after a handshake. So
``a + b s`` holds between break points. Dynamic programming compares all ways to cut the sizes.
Errors are relative, as times span decades; Schwarz's criterion (BIC) selects the number of pieces.
G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6(2), 1978.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf, log
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats, Ints

__all__ = ["Line", "fit_pieces", "relative_errors"]

MIN_POINTS: Final = 3
"""Smallest number of sizes per piece: any line fits two points."""
MAX_PIECES: Final = 6
"""Largest number of pieces: SMPI's table of a real cluster needed fewer at this number of sizes,
and more would fit noise."""
RELATIVE_NOISE: Final = 0.02
"""Relative error below which another piece is not worthwhile: medians of repetitions on a quiet
machine differ by one or two percent."""
MIN_LATENCY_S: Final = 1e-9
"""Smallest latency, and smallest time per gigabyte, in seconds: file formats need positive values.
"""


class Line(NamedTuple):
    """Messages of more than *above_bytes* take ``latency_s + bytes * per_byte_s``."""

    above_bytes: float
    latency_s: float
    per_byte_s: float

    def seconds(self, size_bytes: float) -> float:
        """Return the time of a message of *size_bytes*."""
        return self.latency_s + size_bytes * self.per_byte_s


def fit_pieces(sizes: Sequence[float], seconds: Sequence[float]) -> list[Line]:
    """Return the pieces fitted to message times.

    Parameters
    ----------
    sizes : sequence of float
        Message sizes in bytes, each once.
    seconds : sequence of float
        Time of a message of each size, above 0.

    Raises
    ------
    InputError
        If there are fewer sizes than a piece needs.

    Examples
    --------
    >>> sizes = [2**k for k in range(20)]
    >>> taken = [1e-6 + 1e-9 * s if s <= 1000 else 5e-6 + 0.2e-9 * s for s in sizes]
    >>> [(round(above), round(1e9 * latency_s)) for above, latency_s, _ in fit_pieces(sizes, taken)]
    [(0, 1000), (512, 5000)]
    """
    if len(sizes) < MIN_POINTS:
        raise InputError(f"{len(sizes)} sizes of messages; legal: {MIN_POINTS} or more")
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
) -> Floats:
    """Return the errors of *lines* relative to the measured times."""
    found = []
    for size, taken in zip(sizes, seconds, strict=True):
        line = [line for line in lines if size > line.above_bytes or not line.above_bytes][-1]
        found.append(line.seconds(size) / taken - 1.0)
    return np.array(found)


def _best_cuts(size: Floats, taken: Floats) -> list[int]:
    """Return the starts of the pieces and the end, with the number of pieces by the criterion."""
    n = len(size)
    loss = np.full((n, n + 1), inf)
    for begin in range(n):
        for end in range(begin + MIN_POINTS, n + 1):
            loss[begin, end] = _line(size[begin:end], taken[begin:end])[1]
    most = min(MAX_PIECES, n // MIN_POINTS)
    best = loss[0].copy()  # loss with this number of pieces, up to each end
    before: list[Ints] = []
    chosen, least = 1, _criterion(float(best[n]), n, 1)
    for pieces in range(2, most + 1):
        every = best[:n, None] + loss
        best = every.min(axis=0)
        before.append(every.argmin(axis=0))
        criterion = _criterion(float(best[n]), n, pieces)
        if criterion < least:
            least, chosen = criterion, pieces
    cuts = [n]
    for begins in reversed(before[: chosen - 1]):
        cuts.append(int(begins[cuts[-1]]))
    return [0, *reversed(cuts)]


def _criterion(loss: float, points: int, pieces: int) -> float:
    """Return Schwarz's criterion; a piece has two coefficients and a break point."""
    if loss == inf:
        return inf
    return points * log(loss / points + RELATIVE_NOISE**2) + (3 * pieces - 1) * log(points)


def _line(size: Floats, taken: Floats) -> tuple[tuple[float, float], float]:
    """Return latency and time per byte with the least relative squares, and their sum."""
    columns = np.column_stack([1.0 / taken, size / taken])
    a, b = np.linalg.lstsq(columns, np.ones(len(size)), rcond=None)[0]
    if b < 0:
        a, b = (1.0 / taken).sum() / (1.0 / taken**2).sum(), 0.0
    elif a < 0:
        a, b = 0.0, (size / taken).sum() / ((size / taken) ** 2).sum()
    a, b = max(float(a), MIN_LATENCY_S), max(float(b), MIN_LATENCY_S * 1e-9)
    return (a, b), float(((columns @ [a, b] - 1.0) ** 2).sum())
