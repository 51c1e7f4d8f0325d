"""Diagnosis of kernel models: planted defects are found, and sound models raise no alarm."""

from __future__ import annotations

import numpy as np
import pytest
from diagnosed_samples import DIRECT, SIZES, codes, gemm, line, linear, m2l, without
from tiers import LONG

from tasksim.models.diagnosis.diagnose import diagnose
from tasksim.models.kinds.bysize import SizeHistory
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.samples import Samples


def clean_gemm(seed):
    samples = gemm(seed, repetitions=5, sizes=SIZES[::2])
    return linear(samples), samples


def clean_unrepeated(seed):
    samples = gemm(seed, repetitions=1, sizes=SIZES[:4])
    return linear(samples), samples


def clean_history(seed):
    samples = gemm(seed, sizes=(64, 128, 256))
    return HistoryModel().fit(samples), samples


def clean_m2l(seed):
    samples = m2l(seed, tasks=60)
    return linear(samples, "level + cells + interactions"), samples


def clean_size(kind):
    def make(seed):
        samples = line(seed, np.geomspace(1e4, 1e7, 25), lambda n: 3e-9 * n**0.9)
        return kind().fit(samples), samples

    return make


CLEAN_KERNELS = {
    "gemm": (clean_gemm, 100 if LONG else 40),
    "m2l": (clean_m2l, 40),
    "unrepeated": (clean_unrepeated, 20),
    "history": (clean_history, 40),
    "power": (clean_size(PowerLaw), 100),
    "bysize": (clean_size(SizeHistory), 40),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "gemm" else ())
        for name in CLEAN_KERNELS
    ],
)
def test_a_good_model_of_good_samples_raises_no_alarm(name):
    make, draws = CLEAN_KERNELS[name]
    alarms = [seed for seed in range(draws) if diagnose(*make(seed)).warnings]
    assert len(alarms) <= draws * 0.05


def missing_term(seed):
    samples = gemm(seed, extra=2e-9, repetitions=5)
    return linear(samples), samples


def missing_power(seed):
    samples = line(seed, np.geomspace(16, 1024, 13), lambda n: 1e-6 + 1e-9 * n**2)
    return linear(samples, "n"), samples


def unrecorded_parameter(seed):
    samples = without(m2l(seed), "interactions")
    return linear(samples, "level + cells"), samples


def ignored_column(seed):
    samples = m2l(seed, tasks=150)
    return linear(without(samples, "interactions"), DIRECT), samples


def ignored_column_of_history(seed):
    samples = gemm(seed, sizes=(64, 128, 256))
    return HistoryModel().fit(without(samples, "k")), samples


def bogus_run(seed):
    samples = gemm(seed, factor=lambda table, runs, *_: np.where(runs == 3, 1.15, 1.0))
    return linear(samples), samples


def negative(seed):
    samples = line(seed, np.geomspace(16, 1024, 13), lambda n: 1e-6 + 1e-9 * n**2)
    return linear(samples, "n", weights="none"), samples


def few_repetitions(seed):
    samples = gemm(seed, repetitions=2)
    return HistoryModel().fit(samples), samples


def beyond_the_box(seed):
    samples = gemm(seed, repetitions=3)
    return linear(samples), samples, None, [[128, 128, 128], [128, 128, 1024]]


def noisy_short_tasks(seed):
    def more(table, runs, rng, noise):
        volume = table.prod(axis=1)
        return np.exp(rng.normal(0, 4 * noise, len(table)) * (volume < np.median(volume)))

    samples = gemm(seed, factor=more)
    return linear(samples), samples


def lone_configuration(seed):
    x = [*np.linspace(64, 128, 9), 1000.0]
    samples = line(seed, x, lambda n: (1e-5 + 1e-7 * n) * np.where(n == 1000, 1.5, 1.0))
    return linear(samples, "n"), samples


def nearly_equal_parameters(seed):
    rng = np.random.default_rng(seed)
    m = np.tile([64.0, 96, 128, 192, 256, 320, 384, 448], 3)
    n = np.round(m * (1 + 0.02 * rng.standard_normal(24)))
    k = np.repeat([64.0, 128, 256], 8)
    table = np.repeat(np.column_stack((m, n, k)), 12, axis=0)
    true = 1e-6 + 1e-9 * (table[:, 0] + table[:, 1]) * table[:, 2]
    samples = Samples(("m", "n", "k"), table, true * rng.lognormal(0, 0.05, len(table)))
    return linear(samples, "m*k + n*k"), samples


def cache_step(seed):
    def duration(n):
        return (1e-6 + 1e-9 * n**2) * np.where((n > 300) & (n < 420), 1.4, 1.0)

    samples = line(seed, np.arange(64, 640, 8), duration)
    return linear(samples, "n^2"), samples


def too_many_terms(seed):
    samples = line(seed, range(64, 257, 32), lambda n: 1e-6 + 1e-9 * n**2, repetitions=3)
    return linear(samples, "n + n^2 + n^3 + n^4"), samples


def two_kinds_of_task(seed):
    def kinds(table, runs, rng, noise):
        return np.where(rng.random(len(table)) < 0.5, 1.0, 2.0)

    samples = gemm(seed, factor=kinds)
    return linear(samples), samples


def two_machines(seed):
    def kinds(table, runs, rng, noise):
        return np.where(rng.random(len(table)) < 0.6, 1.0, 1.5)

    samples = gemm(seed, noise=0.05, factor=kinds)
    return linear(samples), samples


def constant_of_a_curve(seed):
    samples = gemm(seed, repetitions=5)
    return ConstantModel(1e-4), samples


PLANTED_FINDINGS = {
    missing_term: {"missing-term"},
    missing_power: {"missing-term"},
    unrecorded_parameter: {"missing-parameter"},
    ignored_column: {"missing-parameter"},
    ignored_column_of_history: {"missing-parameter"},
    bogus_run: {"shifted-run"},
    negative: {"negative-predictions"},
    few_repetitions: {"few-repetitions"},
    beyond_the_box: {"extrapolation"},
    noisy_short_tasks: {"uneven-noise"},
    lone_configuration: {"influential"},
    nearly_equal_parameters: {"collinear"},
    cache_step: {"missing-term", "step"},
    too_many_terms: {"few-configurations"},
    two_kinds_of_task: {"wide-spread"},
    two_machines: {"two-peaks"},
    constant_of_a_curve: {"missing-parameter"},
}


@pytest.mark.slow
@pytest.mark.parametrize("make", PLANTED_FINDINGS, ids=lambda make: make.__name__)
def test_a_planted_defect_is_found(make):
    found = [seed for seed in range(10) if codes(diagnose(*make(seed))) & PLANTED_FINDINGS[make]]
    assert len(found) >= 9
