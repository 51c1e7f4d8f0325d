"""Cross-validation: folds of whole configurations, and what was predicted for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.models.conformance import example_samples
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples
from tasksim.models.validation.crossvalidation import LeftOut, fold_of_each, left_out


@given(st.integers(2, 60), st.integers(2, 8), st.integers(0, 3))
def test_folds_are_of_about_the_same_size(configurations, count, seed):
    sizes = np.bincount(fold_of_each(configurations, count, seed))
    assert len(sizes) == min(count, configurations)
    assert sizes.max() - sizes.min() <= 1
    assert sizes.sum() == configurations


def test_folds_depend_on_the_seed():
    one, same, other = (fold_of_each(20, seed=seed).tolist() for seed in (0, 0, 1))
    assert one == same != other


@pytest.mark.parametrize(
    ("configurations", "count", "message"),
    [
        (1, 5, "at least 2 configurations .*, got 1"),
        (0, 5, "at least 2 configurations .*, got 0"),
        (9, 1, "at least 2 folds, got 1"),
    ],
)
def test_nothing_to_leave_out(configurations, count, message):
    with pytest.raises(InputError, match=message):
        fold_of_each(configurations, count)


def test_errors_by_hand():
    """Of configurations, the mean of the samples is what was measured: 2, 1 and 4."""
    samples = Samples(("n",), [[1], [1], [2], [3]], [1.0, 3.0, 1.0, 4.0])
    errors = LeftOut(np.full(4, 2.0), "configuration").errors(samples)
    assert errors == pytest.approx([0.0, np.log(2), np.log(2)])
    partly = LeftOut(np.array([2.0, 2.0, np.nan, 2.0]), "sample").errors(samples)
    assert partly[[0, 2]] == pytest.approx([(np.log(2) + np.log(1.5)) / 2, np.log(2)])
    assert np.isnan(partly[1])


def test_models_are_fitted_without_what_is_left_out():
    table = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 60.0], 4)[:, None]
    durations_s = np.where(table[:, 0] == 60, 1e6, 1.0 + table[:, 0])
    out = left_out(LinearModel("n"), Samples(("n",), table, durations_s), folds=6)
    assert out.predicted_s[-4:] == pytest.approx(61.0)


def test_histories_are_judged_by_further_samples_and_formulas_by_other_sizes():
    samples = example_samples(6)
    exact = left_out(HistoryModel(), samples)
    general = left_out(LinearModel("m*n*k"), samples)
    assert (exact.by, general.by) == ("sample", "configuration")
    assert exact.known.all()
    assert general.known.all()
    assert exact.errors(samples).mean() == pytest.approx(0.05 * 0.8, rel=0.3)
    # Configurations left out: their means are known better than single samples.
    assert general.errors(samples).mean() < exact.errors(samples).mean()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=12), st.integers(0, 100))
def test_every_sample_is_left_out_once_and_configurations_together(counts, seed):
    table = np.repeat(np.arange(1.0, len(counts) + 1), counts)[:, None]
    samples = Samples(("n",), table, table[:, 0] * 1e-3)

    seen: list[set[float]] = []

    class Spy(HistoryModel):
        fitting = False

        def fit(self, samples):
            self.fitting = True
            super().fit(samples)  # it reports how well it says its own samples
            self.fitting = False
            return self

        def _predict(self, table):
            if not self.fitting:
                assert not set(table[:, 0]) & set(self.rows_[:, 0])
                seen.append(set(table[:, 0].tolist()))
            return np.full(len(table), 1e-3)

    out = left_out(Spy(), samples, seed=seed)
    assert out.known.all()
    assert sorted(n for some in seen for n in some) == list(range(1, len(counts) + 1))
