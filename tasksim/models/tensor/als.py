"""Regularised alternating least squares that complete a tensor of logarithms.

The element at (i, j, ...) is modelled as the sum over r of U[i, r]·V[j, r]·...: a canonical
polyadic (CP) decomposition of rank R. With all factors but one fixed, each row u of that one is
a small independent linear problem,

    minimise  1/n Σ (b - k·u)² + λ |u|²

over the n observed cells of the row, k being the product of the other factors' rows; so all rows
are solved at once. The ridge λ is relative to the number of observations, so the shrinkage is
the same in every row (E. Hutter and E. Solomonik, SC 2023, section 4.2.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.tensor.grid import slices

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats, Indices
    from tasksim.models.tensor.grid import Cells, Slices

    Factors = list[Floats]

__all__ = ["balance", "complete", "elements", "other_rows"]

MAX_SWEEPS: Final = 100
"""Maximum number of sweeps: generated durations converged after 2 to 6, except one in ten, which
took 60 since components were nearly parallel."""
MIN_DECREASE: Final = 1e-4
"""Relative decrease of the loss at convergence: from 1e-2 to 1e-5 the error of generated durations
is the same within 1 %."""

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
    cells: Cells,
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
    factors = _best_start(cells, parts, rank, ridge, seed, starts) if start is None else start
    factors = [_only(factor, part) for factor, part in zip(factors, parts, strict=True)]
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


def _only(factor: Floats, part: Slices) -> Floats:
    """Return *factor* with 0 in rows without observations."""
    result = np.zeros_like(factor)
    result[part.rows] = factor[part.rows]
    return result


def _best_start(
    cells: Cells, parts: list[Slices], rank: int, ridge: float, seed: int, starts: int
) -> Factors:
    rng = np.random.default_rng(seed)
    best: Factors = []
    least = np.inf
    for trial in range(max(starts, 1)):
        factors = [1 + START_SPREAD * rng.standard_normal((length, rank)) for length in cells.shape]
        loss = _run(factors, cells, parts, ridge, TRIAL_SWEEPS)
        if trial == 0 or loss < least:
            best, least = factors, loss
    return best


def _run(factors: Factors, cells: Cells, parts: list[Slices], ridge: float, sweeps: int) -> float:
    """Improve *factors* in place by at most *sweeps*; return the loss."""
    loss = np.inf
    for _ in range(sweeps):
        for mode, part in enumerate(parts):
            _solve_mode(factors, cells, part, mode, ridge)
        balance(factors)
        before, loss = loss, _loss(factors, cells, ridge)
        if before - loss < MIN_DECREASE * loss:
            break
    return loss


def _solve_mode(factors: Factors, cells: Cells, part: Slices, mode: int, ridge: float) -> None:
    rank = factors[mode].shape[1]
    k = other_rows(factors, cells.index[part.order], mode)
    b = cells.values[part.order]
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
    factors[mode][part.rows] = np.linalg.solve(grams, sides[:, :, None])[:, :, 0]


def _loss(factors: Factors, cells: Cells, ridge: float) -> float:
    error = cells.values - elements(factors, cells.index)
    shrink = sum(float((factor**2).sum() / len(factor)) for factor in factors)
    return float((error**2).mean() + ridge * shrink)
