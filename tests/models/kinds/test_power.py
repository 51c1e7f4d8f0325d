"""Power laws of the size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.samples import Samples
from tasksim.models.terms.leastsquares import fit_power, repeated_median


def samples(sizes, durations_s):
    return Samples(("size_bytes",), np.asarray(sizes, dtype=float)[:, None], durations_s)


@settings(max_examples=60)
@given(a=st.floats(1e-9, 1e-6), b=st.floats(0.1, 3), low=st.integers(1, 1000))
def test_a_law_is_found_again(a, b, low):
    sizes = low * np.array([1.0, 3.0, 10.0, 40.0])
    law = PowerLaw().fit(samples(sizes, a * sizes**b))
    assert (law.a_, law.b_, law.c_) == (pytest.approx(a), pytest.approx(b), 0.0)
    assert law.spread_ == pytest.approx(0.0, abs=1e-9)


def test_the_line_between_logarithms_is_that_of_all_samples():
    sizes, times = np.array([1.0, 1.0, 4.0]), np.array([1.0, 2.0, 8.0])
    law = PowerLaw().fit(samples(sizes, times))
    x, y = np.log(sizes), np.log(times)
    beta = (3 * (x @ y) - x.sum() * y.sum()) / (3 * (x @ x) - x.sum() ** 2)
    alpha = math.exp((y.sum() - beta * x.sum()) / 3)
    assert (law.a_, law.b_) == (pytest.approx(alpha), pytest.approx(beta))


def test_a_constant_is_found():
    sizes = np.repeat(2.0 ** np.arange(6, 22), 4)
    durations_s = 1e-4 + 2e-9 * sizes**1.2
    law = PowerLaw(constant=True).fit(samples(sizes, durations_s))
    assert law.c_ == pytest.approx(1e-4, rel=0.05)
    assert law.b_ == pytest.approx(1.2, rel=0.05)
    assert law.predict(sizes[-4:, None]) == pytest.approx(durations_s[-4:], rel=0.05)
    assert "size_bytes^1.2" in law.formula().replace("1.19", "1.2").replace("1.20", "1.2")


def test_three_coefficients_need_three_sizes():
    sizes = np.repeat([1e3, 4e3], 10)
    message = "has 3 coefficients: it needs samples of 3 sizes or more, got 2"
    with pytest.raises(InputError, match=message):
        PowerLaw(constant=True).fit(samples(sizes, 1e-9 * sizes))
    assert PowerLaw().fit(samples(sizes, 1e-9 * sizes)).b_ == pytest.approx(1.0)


def test_a_kernel_without_a_constant_gets_hardly_one():
    sizes = 2.0 ** np.arange(10, 20)
    law = PowerLaw(constant=True).fit(samples(sizes, 1e-9 * sizes**1.5))
    assert law.predict(sizes[:, None]) == pytest.approx(1e-9 * sizes**1.5, rel=0.01)
    assert law.c_ < 0.01 * 1e-9 * sizes[0] ** 1.5


def test_inside_is_up_to_a_tenth_beyond_the_samples():
    law = PowerLaw.from_coefficients(1e-9, 1.5, low=1000, high=4000)
    assert law.inside([[899], [900], [4400], [4401]]).tolist() == [False, True, True, False]
    assert law.predict([[4e6]])[0] == pytest.approx(1e-9 * 4e6**1.5)


def test_draws_have_the_spread_of_the_samples():
    rng = np.random.default_rng(0)
    sizes = np.repeat([1e3, 1e4, 1e5], 200)
    law = PowerLaw().fit(samples(sizes, 1e-9 * sizes * rng.lognormal(0, 0.2, len(sizes))))
    draws = law.sample(np.full((20_000, 1), 1e4), rng)
    assert draws.std() / draws.mean() == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([100, 100, 100], r"different sizes, the smallest below 0\.9 times the largest; got"),
        ([95, 100, 100], r"size_bytes 95 to 100"),
        ([0, 100, 200], "a power law needs sizes above 0, got size_bytes=0"),
    ],
)
def test_samples_that_tell_no_law_are_refused(sizes, message):
    with pytest.raises(InputError, match=message):
        PowerLaw().fit(samples(sizes, [1.0, 2.0, 3.0]))


def test_more_than_one_parameter_is_refused():
    with pytest.raises(InputError, match=r"power models need samples with 1 parameter\(s\), got 2"):
        PowerLaw().fit(Samples(("m", "n"), [[1, 2], [3, 4]], [1.0, 2.0]))


@pytest.mark.parametrize("wrong", [{"a_s": 0.0}, {"b": math.nan}, {"low": 5}, {"spread": -1.0}])
def test_coefficients_that_are_none_are_refused(wrong):
    given = {"a_s": 1e-9, "b": 1.5, "low": 1, "high": 4, **wrong}
    with pytest.raises(InputError, match=r"a must be positive|b: got nan .*legal: a finite"):
        PowerLaw.from_coefficients(**given)


def test_where_the_law_has_no_value_it_is_refused():
    with pytest.raises(OutOfDomainError, match="not finite for size 0"):
        PowerLaw.from_coefficients(1.0, -1.0, low=1, high=4).predict([[0]])
    with pytest.raises(OutOfDomainError, match=r"not finite for size 1e\+300"):
        PowerLaw.from_coefficients(1.0, 3.0, low=1, high=4).predict([[1e300]])


def test_predictions_are_never_0():
    assert PowerLaw.from_coefficients(1e-9, 1.0, -1e-6, low=1, high=4).predict([[1]])[0] == 1e-11


@settings(max_examples=50)
@given(
    slope=st.floats(-3, 3),
    wrong=st.lists(st.tuples(st.integers(0, 8), st.floats(-100, 100)), max_size=3),
)
def test_a_third_of_the_points_cannot_spoil_the_median_slope(slope, wrong):
    x = np.arange(9.0)
    y = 2 + slope * x
    for index, value in wrong:
        y[index] = value
    assert repeated_median(x, y) == pytest.approx(slope, abs=1e-9)


def test_many_points_are_thinned_out():
    x = np.arange(5000.0)
    assert repeated_median(x, 3 * x) == pytest.approx(3.0)


def test_points_of_one_size_tell_no_law():
    a, b = fit_power(np.ones(3), np.ones(3), np.ones(3))
    assert math.isnan(a)
    assert math.isnan(b)
