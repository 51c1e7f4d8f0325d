"""Completion of a tensor of logarithms, or of durations with positive factors.

The element at (i, j, ...) is modelled as the sum over r of U[i, r]·V[j, r]·...: a canonical
polyadic (CP) decomposition of rank R. With all factors but one fixed, each row u of that one is
a small independent problem over the n observed cells of the row, k being the product of the other
factors' rows; so all rows are solved at once (E. Hutter and E. Solomonik, SC 2023, section 4.2).

:func:`complete` fits logarithms by regularised alternating least squares,

    minimise  1/n Σ (b - k·u)² + λ |u|²

The ridge λ is relative to the number of observations, so the shrinkage is the same in every row.

:func:`complete_positive` fits the durations themselves by alternating Newton steps, with the loss
(log t - log m)², where m is a sum of products of positive factors,

    minimise  1/n Σ (log t - log k·u)² + λ |u|² - η Σ log u

for a barrier η that falls from 10 to 1e-11. Unlike in the paper, the Hessian is that of
Gauss-Newton: the full one is indefinite if a duration is over-predicted by more than e; steps end
before the boundary, and are halved until the objective falls. λ and η are absolute, so *durations
must be divided by their geometric mean*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.tensor.grid import slices

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats, Indices
    from tasksim.models.tensor.grid import ObservedCells, Slices

    Factors = list[Floats]
    from tasksim.base.arrays import Floats

__all__ = ["RowProblem", "balance", "complete", "complete_positive", "elements", "other_rows"]

MAX_SWEEPS: Final = 100
"""Maximum number of sweeps: generated durations converged after 2 to 6, except one in ten, which
took 60 since components were nearly parallel."""
MIN_DECREASE: Final = 1e-4
"""Relative decrease of the loss at convergence. From 1e-2 to 1e-5 the error of generated durations
is the same within 1 %; with positive factors, it is 9 % larger for 1e-2, 3 % for 1e-3, and 1 %
smaller for 1e-5."""

TRIAL_SWEEPS: Final = 6
"""Number of sweeps before starts are compared: 1 to 12 gave the same error on generated
durations."""
START_SPREAD: Final = 0.3
"""Standard deviation of starts about 1. With 0.03, components stay similar, and the error of
generated durations is a fifth larger; from 0.1 to 1 it is the same."""
MIN_RIDGE: Final = 1e-12
"""Smallest relative ridge: without one, rows with fewer observations than components are
singular."""


def complete(
    cells: ObservedCells,
    rank: int,
    ridge: float,
    *,
    seed: int = 0,
    starts: int = 3,
    sweeps: int = MAX_SWEEPS,
    start: Factors | None = None,
) -> Factors:
    """Return the factors, float64 [cells of the mode, rank], fitted to the observed cells.

    Parameters
    ----------
    ridge
        λ; large values give the constant 0.
    starts
        Number of random starts, compared after a few sweeps; the best one is continued.
    start
        Initial factors instead of random ones.

    Notes
    -----
    Starts are near one: products of many small random numbers vanish, and the fit would stay
    at 0 from eight modes on. Rows without observations are 0; the caller must fill them.
    """
    parts = slices(cells)
    first, least = start, np.inf
    rng = np.random.default_rng(seed)
    for _ in range(max(starts, 1) if start is None else 0):
        tried = [1 + START_SPREAD * rng.standard_normal((length, rank)) for length in cells.shape]
        loss = _run(tried, cells, parts, ridge, TRIAL_SWEEPS)
        if first is None or loss < least:
            first, least = tried, loss
    assert first is not None
    factors = [np.zeros_like(factor) for factor in first]
    for factor, begin, part in zip(factors, first, parts, strict=True):
        factor[part.rows] = begin[part.rows]
    _run(factors, cells, parts, ridge, sweeps)
    return factors


def elements(factors: Factors, index: Indices) -> Floats:
    """Return the elements of the tensor at *index*, intp [n, modes]."""
    return np.asarray(other_rows(factors, index, None).sum(axis=1))


def other_rows(factors: Factors, index: Indices, mode: int | None) -> Floats:
    """Return the product of the rows of all factors except *mode*, float64 [n, rank]."""
    product: Floats | None = None
    for other, factor in enumerate(factors):
        if other != mode:
            rows = factor[index[:, other]]
            product = rows if product is None else np.multiply(product, rows, out=product)
    rank = factors[0].shape[1]
    return np.ones((len(index), rank)) if product is None else product


def balance(factors: Factors) -> None:
    """Scale each component to the same norm in all modes, in place; the tensor stays the same."""
    norms = np.array([np.sqrt((factor**2).sum(axis=0)) for factor in factors])
    alive = (norms > 0).all(axis=0)
    norms[:, ~alive] = 1.0
    mean = np.exp(np.log(norms).mean(axis=0))
    for factor, norm in zip(factors, norms, strict=True):
        factor *= mean / norm


def _run(
    factors: Factors, cells: ObservedCells, parts: list[Slices], ridge: float, sweeps: int
) -> float:
    """Improve *factors* in place by at most *sweeps*; return the loss."""
    places = np.ascontiguousarray(cells.index.T)
    sought = [cells.values[part.order] for part in parts]
    taken = [factor.take(place, axis=0) for factor, place in zip(factors, places, strict=True)]
    loss = np.inf
    for _ in range(sweeps):
        # Rows are taken from a factor when it changes, and the product of those before a mode
        # grows from mode to mode: to take all rows for each mode needs most of the time of a fit.
        before: Floats | None = None
        for mode, part in enumerate(parts):
            k = _product([*([] if before is None else [before]), *taken[mode + 1 :]])
            k = np.ones_like(taken[mode]) if k is None else k.take(part.order, axis=0)
            _solve_mode(factors[mode], k, sought[mode], part, ridge)
            taken[mode] = factors[mode].take(places[mode], axis=0)
            before = taken[mode] if before is None else before * taken[mode]
        balance(factors)
        taken = [factor.take(place, axis=0) for factor, place in zip(factors, places, strict=True)]
        product = _product(taken)
        assert product is not None  # a tensor has a mode
        error = cells.values - product.sum(axis=1)
        shrink = sum(float((factor**2).sum() / len(factor)) for factor in factors)
        last, loss = loss, float((error**2).mean() + ridge * shrink)
        if last - loss < MIN_DECREASE * loss:
            break
    return loss


def _product(arrays: list[Floats]) -> Floats | None:
    """Return the product of the *arrays*, from left to right; None if there is none."""
    if len(arrays) < 2:
        return arrays[0] if arrays else None
    product = arrays[0] * arrays[1]
    for array in arrays[2:]:
        product *= array
    return product


def _solve_mode(factor: Floats, k: Floats, b: Floats, part: Slices, ridge: float) -> None:
    """Fit *factor* to the values *b*, given the products *k* of all others, in place."""
    rank = factor.shape[1]
    ends = part.starts + part.counts
    grams = np.empty((len(part.rows), rank, rank))
    sides = np.empty((len(part.rows), rank))
    for row, (start, end) in enumerate(zip(part.starts.tolist(), ends.tolist(), strict=True)):
        some = k[start:end]
        grams[row] = some.T @ some
        sides[row] = b[start:end] @ some
    mean = np.trace(grams, axis1=1, axis2=2) / rank
    diagonal = ridge * part.counts + MIN_RIDGE * mean + np.finfo(np.float64).tiny
    grams += diagonal[:, None, None] * np.eye(rank)
    factor[part.rows] = np.linalg.solve(grams, sides[:, :, None])[:, :, 0]


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
MAX_POSITIVE_SWEEPS: Final = 30
"""Maximum number of sweeps: they converge by :data:`MIN_DECREASE` before; 5 gave the same
error on generated durations."""


def complete_positive(
    cells: ObservedCells,
    rank: int,
    ridge: float,
    *,
    seed: int = 0,
    sweeps: int = MAX_POSITIVE_SWEEPS,
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
            k = other_rows(factors, cells.index[part.order], mode)
            problem = RowProblem(k, cells.values[part.order], part, ridge)
            rows = factors[mode][part.rows]
            for barrier in barriers:
                rows = replace(problem, barrier=barrier).minimised(rows)
            factors[mode][:] = np.exp(np.log(rows).mean(axis=0))
            factors[mode][part.rows] = rows
        error = cells.values - np.log(elements(factors, cells.index))
        before, loss = loss, float((error**2).mean())
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
            # Per row, the multiple of the step at which an entry becomes 0.
            ends = np.divide(-rows, step, out=np.full(rows.shape, np.inf), where=step < 0)
            length = np.minimum(1.0, BOUNDARY_SHARE * ends.min(axis=1))
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
