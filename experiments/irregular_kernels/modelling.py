"""Models that are compared: naive lines, and linear regressions of the tasks' parameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.irregular_kernels.results import KERNELS, Fit, M2lComparison
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples
from tasksim.models.validation.metrics import mlogq
from tasksim.run.samples import RecordedRun, recorded_kernels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from experiments.irregular_kernels.inputs import Input
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.models.terms.leastsquares import Weights
    from tasksim.scenario.repetitions import ScenarioRuns

__all__ = [
    "DIRECT_TERMS",
    "TERMS",
    "MeasuredInput",
    "ModelSet",
    "compare_m2l",
    "fitted",
    "judged",
    "mean_samples",
    "naive",
    "naive_samples",
    "regressions",
]

TERMS: Final = {
    "P2M": "NbParticles + NbCells",
    "M2M": "NbDiff + NbChildParent",
    "M2L_in": "Level + NbCells + NbInteractions",
    "M2L_out": "OutsideInteractionsSize + NbDiff0 + NbDiff1",
    "L2L": "NbDiff + NbChildParent",
    "L2P": "NbParticles + NbCells",
    "P2P_in": "NbLeaves + NbParticles + NbInteractions",
    "P2P_out": "OutsideInteractionsSize + NbDiff0 + NbDiff1 + NbInteractions",
}
"""What the work of each kernel of tasksim grows with, indirect parameters included.

ScalFMM's own terms (its source names them, per kernel) are those of its kernels: there M2M costs
what the parents cost, here what the children do, one matrix product for each.
"""

_SQUARES = "Level + NbCells + SizeInterval + Level^2 + NbCells^2 + SizeInterval^2"
DIRECT_TERMS: Final = {
    "P2M": "NbCells + SizeInterval + NbParticles",
    "M2M": "Level + NbCells + SizeInterval + iNbCells + iSizeInterval",
    "M2L_in": f"{_SQUARES} + Level*NbCells + Level*SizeInterval + NbCells*SizeInterval"
    " + Level*NbCells*SizeInterval",
    "M2L_out": "Level + NbCells + SizeInterval + iNbCells + iSizeInterval",
    "L2L": "Level + NbCells + SizeInterval + iNbCells + iSizeInterval",
    "L2P": "NbCells + SizeInterval + NbParticles",
    "P2P_in": "NbLeaves + SizeInterval + NbParticles",
    "P2P_out": "NbLeaves + SizeInterval + NbParticles + iNbLeaves + iSizeInterval + iNbParticles",
}
"""The same with what is known of a group without looking at its interactions.

For M2L_in these are the ten terms of the paper's first model (its figure 5).
"""

PER_GROUP: Final = ("M2M", "M2L_in", "M2L_out", "L2L")
"""Kernels whose naive model is a line in the group size; that of the others, in the particles."""

Durations = dict[str, Samples]


@dataclass(frozen=True, eq=False)
class MeasuredInput:
    """An input, its graph, and its native runs."""

    input: Input
    graph: TaskGraph
    native: ScenarioRuns


@dataclass(frozen=True)
class ModelSet:
    """Kernel models by kernel; the models of a simulation."""

    models: Mapping[str, KernelModel]

    def model(self, kernel: str, architecture: str) -> KernelModel:  # noqa: ARG002
        """Return the model of *kernel*, the same on every architecture."""
        return self.models[kernel]

    def locality(self, kernel: str, architecture: str) -> Locality | None:  # noqa: ARG002
        """Return None: what far data cost is in the durations, as in the paper."""
        return None


def mean_samples(inputs: Sequence[MeasuredInput]) -> Durations:
    """Return per kernel one sample per task: its mean duration over the runs of its input.

    What one task takes more than another is what a model can explain; what it takes more in one
    run than in the next is not. In the order of :data:`KERNELS`.
    """
    runs = [RecordedRun(Path(m.input.text), run, m.graph) for m in inputs for run in m.native.runs]
    found = {kernel.name: kernel.samples for kernel in recorded_kernels(runs, "mean")}
    return {kernel: found[kernel] for kernel in KERNELS if kernel in found}


def regressions(inputs: Sequence[MeasuredInput]) -> ModelSet:
    """Return a linear model per kernel, of all tasks of *inputs*, by ordinary least squares."""
    samples = mean_samples(inputs)
    return ModelSet({kernel: fitted(samples[kernel], TERMS[kernel]) for kernel in samples})


def fitted(samples: Samples, terms: str, weights: Weights = "none") -> LinearModel:
    """Return the linear model of *terms*; by default by ordinary least squares, as in the paper.

    Long tasks decide then, as they do in a makespan.
    """
    return LinearModel(terms, weights=weights, fence=None).fit(samples)


def naive(samples: Durations, wanted: Input) -> ModelSet:
    """Return the naive models for the input *wanted*: all tasks of a kernel take the same time.

    Per kernel a line in one number of the whole run, by ordinary least squares over the tasks in
    *samples*, those of :func:`naive_samples` (the paper, section 5.2).
    """
    return ModelSet(
        {
            kernel: ConstantModel(_on_line(tasks, _number(kernel, wanted)))
            for kernel, tasks in samples.items()
        }
    )


def naive_samples(inputs: Sequence[MeasuredInput]) -> Durations:
    """Return per kernel the tasks of *inputs* with one parameter: ``group_size``, or ``particles``.

    The group size for what cells do to cells, else the particles of the whole run.
    """
    found: dict[str, list[Samples]] = {}
    for measured in inputs:
        for kernel, samples in mean_samples([measured]).items():
            table = np.full((len(samples), 1), _number(kernel, measured.input))
            found.setdefault(kernel, []).append(
                Samples((_number_name(kernel),), table, samples.durations_s)
            )
    return {kernel: Samples.concat(parts) for kernel, parts in found.items()}


def judged(inputs: Sequence[MeasuredInput], models: str, terms: Mapping[str, str]) -> list[Fit]:
    """Return how well *terms* explain the tasks of *inputs*; *models* is what the set is called."""
    samples = mean_samples(inputs)
    return [_judged(kernel, models, samples[kernel], terms[kernel]) for kernel in KERNELS]


def compare_m2l(inputs: Sequence[MeasuredInput], kernel: str = "M2L_in") -> M2lComparison:
    """Return what *kernel*'s tasks take by models with indirect parameters and without."""
    samples = mean_samples(inputs)[kernel]
    with_s, without_s = (
        fitted(samples, terms[kernel]).predict(samples.parameters)
        for terms in (TERMS, DIRECT_TERMS)
    )
    return M2lComparison(samples.durations_s, with_s, without_s)


def _judged(kernel: str, models: str, samples: Samples, terms: str) -> Fit:
    plain = fitted(samples, terms)
    predicted: NDArray[np.float64] = plain.predict(samples.parameters)
    return Fit(
        kernel=kernel,
        models=models,
        formula=plain.formula(3),
        tasks=len(samples),
        rsquared_adj=plain.rsquared_adj_,
        rsquared_adj_relative=fitted(samples, terms, "relative").rsquared_adj_,
        mlogq=mlogq(predicted, samples.durations_s),
    )


def _on_line(samples: Samples, number: float) -> float:
    """Return what the line through *samples* of one parameter says at *number*, in seconds."""
    return float(fitted(samples, samples.names[0]).predict([[number]])[0])


def _number(kernel: str, of: Input) -> float:
    return float(getattr(of, _number_name(kernel)))


def _number_name(kernel: str) -> str:
    return "group_size" if kernel in PER_GROUP else "particles"
