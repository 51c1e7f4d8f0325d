from __future__ import annotations

import pytest

from tasksim.base.errors import InputError
from tasksim.models.modelnames import model_names_of, named, text_of

PAIRS = (("potrf", "m_11"), ("gemm", "m_22"))


@pytest.mark.parametrize(
    "given", ["potrf=m_11,gemm=m_22", " potrf = m_11 , gemm=m_22", dict(PAIRS), PAIRS, list(PAIRS)]
)
def test_pairs_are_read_in_all_their_forms(given):
    assert model_names_of(given) == PAIRS
    assert model_names_of(text_of(PAIRS)) == PAIRS


@pytest.mark.parametrize("name", ["names.yaml", "names.json", "names"])
def test_files_are_read_as_mappings(tmp_path, name):
    (tmp_path / name).write_text('{"potrf": "m_11", "gemm": "m_22"}')
    assert model_names_of(tmp_path / name) == model_names_of(str(tmp_path / name)) == PAIRS


def test_patterns_and_nothing_stay_as_they_are():
    assert model_names_of("m_{kernel}") == text_of("m_{kernel}") == "m_{kernel}"
    assert model_names_of(None) is None


@pytest.mark.parametrize(
    "given",
    [
        "",
        "potrf",
        "potrf=",
        "=m",
        "potrf=m,",
        {},
        {"potrf": 11},
        {1: "m"},
        [("potrf",)],
        3,
        {"": "m"},
    ],
)
def test_anything_else_is_refused(given):
    with pytest.raises(
        InputError, match=r"^model_names: got .*; legal: a text with {kernel} in it"
    ):
        model_names_of(given)


def test_a_kernel_that_is_named_twice_is_refused():
    with pytest.raises(InputError, match=r"^model_names: potrf is given twice"):
        model_names_of("potrf=a,gemm=b,potrf=a")


def test_kernels_keep_the_names_that_nothing_is_said_of():
    own = {"potrf": "potrf_float32", "trsm": "trsm_float32", "gemm": "gemm_float32"}
    assert named(PAIRS, own) == ("m_11", "trsm_float32", "m_22")
    assert named("m_{kernel}_goto", own) == ("m_potrf_goto", "m_trsm_goto", "m_gemm_goto")


def test_kernels_that_there_are_not_are_refused_with_the_nearest():
    with pytest.raises(InputError, match="unknown kernel 'gemm', did you mean 'gemm_nn'"):
        named(PAIRS, {"potrf": "potrf", "gemm_nn": "gemm_nn"})
    assert named(PAIRS, {"potrf": "potrf"}, known=["gemm"]) == ("m_11",)
