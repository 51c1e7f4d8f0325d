"""Candidates of a selection: a kind of model, and how well it does."""

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
    """A kind of model, and how well it does; or why it was not tried."""

    kind: str
    reason: str
    model: KernelModel | None = None
    out: LeftOut | None = None
    errors: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    fit_seconds: float = 0.0
    refit_seconds: float = 0.0

    @property
    def mlogq_cv(self) -> float | None:
        """The MLogQ over the configurations that were left out; None if it is not known."""
        known = np.isfinite(self.errors)
        return float(self.errors[known].mean()) if known.any() else None

    @property
    def judged(self) -> float:
        """The MLogQ to compare by: infinite if it is not known."""
        return np.inf if self.mlogq_cv is None else self.mlogq_cv

    @property
    def exact(self) -> bool:
        """Whether it predicts nothing but what was measured."""
        return self.out is not None and self.out.by == "sample"

    @property
    def size_bytes(self) -> int | None:
        """Return what the model takes in a file; None if there is none."""
        return None if self.model is None else size_bytes(self.model)

    def row(self) -> dict[str, Any]:
        """Return what to print of it."""
        return {
            "kind": self.kind,
            "mlogq_cv": self.mlogq_cv,
            "size_bytes": self.size_bytes,
            "fit_seconds": self.fit_seconds if self.model is not None else None,
            "domain": None if self.model is None else domain_text(self.model),
            "reason": self.reason,
        }


def size_bytes(model: KernelModel) -> int:
    """Return what *model* takes as compact JSON, without its report and its uncertainty."""
    data = {k: v for k, v in model.to_json().items() if k not in ("report", "uncertainty")}
    return len(json.dumps(data, separators=(",", ":")).encode())


def percent(candidate: Candidate) -> str:
    """Return its error for people: ``2.5 %``."""
    percent = 100 * float(np.expm1(min(candidate.judged, 700.0)))
    return f"{percent if percent > 1e-6 else 0:.3g} %"


def domain_text(model: KernelModel) -> str:
    """Return where a model can be asked, for people."""
    high = np.array([[high for _, high in model.domain_.values()]])
    try:
        model.predict(2 * high)
    except OutOfDomainError:
        return "only what was measured" if model.exact else f"only {model.measured()}"
    except TasksimError:
        return model.measured()
    return f"{model.measured()}, and beyond"
