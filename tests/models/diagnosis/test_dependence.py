"""Partial dependence: the median prediction over a parameter."""

import numpy as np
import pytest

from tasksim.models.diagnosis.dependence import partial_dependence
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples


def product(count=500):
    rng = np.random.default_rng(0)
    table = np.exp(rng.uniform(0, np.log(1000), (count, 2)))
    return Samples(("m", "n"), table, 1e-9 * table.prod(axis=1))


def test_of_a_product_the_median_grows_with_each_factor():
    samples = product(151)
    model = LinearModel("m*n").fit(samples)
    found = partial_dependence(model, samples, "n")
    n = samples.parameters[:, 1]
    assert (found.values[0], found.values[-1]) == (n.min(), n.max())
    assert len(found.values) == 25
    median = model.predict(np.column_stack((np.full(25, np.median(samples.parameters[:, 0])),
                                            found.values)))  # fmt: skip
    assert found.median_s == pytest.approx(median)
    assert (found.low_s <= found.median_s).all()
    assert (found.median_s <= found.high_s).all()


def test_of_many_configurations_some_are_taken_the_same_each_time():
    samples = product(2000)
    model = LinearModel("m*n").fit(samples)
    one, other = (partial_dependence(model, samples, "m") for _ in range(2))
    assert one.median_s.tolist() == other.median_s.tolist()


def test_few_measured_values_are_taken_as_they_are():
    samples = Samples(("n",), [[1], [2], [4], [8]] * 2, [1.0, 2.0, 4.0, 8.0] * 2)
    found = partial_dependence(LinearModel("n").fit(samples), samples, "n")
    assert found.values.tolist() == [1, 2, 4, 8]
    assert found.median_s == pytest.approx([1, 2, 4, 8])


def test_categories_are_a_value_each():
    layout = np.arange(60) % 3
    n = np.geomspace(1, 100, 60)
    samples = Samples(
        ("layout", "n"),
        np.column_stack((layout, n)),
        1e-6 * np.array([1.0, 2.0, 4.0])[layout] * n,
        categories={"layout": ("a", "b", "c")},
    )
    found = partial_dependence(LinearModel("n").fit(samples), samples, "layout")
    assert found.categories == ("a", "b", "c")
    assert found.values.tolist() == [0, 1, 2]
    # The terms of the model do not have the layout.
    assert np.ptp(found.median_s) == 0


def test_a_model_that_refuses_most_configurations_has_no_curve():
    samples = product(40)
    found = partial_dependence(HistoryModel().fit(samples), samples, "m")
    assert not found.known
    assert np.isnan(found.median_s).all()
