"""Suites of made-up kernels, which benchmarks judge kernel models with."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.model_suites import EXTRAPOLATION_FACTORS, suites
from tasksim.base.errors import InputError

SUITES = suites()
ROOT = Path(__file__).resolve().parents[2]
every_suite = pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))


def _median_error(suite, rows, durations_s):
    """Return the median absolute error of durations, as logarithms."""
    return np.median(np.abs(np.log(durations_s / suite.seconds(rows))))


def test_suites_have_from_2_to_12_parameters():
    counts = {len(suite.names) for suite in SUITES.values()}
    assert (min(counts), max(counts)) == (2, 12)
    assert len(SUITES) == 16


@every_suite
def test_fewer_samples_are_the_first_of_more(suite):
    few, many = suite.samples(300, seed=3), suite.samples(1500, seed=3)
    assert np.array_equal(few.parameters, many.parameters[:300])
    assert np.array_equal(few.durations_s, many.durations_s[:300])


@every_suite
def test_seeds_and_test_sets_are_other_configurations(suite):
    rows = suite.samples(500, seed=0).parameters
    assert not np.array_equal(rows, suite.samples(500, seed=1).parameters)
    assert not np.array_equal(rows, suite.test(seed=0)[0][:500])


@every_suite
def test_noise_has_the_size_that_it_says(suite):
    samples = suite.samples(4000)
    # The median of abs of a normal variate is .6745 of its standard deviation; of 4000, it is
    # known to 2 %, so that 8 % are four standard errors. Stalls add a little.
    assert _median_error(suite, samples.parameters, samples.durations_s) == pytest.approx(
        0.6745 * suite.noise, rel=0.08
    )
    rows, measured_s = suite.test(noisy=True)
    assert _median_error(suite, rows, measured_s) == pytest.approx(0.6745 * suite.noise, rel=0.12)


@every_suite
def test_a_test_set_has_true_durations(suite):
    rows, durations_s = suite.test(seed=5)
    assert np.array_equal(durations_s, suite.seconds(rows))
    assert np.isfinite(durations_s).all()
    assert durations_s.min() > 0


@every_suite
def test_values_are_in_their_ranges(suite):
    rows = suite.samples(2000).parameters
    for axis, column in zip(suite.axes.values(), rows.T, strict=True):
        assert axis.low <= column.min()
        assert column.max() <= axis.high
        assert not axis.whole or (column == np.round(column)).all()
        assert not axis.values or set(column) <= set(axis.values)


@every_suite
def test_categories_number_their_names(suite):
    rows = suite.samples(3000).parameters
    for name, categories in suite.categories.items():
        column = rows[:, suite.names.index(name)]
        assert sorted(set(column)) == list(range(len(categories)))
    assert suite.categorical == tuple(suite.categories)
    assert suite.samples(10).categories == suite.categories


@every_suite
def test_samples_below_end_where_those_beyond_begin(suite):
    for parameter in suite.extrapolations:
        names = suite.extrapolable if parameter is None else (parameter,)
        below = suite.below(400, parameter).parameters
        for factor in EXTRAPOLATION_FACTORS:
            beyond, durations_s = suite.beyond(parameter, factor, count=400)
            assert np.array_equal(durations_s, suite.seconds(beyond))
            for name in names:
                column, top = suite.names.index(name), suite.axes[name].top_below
                assert below[:, column].max() <= top
                assert top * factor / 2 < beyond[:, column].min()
                assert beyond[:, column].max() <= top * factor


def test_conditions_hold():
    rows = SUITES["transport"].samples(3000)
    column = dict(zip(rows.names, rows.parameters.T, strict=True))
    assert (column["group_sets"] <= column["groups"]).all()
    assert (column["direction_sets"] <= column["quadrature"]).all()
    m, n = SUITES["qr"].beyond("n", 8)[0].T
    assert (m >= n).all()


def test_a_category_cannot_be_extrapolated():
    with pytest.raises(InputError, match="transport: unknown extrapolable parameter 'layout'"):
        SUITES["transport"].below(10, "layout")


def test_the_script_prints_samples_with_names_of_categories():
    command = [sys.executable, "benchmarks/model_suites.py", "gpu", "5"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    head, *rows = found.stdout.splitlines()
    assert head == "m,n,k,batch,tile,precision,duration_s"
    assert len(rows) == 5
    assert {row.split(",")[5] for row in rows} <= {"half", "single", "double"}


def test_thinned_samples_are_few_in_the_upper_half():
    suite = SUITES["fft"]
    samples = suite.thinned(500, seed=0)
    assert len(samples) == 500
    even = suite.upper(suite.samples(500, seed=0).parameters).mean()
    assert 0.05 < suite.upper(samples.parameters).mean() / even < 0.25
    assert suite.thinned(500, seed=0).durations_s.tolist() == samples.durations_s.tolist()
