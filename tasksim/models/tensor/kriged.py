"""A base with a low-rank tensor that copies a Gaussian process of its residuals.

With the few samples that measurements can afford, the process completes the tensor: see
:mod:`~tasksim.models.tensor.kriging`. Grid and rank are the smallest with which the difference
from the process is small compared with the error of the process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.tensor.bases import fit_base
from tasksim.models.tensor.cells import Cells, cell_indices, observed
from tasksim.models.tensor.fitting import Fitted, bounds_of, completed, errors_of, fit
from tasksim.models.tensor.kriging import krige, learn_scales
from tasksim.models.tensor.support import support_of
from tasksim.models.tensor.tuning import FIRST_RIDGE, Choice
from tasksim.models.validation.folds import fold_of_each

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.models.tensor.completed import Completed
    from tasksim.models.tensor.fitting import Errors, Recipe
    from tasksim.models.tensor.grid import Axis
    from tasksim.models.tensor.kriging import Kriging, Scales
    from tasksim.models.tensor.support import Support

    Table = NDArray[np.float64]
    Grid = Callable[[int], tuple[Axis, ...]]

__all__ = ["fit_kriged"]

CELLS_AND_RANKS: Final = (
    (4, 2), (6, 3), (8, 4), (8, 8), (12, 8), (16, 8), (16, 16), (24, 16), (24, 24), (32, 24),
)  # fmt: skip
"""Pairs of cells per parameter and rank, tried in order: each is about 1.5 times as large as the
one before, so that the chosen one is not much larger than necessary."""
MAX_COEFFICIENTS: Final = 8
"""Maximum number of coefficients per measured configuration: the tensor copies a smooth function
instead of the configurations, and more would be larger than the process itself."""
MAX_ERROR_SHARE: Final = 0.1
"""Difference between copy and process, as a share of the error of the process, that is accepted:
the two errors add up to half a percent more."""
MAX_CELLS: Final = 8192
"""Maximum number of cells at which the process is evaluated, otherwise drawn at random: twice the
largest number of configurations of a process, which has no more information."""
MAX_ALL_FOLDS: Final = 1024
"""Number of configurations up to which every fold is left out; of more, only the first is. The
error is then known from 200 and more, and each fold takes a second."""


def fit_kriged(
    grid: Grid,
    table: Table,
    values: Table,
    recipe: Recipe,
    folds: int,
    taken: Choice | None = None,
) -> tuple[Choice, Fitted, Errors]:
    """Return the choice, and the fit to *values* at the rows of *table*.

    Parameters
    ----------
    grid
        Returns the axes for a number of cells per parameter.
    recipe
        Options of the fit; its rank and ridge are ignored.
    folds
        Number of folds of the cross-validation of the process. The base alone is taken unless the
        process is better by more than the standard error of the difference.
    taken
        A choice made for more rows of the same function, to be reused with its scales.
    """
    import scipy.linalg  # noqa: F401  # its BLAS must be loaded to be limited
    from threadpoolctl import threadpool_limits

    # Threads of BLAS wait for each other in a busy loop: on a machine with other work to do,
    # a hundred small factorisations then take a hundred times as long.
    with threadpool_limits(limits=1, user_api="blas"):
        if taken is not None:
            return _fit_as(taken, grid, table, values, recipe)
        return _fit(grid, table, values, recipe, folds)


def _fit_as(
    taken: Choice, grid: Grid, table: Table, values: Table, recipe: Recipe
) -> tuple[Choice, Fitted, Errors]:
    """Return the fit with grid, rank and scales of *taken*."""
    if taken.rank == 0 or taken.scales is None:
        plain = replace(recipe, rank=0, ridge=taken.ridge)
        return taken, *fit(grid(taken.cells), table, values, plain)
    axes = grid(taken.cells)
    base = fit_base(recipe.base, axes, table, values)
    remaining = values - base.values(axes, table)
    process = krige(axes, table, remaining, taken.scales)
    support = support_of(axes, observed(axes, cell_indices(axes, table), remaining))
    known = _asked(axes, support, process, recipe.seed)
    low = replace(recipe, rank=taken.rank, ridge=taken.ridge, starts=1)
    tensor = completed(axes, known, support, low, bounds_of(remaining))
    return taken, Fitted(axes, base, tensor, support), errors_of(tensor, table, remaining)


def _fit(
    grid: Grid, table: Table, values: Table, recipe: Recipe, folds: int
) -> tuple[Choice, Fitted, Errors]:
    axes = grid(CELLS_AND_RANKS[0][0])
    base = fit_base(recipe.base, axes, table, values)
    remaining = values - base.values(axes, table)
    scales = learn_scales(axes, table, remaining, recipe.seed)
    errors, without = _left_out(axes, table, values, scales, folds, recipe)
    gain = without - errors
    if not gain.mean() > gain.std() / np.sqrt(len(gain)):
        nothing = Choice(CELLS_AND_RANKS[0][0], 0, FIRST_RIDGE, float(without.mean()), scales)
        return nothing, *fit(axes, table, values, replace(recipe, rank=0, ridge=FIRST_RIDGE))
    process = krige(axes, table, remaining, scales)
    choice, tensor, support = _copied(grid, table, remaining, process, float(errors.mean()), recipe)
    fitted = Fitted(tensor.axes, base, tensor, support)
    choice = replace(choice, scales=scales)
    return choice, fitted, errors_of(tensor, table, remaining)


def _left_out(
    axes: tuple[Axis, ...], table: Table, values: Table, scales: Scales, folds: int, recipe: Recipe
) -> tuple[Table, Table]:
    """Return the absolute cross-validated errors of process and base, in the same order."""
    fold = fold_of_each(len(table), folds, recipe.seed)
    errors, without = [], []
    for part in range(folds if len(table) <= MAX_ALL_FOLDS else 1):
        out = fold == part
        base = fit_base(recipe.base, axes, table[~out], values[~out])
        rest = values - base.values(axes, table)
        process = krige(axes, table[~out], rest[~out], scales)
        errors.append(np.abs(process.values(table[out]) - rest[out]))
        without.append(np.abs(rest[out]))
    return np.concatenate(errors), np.concatenate(without)


def _copied(
    grid: Grid, table: Table, remaining: Table, process: Kriging, error: float, recipe: Recipe
) -> tuple[Choice, Completed, Support]:
    """Return the smallest tensor close enough to the *process*, or the closest one."""
    exact = process.values(table)
    least, known = np.inf, None
    for cells, rank in CELLS_AND_RANKS:
        axes = grid(cells)
        if least < np.inf and rank * sum(map(len, axes)) > MAX_COEFFICIENTS * len(table):
            break
        if known is None or known.shape != tuple(map(len, axes)):
            support = support_of(axes, observed(axes, cell_indices(axes, table), remaining))
            known = _asked(axes, support, process, recipe.seed)
        low = replace(recipe, rank=rank, ridge=FIRST_RIDGE, starts=1)
        tensor = completed(axes, known, support, low, bounds_of(remaining))
        off = float(np.abs(tensor.values(table) - exact).mean())
        if off < least:
            least = off
            choice = Choice(cells, rank, FIRST_RIDGE, float(np.hypot(error, off)))
            best = choice, tensor, support
        if off <= MAX_ERROR_SHARE * error:
            break
    return best


def _asked(axes: tuple[Axis, ...], support: Support, process: Kriging, seed: int) -> Cells:
    """Return the values of the *process* at the supported cells, or at a random subset."""
    shape = tuple(map(len, axes))
    count = np.prod(np.array(shape, dtype=np.float64))
    if count <= MAX_CELLS:
        index = np.stack(np.unravel_index(np.arange(int(count)), shape), axis=1)
    else:
        rng = np.random.default_rng(seed)
        index = np.stack([rng.integers(length, size=MAX_CELLS) for length in shape], axis=1)
        index = np.unique(index, axis=0)
    held = index[support.holds(index)]
    index = held if len(held) else index
    points = np.stack([axis.points[index[:, mode]] for mode, axis in enumerate(axes)], axis=1)
    return Cells(index, process.values(points), np.arange(len(index)), shape)
