"""Errors: their exit codes and their messages."""

from __future__ import annotations

import doctest
import pickle

import pytest

from tasksim.base import errors
from tasksim.base.errors import (
    CheckFailed,
    CycleError,
    GraphError,
    InputError,
    ModelError,
    NotFittedError,
    OutOfDomainError,
    OutputError,
    SchedulerError,
    TaskFailed,
    TasksimError,
    expect,
    nearest,
    unknown,
)


def test_examples_in_the_docstrings_hold():
    assert doctest.testmod(errors).failed == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TasksimError, 1),
        (ModelError, 1),
        (NotFittedError, 1),
        (SchedulerError, 1),
        (TaskFailed, 1),
        (OutputError, 1),
        (InputError, 2),
        (GraphError, 2),
        (CycleError, 2),
        (OutOfDomainError, 2),
        (CheckFailed, 3),
    ],
)
def test_exit_codes(error, code):
    assert issubclass(error, TasksimError)
    assert error.exit_code == code


def test_handlers_of_built_in_errors_still_work():
    assert issubclass(InputError, ValueError)
    assert issubclass(NotFittedError, AttributeError)


def test_nearest_ignores_case_and_keeps_the_spelling():
    assert nearest("gemm", ["POTRF", "GEMM"]) == ", did you mean 'GEMM'?"
    assert nearest("xyz", ["POTRF", "GEMM"]) == ""


def test_unknown_lists_what_is_known():
    assert str(unknown("kernel", "gem", ["gemm", "trsm"], where="a.yaml:1:2")) == (
        "a.yaml:1:2: unknown kernel 'gem', did you mean 'gemm'? (known: gemm, trsm)"
    )
    assert str(unknown("kernel", "gem", [])) == "unknown kernel 'gem' (known: none)"


def test_a_value_of_another_type_is_shown():
    expect(3, int, "tiles")
    with pytest.raises(InputError, match=r"^tiles: expected int, got '3' \(str\)$"):
        expect("3", int, "tiles")
    with pytest.raises(InputError) as refused:
        expect([0] * 1000, int, "tiles")
    assert len(str(refused.value)) < 120


def test_messages_are_fit_for_a_terminal():
    assert str(InputError("got '\x1b[31m\ufeff'")) == r"got '\x1b[31m\ufeff'"
    assert str(InputError("a.csv:1: x\na.csv:2: y")) == "a.csv:1: x\na.csv:2: y"
    lines = str(InputError("\n".join(f"line {k}" for k in range(100)))).split("\n")
    assert (len(lines), lines[-1]) == (60, "... and 41 more lines")
    long = str(InputError(f"m.csv:1: got '{'x' * 10**6}'; legal: a number"))
    assert len(long) < 1100
    assert (long[:14], long[-14:]) == ("m.csv:1: got '", "legal: a number"[-14:])
    assert pickle.loads(pickle.dumps(InputError("\x00"))).args == ("\x00",)


def test_no_near_name_is_looked_for_where_the_name_is_a_book():
    assert nearest("x" * 10**6, ["x" * 10**6]) == ""
