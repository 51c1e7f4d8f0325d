"""Simulated runs of the inputs, with each set of models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.irregular_kernels.inputs import DISTRIBUTIONS
from experiments.irregular_kernels.modelling import (
    naive,
    naive_samples,
    regressions,
)
from experiments.irregular_kernels.results import GENERAL, NAIVE, SPECIFIC, VARIANTS
from tasksim.calibration.fit_runs import gaps, measured_overheads
from tasksim.platform.description import Platform
from tasksim.scenario.repetitions import solved
from tasksim.scenario.resolved import Resolver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.irregular_kernels.inputs import Input
    from experiments.irregular_kernels.modelling import MeasuredInput, ModelSet
    from tasksim.scenario.repetitions import ScenarioRuns
    from tasksim.scenario.setup import Setup

__all__ = ["Predictor"]


class Predictor:
    """Predicts inputs from native runs of others.

    Parameters
    ----------
    fitted
        The inputs that models are fitted to, with their runs.
    workers, machine
        Of the native runs.
    resolver
        Has the graphs already.

    Attributes
    ----------
    general : ModelSet
        Of all inputs.
    specific : dict of str -> ModelSet
        Of the inputs of one distribution.
    platform : Platform
        This machine, with what its runtime costs in those runs.
    """

    def __init__(
        self,
        fitted: Sequence[MeasuredInput],
        *,
        workers: int,
        machine: str,
        resolver: Resolver | None = None,
    ) -> None:
        of = {name: [m for m in fitted if m.input.distribution == name] for name in DISTRIBUTIONS}
        self._naive = {name: naive_samples(inputs) for name, inputs in of.items()}
        self._resolver = resolver or Resolver()
        self.general = regressions(fitted)
        self.specific = {name: regressions(inputs) for name, inputs in of.items()}
        overheads = measured_overheads(gaps(run) for m in fitted for run in m.native.runs)
        self.platform = replace(Platform.identical(workers), name=machine, overheads=overheads)

    def variants(self, given: Input) -> tuple[str, ...]:
        """Return which models can predict an input: of unseen distributions, the general ones."""
        return (GENERAL,) if given.unseen else VARIANTS

    def predict(self, given: Input, asked: Setup, variant: str) -> ScenarioRuns:
        """Return what the models of a *variant* predict of an input that is *asked* natively."""
        models = self._models(given, variant)
        scenario = asked.vary(clock="simulated", platform=self.platform, models=models)
        return solved(scenario, self._resolver)

    def predictions(self, given: Input, asked: Setup) -> dict[str, ScenarioRuns]:
        """Return what each variant predicts."""
        return {name: self.predict(given, asked, name) for name in self.variants(given)}

    def _models(self, given: Input, variant: str) -> ModelSet:
        if variant == NAIVE:
            return naive(self._naive[given.distribution], given)
        return self.specific[given.distribution] if variant == SPECIFIC else self.general
