from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.kinds.given import ConstantLibrary, ConstantModel


def test_the_constant_is_predicted_and_drawn():
    model = ConstantModel(0.5)
    table = np.array([[1.0], [1e9]])
    assert model.predict(table).tolist() == [0.5, 0.5]
    assert model.sample(table, np.random.default_rng(0)).tolist() == [0.5, 0.5]
    assert model.inside(table).tolist() == [True, True]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "1", True, None])
def test_a_duration_is_a_number_of_seconds(value):
    with pytest.raises(InputError, match="kernel 'potrf': a duration must be a number of seconds"):
        ConstantLibrary({"potrf": value})
    with pytest.raises(InputError, match="a duration must be a number of seconds"):
        ConstantModel(value).predict([[1]])


def test_a_library_is_the_same_on_every_architecture():
    library = ConstantLibrary({"potrf": 1.0, "gemm": 6, "free": 0})
    assert library.kernels() == ("free", "gemm", "potrf")
    assert library.model("gemm", "cpu") is library.model("gemm", "cuda")
    assert library.predict("gemm", "cpu", ("m",), np.ones((3, 1))).tolist() == [6.0] * 3
    assert library.locality("gemm", "cpu") is None


def test_all_kernels_without_a_duration_are_named():
    library = ConstantLibrary({"potrf": 1.0, "gemm": 6.0})
    library.require(["gemm", "potrf"])
    with pytest.raises(InputError) as caught:
        library.require(["gem", "potrf", "trsm", "gem"])
    assert str(caught.value) == (
        "no duration for kernels 'gem', 'trsm', did you mean 'gemm'? (given: potrf, gemm)"
    )
    with pytest.raises(InputError, match="no duration for kernel 'trsm'"):
        library.model("trsm", "cpu")


def test_a_duration_per_architecture():
    library = ConstantLibrary({"potrf": 1.0, "gemm": {"cpu": 6.0, "cuda": 0.5}})
    assert library.predict("gemm", "cuda", ("m",), np.ones((2, 1))).tolist() == [0.5, 0.5]
    assert library.model("gemm", "cpu").predict([[1]]).tolist() == [6.0]
    message = (
        "no duration for kernel 'gemm' on architecture 'gpu', did you mean 'cpu'? "
        "(given: cpu, cuda)"
    )
    with pytest.raises(InputError) as caught:
        library.model("gemm", "gpu")
    assert str(caught.value) == message
    with pytest.raises(InputError, match="kernel 'gemm' on cuda: a duration must be a number"):
        ConstantLibrary({"gemm": {"cuda": -1.0}})
