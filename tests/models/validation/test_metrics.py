from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.models.validation.metrics import (
    METRICS,
    all_metrics,
    bias,
    lgmape,
    mae,
    mape,
    mlogq,
    mlogq2,
    mse,
    smape,
)

PAIRS = st.lists(st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)), min_size=1, max_size=20)


def test_by_hand():
    predicted, measured = [2.0, 1.0, 1.0], [1.0, 1.0, 4.0]
    assert mlogq(predicted, measured) == pytest.approx(math.log(2))
    assert mlogq2(predicted, measured) == pytest.approx(5 / 3 * math.log(2) ** 2)
    assert bias(predicted, measured) == pytest.approx(-math.log(2) / 3)
    assert mape(predicted, measured) == pytest.approx(1.75 / 3)
    assert smape(predicted, measured) == pytest.approx((2 / 3 + 0 + 6 / 5) / 3)
    assert mae(predicted, measured) == pytest.approx(4 / 3)
    assert mse(predicted, measured) == pytest.approx(10 / 3)
    # An exact hit has no logarithm: it counts as an error of 2^-52.
    expected = (math.log(1.0) + math.log(2.0**-52) + math.log(0.75)) / 3
    assert lgmape(predicted, measured) == pytest.approx(expected)


def test_all_of_them_have_their_names():
    assert list(all_metrics([1.0], [2.0])) == list(METRICS)


@given(PAIRS)
def test_which_scale_each_metric_has(pairs):
    p, m = zip(*pairs, strict=True)
    found = all_metrics(p, m)
    scaled = all_metrics([1000 * x for x in p], [1000 * x for x in m])
    for name in ("mape", "smape", "mlogq", "mlogq2", "bias"):
        assert scaled[name] == pytest.approx(found[name], rel=1e-6, abs=1e-9)
    assert scaled["mae"] == pytest.approx(1000 * found["mae"], rel=1e-6)
    assert scaled["mse"] == pytest.approx(1e6 * found["mse"], rel=1e-6)
    assert 0 <= found["smape"] <= 2
    assert math.exp(found["lgmape"]) <= max(found["mape"], 2.0**-52) * (1 + 1e-9)


@given(PAIRS)
def test_log_errors_are_the_same_the_other_way_round(pairs):
    p, m = zip(*pairs, strict=True)
    assert mlogq(p, m) == pytest.approx(mlogq(m, p))
    assert bias(p, m) == pytest.approx(-bias(m, p))
    assert abs(bias(p, m)) <= mlogq(p, m) * (1 + 1e-12)
    assert mlogq(p, m) ** 2 <= mlogq2(p, m) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("predicted", "measured", "message"),
    [
        ([1.0], [0.0], "measured durations must be finite and positive"),
        ([float("nan")], [1.0], "predicted durations must be finite and positive"),
        ([1.0, 2.0], [1.0], "got shapes"),
        ([], [], "at least one"),
    ],
)
@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_what_cannot_be_compared_is_refused(metric, predicted, measured, message):
    with pytest.raises(InputError, match=message):
        metric(predicted, measured)
