"""C source of a learned model, compiled, makes the model's predictions."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.learned.model import LearnedModel
from tasksim.models.samples import Samples

compiler = shutil.which("cc") or shutil.which("gcc")


def samples(count=80):
    rng = np.random.default_rng(0)
    columns = {
        "m": np.round(np.exp(rng.uniform(2, 7, count))),
        "p": rng.integers(0, 9, count).astype(float),
        "layout": rng.choice(["col", "row", "tiled"], count),
    }
    factor = np.array([{"row": 1.0, "col": 3.0, "tiled": 0.5}[one] for one in columns["layout"]])
    durations_s = 1e-6 * columns["m"] ** 1.5 * (1 + columns["p"]) * factor
    durations_s = (
        durations_s * np.where(columns["m"] > 200, 1.5, 1.0) * rng.lognormal(0, 0.05, count)
    )
    return Samples.from_columns({**columns, "duration_s": durations_s})


@pytest.mark.skipif(compiler is None, reason="no C compiler")
@pytest.mark.parametrize("law", ["power", "products"])
def test_compiled_source_predicts_as_the_model_does(law, tmp_path):
    model = LearnedModel(law=law, trees=30).fit(samples())
    (tmp_path / "f.c").write_text(model.source("c", "seconds"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    built = tmp_path / "f.so"
    subprocess.run([compiler, *flags, "-o", built, tmp_path / "f.c", "-lm"], check=True)
    function = ctypes.CDLL(str(built)).seconds
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    # Inside, and beyond the samples in both parameters.
    table = np.vstack([samples().parameters, samples().parameters * [5.0, 3.0, 1.0]])
    found = [function(*row) for row in table.tolist()]
    # The model has covariances in single precision, rounded by at most two in 10,000.
    off = np.abs(np.array(found) / model.predict(table) - 1).max()
    assert off < 2e-4


def test_the_law_alone_is_a_formula():
    text = LearnedModel(law="products").fit(samples(20)).source("c", "f")
    assert "CENTRES" not in text
    assert "layout: 0 col, 1 row, 2 tiled" in text


def test_names_that_c_does_not_allow():
    with pytest.raises(InputError, match="function 'while' cannot be a name in C"):
        LearnedModel().fit(samples(20)).source("c", "while")
    with pytest.raises(InputError, match="cannot be written as source code in python"):
        LearnedModel().fit(samples(20)).source("python")
