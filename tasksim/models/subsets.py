"""The best few columns of a design: sequential replacement on the normal equations.

A. Miller, Subset Selection in Regression, 2nd edition, 2002, chapter 3: columns are added one
after the other, and each time every column chosen may be replaced by a better one. All candidates
are judged at once, from their inner products alone: the samples are looked at only once, and
leaving a fold out is a subtraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Additions", "Normal", "additions", "best_subsets", "coefficients"]

DISTINCT: Final = 1e-7
"""Least share of its squared length that a column has outside the space of those chosen."""
BETTER: Final = 1e-12
"""Least share of the response's squared length that makes a subset better than another."""
STARTS: Final = 3
ROUNDS: Final = 20


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal equations: inner products of the columns, with the response, and of that.

    Columns in *free* are in every subset; the coefficients of the others must be *positive*, if
    that is asked for.
    """

    cross: NDArray[np.float64]
    right: NDArray[np.float64]
    total: float
    free: tuple[int, ...] = ()
    positive: bool = False

    @classmethod
    def of(cls, design: NDArray[np.float64], response: NDArray[np.float64]) -> Normal:
        """Return the equations of *design*, shape (rows, columns), whose rows are weighted."""
        return cls(design.T @ design, design.T @ response, float(response @ response))

    def without(self, other: Normal) -> Normal:
        """Return the equations without the rows of *other*."""
        return Normal(self.cross - other.cross, self.right - other.right, self.total - other.total)


@dataclass(frozen=True, eq=False)
class Additions:
    """What adding each of all columns to those chosen would do.

    Attributes
    ----------
    explained
        How much of the response's squared length the columns chosen explain.
    gain
        float64 [columns], what the sum of squares loses; -inf where it cannot be added.
    added
        float64 [columns], the coefficient of the added column.
    others
        float64 [chosen, columns], what those of the chosen ones become.
    """

    explained: float
    gain: NDArray[np.float64]
    added: NDArray[np.float64]
    others: NDArray[np.float64]


def coefficients(normal: Normal, chosen: Sequence[int]) -> NDArray[np.float64]:
    """Return the least squares coefficients of the columns *chosen*."""
    index = list(chosen)
    if not index:
        return np.zeros(0)
    return _solved(normal.cross[index][:, index], normal.right[index])


def additions(normal: Normal, chosen: Sequence[int]) -> Additions:
    """Return what adding each column to those *chosen* would do, all at once."""
    index = list(chosen)
    cross, diagonal = normal.cross[index], normal.cross.diagonal()
    sides = np.column_stack([normal.right[index], cross])
    solved = _solved(cross[:, index], sides)
    before, shares = solved[:, 0], solved[:, 1:]
    outside = diagonal - np.einsum("ij,ij->j", cross, shares)
    rest = normal.right - before @ cross
    possible = (outside > DISTINCT * diagonal) & (diagonal > 0)
    possible[index] = False
    added = np.where(possible, rest, 0.0) / np.where(possible, outside, 1.0)
    others = before[:, None] - shares * added
    if normal.positive:
        bound = [row for row, column in enumerate(index) if column not in normal.free]
        possible &= (added > 0) & (others[bound] > 0).all(axis=0)
    explained = float(before @ normal.right[index])
    return Additions(explained, np.where(possible, rest * added, -np.inf), added, others)


def best_subsets(normal: Normal, most: int) -> list[tuple[int, ...]]:
    """Return good subsets of 0, 1, ..., at most *most* columns besides the free ones.

    Of each size the best that is found from several first columns; they need not contain each
    other. The list is shorter where no column can be added.
    """
    first = np.argsort(-additions(normal, normal.free).gain, kind="stable")[:STARTS]
    best: list[tuple[float, tuple[int, ...]]] = [(_explained(normal, ()), ())]
    for start in first.tolist():
        _keep_better(normal, best, _path(normal, start, most))
    for size in range(len(best) - 1, 1, -1):
        _keep_better(normal, best, [_fewer(normal, best[size][1])])
    return [subset for _, subset in best]


def _keep_better(
    normal: Normal,
    best: list[tuple[float, tuple[int, ...]]],
    found: list[tuple[float, tuple[int, ...]]],
) -> None:
    """Put what was *found* into *best*, which has one subset per size."""
    for explained, subset in found:
        size = len(subset)
        if size == len(best):
            best.append((explained, subset))
        elif explained > best[size][0] + BETTER * normal.total:
            best[size] = (explained, subset)


def _fewer(normal: Normal, subset: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
    """Return *subset* without the column that explains least, the others replaced by better."""
    smaller = [[c for c in subset if c != column] for column in subset]
    chosen = max(smaller, key=lambda rest: _explained(normal, rest))
    _replace(normal, chosen)
    return _explained(normal, chosen), tuple(sorted(chosen))


def _path(normal: Normal, start: int, most: int) -> list[tuple[float, tuple[int, ...]]]:
    """Return the subsets of sizes 1, 2, ... that grow from the column *start*."""
    path = []
    chosen: list[int] = []
    while len(chosen) < most:
        found = additions(normal, (*normal.free, *chosen)).gain
        column = start if not chosen else int(np.argmax(found))
        if not found[column] > 0:
            break
        chosen.append(column)
        if len(chosen) > 1:
            _replace(normal, chosen)
        path.append((_explained(normal, chosen), tuple(sorted(chosen))))
    return path


def _replace(normal: Normal, chosen: list[int]) -> None:
    """Replace columns of *chosen*, one at a time, as long as that explains more."""
    unchanged = 0
    explained = _explained(normal, chosen)
    for turn in range(ROUNDS * len(chosen)):
        place = turn % len(chosen)
        rest = [column for i, column in enumerate(chosen) if i != place]
        found = additions(normal, (*normal.free, *rest))
        best = int(np.argmax(found.gain))
        better = found.explained + found.gain[best]
        if better > explained + BETTER * normal.total:
            chosen[place], explained, unchanged = best, better, 0
        else:
            unchanged += 1
        if unchanged == len(chosen):
            break


def _explained(normal: Normal, chosen: Sequence[int]) -> float:
    """Return how much of the response's squared length the columns *chosen* explain."""
    index = [*normal.free, *chosen]
    return float(normal.right[index] @ coefficients(normal, index))


def _solved(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the solution; of least length where, without a fold, columns say the same."""
    try:
        solution = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        solution = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)
