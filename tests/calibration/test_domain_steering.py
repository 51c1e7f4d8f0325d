"""Steering over a domain: the choice of the next configuration, and when a model is good enough."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.calibration.domain import parse_domain
from tasksim.calibration.domain_campaign import MeasureOptions, measure
from tasksim.calibration.domain_steering import (
    DESIGN_INTERVAL,
    MIN_CONFIGURATIONS,
    DomainSteering,
    ModelErrors,
    errors_of,
    fits_of,
    measured_at,
    off_by,
    shrinking,
    steering_of,
    worth,
)
from tasksim.models.samples import Samples
from tasksim.models.validation.crossvalidation import LeftOut


@pytest.fixture
def apart():
    return off_by(np.random.default_rng(0).standard_normal((7, 5)) @ np.diag([1, 2, 3, 0.1, 0]))


def covariance_left(apart, place, noise):
    """Return what the covariance is after a measurement, by Bayes."""
    covariance = apart.T @ apart
    column = covariance[:, place]
    return covariance - np.outer(column, column) / (column[place] + noise)


@pytest.mark.parametrize("place", range(5))
def test_what_is_left_is_bayes(apart, place):
    left = measured_at(apart, place, 0.3)
    np.testing.assert_allclose(left.T @ left, covariance_left(apart, place, 0.3), atol=1e-12)


def test_worth_is_by_how_much_variances_shrink_per_second(apart):
    seconds = np.array([1.0, 2.0, 0.5, 1.0, 1.0])
    shrunk = [np.trace(apart.T @ apart - covariance_left(apart, place, 0.3)) for place in range(5)]
    np.testing.assert_allclose(worth(apart, 0.3, seconds), np.array(shrunk) / seconds, atol=1e-12)


def test_of_means_apart_from_each_other_it_is_what_steers_calibrations():
    variance, count = 0.04, np.array([5, 9, 20])
    apart = np.diag(np.sqrt(variance / count))
    seconds = np.array([1.0, 3.0, 0.1])
    expected = variance / (count * (count + 1) * seconds)
    np.testing.assert_allclose(worth(apart, variance, seconds), expected)


def test_what_is_known_exactly_is_worth_nothing():
    known = np.zeros((4, 3))
    assert worth(known, 0.0, np.ones(3)).tolist() == [0, 0, 0]
    assert measured_at(known, 1, 0.0) is known


DOMAIN = parse_domain("potrf", ["n=32..2048:log"])
TABLE = DOMAIN.draw(200, seed=1)


def truth_s(sizes):
    return 1e-5 + 3e-10 * np.asarray(sizes, dtype=float) ** 2.5


def steered(until, noise=0.0, fit=None, most=200):
    """Return steering that has measured until it is sure, and what it measured in order."""
    steering = DomainSteering(("n",), TABLE, until, fit or fits_of("power", 0))
    rng, order = np.random.default_rng(0), []
    while len(order) < most and (place := steering.next()) is not None:
        durations = truth_s(TABLE[place, 0]) * np.exp(noise * rng.standard_normal(5))
        steering.add(place, durations.tolist(), 8 * float(durations.sum()))
        order.append(place)
    return steering, order


def test_the_first_are_as_drawn_and_nothing_is_measured_twice():
    _, order = steered(1e-9, noise=0.05, most=60)
    assert order[:MIN_CONFIGURATIONS] == list(range(MIN_CONFIGURATIONS))
    assert len(set(order)) == 60


def test_one_in_four_is_as_drawn_and_errors_are_of_these():
    steering, order = steered(1e-9, noise=0.05, most=40)
    later = range(MIN_CONFIGURATIONS, 40)
    drawn = [at for at in later if order[at] == min(set(range(200)) - set(order[:at]))]
    assert set(later[::DESIGN_INTERVAL]) <= set(drawn)
    assert set(range(steering.prefix)) <= set(order)
    assert steering.prefix not in order


def test_it_ends_when_the_model_errs_no_more_than_asked():
    steering, order = steered(0.2, noise=0.02)
    assert steering.known
    assert len(order) < 100
    predicted = steering._fit(steering.samples()).model.predict(TABLE)
    assert np.abs(np.log(predicted / truth_s(TABLE[:, 0]))).mean() < 0.2


def test_cheap_configurations_come_first():
    _, order = steered(1e-9, noise=0.05, most=60)
    chosen = TABLE[order[MIN_CONFIGURATIONS:], 0]
    assert np.mean(truth_s(chosen)) < 0.7 * np.mean(truth_s(TABLE[:, 0]))


def test_the_errors_of_means_are_taken_off_and_other_places_left_out():
    samples = Samples(("n",), [[1], [1], [2], [2], [3], [3]], [0.9, 1.1, 1.8, 2.2, 3.0, 3.0])
    out = LeftOut(np.array([1, 1, 2, 2, 30, 30]) * np.e**0.5, "configuration")
    found = errors_of(samples, out, np.array([[1.0], [2.0]]))
    of_means = np.sqrt(2 / np.pi) * 0.1
    assert found.of_means == pytest.approx(of_means)
    assert found.mean == pytest.approx(np.sqrt(0.5**2 - of_means**2))
    assert found.luck == pytest.approx(0, abs=1e-12)
    assert found.noise == pytest.approx(0.25)


def test_noise_is_never_all_of_an_error():
    n = np.repeat(np.arange(1.0, 21.0), 2)
    off = np.tile([1.2, 0.8], 20)
    out = LeftOut(n * np.exp(np.repeat(np.tile([0.16, -0.14], 10), 2)), "configuration")
    found = errors_of(Samples(("n",), n[:, None], n * off), out, np.unique(n)[:, None])
    assert found.mean == pytest.approx(0.15 / 2)  # and not 0, though noise could be all of it
    calm = errors_of(Samples(("n",), n[:, None], n), out, np.unique(n)[:, None])
    assert calm.mean == pytest.approx(0.15)
    assert found.luck == pytest.approx((0.15 + calm.luck) / 2 - 0.075)


def test_nothing_measured_of_these_is_nothing_known():
    samples = Samples(("n",), [[1], [2]], [1.0, 2.0])
    found = errors_of(samples, LeftOut(np.full(2, np.nan), "configuration"), np.array([[1.0]]))
    assert found.at_most == np.inf


def campaign(looks, *, count=10, of=200, until=0.05, ended=True):
    """Return the steering of a campaign that ended after some *looks*."""
    made = steering_of(DOMAIN, TABLE[:of], until, "auto", 0)
    made.looks, made.model = looks, "mlr"
    for place in range(count):
        made.add(place, [1.0, 1.0], 1.0)
    made.ended = ended
    return made


def errors(mean, of_means=0.0):
    return ModelErrors(mean, 0.0, of_means, 0.01)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (campaign([]), "the time was over before there were enough configurations"),
        (campaign([], ended=False), "interrupted before"),
        (campaign([(10, errors(0.2))], ended=False), "interrupted"),
        (campaign([(10, errors(0.06))], of=10), "all 10 configurations are measured"),
        (campaign([(10, errors(0.2, 0.15))]), "noise alone puts means off by 15 %"),
        (campaign([(n, errors(0.2)) for n in (10, 20, 40)]), "mlr no longer shrink"),
        (campaign([(n, errors(1 / n)) for n in (4, 5, 10)]), "about 10 s more of measuring"),
    ],
)
def test_it_says_what_prevented_more(made, why):
    assert why in made.reached().prevented


def test_reached_is_said():
    reached = campaign([(10, errors(0.04))]).reached()
    assert reached.to_json() == {
        "until": 0.05,
        "error": 0.04,
        "luck": 0.0,
        "of_means": 0.0,
        "kind": "mlr",
        "prevented": None,
        "reached": True,
    }
    assert str(reached) == "mlr, errs by 4 % (+- 0 %)"


def test_how_errors_shrink_is_not_known_from_two():
    assert shrinking([10, 20], [0.2, 0.1]) is None


def test_real_kernels_and_going_on(tmp_path):
    domain, output = parse_domain("potrf", ["n=8..64"]), tmp_path / "p.csv"
    first = measure(domain, output, MeasureOptions(until=1e-6, samples=20, kind="power"))
    assert first.measured == 20
    assert first.model.prevented.startswith("all 20 configurations are measured")
    options = MeasureOptions(until=0.99, samples=20, kind="power")
    again = measure(domain, output, options, resume=True)
    assert again.samples == first.samples
    assert again.to_json()["model"]["reached"] == (again.model.prevented is None)


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (["n=64"], {"until": 0.1}, "no parameter has more than one size"),
        (["n=8..64"], {"until": 0.1, "kind": "history"}, "predicts no unmeasured sizes"),
    ],
)
def test_what_cannot_be_steered(tmp_path, settings, options, message):
    with pytest.raises(InputError, match=message):
        measure(parse_domain("potrf", settings), tmp_path / "p.csv", MeasureOptions(**options))


@pytest.mark.parametrize("until", [0, 1, -0.1, True, float("nan"), "5%"])
def test_a_precision_is_between_0_and_1(until):
    with pytest.raises(InputError, match="until"):
        MeasureOptions(until=until)


def test_each_is_visited_once():
    with pytest.raises(InputError, match="rounds=1"):
        MeasureOptions(until=0.1, rounds=2)


def test_fits_are_of_a_kind_that_was_asked_for():
    n = np.repeat([8.0, 16, 32, 64, 128, 256], 5)
    assert fits_of("power", 0)(Samples(("n",), n[:, None], 1e-9 * n**2)).model.kind == "power"
