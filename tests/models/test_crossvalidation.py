from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.constant import ConstantModel
from tasksim.models.crossvalidation import cross_validate, fold_of_each, folds
from tasksim.models.history import HistoryModel
from tasksim.models.regression import LinearModel
from tasksim.models.samples import Samples


def repeated(values, repetitions=4):
    table = np.repeat(np.asarray(values, dtype=float)[:, None], repetitions, axis=0)
    return Samples(("n",), table, 1.0 + table[:, 0])


@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=60).filter(lambda v: len(set(v)) > 1),
    st.integers(2, 8),
    st.integers(0, 3),
)
def test_folds_hold_whole_configurations_and_every_sample_once(values, count, seed):
    samples = repeated(values, 1)
    parts = folds(samples, count, seed)
    assert len(parts) == min(count, len(set(values)))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(values)))
    held = [set(samples.parameters[part, 0]) for part in parts]
    assert sum(map(len, held)) == len(set(values))
    assert max(map(len, held)) - min(map(len, held)) <= 1


def test_folds_depend_on_the_seed_and_not_on_the_order_of_samples():
    samples = repeated(range(1, 21))
    back = samples.select(np.arange(len(samples))[::-1])
    first = folds(samples)
    assert [p.tolist() for p in first] == [p.tolist() for p in folds(samples)]
    assert [p.tolist() for p in first] != [p.tolist() for p in folds(samples, seed=1)]
    assert [set(samples.parameters[p, 0]) for p in first] == [
        set(back.parameters[p, 0]) for p in folds(back)
    ]


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
    samples = Samples(("n",), [[1], [1], [2], [3]], [1.0, 3.0, 1.0, 4.0])
    result = cross_validate(lambda: ConstantModel(2.0), samples, [np.array([0, 1, 2]), [3]])
    log2 = np.log(2)
    assert result.errors == pytest.approx([0.0, log2, log2])
    assert result.fold_mlogq == pytest.approx([log2 / 2, log2])
    assert result.mlogq == pytest.approx(2 / 3 * log2)
    assert result.standard_error == pytest.approx(log2 / 3)
    assert result.predicted_s.tolist() == [2.0] * 4


def test_models_are_fitted_without_the_fold():
    samples = repeated([1, 2, 3, 4, 5, 60])
    last = np.flatnonzero(samples.parameters[:, 0] == 60)
    spoilt = samples.durations_s.copy()
    spoilt[last] = 1e6
    result = cross_validate(
        lambda: LinearModel("n"), Samples(("n",), samples.parameters, spoilt), [last]
    )
    assert result.predicted_s[last] == pytest.approx(61.0)
    assert np.isnan(result.predicted_s[: last[0]]).all()
    assert np.isnan(result.standard_error)


def test_what_a_model_cannot_predict_is_its_own_error():
    samples = repeated([1, 2, 3])
    with pytest.raises(OutOfDomainError, match="no samples with"):
        cross_validate(HistoryModel, samples, folds(samples))


def test_folds_that_make_no_sense():
    samples = repeated([1, 2, 3], 1)
    with pytest.raises(InputError, match="at least one fold, got none"):
        cross_validate(HistoryModel, samples, [])
    with pytest.raises(InputError, match="fold 0 holds 3 of 3 samples"):
        cross_validate(HistoryModel, samples, [np.arange(3)])
    with pytest.raises(InputError, match="fold 0 holds 0 of 3 samples"):
        cross_validate(HistoryModel, samples, [np.arange(0)])
