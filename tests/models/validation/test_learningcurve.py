"""Learning curves: errors on a fixed fifth of the configurations, by models of parts."""

import numpy as np
import pytest

from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.samples import Samples
from tasksim.models.validation.learningcurve import LearningCurve, learning_curve


def samples_of(count, repetitions=1, noise=0.0, seed=0):
    n = np.repeat(np.geomspace(10, 1000, count), repetitions)
    noisy = np.random.default_rng(seed).lognormal(0, noise, len(n)) if noise else np.ones(len(n))
    return Samples(("n",), n[:, None], 1e-9 * n**2 * noisy)


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(64, (16, 32)), (127, (31, 63)), (128, (16, 32, 64)), (4000, (256, 512, 1024))],
)
def test_parts_are_an_eighth_a_quarter_and_half(count, sizes):
    samples = samples_of(count, noise=0.1)
    curve = learning_curve(LinearModel("n^2").fit(samples), samples)
    assert curve.configurations == sizes
    assert curve.errors.shape[1] == -(-count // 5)
    assert curve.reason == ""


def test_repetitions_are_no_configurations():
    samples = samples_of(40, repetitions=5)
    curve = learning_curve(PowerLaw().fit(samples), samples)
    assert curve.configurations == ()
    assert curve.reason == "it takes 64 configurations or more, got 40"


def test_a_model_of_the_right_form_has_no_errors_and_nothing_to_gain():
    samples = samples_of(128)
    curve = learning_curve(LinearModel("n^2").fit(samples), samples)
    assert curve.mlogq == pytest.approx(0, abs=1e-6)
    assert curve.standard_errors == pytest.approx(0, abs=1e-6)


def test_categories_that_a_part_lacks_do_not_count():
    """Of 140 configurations, an eighth is 17: it lacks some of the 14 categories."""
    rng = np.random.default_rng(0)
    layout, n = rng.permutation(np.arange(140) % 14), rng.uniform(1, 2, 140)
    samples = Samples(
        ("layout", "n"),
        np.column_stack((layout, n)),
        1e-6 * n * rng.lognormal(0, 0.1, 140),
        categories={"layout": tuple("abcdefghijklmn")},
    )
    curve = learning_curve(LinearModel("n").fit(samples), samples)
    assert curve.configurations == (17, 35, 70)
    assert 0 < curve.errors.shape[1] < 28
    assert np.isfinite(curve.errors).all()


def test_parts_that_predict_nothing_make_no_curve():
    """Each configuration has a category of its own, so no part knows one that is left out."""
    n = np.linspace(1, 2, 64)
    samples = Samples(
        ("layout", "n"),
        np.column_stack((np.arange(64), n)),
        1e-6 * n,
        categories={"layout": tuple(f"layout{i}" for i in range(64))},
    )
    curve = learning_curve(LinearModel("n").fit(samples), samples)
    assert curve.configurations == ()
    assert curve.reason.endswith("predict none of those left out")


def test_a_history_has_none():
    samples = samples_of(128, repetitions=2, noise=0.1)
    curve = learning_curve(HistoryModel().fit(samples), samples)
    assert (curve.configurations, curve.reason) == ((), "history predicts only what was measured")


def test_beyond_the_limit_no_fit_is_begun():
    samples = samples_of(128)
    curve = learning_curve(PowerLaw().fit(samples), samples, limit_s=-1.0)
    assert curve.configurations == ()
    assert curve.reason.startswith("it ends before 16 configurations")


def test_steps_are_shown():
    samples, steps = samples_of(128), []
    learning_curve(
        PowerLaw().fit(samples), samples, progress=lambda step, share: steps.append((step, share))
    )
    shares = [share for _, share in steps]
    assert steps[0] == ("learning curve: 16 configurations", 0)
    assert steps[-1][0] == "learning curve: 64 configurations"
    assert shares == sorted(shares)
    assert len(steps) == 6


def test_the_gain_is_that_of_a_doubling_if_it_is_significant():
    halves = np.array([[0.2, 0.4, 0.3], [0.1, 0.2, 0.15]])
    assert LearningCurve((16, 32), halves).gain() == pytest.approx(0.5)
    assert LearningCurve((16, 64), halves).gain() == pytest.approx(0.5**0.5)
    assert LearningCurve((16, 32), halves[::-1]).gain() is None
    mixed = np.array([[0.2, 0.4, 0.3], [0.1, 0.5, 0.25]])
    assert LearningCurve((16, 32), mixed).gain() is None
    assert LearningCurve((16,), halves[:1]).gain() is None
