"""Public functions and classes refuse wrong arguments with the library's own errors."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tasksim
from tasksim import TasksimError

WRONG_VALUES = {
    "None": None,
    "3": 3,
    "-1.5": -1.5,
    "nan": float("nan"),
    "True": True,
    "text": "x",
    "bytes": b"x",
    "list": [],
    "list of None": [None],
    "dict": {},
    "set": {1},
    "array": np.array([1]),
    "object": object(),
    "function": lambda: 1,
}
BY_PYTHON = {
    "AccessMode": ValueError,  # an enumeration
    "KernelModel": TypeError,  # abstract
    "View": TypeError,  # abstract
}
"""Callables that Python itself refuses to call, before tasksim checks anything."""


def public():
    """Return what can be called by name: functions, classes, methods that make an object of one."""
    found = {}
    for name in tasksim.__all__:
        thing = getattr(tasksim, name)
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, BaseException)):
            found[name] = thing
        for method in dir(thing) if inspect.isclass(thing) else ():
            kind = inspect.getattr_static(thing, method)
            if isinstance(kind, classmethod | staticmethod) and not method.startswith("_"):
                found[f"{name}.{method}"] = getattr(thing, method)
    return found


PUBLIC = public()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PUBLIC)
def test_wrong_arguments_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parameters = inspect.signature(PUBLIC[name]).parameters.values()
    needed = [p for p in parameters if p.default is p.empty]
    by_name = {p.name for p in needed if p.kind is p.KEYWORD_ONLY}
    places = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in needed)
    places += any(p.kind is p.VAR_POSITIONAL for p in needed)  # enumerations since Python 3.12
    legal = (TasksimError, BY_PYTHON.get(name, TasksimError))
    wrong = {}
    for what, value in WRONG_VALUES.items():
        try:
            PUBLIC[name](*[value] * places, **dict.fromkeys(by_name, value))
        except legal:
            pass
        except Exception as error:
            wrong[what] = repr(error)
    assert not wrong
    assert not list(tmp_path.iterdir())


def test_columns_of_samples_are_refused_by_name():
    with pytest.raises(tasksim.InputError, match="durations must be one column"):
        tasksim.Samples.from_columns({"m": [1], "duration_s": 3})
    with pytest.raises(tasksim.InputError, match="column 'm': 1 rows, but there are 2 durations"):
        tasksim.Samples.from_columns({"m": 1, "duration_s": [1.0, 2.0]})


def test_arguments_that_are_arrays_are_no_numbers():
    samples = tasksim.Samples(("m",), [[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(tasksim.InputError, match=r"a_s: got array\(\[1\]\) \(ndarray\)"):
        tasksim.PowerLaw.from_coefficients(np.array([1]), 1.0, low=1.0, high=2.0)
    with pytest.raises(tasksim.InputError, match=r"coefficient of m: got None \(NoneType\)"):
        tasksim.LinearModel.from_coefficients(("m",), {"m": None}, samples)
