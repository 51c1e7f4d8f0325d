"""A small experiment whose native runs are simulated ones that take longer or shorter."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.irregular_kernels.inputs import Input
from experiments.irregular_kernels.modelling import ModelSet
from experiments.irregular_kernels.results import (
    GENERAL,
    KERNELS,
    NAIVE,
    SPECIFIC,
    Fit,
    M2lComparison,
    Outcome,
    Results,
)
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.platform.description import Platform
from tasksim.scenario.repetitions import ScenarioRuns, solved

SEEN = (
    Input("cube", 2000, 4, 24),
    Input("cube", 3000, 4, 60),
    Input("cube", 3000, 4, 500, badly_chosen=True),
    Input("ellipsoid", 1500, 5, 24),
    Input("ellipsoid", 2500, 5, 60),
    Input("ellipsoid", 2500, 5, 500, badly_chosen=True),
)
UNSEEN = (Input("sphere", 1500, 4, 30), Input("sphere-poles", 1500, 5, 30))
PLATFORM = Platform.identical(2)


def regression(graph, factor):
    """A duration that grows with the first parameter of each kernel."""
    models = {}
    for k, (name, parameters) in enumerate(
        zip(graph.model_names, graph.parameter_names, strict=True)
    ):
        seconds = {"1": factor * 1e-4 * (k + 1), parameters[0]: factor * 1e-5}
        models[name] = LinearModel.from_coefficients(parameters, seconds)
    return ModelSet(models)


def constant(graph, seconds):
    return ModelSet({name: ConstantModel(seconds) for name in graph.model_names})


def make_outcome(given, factors=(1.0, 1.02, 0.97), naive_s=1e-3, seed=1):
    """Native runs take these times what the general models say; the median is 1.0."""
    graph = given.graph(3, seed)
    asked = given.scenario(3, seed).vary(scheduler="prio")

    def simulated(models):
        return solved(asked.vary(clock="simulated", platform=PLATFORM, models=models))

    runs = [simulated(regression(graph, factor)).median_run for factor in factors]
    predicted = {GENERAL: simulated(regression(graph, 1.01))}
    if not given.unseen:
        models = {NAIVE: constant(graph, naive_s), SPECIFIC: regression(graph, 0.995)}
        predicted |= {name: simulated(of) for name, of in models.items()}
    native = ScenarioRuns(asked, tuple(replace(run, kind="native") for run in runs))
    return Outcome(given, native, predicted)


def make_fits(models, rsquared=0.98, mlogq=0.04):
    formula = "1e-05 + 2e-06*NbCells"
    return [Fit(k, models, formula, 100 + i, rsquared, 0.9, mlogq) for i, k in enumerate(KERNELS)]


@pytest.fixture(scope="session")
def results():
    rng = np.random.default_rng(0)
    measured = rng.uniform(1e-4, 1e-2, 60)
    direct = "general, direct parameters only"
    return Results(
        machine="test-machine",
        workers=2,
        scheduler="prio",
        order=3,
        repetitions=3,
        seconds=120.0,
        seen=tuple(make_outcome(given) for given in SEEN),
        unseen=tuple(make_outcome(given) for given in UNSEEN),
        fits=(*make_fits("cube"), *make_fits("general"), *make_fits(direct, 0.9, 0.3)),
        m2l=M2lComparison(measured, measured * 1.01, measured * rng.uniform(0.4, 2.5, 60)),
        calm={"kept": 24, "repeated": 5, "disturbed": 1, "worst": "others had 3 %"},
    )
