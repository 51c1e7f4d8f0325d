"""Candidates of a selection: fitted models of one kind each, with their cross-validated errors."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import OutOfDomainError, TasksimError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.validation.crossvalidation import LeftOut

__all__ = ["Candidate", "domain_text", "percent", "size_bytes"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kind of model with its cross-validated error, or the reason why it was not tried."""

    kind: str
    reason: str
    model: KernelModel | None = None
    out: LeftOut | None = None
    errors: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    fit_seconds: float = 0.0
    refit_seconds: float = 0.0

    @property
    def mlogq_cv(self) -> float | None:
        """The mean MLogQ over the configurations left out; None if it is unknown."""
        known = np.isfinite(self.errors)
        return float(self.errors[known].mean()) if known.any() else None

    @property
    def judged(self) -> float:
        """The MLogQ used for comparisons: infinite if it is unknown."""
        return np.inf if self.mlogq_cv is None else self.mlogq_cv

    @property
    def exact(self) -> bool:
        """Whether the model predicts measured configurations only."""
        return self.out is not None and self.out.by == "sample"

    @property
    def size_bytes(self) -> int | None:
        """The size of the model in a file, in bytes; None without a model."""
        return None if self.model is None else size_bytes(self.model)

    def row(self) -> dict[str, Any]:
        """Return the candidate as a row of the printed table."""
        return {
            "kind": self.kind,
            "mlogq_cv": self.mlogq_cv,
            "size_bytes": self.size_bytes,
            "fit_seconds": self.fit_seconds if self.model is not None else None,
            "domain": None if self.model is None else domain_text(self.model),
            "reason": self.reason,
        }


def size_bytes(model: KernelModel) -> int:
    """Return the size of *model* as compact JSON in bytes, without report and uncertainty."""
    data = {k: v for k, v in model.to_json().items() if k not in ("report", "uncertainty")}
    return len(json.dumps(data, separators=(",", ":")).encode())


def percent(candidate: Candidate) -> str:
    """Return the error of *candidate* as text: ``2.5 %``."""
    # exp overflows a float above 709.
    percent = 100 * float(np.expm1(min(candidate.judged, 700.0)))
    # Rounding errors of an exact fit are shown as 0.
    return f"{percent if percent > 1e-6 else 0:.3g} %"


def domain_text(model: KernelModel) -> str:
    """Return the range in which *model* makes predictions, as text."""
    high = np.array([[high for _, high in model.domain_.values()]])
    # Twice the measured range: far enough to tell whether the model extrapolates.
    try:
        model.predict(2 * high)
    except OutOfDomainError:
        return "only what was measured" if model.exact else f"only {model.measured()}"
    except TasksimError:
        return model.measured()
    return f"{model.measured()}, and beyond"
