"""Names of tasks, by the functions that GCC made of their bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasksim.recording.openmp import names
from tasksim.recording.openmp.elf import Symbols

CREATOR, OWN, OTHER = 0x15C4, 0x1641, 0x17B9
"""Addresses of a function that creates tasks, of their body, and of another task's body."""


def body_of(code, monkeypatch):
    """The body that is found for a task that *code*, at the begin of the creator, creates."""
    monkeypatch.setattr(names, "read_code", lambda _path, begin, size: code[:size])
    symbols = Symbols(
        [CREATOR, OWN, OTHER],
        [OWN - CREATOR, 16, 16],
        ["f._omp_fn.0", "f._omp_fn.1", "g._omp_fn.0"],
    )
    return names._bodies(Path("program"), {0: CREATOR + len(code)}, symbols).get(0)


def test_the_body_of_a_task_is_what_its_creator_takes_the_address_of(monkeypatch):
    ahead = OWN - CREATOR - 7
    lea = bytes.fromhex("488d2d") + ahead.to_bytes(4, "little")  # lea OWN(%rip), %rbp
    assert body_of(lea, monkeypatch) == OWN
    assert body_of(bytes.fromhex("bf") + OWN.to_bytes(4, "little"), monkeypatch) == OWN  # to %edi
    assert body_of(bytes.fromhex("68") + OWN.to_bytes(4, "little"), monkeypatch) == OWN  # pushed
    on_stack = bytes.fromhex("c70424") + OWN.to_bytes(4, "little")
    assert body_of(on_stack, monkeypatch) == OWN


def test_a_number_that_leads_to_another_body_by_chance_does_not_count(monkeypatch):
    """Of ``mov $1, %r9d``, the end of the opcode and the 1 are 441: as far as the other body is."""
    lea = bytes.fromhex("488d2d") + (OWN - CREATOR - 7).to_bytes(4, "little")
    code = lea.ljust(OTHER - CREATOR - 4 - 441 - 1, b"\x90") + bytes.fromhex("41b901000000")
    assert body_of(code, monkeypatch) == OWN


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("main", "main"),
        ("MAIN__._omp_fn.3", "MAIN__"),
        ("f(int, char) [clone ._omp_fn.0]", "f"),
        ("Tree::sum() const", "Tree::sum"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
        ("n::(anonymous namespace)::f(int)", "n::(anonymous namespace)::f"),
        ("void n::sort<int*, less<int> >(int*, int*)", "n::sort<int*, less<int> >"),
        ("unsigned long f<std::function<int (int)> >()", "f<std::function<int (int)> >"),
        (
            "main::{lambda(int, int)#1}::operator()(int) const",
            "main::{lambda(int, int)#1}::operator()",
        ),
        ("auto main::$_0::operator()<g>(g) const", "main::$_0::operator()<g>"),
        ("bool operator< <int>(A<int>, A<int>)", "operator< <int>"),
        ("A::operator<<(int)", "A::operator<<"),
        ("A::operator bool() const", "A::operator bool"),
    ],
)
def test_names_of_functions_lose_parameters_results_and_suffixes(function, name):
    assert names._plain(function) == name


def test_functions_of_cpp_without_debug_information_have_readable_names(compiled, recorded):
    source = """
namespace grid { void scale(double *x, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; ++i) x[i] *= 2;
} }
int main(void)
{
    double x[100] = {1};
    grid::scale(x, 100);
    return x[0] != 2;
}
"""
    kernels = recorded(compiled(source, "g++", "-g0")).recording.graph.kernels
    assert any(name.startswith("parallel grid::scale+0x") for name in kernels)
