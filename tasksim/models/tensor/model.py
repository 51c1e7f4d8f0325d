"""Tensor model: durations as a completed tensor over a grid of the parameters."""

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
        seconds: the same samples always give the same model.
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
