"""Hybrid model, a power law or a sum of products corrected by a completed tensor.

With the few samples that measurements can afford, a Gaussian process of the residuals completes the
tensor: see :mod:`~tasksim.models.tensor.kriging`. The tensor is a copy of the process; its grid and
its rank are the smallest with which the copy differs little from the process, compared with the
error of the process itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.models.quantiles import FENCE_WIDTH
from tasksim.models.tensor.bases import BASES, Trend, choose_base, fit_base
from tasksim.models.tensor.completed import CONTINUATION_METHODS, bounds_of
from tasksim.models.tensor.fitting import Fitted, completed, errors_of, fit
from tasksim.models.tensor.grid import ObservedCells, cell_indices, observed, support_of
from tasksim.models.tensor.kriging import MAX_ROWS, krige, learn_scales
from tasksim.models.tensor.model import TensorBase
from tasksim.models.tensor.tuning import FIRST_RIDGE, GridChoice
from tasksim.models.validation.crossvalidation import each_left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tasksim.base.arrays import Floats
    from tasksim.models.tensor.completed import Completed
    from tasksim.models.tensor.fitting import FitErrors, Recipe
    from tasksim.models.tensor.grid import Support, TensorAxis
    from tasksim.models.tensor.kriging import Kriging

    Grid = Callable[[int], tuple[TensorAxis, ...]]
__all__ = ["HybridModel", "fit_kriged"]

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
"""Number of configurations up to which each fold is left out once; beyond it, only the first fold
is. The error is then known from more than 200 configurations, and each fold takes a second."""


def fit_kriged(
    grid: Grid,
    table: Floats,
    values: Floats,
    recipe: Recipe,
    folds: int,
    taken: GridChoice | None = None,
) -> tuple[GridChoice, Fitted, FitErrors]:
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
        A choice made for more rows of the same function, which is reused with its scales.
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
    taken: GridChoice, grid: Grid, table: Floats, values: Floats, recipe: Recipe
) -> tuple[GridChoice, Fitted, FitErrors]:
    """Return the fit with grid, rank and scales of *taken*."""
    if taken.rank == 0 or taken.scales is None:
        plain = replace(recipe, rank=0, ridge=taken.ridge)
        return taken, *fit(grid(taken.cells), table, values, plain)
    axes = grid(taken.cells)
    base = fit_base(recipe.base, axes, table, values)
    remaining = values - base.values(axes, table)
    process = krige(axes, table, remaining, taken.scales.on(axes))
    support = support_of(axes, observed(axes, cell_indices(axes, table), remaining))
    known = _asked(axes, support, process, recipe.seed)
    low = replace(recipe, rank=taken.rank, ridge=taken.ridge, starts=1)
    tensor = completed(axes, known, support, low, bounds_of(remaining))
    return taken, Fitted(axes, base, tensor, support), errors_of(tensor, table, remaining)


def _fit(
    grid: Grid, table: Floats, values: Floats, recipe: Recipe, folds: int
) -> tuple[GridChoice, Fitted, FitErrors]:
    axes = grid(CELLS_AND_RANKS[0][0])
    base = fit_base(recipe.base, axes, table, values)
    remaining = values - base.values(axes, table)
    scales = learn_scales(axes, table, remaining, recipe.seed)
    # The absolute cross-validated errors of process and base, in the same order.
    with_it, alone = [], []
    parts = folds if len(table) <= MAX_ALL_FOLDS else 1
    for out in each_left_out(len(table), folds, recipe.seed, parts):
        law = fit_base(recipe.base, axes, table[~out], values[~out])
        rest = values - law.values(axes, table)
        process = krige(axes, table[~out], rest[~out], scales)
        with_it.append(np.abs(process.values(table[out]) - rest[out]))
        alone.append(np.abs(rest[out]))
    errors, without = np.concatenate(with_it), np.concatenate(alone)
    gain = without - errors
    if not gain.mean() > gain.std() / np.sqrt(len(gain)):
        nothing = GridChoice(CELLS_AND_RANKS[0][0], 0, FIRST_RIDGE, float(without.mean()), scales)
        return nothing, *fit(axes, table, values, replace(recipe, rank=0, ridge=FIRST_RIDGE))
    process = krige(axes, table, remaining, scales)
    choice, tensor, support = _copied(grid, table, remaining, process, float(errors.mean()), recipe)
    fitted = Fitted(tensor.axes, base, tensor, support)
    choice = replace(choice, scales=scales)
    return choice, fitted, errors_of(tensor, table, remaining)


def _copied(
    grid: Grid, table: Floats, remaining: Floats, process: Kriging, error: float, recipe: Recipe
) -> tuple[GridChoice, Completed, Support]:
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
            choice = GridChoice(cells, rank, FIRST_RIDGE, float(np.hypot(error, off)))
            best = choice, tensor, support
        if off <= MAX_ERROR_SHARE * error:
            break
    return best


def _asked(
    axes: tuple[TensorAxis, ...], support: Support, process: Kriging, seed: int
) -> ObservedCells:
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
    return ObservedCells(index, process.values(points), np.arange(len(index)), shape)


AUTOMATIC: Final = "automatic"
MIN_FOLD_SIZE: Final = 2
"""Minimum number of configurations per fold, so that errors have a spread."""


class HybridModel(TensorBase):
    """A simple law, and on its residuals a tensor of low rank over a grid.

    The law is a sum of products of the parameters, or a power law in each, whichever has the
    smaller cross-validated error, with a factor per category; the tensor corrects it if there are
    enough samples. For up to 4096 configurations the tensor is a copy of a Gaussian process on the
    residuals of the law (:mod:`tasksim.models.tensor.kriging`); for more, and on request, it is
    completed from the measured cells. The tensor is left out (rank 0) unless it reduces the
    cross-validated error by more than its standard error, so that few samples are not over-fitted.

    Parameters
    ----------
    rank : int or None, default=None
        Rank of the tensor; 0: the law alone. None: chosen by cross-validation.
    cells : int, dict of str to int, or None, default=None
        Number of cells of all parameters, or of each. None: chosen by cross-validation.
    ridge : float or None, default=None
        Shrinkage of the factors, relative to the number of cells observed per row. None: chosen by
        cross-validation.
    spacing : str or dict, default="automatic"
        Spacing of the cells of all parameters, or of each: ``"automatic"``, ``"log"``,
        ``"uniform"``, ``"own"``, ``"ordinal"``, ``"categorical"``, or edges:
        see :func:`~tasksim.models.tensor.grid.make_axis`.
    last : int, default=6
        Number of points that determine a straight line beyond an end.
    folds : int, default=5
        Number of folds of the cross-validation.
    budget_s : float, default=10.0
        Approximate time of the search for rank, cells and ridge. It counts operations, not
        seconds: the same samples always give the same model. Of more than 256 configurations,
        where a cross-validation does not repeat the search, up to 30 s.
    fence : float or None, default=3.0
        Outliers of a configuration with 8 samples or more are dropped, as in
        :class:`~tasksim.models.kinds.history.HistoryModel`. None keeps all samples.
    seed : int, default=0
        The seed of the random starts, and of the folds.
    law : {"automatic", "power", "products"}, default="automatic"
        Kind of the law that the tensor corrects.
    extrapolation : {"automatic", "line", "spline", "hold"}, default="automatic"
        Extrapolation of the correction outside the domain, as in
        :class:`~tasksim.models.tensor.model.TensorModel`; ``"hold"``: it keeps the value at the
        nearest point inside. Automatic: ``"hold"`` for products, whose leading term is right far
        away, and ``"line"`` for power laws.
    kriging : bool, default=True
        Whether a Gaussian process may be used. It is not if rank, cells or ridge are given.

    Attributes
    ----------
    rank_, cells_, ridge_
        The given or chosen options.
    residual_quantiles_ : ndarray, shape (11,)
        Quantiles of measured / predicted over the samples; :meth:`sample` multiplies by draws.

    See Also
    --------
    tasksim.TensorModel : The table alone.
    tasksim.LinearModel : A readable formula.

    Examples
    --------
    >>> import numpy as np
    >>> from tasksim.models.samples import Samples
    >>> table = 2.0 ** np.random.default_rng(0).uniform(4, 10, (40, 2))
    >>> model = HybridModel().fit(Samples(("m", "n"), table, 1e-9 * table.prod(axis=1)))
    >>> model.rank_, model.predict([[100, 100]]).round(7).tolist()
    (0, [1e-05])
    """

    kind = "hybrid"
    base = "power"
    methods = (AUTOMATIC, *CONTINUATION_METHODS)

    def __init__(
        self,
        *,
        rank: int | None = None,
        cells: int | Mapping[str, int] | None = None,
        ridge: float | None = None,
        spacing: str | Mapping[str, Any] = "automatic",
        law: str = AUTOMATIC,
        extrapolation: str = AUTOMATIC,
        last: int = 6,
        folds: int = 5,
        budget_s: float = 10.0,
        fence: float | None = FENCE_WIDTH,
        kriging: bool = True,
        seed: int = 0,
    ) -> None:
        self.rank = rank
        self.cells = cells
        self.ridge = ridge
        self.spacing = spacing
        self.law = law
        self.extrapolation = extrapolation
        self.last = last
        self.folds = folds
        self.budget_s = budget_s
        self.fence = fence
        self.kriging = kriging
        self.seed = seed

    def _check_options(self, names: tuple[str, ...]) -> None:
        super()._check_options(names)
        one_of(self.law, (AUTOMATIC, *BASES), "law")

    def _recipe(self, names: tuple[str, ...], rows: Floats, logs: Floats) -> Recipe:
        law, method = self.law, self.extrapolation
        if law == AUTOMATIC:
            enough = len(rows) >= MIN_FOLD_SIZE * self.folds
            axes = self._axes(names, rows, 1)
            law = choose_base(axes, rows, logs, self.folds, self.seed) if enough else "power"
        if method == AUTOMATIC:
            method = "hold" if law == "products" else "line"
        return replace(super()._recipe(names, rows, logs), base=law, method=method)

    def _completed(
        self,
        names: tuple[str, ...],
        rows: Floats,
        logs: Floats,
        recipe: Recipe,
        taken: GridChoice | None,
    ) -> tuple[GridChoice, Fitted, FitErrors]:
        given = (self.rank, self.cells, self.ridge) != (None, None, None)
        few = not MIN_FOLD_SIZE * self.folds <= len(rows) <= MAX_ROWS
        if given or not self.kriging or few or (taken is not None and taken.scales is None):
            return super()._completed(names, rows, logs, recipe, taken)
        return fit_kriged(
            lambda cells: self._axes(names, rows, cells), rows, logs, recipe, self.folds, taken
        )

    def _method(self) -> str:
        copied = self.rank_ > 0 and self._choice_.scales is not None
        return "copy of a Gaussian process" if copied else super()._method()

    def _details(self) -> dict[str, Any]:
        base = self._fitted_.base
        law = "power" if isinstance(base, Trend) else "products"
        return {"law": law, **super()._details()}
