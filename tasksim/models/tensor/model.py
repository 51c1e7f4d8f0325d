"""Tensor model of durations, completed over a grid of the parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

import numpy as np

from tasksim.base.arguments import one_of, positive_number, whole_number
from tasksim.base.errors import InputError, unknown
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.quantiles import (
    FENCE_WIDTH,
    fence_of,
    group_means,
    inliers,
    merged_quantiles,
    quantiles_of,
    read_residuals,
    residuals_to_json,
    scattered,
)
from tasksim.models.tensor.bases import Trend, base_to_json, read_base
from tasksim.models.tensor.completed import CONTINUATION_METHODS, Completed
from tasksim.models.tensor.fitting import (
    CellSums,
    FitErrors,
    Fitted,
    Recipe,
    cell_sums,
    fit,
    read_cell_sums,
    updated,
)
from tasksim.models.tensor.grid import TensorAxis, cell_indices, make_axis, read_axis, read_support
from tasksim.models.tensor.tuning import GridChoice, GridSearch
from tasksim.models.terms.leastsquares import LEAST_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Bools, Floats
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.quantiles import Draw
    from tasksim.models.samples import Samples

__all__ = ["MAX_LOG", "TensorBase", "TensorModel", "smear"]

MAX_CELLS: Final = 4096
"""Maximum number of cells per parameter: a tensor should be smaller than the table of
measurements."""
MAX_LOG: Final = 700.0
"""Largest logarithm of a predicted duration: beyond, exp overflows."""

DEFAULT_CELLS: Final = 16
"""Default number of cells of a parameter if only others are given: the middle of those that a
search tries."""

MAX_SEARCHED_AGAIN: Final = 256
"""Number of configurations up to which a fit to a part of them searches again: the result still
depends on the part."""

ONCE_FACTOR: Final = 18.0
"""Factor of the budget of a search that parts of the samples do not repeat: a choice of kinds gives
each fit an eighteenth or less of its time, for those of the cross-validation and of intervals."""
MAX_ONCE_S: Final = 30.0
"""Largest nominal time of such a search in seconds, unless the budget itself is larger: with 16,384
configurations of 6 to 9 parameters, a fit took 6 to 15 s of processor time."""

MIN_POINTS: Final = 5
"""Minimum number of points for a straight line beyond an end: noise dominates with fewer."""
FENCE_DEVIATIONS: Final = 3 / 0.6745
"""Fence of residuals, in median absolute deviations: three standard deviations if they are
normal."""


class TensorBase(KernelModel):
    """A kernel model whose logarithm is a base plus a completed tensor.

    Parameters
    ----------
    rank : int or None
        Number of products of factors in the sum; None: chosen by cross-validation.
    cells : int, mapping of str to int, or None
        Number of cells of all parameters, or of each; None: chosen by cross-validation.
    ridge : float or None
        Shrinkage of the factors, relative to the number of cells observed per row; None:
        chosen by cross-validation.
    spacing : str or mapping
        Spacing of the cells: see :func:`~tasksim.models.tensor.grid.make_axis`.
    extrapolation : str
        Extrapolation of the factors: one of :attr:`methods`.
    last : int
        Number of points, at least 2, that determine a straight line beyond an end.
    folds : int
        Number of folds of the cross-validation.
    budget_s : float
        Approximate time of the search, in seconds of a nominal machine.
    fence : float or None
        Outliers of a configuration with 8 samples or more are dropped; None keeps all samples.
    seed : int
        The seed of the random starts, and of the folds.

    Attributes
    ----------
    rank_ : int
        The given or chosen rank.
    cells_ : dict of str to int
        The number of cells of each parameter.
    ridge_ : float
        The given or chosen ridge.
    residual_quantiles_ : ndarray, shape (11,)
        Quantiles of measured / predicted over the samples, at
        :data:`~tasksim.models.quantiles.QUANTILE_LEVELS`.
    """

    base: ClassVar[str]
    """The base, as in :class:`~tasksim.models.tensor.fitting.Recipe`."""
    methods: ClassVar[tuple[str, ...]] = CONTINUATION_METHODS
    """The legal values of the option ``extrapolation``."""

    rank: int | None
    cells: Any
    spacing: Any
    ridge: float | None
    extrapolation: str
    last: int
    folds: int
    budget_s: float
    fence: float | None
    seed: int

    rank_: int
    ridge_: float
    residual_quantiles_: Floats
    _fitted_: Fitted
    """Base and tensor."""
    _smear_: float
    """Factor on predictions that corrects their mean, since the fit is to the mean of
    logarithms."""
    _errors_: FitErrors
    """The errors by origin, for the report of the fit; not in files."""
    _choice_: GridChoice
    """Rank, grid and ridge, with their cross-validated error; not in files."""
    _floored_: int
    """Number of configurations with the smallest possible prediction, for the report."""
    _configurations_: int
    """Number of configurations; not in files."""
    _learnt_: tuple[Floats, Floats] | None = None
    """Configurations and logarithms of durations of the fit; not in files."""
    _taken: GridChoice | None = None
    """A choice that the next fit uses instead of searching."""

    @property
    def cells_(self) -> dict[str, int]:
        """The number of cells of each parameter."""
        self._check_fitted("cells_")
        return {axis.name: len(axis) for axis in self._fitted_.axes}

    def _positive(self) -> bool:
        return False

    def _method(self) -> str:
        """Return how the tensor was completed, as text."""
        return "positive Newton method" if self._positive() else "alternating least squares"

    def _recipe(
        self,
        names: tuple[str, ...],  # noqa: ARG002  # used by subclasses that choose
        rows: Floats,  # noqa: ARG002
        logs: Floats,  # noqa: ARG002
    ) -> Recipe:
        """Return the options for logarithms of durations at *rows*; rank and ridge come later."""
        return Recipe(
            base=self.base,
            rank=0,
            ridge=0.0,
            positive=self._positive(),
            method=self.extrapolation,
            last=self.last,
            seed=self.seed,
        )

    def refitted(self, samples: Samples) -> Self:
        """Return a model fitted to a part of the samples of this one.

        The result of a search over more than 256 configurations is reused: a part of so many leads
        to the same choice, except for irrelevant differences.
        """
        model = self.clone()
        if getattr(self, "_configurations_", 0) > MAX_SEARCHED_AGAIN:
            model._taken = self._choice_
        return model.fit(samples)

    def _fit(self, samples: Samples) -> Bools:
        taken, self._taken = self._taken, None
        self._check_options(samples.names)
        kept = inliers(samples, samples.configurations()[1], self.fence)
        used = samples.select(kept)
        rows, group = used.configurations()
        logs = np.log(group_means(used.durations_s, group))
        recipe = self._recipe(samples.names, rows, logs)
        completed = self._completed(samples.names, rows, logs, recipe, taken)
        choice, self._fitted_, self._errors_ = completed
        self._configurations_, self._learnt_ = len(rows), (rows, logs)
        self._choice_, self.rank_, self.ridge_ = choice, choice.rank, choice.ridge
        self._smear_ = smear(logs - self._fitted_.values(rows))
        self._floored_ = int((self._raw(rows) < LEAST_S).sum())
        ratio = used.durations_s / self._predict(used.parameters)
        self.residual_quantiles_ = quantiles_of(ratio)
        return kept

    def _completed(
        self,
        names: tuple[str, ...],
        rows: Floats,
        logs: Floats,
        recipe: Recipe,
        taken: GridChoice | None,
    ) -> tuple[GridChoice, Fitted, FitErrors]:
        """Return the choice, or *taken*, and the fit to logarithms of durations at *rows*."""
        search = GridSearch(
            table=rows,
            values=logs,
            grid=lambda cells: self._axes(names, rows, cells),
            recipe=recipe,
            cells=DEFAULT_CELLS if isinstance(self.cells, dict) else self.cells,
            rank=self.rank,
            ridge=self.ridge,
            folds=self.folds,
            budget_s=self._search_budget_s(len(rows)),
        )
        choice = search.best() if taken is None else taken
        recipe = replace(recipe, rank=choice.rank, ridge=choice.ridge)
        return choice, *fit(self._axes(names, rows, choice.cells), rows, logs, recipe)

    def _search_budget_s(self, configurations: int) -> float:
        """Return the nominal time of the search, which is longer where no part repeats it."""
        if configurations <= MAX_SEARCHED_AGAIN:
            return self.budget_s
        return max(self.budget_s, min(ONCE_FACTOR * self.budget_s, MAX_ONCE_S))

    def _axes(self, names: tuple[str, ...], rows: Floats, cells: int) -> tuple[TensorAxis, ...]:
        """Return the axes, with *cells* as the default number of cells."""
        axes = []
        for mode, name in enumerate(names):
            count = self.cells.get(name, cells) if isinstance(self.cells, dict) else cells
            spacing = self.spacing
            if isinstance(spacing, dict):
                spacing = spacing.get(name, "automatic")
            if name in self.categories_:
                spacing = "categorical"
            try:
                axes.append(make_axis(name, rows[:, mode], spacing, count))
            except InputError as error:
                raise self._refusal(str(error)) from None
        return tuple(axes)

    def _check_options(self, names: tuple[str, ...]) -> None:
        one_of(self.extrapolation, self.methods, "extrapolation")
        least = {"last": 2, "folds": 2, "seed": 0}
        if self.rank is not None:
            least["rank"] = 1 if self.base == "level" else 0
        for option, bound in least.items():
            whole_number(getattr(self, option), option, bound)
        positive_number(self.budget_s, "budget_s", "10.0")
        if self.ridge is not None:
            positive_number(self.ridge, "ridge", "0.001")
        if self.cells is not None:
            given = self.cells.values() if isinstance(self.cells, dict) else (self.cells,)
            for count in given:
                whole_number(count, "cells", 1, MAX_CELLS)
        for option in (self.cells, self.spacing):
            for name in option if isinstance(option, dict) else ():
                if name not in names:
                    raise self._refusal(str(unknown("parameter", name, names)))

    def _raw(self, table: Floats) -> Floats:
        logs = np.minimum(self._fitted_.values(table), MAX_LOG)
        return np.asarray(self._smear_ * np.exp(logs))

    def _predict(self, table: Floats) -> Floats:
        return np.maximum(self._raw(table), LEAST_S)

    def _sampler(self, table: Floats) -> Draw:
        return scattered(self._predict(table), self.residual_quantiles_)

    def _inside(self, table: Floats) -> Bools:
        """Return which rows are in the box, and near measurements in every two parameters."""
        inside = super()._inside(table)
        for mode, axis in enumerate(self._fitted_.axes):
            if axis.kind != "numerical":
                inside &= axis.covers(table[:, mode])
        some = np.flatnonzero(inside)
        if len(some):
            indices = cell_indices(self._fitted_.axes, table[some])
            inside[some] = self._fitted_.support.holds(indices)
        return inside

    def _details(self) -> dict[str, Any]:
        axes, base = self._fitted_.axes, self._fitted_.base
        numbers = self.rank_ * sum(map(len, axes)) + sum(map(len, base.effects))
        numbers += 1 if isinstance(base, Trend) else len(base.coefficients)
        few = [a.name for a in axes if a.kind == "numerical" and len(a) < MIN_POINTS]
        return {
            "rank": self.rank_,
            "cells": {axis.name: len(axis) for axis in axes},
            "ridge": self.ridge_,
            "method": self._method(),
            "density": self._errors_.density,
            "quadrature_error": self._errors_.quadrature,
            "low_rank_error": self._errors_.low_rank,
            "cross_validated_mlogq": self._choice_.error,
            "coefficients": numbers,
            "floored": self._floored_,
            "extrapolates_badly": few,
        }

    def _to_json(self) -> dict[str, Any]:
        tensor = self._fitted_.tensor
        return {
            "axes": [axis.to_json() for axis in self._fitted_.axes],
            "base": base_to_json(self._fitted_.base),
            "factors": [] if tensor is None else tensor.factors,
            "beyond": "hold" if tensor is None else tensor.method,
            "bounds": [0.0, 0.0] if tensor is None else tensor.bounds,
            "support": self._fitted_.support.to_json(),
            "ridge": self.ridge_,
            "smear": self._smear_,
            **residuals_to_json(self.residual_quantiles_),
        }

    def _from_json(self, node: JsonNode) -> None:
        self._check_options(node["parameters"].texts())
        axes = tuple(read_axis(axis) for axis in node["axes"])
        if tuple(axis.name for axis in axes) != node["parameters"].texts():
            raise node["axes"].error("expected one axis per parameter, in their order")
        base = read_base(node["base"], axes)
        support = read_support(node["support"], axes)
        factors = _factors(node["factors"], axes, positive=self._positive())
        low, high = node["bounds"].vector(2).tolist()
        tensor, beyond = None, node["beyond"].one_of(CONTINUATION_METHODS)
        if factors:
            bounds = (low, high)
            tensor = Completed(
                axes, factors, support.rows, self._positive(), bounds, beyond, self.last
            )
        self._fitted_ = Fitted(axes, base, tensor, support)
        self.rank_ = factors[0].shape[1] if factors else 0
        self.ridge_, self._smear_ = node["ridge"].positive(), node["smear"].positive()
        self.residual_quantiles_ = read_residuals(node)


def smear(residuals: Floats) -> float:
    """Return the mean of the exponentials of *residuals*, clipped to the fence.

    A few configurations whose predictions are too short by orders of magnitude must not make all
    predictions too long.
    """
    center = float(np.median(residuals))
    reach = FENCE_DEVIATIONS * float(np.median(np.abs(residuals - center)))
    return float(np.exp(np.clip(residuals, center - reach, center + reach)).mean())


def _factors(node: JsonNode, axes: Sequence[TensorAxis], *, positive: bool) -> list[Floats]:
    if not list(node):
        return []
    factors: list[Floats] = []
    for table, axis in zip(node.list_of(len(axes)), axes, strict=True):
        rank = factors[0].shape[1] if factors else len(list(table.list_of(len(axis))[0]))
        if not rank:
            raise table.expected(f"{len(axis)} rows of numbers")
        factors.append(table.matrix(rank, len(axis)))
        if positive and not (factors[-1] > 0).all():
            raise table.expected("positive numbers")
    return factors


Mode = Literal["interpolation", "positive"]
MODES = ("interpolation", "positive")


class TensorModel(TensorBase):
    """A low-rank table over a grid of the parameters, completed from few cells.

    Parameters
    ----------
    mode : {"interpolation", "positive"}, default="interpolation"
        The low-rank quantity: the logarithms of durations, fitted by alternating least squares, or
        the durations themselves with positive factors, by alternating Newton steps. The second
        takes longer, needs fewer components if durations are products of powers, and extrapolates
        better, above all in several parameters at once.
    rank : int or None, default=None
        Number of products of factors in the sum. None: chosen by cross-validation.
    cells : int, dict of str to int, or None, default=None
        Number of cells of all parameters, or of each. None: chosen by cross-validation.
    ridge : float or None, default=None
        Shrinkage of the factors, relative to the number of cells observed per row. None: chosen by
        cross-validation.
    spacing : str or dict, default="automatic"
        Spacing of the cells of all parameters, or of each: ``"automatic"``, ``"log"``,
        ``"uniform"``, ``"own"``, ``"ordinal"``, ``"categorical"``, or edges:
        see :func:`~tasksim.models.tensor.grid.make_axis`.
    extrapolation : {"line", "spline", "hold"}, default="line"
        Extrapolation of the factors: a straight line through the *last* points, or a
        piecewise linear spline, over the logarithm of the parameter; or a constant.
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

    Attributes
    ----------
    rank_, cells_, ridge_
        The given or chosen options.
    residual_quantiles_ : ndarray, shape (11,)
        Quantiles of measured / predicted over the samples; :meth:`sample` multiplies by draws.

    Notes
    -----
    E. Hutter and E. Solomonik, "Application performance modeling via tensor completion" (SC
    2023). The report separates the ``quadrature_error``, which is large if the grid is too coarse
    (or the samples too noisy), from the ``low_rank_error``, which is large if the rank is too low.

    Predictions are multiplied by the mean of measured / predicted (N. Duan, "Smearing estimate",
    J. Am. Stat. Assoc. 78, 1983): the mean of logarithms is not the logarithm of the mean.

    ``inside`` requires rows in the box, and measured cells nearby for every two parameters.
    Outside, each parameter continues along its tangent; ``extrapolates_badly`` in the report lists
    those with fewer than 5 points.

    See Also
    --------
    tasksim.HybridModel : Corrects a simple law, and does not over-fit few samples.

    Examples
    --------
    >>> import numpy as np
    >>> from tasksim.models.samples import Samples
    >>> m, n = np.meshgrid(2.0 ** np.arange(4, 10), 2.0 ** np.arange(4, 10))
    >>> table = np.column_stack([m.ravel(), n.ravel()])
    >>> samples = Samples(("m", "n"), table, 1e-9 * table.prod(axis=1))
    >>> model = TensorModel(rank=2, cells=6).fit(samples)
    >>> model.predict([[100, 100]]).round(7).tolist()
    [1e-05]
    """

    kind = "cp"
    base = "level"

    _sums_: CellSums | None = None
    """The sums per cell of a model that was updated, or read from a file that has them."""

    def __init__(
        self,
        mode: Mode = "interpolation",
        *,
        rank: int | None = None,
        cells: int | Mapping[str, int] | None = None,
        ridge: float | None = None,
        spacing: str | Mapping[str, Any] = "automatic",
        extrapolation: str = "line",
        last: int = 6,
        folds: int = 5,
        budget_s: float = 10.0,
        fence: float | None = FENCE_WIDTH,
        seed: int = 0,
    ) -> None:
        self.mode = mode
        self.rank = rank
        self.cells = cells
        self.ridge = ridge
        self.spacing = spacing
        self.extrapolation = extrapolation
        self.last = last
        self.folds = folds
        self.budget_s = budget_s
        self.fence = fence
        self.seed = seed

    def _positive(self) -> bool:
        return self.mode == "positive"

    def _fit(self, samples: Samples) -> NDArray[Any]:
        one_of(self.mode, MODES, "mode")
        return super()._fit(samples)

    def _update(self, samples: Samples) -> Bools:
        sums = self._cell_sums()
        rows, group = samples.configurations()
        self._check_on_grid(rows)
        logs = np.log(group_means(samples.durations_s, group))
        recipe = self._recipe(samples.names, rows, logs)
        recipe = replace(recipe, rank=self.rank_, ridge=self.ridge_)
        self._fitted_, self._sums_ = updated(self._fitted_, sums, rows, logs, recipe)
        self._learnt_ = None
        durations_s = samples.durations_s
        ratio = durations_s / self._predict(samples.parameters)
        low, high = fence_of(self.residual_quantiles_, self.fence)
        known, new = sums.count, len(ratio)
        self.residual_quantiles_ = merged_quantiles(
            self.residual_quantiles_, known, quantiles_of(ratio), new
        )
        # A stall must not lengthen all predictions.
        self._smear_ *= (known + np.clip(ratio, low, high).sum()) / (known + new)
        return np.ones(new, dtype=bool)

    def _check_on_grid(self, rows: Floats) -> None:
        """Refuse values that the axes of the grid do not cover."""
        for mode, axis in enumerate(self._fitted_.axes):
            outside = rows[~axis.covers(rows[:, mode]), mode]
            if len(outside):
                low, high = axis.edges[[0, -1]].tolist()
                grid = f"which is {low:.15g} to {high:.15g}"
                if axis.kind != "numerical":
                    grid = "whose cells are single values"
                raise self._refusal(
                    f"{axis.name}={outside[0]:.15g} is not on the grid of the tensor, {grid}: fit a"
                    " model to all samples"
                )

    def _cell_sums(self) -> CellSums:
        """Return the means and counts per cell of all samples so far."""
        if self._sums_ is not None:
            return self._sums_
        if self._learnt_ is None:
            raise self._refusal(
                "the model has no sums per cell, which an update needs: they are kept in memory "
                "after a fit, and in files that are written with --updatable"
            )
        return cell_sums(self._fitted_, *self._learnt_)

    def _kept_sums(self) -> dict[str, Any]:
        return self._cell_sums().to_json()

    def _read_sums(self, node: JsonNode) -> None:
        self._sums_ = read_cell_sums(node, self._fitted_.axes)

    def _updated_report(self) -> dict[str, Any]:
        sums = self._cell_sums()
        cells = np.prod([float(len(axis)) for axis in self._fitted_.axes])
        return {"configurations": sums.count, "density": len(sums.means) / float(cells)}
