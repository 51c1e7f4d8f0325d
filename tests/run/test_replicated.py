"""Replicated makespans: variances of sources are found again, intervals hold what they say."""

import numpy as np
import pytest

from tasksim.run.replicated import Replicates, components, contributions, errors, summary

GROUPS = 134


def _made(models, runs, tasks, groups=GROUPS, seed=0, members=3):
    """Return replicates whose makespan is what one kernel takes, by sources of known deviation."""
    rng = np.random.default_rng(seed)
    of_model = models * rng.standard_normal((groups, 1))
    of_run = runs * rng.standard_normal((groups, 2))[:, [0, 0, 1][:members]]
    of_tasks = tasks * rng.standard_normal((groups, members))
    ratios = 1 + of_model + of_run
    return Replicates(10 * (ratios + of_tasks), ratios[..., None], ratios[..., None], 1 + of_model)


@pytest.mark.parametrize("deviations", [(0.02, 0.03, 0.04), (0.0, 0.0, 0.05), (0.05, 0.0, 0.01)])
def test_variances_are_found_again(deviations):
    found = components(_made(*deviations, groups=20_000).makespans_s)
    assert found == pytest.approx([100 * d**2 for d in deviations], rel=0.08, abs=4e-3)


def test_two_sources():
    found = components(_made(0.03, 0.0, 0.02, groups=20_000, members=2).makespans_s)
    assert found == pytest.approx([0.09, 0.04], rel=0.05)


@pytest.mark.parametrize("deviations", [(0.02, 0.03, 0.04), (0.02, 0.0, 0.05), (0.05, 0.0, 0.0)])
def test_intervals_of_mean_and_run_hold_what_they_say(deviations):
    means, runs = [], []
    rng = np.random.default_rng(7)
    for seed in range(150):
        said = summary(_made(*deviations, seed=seed), 0.95, models=True)
        truth = 10 * (1 + deviations[0] * rng.standard_normal(60))
        run = truth + 10 * np.hypot(*deviations[1:]) * rng.standard_normal(60)
        means.append(((truth >= said.mean_low_s) & (truth <= said.mean_high_s)).mean())
        runs.append(((run >= said.run_low_s) & (run <= said.run_high_s)).mean())
    assert np.mean(means) == pytest.approx(0.95, abs=0.025)
    assert np.mean(runs) == pytest.approx(0.95, abs=0.015)


def test_what_is_left_of_groups_counts_where_ratios_do_not_tell():
    found = _made(0.05, 0.0, 0.01)
    flat = np.ones_like(found.ratios)
    blind = Replicates(found.makespans_s, flat, flat, np.ones((GROUPS, 1)))
    a, b = (summary(of, 0.95, models=True) for of in (found, blind))
    assert b.mean_high_s - b.mean_low_s == pytest.approx(a.mean_high_s - a.mean_low_s, rel=0.15)


def test_without_models_the_mean_is_as_sure_as_replications_are_many():
    few, many = (summary(_made(0, 0, 0.05, n), 0.95, models=False) for n in (20, 2000))
    assert few.mean_high_s - few.mean_low_s > 5 * (many.mean_high_s - many.mean_low_s)


def test_no_spread_at_all():
    found = _made(0.0, 0.0, 0.0)
    said = summary(found, 0.95, models=True)
    assert set(said) == {10.0}
    assert components(found.makespans_s) == [0, 0, 0]
    assert contributions(found).tolist() == [0]


def test_contributions():
    assert contributions(_made(0.04, 0.0, 0.0)) == pytest.approx([1])
    assert contributions(_made(0.03, 0.0, 0.03, 2000)) == pytest.approx([0.5], abs=0.05)


def test_errors_shrink_with_replications():
    few, many = (max(errors(_made(0.01, 0, 0.05, n), 0.95, models=True)) for n in (100, 4000))
    assert many < few / 3
    assert max(errors(_made(0.01, 0, 0.05, 12), 0.95, models=True)) == float("inf")
