from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError, NotFittedError
from tasksim.models.fitted import columns
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.registry import model_class
from tasksim.models.samples import Samples


def fitted(names=("m", "n")):
    table = np.arange(1.0, 2 * len(names) + 1).reshape(2, -1)
    return HistoryModel().fit(Samples(names, table, [1.0, 2.0]))


def test_columns_are_picked_by_name():
    table = np.array([[10.0, 20.0, 30.0], [11.0, 21.0, 31.0]])
    assert columns(fitted(), ("n", "x", "m"), table).tolist() == [[30.0, 10.0], [31.0, 11.0]]
    assert columns(ConstantModel(1.0), ("n", "x", "m"), table).shape == (2, 0)


def test_missing_columns_are_named_with_what_there_is_instead():
    model = fitted()
    model.label = "gemm on cpu"
    with pytest.raises(InputError) as caught:
        columns(model, ("m", "nn"), np.ones((1, 2)))
    message = "gemm on cpu: the model needs the parameter n; got nn, did you mean 'n'?"
    assert str(caught.value) == message


def test_at_most_five_columns_are_listed():
    model = fitted(tuple(f"p{i}" for i in range(8)))
    with pytest.raises(InputError, match=r"needs the parameters p0, p1, p2, p3, p4 and 3 more$"):
        columns(model, (), np.empty((1, 0)))


def test_columns_before_fit():
    with pytest.raises(NotFittedError, match="Call 'fit' with samples before using 'predict'"):
        columns(HistoryModel(), ("m",), np.ones((1, 1)))


def test_no_samples_are_refused():
    with pytest.raises(InputError, match="no samples to fit"):
        HistoryModel().fit(Samples(("m",), [], []))


def test_parameters_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"one row per row and 2 column\(s\), \(m, n\)"):
        fitted().predict([1.0, 2.0])


@pytest.mark.parametrize("seconds", [1e-319, 1e-300, 1e300])
@pytest.mark.parametrize("kind", ["mlr", "power", "cp", "hybrid"])
def test_durations_whose_squares_are_no_numbers_are_refused(kind, seconds):
    samples = Samples(("m",), np.arange(1.0, 9.0)[:, None], seconds * np.arange(1.0, 9.0))
    options = {"terms": "m"} if kind == "mlr" else {}
    with pytest.raises(
        InputError, match=r"sample 0: duration .* formulas can be fitted to durations"
    ):
        model_class(kind)(**options).fit(samples)
    assert (model_class("history")().fit(samples).predict([[1.0]]) == seconds).all()
