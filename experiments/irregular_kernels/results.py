"""Results of the experiment as plain data: all that its report shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.scenario.repetitions import ErrorSummary

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from experiments.irregular_kernels.inputs import Input
    from tasksim.run.record import Run
    from tasksim.scenario.repetitions import ScenarioRuns

__all__ = [
    "GENERAL",
    "KERNELS",
    "NAIVE",
    "SPECIFIC",
    "VARIANTS",
    "Fit",
    "M2lComparison",
    "Outcome",
    "Results",
]

KERNELS: Final = ("P2M", "M2M", "M2L_in", "M2L_out", "L2L", "L2P", "P2P_in", "P2P_out")

NAIVE, SPECIFIC, GENERAL = "naive", "MLR specific", "MLR general"
VARIANTS: Final = (NAIVE, SPECIFIC, GENERAL)
"""The models that are compared.

naive: a line in one parameter of the whole run; all tasks of a kernel take the same time. MLR:
linear regressions with the parameters of the tasks, fitted to runs of one distribution of
particles (specific), or to all (general).
"""


@dataclass(frozen=True)
class Fit:
    """How well a linear model explains the tasks that it was fitted to.

    Attributes
    ----------
    models
        Which set: "cube", "ellipsoid", "general"; or "general, direct parameters only".
    formula
        Terms and coefficients, in seconds.
    tasks
        To which it was fitted; each counts with its mean over the repetitions.
    rsquared_adj
        Of ordinary least squares, as in the paper.
    rsquared_adj_relative
        Of the same terms fitted with the weights 1/y².
    mlogq
        Mean of |ln(predicted / measured)| over the tasks.
    """

    kernel: str
    models: str
    formula: str
    tasks: int
    rsquared_adj: float
    rsquared_adj_relative: float
    mlogq: float

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, eq=False)
class M2lComparison:
    """What M2L_in takes, and what models with the indirect parameter and without it say.

    Attributes
    ----------
    measured_s, with_s, without_s
        float64 [tasks], in seconds; *with_s* knows NbInteractions, *without_s* does not.
    """

    measured_s: NDArray[np.float64]
    with_s: NDArray[np.float64]
    without_s: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcome:
    """An input that was predicted, and then run several times.

    Attributes
    ----------
    measured : ScenarioRuns
        The native runs.
    predicted : mapping of str to ScenarioRuns
        The simulated ones, by variant: of :data:`VARIANTS` those that there are.
    """

    input: Input
    measured: ScenarioRuns
    predicted: Mapping[str, ScenarioRuns]

    @property
    def native(self) -> tuple[Run, ...]:
        """The native runs in the order in which they were made."""
        return self.measured.runs

    @property
    def simulated(self) -> dict[str, Run]:
        """The simulated run per variant."""
        return {name: runs.median_run for name, runs in self.predicted.items()}

    @property
    def median_s(self) -> float:
        """The median measured makespan, in seconds."""
        return self.measured.median_s

    @property
    def spread(self) -> float:
        """Largest minus smallest measured makespan, relative to the median."""
        return self.measured.spread

    @property
    def median_run(self) -> Run:
        """The native run whose makespan is the median (of an even number: the lower one)."""
        return self.measured.median_run

    def error(self, variant: str) -> float:
        """Return the signed relative error of a variant's makespan against the median."""
        return self.predicted[variant].median_s / self.median_s - 1

    def to_json(self) -> dict[str, Any]:
        """Return the makespans and errors as plain data."""
        return {
            "input": self.input.text,
            "distribution": self.input.distribution,
            "unseen": self.input.unseen,
            "badly_chosen": self.input.badly_chosen,
            "tasks": len(self.native[0]),
            "native_s": [run.makespan_s for run in self.native],
            "median_s": self.median_s,
            "spread": self.spread,
            "predicted_s": {name: run.makespan_s for name, run in self.simulated.items()},
            "errors": {name: self.error(name) for name in self.simulated},
        }


@dataclass(frozen=True, eq=False)
class Results:
    """The whole experiment.

    Attributes
    ----------
    machine, workers, scheduler, order, repetitions
        How it was done.
    seen
        Outcomes on cubes and ellipsoids, of other inputs than those that were fitted.
    unseen
        Outcomes on spheres, whose distributions no model was fitted to; predicted by the
        general models before they were run.
    fits
        Of the eight kernels, for each set of models.
    m2l
        Why the indirect parameter matters.
    calm
        Runs kept, repeated and disturbed because others used the cores, and how much at worst.
    """

    machine: str
    workers: int
    scheduler: str
    order: int
    repetitions: int
    seconds: float
    seen: tuple[Outcome, ...]
    unseen: tuple[Outcome, ...]
    fits: tuple[Fit, ...]
    m2l: M2lComparison
    calm: Mapping[str, Any]

    def errors(self, variant: str, *, unseen: bool = False) -> list[float]:
        """Return the signed relative errors of the makespans that *variant* predicts."""
        return [outcome.error(variant) for outcome in (self.unseen if unseen else self.seen)]

    def to_json(self) -> dict[str, Any]:
        """Return everything but the runs as plain data."""
        return {
            "schema_version": 1,
            "machine": self.machine,
            "workers": self.workers,
            "scheduler": self.scheduler,
            "order": self.order,
            "repetitions": self.repetitions,
            "seconds": self.seconds,
            "calm": dict(self.calm),
            "errors": {
                **{name: asdict(ErrorSummary.of(self.errors(name))) for name in VARIANTS},
                "unseen": asdict(ErrorSummary.of(self.errors(GENERAL, unseen=True))),
            },
            "inputs": [outcome.to_json() for outcome in (*self.seen, *self.unseen)],
            "fits": [fit.to_json() for fit in self.fits],
        }
