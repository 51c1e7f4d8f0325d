"""Alternating Newton steps with log barriers that complete durations with positive factors.

The durations themselves are fitted, with the loss (log t - log m)², where m is a sum of products of
positive factors; :mod:`~tasksim.models.tensor.als` fits logarithms. For each row,

    minimise  1/n Σ (log t - log k·u)² + λ |u|² - η Σ log u

for a barrier η that falls from 10 to 1e-11 (E. Hutter and E. Solomonik, SC 2023, section
4.2.2). Unlike there, the Hessian is that of Gauss-Newton: the full one is indefinite if a
duration is over-predicted by more than e; steps end before the boundary, and are halved until
the objective falls. λ and η are absolute, so *durations must be divided by their geometric mean*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.tensor.als import other_rows
from tasksim.models.tensor.grid import slices

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.models.tensor.grid import Cells, Slices

    Factors = list[Floats]

__all__ = ["RowProblem", "complete_positive"]

BARRIERS: Final = tuple(10.0 / 8.0**step for step in range(14))
"""Barriers from 10 to 2e-11, the range of the paper, in steps that one or two Newton steps can
follow. The first sweep uses all; later ones, which start near the solution, a few small ones."""
LATER_BARRIERS: Final = BARRIERS[5::2]
"""Barriers of later sweeps: 3e-4 and less, every other one."""
MAX_ITERATIONS: Final = 40
"""Maximum number of Newton steps per barrier: 3 gave the same error as 40 on generated
durations."""
MAX_HALVINGS: Final = 20
"""Maximum number of halvings of a step, enough for one that is a million times too long; 2 gave the
same error on generated durations."""
BOUNDARY_SHARE: Final = 0.95
"""Share of the way to the boundary, where an entry is 0, that a step may go. From 0.5 to 0.99 the
error of generated durations is the same within 4 %; 0.5 takes a third longer."""
MIN_STEP: Final = 1e-3
"""Relative length of a step at convergence: the next barrier moves the row further."""
MAX_SWEEPS: Final = 30
"""Maximum number of sweeps: they converge by :data:`MIN_DECREASE` before; 5 gave the same
error on generated durations."""
MIN_DECREASE: Final = 1e-4
"""Relative decrease of the loss at convergence. On generated durations the error is 9 % larger for
1e-2, 3 % for 1e-3, and 1 % smaller for 1e-5."""


def complete_positive(
    cells: Cells,
    rank: int,
    ridge: float,
    *,
    seed: int = 0,
    sweeps: int = MAX_SWEEPS,
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
        barriers = BARRIERS if sweep == 0 and start is None else LATER_BARRIERS
        for mode, part in enumerate(parts):
            _improve_mode(factors, cells, part, mode, ridge, barriers)
        before, loss = loss, _loss(factors, cells)
        if before - loss < MIN_DECREASE * loss:
            break
    return factors


@dataclass(frozen=True, eq=False)
class RowProblem:
    """The problem of finding the rows of one factor, given all others.

    Parameters
    ----------
    k : ndarray, shape (observations, rank)
        The products of the other factors' rows, sorted by row.
    log_t : ndarray, shape (observations,)
        The logarithms of durations, in the same order.
    part : Slices
        The observations of each row.
    ridge, barrier : float
        λ and η.
    """

    k: Floats
    log_t: Floats
    part: Slices
    ridge: float
    barrier: float = 0.0

    def objective(self, rows: Floats) -> Floats:
        """Return the objective of each of the *rows*, float64 [rows, rank]."""
        error = (self.log_t - np.log(self._durations(rows))) ** 2
        errors = np.add.reduceat(error, self.part.starts) / self.part.counts
        inner = self.ridge * (rows**2).sum(axis=1) - self.barrier * np.log(rows).sum(axis=1)
        return np.asarray(errors + inner)

    def descent(self, rows: Floats) -> tuple[Floats, Floats]:
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

    def minimised(self, rows: Floats) -> Floats:
        """Return the *rows* after Newton steps, all at once, until the steps are small."""
        value = self.objective(rows)
        for _ in range(MAX_ITERATIONS):
            gradient, matrix = self.descent(rows)
            step = np.asarray(-np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0], np.float64)
            length = np.minimum(1.0, BOUNDARY_SHARE * _boundary(rows, step))
            for _ in range(MAX_HALVINGS):
                trial = rows + length[:, None] * step
                reached = self.objective(trial)
                uphill = ~(reached <= value)
                if not uphill.any():
                    break
                length[uphill] /= 2
            length[uphill] = 0.0
            moved = length[:, None] * step
            rows, value = rows + moved, np.where(uphill, value, reached)
            if (np.linalg.norm(moved, axis=1) < MIN_STEP * np.linalg.norm(rows, axis=1)).all():
                break
        return rows

    def _durations(self, rows: Floats) -> Floats:
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


def _boundary(rows: Floats, step: Floats) -> Floats:
    """Return per row the multiple of *step* at which an entry becomes 0."""
    down = step < 0
    lengths = np.divide(-rows, step, out=np.full(rows.shape, np.inf), where=down)
    return np.asarray(lengths.min(axis=1))


def _loss(factors: Factors, cells: Cells) -> float:
    m = other_rows(factors, cells.index, None).sum(axis=1)
    return float(((cells.values - np.log(m)) ** 2).mean())
