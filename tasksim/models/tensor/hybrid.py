"""A power law in each parameter, corrected by a completed tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.models.quantiles import FENCE
from tasksim.models.tensor.common import TensorBase

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HybridModel"]


class HybridModel(TensorBase):
    """A log-linear trend, and on what it leaves a tensor of low rank over a grid.

    The trend is a power law in each numerical parameter and a factor per category; the tensor
    corrects it where there are samples enough. By cross-validation the tensor is left out
    (rank 0) unless it lowers the error by more than its standard error, so that few samples are
    not over-fitted.

    Parameters
    ----------
    rank : int or None
        Of the tensor; 0: the trend alone. None: chosen.
    cells, ridge, spacing, extrapolation, last, folds, budget_s, fence, seed
        As of :class:`~tasksim.models.tensor.model.TensorModel`.

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
        self.seed = seed
