from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from tasksim.base.errors import InputError, NotFittedError
from tasksim.models.forms import c_source, python_source, source
from tasksim.models.kinds.linear import LinearModel

MODEL = LinearModel.from_coefficients(
    ("m", "n", "k"),
    {
        "m*n*k": 3.1e-10,
        "1": -2e-6,
        "m^0.5*log2(n)": 1e-6,
        "k^2.5": 7e-9,
        "n^-1": -1e-6,
        "log(m)^2": 3e-7,
        "is(k, 2)*m": 5e-6,
        "n^9": 1e-19,
        "m*k/n": 4e-9,
        "m*log2(k)/(n^2*k^0.5)": -8e-9,
        "k^(1/3)": 2e-9,
        "exp(k)": 4e-10,
        "m*exp(n)^-0.25": 6e-7,
    },
)
TABLE = np.array(
    [[m, n, k] for m in (1.0, 7.5, 64.0) for n in (1.0, 2.0, 33.0) for k in (2.0, 9.0)]
)


@pytest.mark.parametrize(
    "model", [MODEL, LinearModel.from_coefficients(("m", "n", "k"), {"k": -1})]
)
def test_python_predicts_the_same(model):
    space: dict[str, object] = {}
    exec(python_source(model.linear()), space)
    values = [space["duration_s"](*row) for row in TABLE.tolist()]
    assert values == pytest.approx(model.predict(TABLE), rel=1e-12)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")
@pytest.mark.parametrize(
    "model", [MODEL, LinearModel.from_coefficients(("m", "n", "k"), {"k": -1})]
)
def test_c_predicts_the_same_and_compiles_without_warnings(model, tmp_path):
    path = tmp_path / "f.c"
    path.write_text(c_source(model.linear(), "f"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    library = tmp_path / "f.so"
    subprocess.run(["cc", *flags, str(path), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).f
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    values = [function(*row) for row in TABLE.tolist()]
    assert values == pytest.approx(model.predict(TABLE), rel=1e-12)


def test_ratios_read_as_ratios():
    model = LinearModel.from_coefficients(("n", "p"), {"1/p": 1.0, "n*log2(p)/p^2": -2.0})
    assert model.formula() == "1/p - 2*n*log2(p)/p^2"
    assert "1.0 / p\n        - 2.0 * n * log2(p) / (p * p));" in c_source(model.linear())
    assert "1.0 / p\n        - 2.0 * n * math.log2(p) / p**2," in python_source(model.linear())


def test_exponentials_have_their_rates_inside():
    model = LinearModel.from_coefficients(("n",), {"exp(n)^0.5": 1.0, "1/exp(n)": 2.0})
    assert "1.0 * exp(0.5 * n)\n        + 2.0 / exp(n)" in c_source(model.linear())
    assert "1.0 * math.exp(0.5 * n)\n        + 2.0 / math.exp(n)" in python_source(model.linear())
    with pytest.raises(InputError, match="parameter 'exp' cannot be a name in C"):
        c_source(LinearModel.from_coefficients(("exp",), {"exp": 1.0}).linear())


def test_a_kernel_without_parameters():
    model = LinearModel.from_coefficients((), {"1": 2.0})
    assert "double f(void)" in c_source(model.linear(), "f")
    assert "def f() -> float:" in python_source(model.linear(), "f")


@pytest.mark.parametrize(
    ("names", "name", "language", "message"),
    [
        (("int",), "f", "c", "parameter 'int' cannot be a name in C"),
        (("lambda",), "f", "python", "parameter 'lambda' cannot be a name in Python"),
        (("n",), "2f", "c", "function '2f' cannot be a name in C"),
        (("n",), "n", "python", "function 'n' has the name of a parameter"),
        (("n",), "f", "pyton", "unknown language 'pyton', did you mean 'python'"),
    ],
)
def test_names_that_a_language_lacks(names, name, language, message):
    model = LinearModel.from_coefficients(names, {names[0]: 1.0})
    with pytest.raises(InputError, match=message):
        source(model.linear(), language, name)


def test_before_fit():
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        source(LinearModel("n"), "c")
