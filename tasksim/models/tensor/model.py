"""Durations as a completed tensor over a grid of the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tasksim.base.errors import unknown
from tasksim.models.quantiles import FENCE
from tasksim.models.tensor.tensorbase import TensorBase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["TensorModel"]

Mode = Literal["interpolation", "positive"]
MODES = ("interpolation", "positive")


class TensorModel(TensorBase):
    """A table over a grid of the parameters, completed from few cells as one of low rank.

    Parameters
    ----------
    mode : {"interpolation", "positive"}, default="interpolation"
        What is of low rank: the logarithms of durations, fitted by alternating least squares, or
        the durations themselves with positive factors, by alternating Newton steps. The second
        takes longer, needs fewer components where durations are products of powers, and goes on
        better outside the domain, above all in several parameters at once.
    rank : int or None, default=None
        How many products of factors are summed. None: chosen by cross-validation, as are
    cells : int, dict of str to int, or None, default=None
        into how many cells parameters are cut, all or each, and
    ridge : float or None, default=None
        the shrinkage of the factors, relative to the number of cells observed per row.
    spacing : str or dict, default="automatic"
        How parameters are cut, all or each: ``"automatic"``, ``"log"``, ``"uniform"``,
        ``"own"``, ``"ordinal"``, ``"categorical"``, or edges:
        see :func:`~tasksim.models.tensor.grid.make_axis`.
    extrapolation : {"line", "spline", "hold"}, default="line"
        How factors go on outside the domain: a straight line through the *last* points, or a
        piecewise linear spline, over the logarithm of the parameter; or not at all.
    last : int, default=6
        Through how many points.
    folds : int, default=5
        Into how many parts cross-validation splits the configurations.
    budget_s : float, default=10.0
        About how long the search for rank, cells and ridge may take. It counts operations, not
        seconds: the same samples always give the same model.
    fence : float or None, default=3.0
        Outliers of a configuration with 8 samples or more are dropped, as in
        :class:`~tasksim.models.kinds.history.HistoryModel`. None keeps all.
    seed : int, default=0
        Of the random starts, and of the folds.

    Attributes
    ----------
    rank_, cells_, ridge_
        What was given or chosen.
    residual_quantiles_ : ndarray, shape (11,)
        Quantiles of measured / predicted over the samples; :meth:`sample` multiplies by draws.

    Notes
    -----
    E. Hutter and E. Solomonik, "Application performance modeling via tensor completion" (SC
    2023). The report tells apart the ``quadrature_error``, for which the grid is too coarse (or
    the samples too noisy), and the ``low_rank_error``, for which the rank is too low.

    Predictions are multiplied by the mean of measured / predicted (N. Duan, "Smearing estimate",
    J. Am. Stat. Assoc. 78, 1983): the mean of logarithms is not the logarithm of the mean.

    ``inside`` wants rows in the box, and for every two parameters measured cells nearby.
    Outside, each parameter goes on along its tangent; ``extrapolates_badly`` in the report lists
    those with fewer than 5 points.

    See Also
    --------
    tasksim.HybridModel : On top of a simple law, which few samples do not over-fit.

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
        fence: float | None = FENCE,
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
        if self.mode not in MODES:
            raise self._refusal(str(unknown("mode", str(self.mode), MODES)))
        return super()._fit(samples)
