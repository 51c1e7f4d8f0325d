"""A power law in each parameter, corrected by a completed tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tasksim.models.quantiles import FENCE
from tasksim.models.tensor.common import TensorBase
from tasksim.models.tensor.kriged import fit_kriged
from tasksim.models.tensor.kriging import MOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.models.tensor.fitting import Errors, Fitted
    from tasksim.models.tensor.tuning import Choice

__all__ = ["HybridModel"]

FEWEST: Final = 2
"""A fold must have as many configurations, for errors to have a spread."""


class HybridModel(TensorBase):
    """A log-linear trend, and on what it leaves a tensor of low rank over a grid.

    The trend is a power law in each numerical parameter and a factor per category; the tensor
    corrects it where there are samples enough. Up to 4096 configurations it is a copy of what a
    Gaussian process makes of what the trend leaves (:mod:`tasksim.models.tensor.kriged`), beyond
    that and where it is asked for completed from the cells that were measured. By
    cross-validation the tensor is left out (rank 0) unless it lowers the error by more than its
    standard error, so that few samples are not over-fitted.

    Parameters
    ----------
    rank : int or None
        Of the tensor; 0: the trend alone. None: chosen.
    cells, ridge, spacing, extrapolation, last, folds, budget_s, fence, seed
        As of :class:`~tasksim.models.tensor.model.TensorModel`.
    kriging : bool
        Whether there may be a Gaussian process. Where rank, cells or ridge are given there is
        none.

    Attributes
    ----------
    rank_, cells_, ridge_
        What was given or chosen.
    residual_quantiles_ : ndarray, shape (11,)
        Quantiles of measured / predicted over the samples; :meth:`sample` multiplies by draws.
    """

    kind = "hybrid"
    base = "trend"

    def __init__(
        self,
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
        kriging: bool = True,
        seed: int = 0,
    ) -> None:
        self.rank = rank
        self.cells = cells
        self.ridge = ridge
        self.spacing = spacing
        self.extrapolation = extrapolation
        self.last = last
        self.folds = folds
        self.budget_s = budget_s
        self.fence = fence
        self.kriging = kriging
        self.seed = seed

    def _completed(
        self, names: tuple[str, ...], rows: NDArray[np.float64], logs: NDArray[np.float64]
    ) -> tuple[Choice, Fitted, Errors]:
        given = (self.rank, self.cells, self.ridge) != (None, None, None)
        if given or not self.kriging or not FEWEST * self.folds <= len(rows) <= MOST:
            return super()._completed(names, rows, logs)
        return fit_kriged(
            lambda cells: self._axes(names, rows, cells), rows, logs, self._recipe(), self.folds
        )
