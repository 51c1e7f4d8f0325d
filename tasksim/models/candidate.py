"""Candidates of a selection: kinds of models with their cross-validated errors."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import OutOfDomainError, TasksimError

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.validation.crossvalidation import LeftOut

__all__ = ["Candidate", "domain_text", "percent", "percent_text", "size_bytes"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kind of model with its cross-validated error, or the reason why it was not tried."""

    kind: str
    reason: str
    model: KernelModel | None = None
    out: LeftOut | None = None
    errors: Floats = field(default_factory=lambda: np.empty(0))
    fit_seconds: float = 0.0
    configurations: int | None = None
    beyond: Floats = field(default_factory=lambda: np.empty(0))
    """Errors of configurations left out at the ends of the samples, infinite where nothing was
    predicted, if extrapolation was judged."""
    share_outside: float = 0.0
    """Share of the domain asked for that is outside the samples; 0 if extrapolation was not
    judged."""
    spent_s: float = 0.0
    """Processor time of all fits by which it was judged."""

    @property
    def mlogq_cv(self) -> float | None:
        """The mean MLogQ over the configurations left out; None if it is unknown."""
        known = np.isfinite(self.errors)
        return float(self.errors[known].mean()) if known.any() else None

    @property
    def mlogq_se(self) -> float | None:
        """The standard error of :attr:`mlogq_cv`; None with fewer than two configurations."""
        known = self.errors[np.isfinite(self.errors)]
        if len(known) < 2:
            return None
        return float(known.std(ddof=1) / np.sqrt(len(known)))

    @property
    def judged(self) -> float:
        """The MLogQ used for comparisons: infinite if it is unknown.

        With a share of the domain outside the samples, it is that of a prediction drawn from the
        domain.
        """
        inside = np.inf if self.mlogq_cv is None else self.mlogq_cv
        if not len(self.beyond):
            return inside
        outside = np.inf if self.mlogq_outside is None else self.mlogq_outside
        return (1 - self.share_outside) * inside + self.share_outside * outside

    @property
    def mlogq_outside(self) -> float | None:
        """The mean MLogQ at the ends of the samples; None if not judged, or not all predicted."""
        found = float(self.beyond.mean()) if len(self.beyond) else np.inf
        return found if np.isfinite(found) else None

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
            "mlogq_se": self.mlogq_se,
            "mlogq_outside": self.mlogq_outside,
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
    """Return the cross-validated error of *candidate* as text: ``2.5 %``."""
    return percent_text(np.inf if candidate.mlogq_cv is None else candidate.mlogq_cv)


def percent_text(mlogq: float) -> str:
    """Return an error, an MLogQ, as a percentage."""
    # exp overflows a float above 709.
    percent = 100 * float(np.expm1(min(mlogq, 700.0)))
    # Rounding errors of an exact fit are shown as 0.
    return f"{percent if percent > 1e-6 else 0:.3g} %"


def domain_text(model: KernelModel) -> str:
    """Return the range in which *model* makes predictions, as text."""
    # Twice the measured range: far enough to tell whether the model extrapolates.
    named = model.categories_
    beyond = [high if name in named else 2 * high for name, (_, high) in model.domain_.items()]
    try:
        model.predict(np.array([beyond]))
    except OutOfDomainError:
        return "only what was measured" if model.exact else f"only {model.measured()}"
    except TasksimError:
        return model.measured()
    return f"{model.measured()}, and beyond"
