"""Hybrid model: a power law or a sum of products, corrected by a completed tensor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import unknown
from tasksim.models.quantiles import FENCE
from tasksim.models.tensor.bases import BASES, choose_base
from tasksim.models.tensor.extrapolation import METHODS
from tasksim.models.tensor.kriged import fit_kriged
from tasksim.models.tensor.kriging import MAX_ROWS
from tasksim.models.tensor.tensorbase import TensorBase
from tasksim.models.tensor.trend import Trend

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.models.tensor.fitting import Errors, Fitted, Recipe
    from tasksim.models.tensor.tuning import Choice

__all__ = ["HybridModel"]

AUTOMATIC: Final = "automatic"
MIN_FOLD_SIZE: Final = 2
"""Minimum number of configurations per fold, so that errors have a spread."""


class HybridModel(TensorBase):
    """A simple law, and on its residuals a tensor of low rank over a grid.

    The law is a sum of products of the parameters, or a power law in each, whichever has the
    smaller cross-validated error, with a factor per category; the tensor corrects it if there are
    enough samples. For up to 4096 configurations the tensor is a copy of a Gaussian process on the
    residuals of the law (:mod:`tasksim.models.tensor.kriged`); for more, and on request, it is
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
        seconds: the same samples always give the same model.
    fence : float or None, default=3.0
        Outliers of a configuration with 8 samples or more are dropped, as in
        :class:`~tasksim.models.kinds.history.HistoryModel`. None keeps all samples.
    seed : int, default=0
        The seed of the random starts, and of the folds.
    law : {"automatic", "power", "products"}, default="automatic"
        The law that the tensor corrects.
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
    methods = (AUTOMATIC, *METHODS)

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
        fence: float | None = FENCE,
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
        if self.law not in (AUTOMATIC, *BASES):
            raise self._refusal(str(unknown("law", str(self.law), (AUTOMATIC, *BASES))))

    def _recipe(
        self, names: tuple[str, ...], rows: NDArray[np.float64], logs: NDArray[np.float64]
    ) -> Recipe:
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
        rows: NDArray[np.float64],
        logs: NDArray[np.float64],
        recipe: Recipe,
        taken: Choice | None,
    ) -> tuple[Choice, Fitted, Errors]:
        given = (self.rank, self.cells, self.ridge) != (None, None, None)
        few = not MIN_FOLD_SIZE * self.folds <= len(rows) <= MAX_ROWS
        if given or not self.kriging or few or (taken is not None and taken.scales is None):
            return super()._completed(names, rows, logs, recipe, taken)
        return fit_kriged(
            lambda cells: self._axes(names, rows, cells), rows, logs, recipe, self.folds, taken
        )

    def _details(self) -> dict[str, Any]:
        base = self._fitted_.base
        law = "power" if isinstance(base, Trend) else "products"
        return {"law": law, **super()._details()}
