"""Models of critical kernels, and one model of all others, to predict runs with few models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.graph_file import save
from tasksim.models.files.coefficients import save_models
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.selection import select
from tasksim.run.criticalkernels import AGGREGATED_NAME
from tasksim.run.samples import recorded_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples
    from tasksim.run.criticalkernels import CriticalKernels
    from tasksim.run.samples import RecordedKernel, RecordedRun

__all__ = ["GRAPH_FILE", "MODELS_FILE", "aggregated_models", "write_aggregated"]

GRAPH_FILE: Final = "graph.npz"
MODELS_FILE: Final = "models.json"
MAX_HISTORY_CONFIGURATIONS: Final = 40
"""Maximum number of configurations of a kernel that gets a history; with more, a model is selected
as in calibrations."""
SELECTION_BUDGET_S: Final = 10.0
"""Time for the selection of one model, in seconds."""


def aggregated_models(
    found: CriticalKernels, runs: Sequence[RecordedRun]
) -> dict[str, dict[str, KernelModel]]:
    """Return kernel -> architecture -> model, with the rest of the kernels as one.

    The model of the rest is the mean duration of its tasks in *runs*, whatever their parameters.
    """
    kernels: dict[str, dict[str, KernelModel]] = {}
    others: dict[str, list[RecordedKernel]] = {}
    for kernel in recorded_kernels(runs):
        if kernel.name in found.rest:
            others.setdefault(kernel.architecture, []).append(kernel)
        else:
            kernels.setdefault(kernel.name, {})[kernel.architecture] = _model(kernel.samples)
    for architecture, several in others.items():
        durations = np.concatenate([kernel.samples.durations_s for kernel in several])
        # The plain mean, not a robust one: the sum over all tasks must be right.
        kernels.setdefault(AGGREGATED_NAME, {})[architecture] = ConstantModel(
            float(durations.mean())
        )
    return kernels


def write_aggregated(
    folder: Path, found: CriticalKernels, runs: Sequence[RecordedRun], *, force: bool = False
) -> None:
    """Write the graph of the run on most workers, its rest aggregated, and models for it.

    ``tasksim simulate FOLDER/graph.npz --models FOLDER/models.json`` predicts with them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    largest = max(runs, key=lambda run: len(run.run.workers))
    save(found.aggregated(largest.graph), folder / GRAPH_FILE, force=force)
    models = aggregated_models(found, runs)
    how = f"tasks of {len(runs)} runs"
    save_models(folder / MODELS_FILE, models, machine=folder.name or "runs", how=how)


def _model(samples: Samples) -> KernelModel:
    if len(samples.configurations()[0]) <= MAX_HISTORY_CONFIGURATIONS:
        return HistoryModel().fit(samples)
    try:
        return select(samples, budget_s=SELECTION_BUDGET_S).model
    except InputError:  # parameters that depend on each other: only measured ones are known
        return HistoryModel().fit(samples)
