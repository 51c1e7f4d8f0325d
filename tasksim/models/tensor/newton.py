"""Newton steps, alternating, with log barriers: completing durations with positive factors.

Fits the durations themselves, in the loss (log t - log m)², m being a sum of products of
positive factors; see :mod:`~tasksim.models.tensor.als` for those of logarithms. Per row,

    minimise  1/n Σ (log t - log k·u)² + λ |u|² - η Σ log u

for a barrier η that falls from 10 to 1e-11 (E. Hutter and E. Solomonik, SC 2023, section
4.2.2). Other than there, the Hessian is Gauss and Newton's: the full one is indefinite where a
duration is over-predicted by more than e; steps end before the boundary, and are halved until
the objective falls. λ and η are absolute, so *durations must be divided by their geometric mean*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.tensor.als import other_rows
from tasksim.models.tensor.cells import slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.tensor.cells import Cells, Slices

    Factors = list[NDArray[np.float64]]

__all__ = ["RowProblem", "complete_positive"]

BARRIERS: Final = tuple(10.0 / 8.0**step for step in range(14))
"""From 10 to 2e-11, the range of the paper, by steps that one or two Newton steps follow. The
first sweep takes all; later ones, which start near the solution, a few small ones."""
WARM: Final = BARRIERS[5::2]
"""Of later sweeps: 3e-4 and less, every other one."""
ITERATIONS: Final = 40
"""Newton steps per barrier, at most: of generated durations 3 gave the same error as 40."""
HALVINGS: Final = 20
"""A step a million times too long is found out; 2 gave the same error on generated durations."""
TO_BOUNDARY: Final = 0.95
"""Of the way to where an entry is 0. From 0.5 to 0.99 the error of generated durations is the same
within 4 %; 0.5 takes a third longer."""
STEP: Final = 1e-3
"""A step shorter than this share of the row is the last: the next barrier moves it further."""
SWEEPS: Final = 30
"""They settle by :data:`SETTLED` before; 5 gave the same error on generated durations."""
SETTLED: Final = 1e-4
"""A sweep that lowers the loss by less than this share is the last. On generated durations the
error is 9 % larger for 1e-2, 3 % for 1e-3, and 1 % smaller for 1e-5."""


def complete_positive(
    cells: Cells,
    rank: int,
    ridge: float,
    *,
    seed: int = 0,
    sweeps: int = SWEEPS,
    start: Factors | None = None,
) -> Factors:
    """Return positive factors, float64 [cells of the mode, rank].

    The values of *cells* are logarithms of durations, of mean 0. Rows without observations get
    the geometric mean of their column.
    """
    rng = np.random.default_rng(seed)
    parts = slices(cells)
    level = rank ** (-1 / max(len(cells.shape), 1))
    factors = [level * rng.uniform(1, 1.2, (length, rank)) for length in cells.shape]
    if start is not None:
        factors = [factor.copy() for factor in start]
    loss = np.inf
    for sweep in range(sweeps):
        barriers = BARRIERS if sweep == 0 and start is None else WARM
        for mode, part in enumerate(parts):
            _improve_mode(factors, cells, part, mode, ridge, barriers)
        before, loss = loss, _loss(factors, cells)
        if before - loss < SETTLED * loss:
            break
    return factors


@dataclass(frozen=True, eq=False)
class RowProblem:
    """What the rows of one factor are to be, all others being given.

    Parameters
    ----------
    k : ndarray, shape (observations, rank)
        The products of the other factors' rows, sorted by row.
    log_t : ndarray, shape (observations,)
        The logarithms of durations, in the same order.
    part : Slices
        Which observations each row has.
    ridge, barrier : float
        λ and η.
    """

    k: NDArray[np.float64]
    log_t: NDArray[np.float64]
    part: Slices
    ridge: float
    barrier: float = 0.0

    def objective(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the objective of each of the *rows*, float64 [rows, rank]."""
        error = (self.log_t - np.log(self._durations(rows))) ** 2
        errors = np.add.reduceat(error, self.part.starts) / self.part.counts
        inner = self.ridge * (rows**2).sum(axis=1) - self.barrier * np.log(rows).sum(axis=1)
        return np.asarray(errors + inner)

    def descent(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return half the gradient of each row, and half its Gauss-Newton matrix."""
        m, starts, counts = self._durations(rows), self.part.starts, self.part.counts
        relative = self.k / m[:, None]
        pull = (self.log_t - np.log(m))[:, None] * relative
        gradient = -np.add.reduceat(pull, starts, axis=0) / counts[:, None]
        outer = relative[:, :, None] * relative[:, None, :]
        matrix = np.add.reduceat(outer, starts, axis=0) / counts[:, None, None]
        gradient += self.ridge * rows - self.barrier / (2 * rows)
        diagonal = np.arange(rows.shape[1])
        matrix[:, diagonal, diagonal] += self.ridge + self.barrier / (2 * rows**2)
        return np.asarray(gradient, dtype=np.float64), matrix

    def minimised(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the *rows* after Newton steps, all at once, until they are small."""
        value = self.objective(rows)
        for _ in range(ITERATIONS):
            gradient, matrix = self.descent(rows)
            step = np.asarray(-np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0], np.float64)
            length = np.minimum(1.0, TO_BOUNDARY * _boundary(rows, step))
            for _ in range(HALVINGS):
                trial = rows + length[:, None] * step
                reached = self.objective(trial)
                uphill = ~(reached <= value)
                if not uphill.any():
                    break
                length[uphill] /= 2
            length[uphill] = 0.0
            moved = length[:, None] * step
            rows, value = rows + moved, np.where(uphill, value, reached)
            if (np.linalg.norm(moved, axis=1) < STEP * np.linalg.norm(rows, axis=1)).all():
                break
        return rows

    def _durations(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return m of each observation."""
        return np.asarray((self.k * np.repeat(rows, self.part.counts, axis=0)).sum(axis=1))


def _improve_mode(
    factors: Factors,
    cells: Cells,
    part: Slices,
    mode: int,
    ridge: float,
    barriers: tuple[float, ...],
) -> None:
    k = other_rows(factors, cells.index[part.order], mode)
    problem = RowProblem(k, cells.values[part.order], part, ridge)
    rows = factors[mode][part.rows]
    for barrier in barriers:
        rows = replace(problem, barrier=barrier).minimised(rows)
    factors[mode][:] = np.exp(np.log(rows).mean(axis=0))
    factors[mode][part.rows] = rows


def _boundary(rows: NDArray[np.float64], step: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return per row the length of *step* at which an entry becomes 0."""
    down = step < 0
    lengths = np.divide(-rows, step, out=np.full(rows.shape, np.inf), where=down)
    return np.asarray(lengths.min(axis=1))


def _loss(factors: Factors, cells: Cells) -> float:
    m = other_rows(factors, cells.index, None).sum(axis=1)
    return float(((cells.values - np.log(m)) ** 2).mean())
