"""The models that the experiment compares, on runs whose durations are known formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.irregular_kernels.inputs import Input
from experiments.irregular_kernels.modelling import (
    DIRECT_TERMS,
    TERMS,
    MeasuredInput,
    compare_m2l,
    judged,
    mean_samples,
    naive,
    naive_samples,
    regressions,
)
from experiments.irregular_kernels.predicting import Predictor
from experiments.irregular_kernels.results import GENERAL, KERNELS, NAIVE, SPECIFIC
from tasksim.engine.simulation import Simulation
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.models.terms.formulas import parse_terms
from tasksim.platform.description import Platform
from tasksim.scenario.repetitions import ScenarioRuns

INPUTS = [
    Input("cube", 2000, 4, 16),
    Input("cube", 4000, 4, 30),
    Input("cube", 6000, 4, 60),
    Input("ellipsoid", 2000, 5, 16),
    Input("ellipsoid", 4000, 5, 30),
    Input("ellipsoid", 6000, 5, 60),
]
PLATFORM = Platform.identical(2)


def law(graph, scale=1.0):
    """Return durations that are the terms of each kernel, each with the coefficient 1 ns."""
    durations = np.empty(len(graph))
    for kernel, name in enumerate(graph.model_names):
        tasks = np.flatnonzero(graph.kernel == kernel)
        table = graph.parameters[kernel][graph.row[tasks]]
        terms = parse_terms(TERMS[name], graph.parameter_names[kernel])
        durations[tasks] = 1e-9 * terms.design(table).sum(axis=1) * scale
    return durations


def run_of(graph, durations):
    """Return a run on one worker whose tasks take *durations*, one after the other."""
    constants = ConstantLibrary(dict.fromkeys(graph.kernels, 1.0))
    run = Simulation(graph, Platform.identical(1), constants, "eager").run()
    ends = np.cumsum(durations)
    return replace(run, tasks=replace(run.tasks, start_s=ends - durations, end_s=ends))


def measured_input(given, graph, runs):
    return MeasuredInput(given, graph, ScenarioRuns(given.scenario(order=3, seed=0), tuple(runs)))


@pytest.fixture(scope="module")
def measured():
    found = []
    for given in INPUTS:
        graph = given.graph(order=3, seed=0)
        durations = law(graph)
        found.append(measured_input(given, graph, [run_of(graph, durations)] * 2))
    return found


def test_a_sample_is_the_mean_of_a_task_over_the_runs(measured):
    graph = measured[0].graph
    durations = law(graph)
    runs = [run_of(graph, 0.5 * durations), run_of(graph, 1.5 * durations)]
    samples = mean_samples([measured_input(INPUTS[0], graph, runs)])
    for kernel, name in enumerate(graph.model_names):
        expected = durations[graph.kernel == kernel]
        np.testing.assert_allclose(samples[name].durations_s, expected, rtol=1e-9)
        assert samples[name].names == graph.parameter_names[kernel]


def test_regressions_find_the_law_and_predict_other_inputs(measured):
    models = regressions(measured)
    assert tuple(models.models) == KERNELS
    other = Input("sphere", 3000, 5, 20).graph(order=3, seed=1)
    durations = law(other)
    for kernel, name in enumerate(other.model_names):
        tasks = np.flatnonzero(other.kernel == kernel)
        table = other.parameters[kernel][other.row[tasks]]
        predicted = models.model(name, "cpu").predict(table)
        np.testing.assert_allclose(predicted, durations[tasks], rtol=1e-4)


def test_naive_models_take_one_time_for_all_tasks_of_a_kernel(measured):
    cubes = measured[:3]
    wanted = Input("cube", 5000, 4, 45)
    models = naive(naive_samples(cubes), wanted)
    for kernel, number in (("M2L_in", "group_size"), ("P2P_in", "particles")):
        parts = [mean_samples([m])[kernel].durations_s for m in cubes]
        x = np.repeat([getattr(m.input, number) for m in cubes], [len(p) for p in parts])
        slope, constant = np.polyfit(x, np.concatenate(parts), 1)
        expected = constant + slope * getattr(wanted, number)
        assert models.models[kernel].duration_s == pytest.approx(expected, rel=1e-6)


def test_how_well_terms_explain(measured):
    fits = judged(measured, "general", TERMS)
    assert [fit.kernel for fit in fits] == list(KERNELS)
    assert all(fit.rsquared_adj > 1 - 1e-6 and fit.mlogq < 1e-3 for fit in fits)
    direct = {fit.kernel: fit for fit in judged(measured, "direct", DIRECT_TERMS)}
    # The ten terms of the paper's first model do not know how many interactions there are.
    assert direct["M2L_in"].rsquared_adj < 0.99
    assert direct["M2L_in"].formula.count("*") >= 10


def test_m2l_with_and_without_interactions(measured):
    compared = compare_m2l(measured)
    np.testing.assert_allclose(compared.with_s, compared.measured_s, rtol=1e-3)
    wrong = np.abs(compared.without_s / compared.measured_s - 1)
    assert np.median(wrong) > 0.02


def test_predictions_of_each_variant(measured):
    predictor = Predictor(measured, workers=2, machine="here")
    graph = INPUTS[1].graph(order=3, seed=5)
    exact = law(graph).sum()
    predicted = predictor.predictions(INPUTS[1], INPUTS[1].scenario(order=3, seed=5))
    assert list(predicted) == [NAIVE, SPECIFIC, GENERAL]
    runs = {variant: each.median_run for variant, each in predicted.items()}
    busy = {variant: run.tasks.duration_s.sum() for variant, run in runs.items()}
    assert busy[SPECIFIC] == pytest.approx(exact, rel=1e-3)
    assert busy[GENERAL] == pytest.approx(exact, rel=1e-3)
    assert len(np.unique(runs[NAIVE].tasks.duration_s[graph.kernel == 0].round(12))) == 1
    assert predictor.variants(INPUTS[0]) == (NAIVE, SPECIFIC, GENERAL)
    assert predictor.variants(Input("sphere", 10, 4, 2)) == (GENERAL,)
    assert predictor.platform.name == "here"
    assert len(predictor.platform.workers) == 2
