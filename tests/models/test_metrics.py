from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.models.metrics import bias, mape, mlogq, mlogq2

PAIRS = st.lists(st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)), min_size=1, max_size=20)


def test_by_hand():
    predicted, measured = [2.0, 1.0, 1.0], [1.0, 1.0, 4.0]
    assert mlogq(predicted, measured) == pytest.approx(math.log(2))
    assert mlogq2(predicted, measured) == pytest.approx(5 / 3 * math.log(2) ** 2)
    assert bias(predicted, measured) == pytest.approx(-math.log(2) / 3)
    assert mape(predicted, measured) == pytest.approx(1.75 / 3)


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
@pytest.mark.parametrize("metric", [mlogq, mlogq2, bias, mape])
def test_what_cannot_be_compared_is_refused(metric, predicted, measured, message):
    with pytest.raises(InputError, match=message):
        metric(predicted, measured)
