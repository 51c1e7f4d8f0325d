from __future__ import annotations

import numpy as np
import pytest
from growth import nearly_linear

from tasksim.base.errors import InputError, NotFittedError, OutOfDomainError
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples


def samples(*rows):
    table, durations = zip(*rows, strict=True)
    return Samples(("m", "n"), table, durations)


def test_mean_spread_and_count_of_each_configuration():
    model = HistoryModel().fit(
        samples(([2, 1], 4.0), ([1, 1], 1.0), ([2, 1], 6.0), ([1, 3], 7.0), ([2, 1], 5.0))
    )
    assert model.rows_.tolist() == [[1, 1], [1, 3], [2, 1]]
    assert model.mean_.tolist() == [1.0, 7.0, 5.0]
    assert model.spread_.tolist() == [0.0, 0.0, 1.0]
    assert model.count_.tolist() == [1, 1, 3]
    assert model.quantiles_[2, [0, 5, 10]].tolist() == [4.0, 5.0, 6.0]
    assert model.predict([[2, 1], [1, 1], [2, 1]]).tolist() == [5.0, 1.0, 5.0]
    assert model.domain_ == {"m": (1.0, 2.0), "n": (1.0, 3.0)}


def test_outliers_are_dropped_and_counted():
    times = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 50.0]
    given = samples(*(([1, 1], t) for t in times), ([2, 2], 3.0))
    model = HistoryModel().fit(given)
    assert model.predict([[1, 1]])[0] == pytest.approx(1.035)
    assert model.dropped_.tolist() == [1, 0]
    assert model.quantiles_[0, -1] == 1.07
    report = model.report()
    assert (report["samples"], report["dropped"], report["configurations"]) == (10, 1, 2)
    everything = HistoryModel(fence=None).fit(given)
    assert everything.predict([[1, 1]])[0] == pytest.approx(np.mean(times))


def test_what_was_not_measured_is_an_error_that_names_the_nearest():
    model = HistoryModel().fit(samples(([64, 64], 1.0), ([256, 256], 2.0)))
    model.label = "gemm on cpu"
    with pytest.raises(OutOfDomainError) as caught:
        model.predict([[64, 64], [192, 192], [512, 512], [192, 192]])
    message = str(caught.value)
    assert message.startswith("gemm on cpu: no samples with (m=192, n=192) (and 2 more rows)")
    assert "2 configuration(s); the nearest is (m=256, n=256)" in message
    assert "mlr" in message
    with pytest.raises(OutOfDomainError):
        model.sample([[1, 1]], np.random.default_rng(0))
    assert model.inside([[64, 64], [64, 256], [256, 256]]).tolist() == [True, False, True]


def test_samples_are_drawn_from_what_was_measured():
    rng = np.random.default_rng(2)
    times = rng.gamma(4.0, 0.25, 1000)
    model = HistoryModel(fence=None).fit(samples(*(([1, 1], t) for t in times)))
    draws = model.sample(np.ones((100_000, 2)), np.random.default_rng(3))
    assert draws.mean() == pytest.approx(times.mean(), rel=0.01)
    assert draws.std() == pytest.approx(times.std(), rel=0.1)
    assert np.median(draws) == pytest.approx(np.median(times), rel=0.03)


def test_kernels_without_parameters():
    model = HistoryModel().fit(Samples((), np.empty((3, 0)), [1.0, 2.0, 3.0]))
    assert model.predict(np.empty((2, 0))).tolist() == [2.0, 2.0]
    again = HistoryModel.from_json(model.to_json())
    assert again.predict(np.empty((1, 0))).tolist() == [2.0]


def test_options():
    model = HistoryModel(fence=None)
    assert repr(model) == "HistoryModel(fence=None)"
    assert repr(HistoryModel()) == "HistoryModel()"
    fitted = model.fit(samples(([1, 1], 1.0)))
    with pytest.raises(NotFittedError, match="This HistoryModel instance is not fitted yet"):
        fitted.clone().predict([[1, 1]])
    with pytest.raises(InputError, match="fence must be"):
        HistoryModel(fence=-1).fit(samples(([1, 1], 1.0)))


def test_a_failed_fit_leaves_nothing_of_the_one_before():
    model = HistoryModel().fit(samples(([1, 1], 1.0)))
    model.fence = -1
    with pytest.raises(InputError):
        model.fit(samples(([1, 1], 2.0)))
    with pytest.raises(NotFittedError):
        model.predict([[1, 1]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"mean_s": -1.0},
            r"configurations\[0\].mean_s: expected a number larger than 0, got -1.0",
        ),
        ({"quantiles_s": [1.0] * 10}, r"quantiles_s: expected 11 numbers, got 10"),
        ({"quantiles_s": [2.0, *[1.0] * 10]}, "positive numbers in ascending order"),
        ({"parameters": [1]}, r"parameters: expected 2 numbers, got 1"),
        ({"count": 1.5}, "count: expected a whole number, not negative, got 1.5"),
        ({"parameters": ["1", 2]}, r'parameters\[0\]: expected a number, got "1"'),
    ],
)
def test_malformed_json_is_refused_with_its_path(change, message):
    data = HistoryModel().fit(samples(([1, 1], 1.0))).to_json()
    data["configurations"][0] |= change
    with pytest.raises(InputError, match=message):
        HistoryModel.from_json(data)


def test_json_of_another_kind_or_with_unknown_options():
    data = HistoryModel().fit(samples(([1, 1], 1.0))).to_json()
    with pytest.raises(InputError, match="kind: expected 'history', got \"mlr\""):
        HistoryModel.from_json(data | {"kind": "mlr"})
    with pytest.raises(InputError, match="option of history models 'fense', did you mean 'fence'"):
        HistoryModel.from_json(data | {"options": {"fense": 3.0}})


def test_predictions_take_a_time_in_proportion_to_the_tasks():
    rng = np.random.default_rng(0)
    table = rng.integers(1, 9, (160_000, 3)).astype(float)
    model = HistoryModel().fit(Samples(("m", "n", "k"), table, rng.random(160_000) + 1))

    def predicted(tasks):
        model.predict(table[:tasks])
        model.sample(table[:tasks], rng)

    assert nearly_linear(predicted, 20_000, 160_000)
