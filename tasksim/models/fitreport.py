"""Report of a fit: the errors of a model on its own samples, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.base.documents.json_document import to_data
from tasksim.models.validation.metrics import fit_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["fit_report", "nothing_reported"]


def fit_report(model: KernelModel, samples: Samples, kept: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the report of *model*, just fitted to the samples that it *kept*."""
    used = samples.select(kept)
    rows, inverse = used.configurations()
    report = {
        "kind": model.kind,
        "samples": len(samples),
        "dropped": len(samples) - len(used),
        **fit_errors(used, rows, inverse, model._predict(rows)),
        **model._details(),
    }
    plain: dict[str, Any] = to_data(report)
    return plain


def nothing_reported(kind: str, samples: int = 0) -> dict[str, Any]:
    """Return the report of a model whose accuracy is unknown."""
    counts = {"samples": samples, "dropped": 0, "configurations": 0}
    return {"kind": kind, **counts, **dict.fromkeys(("mlogq", "bias", "mape", "worst"))}
