"""The sanitizers: Python loads a core that has them, and what they find ends it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from core_sources import copied_sources

from tasksim.core.build import build
from tasksim.core.compiler import NotBuilt
from tasksim.core.sanitizers import checked_environment

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

WRONG_PROGRAM = """
#include "tasksim_core.h"
#include <stdexcept>
#include <thread>
#include <vector>
static int shared = 0;
extern "C" {
TASKSIM_API int beyond(int n) { std::vector<int> v(4); return v.data()[n]; }
TASKSIM_API int overflows(int n) { return n + 2147483647; }
TASKSIM_API int follows_null(int n) { volatile int *none = nullptr; return none[n]; }
TASKSIM_API int races() {
  auto count = [] { for (int i = 0; i < 1000; ++i) ++shared; };
  std::thread one(count), two(count);
  one.join(); two.join();
  return shared;
}
TASKSIM_API int catches() { try { throw std::runtime_error("x"); } catch (...) { return 7; } }
}
"""
CALL = "import sys, tasksim.core.library as l; print(getattr(l.library(), sys.argv[1])(5))"


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Return a function that builds the library once per set of sanitizers: its environment."""
    sources = copied_sources(tmp_path_factory.mktemp("checked"))
    (sources / "wrong.cpp").write_text(WRONG_PROGRAM)

    @cache
    def environment_of(*sanitize):
        library = sources.with_name(f"{'-'.join(sanitize)}.so")
        try:
            build(library, folder=sources, sanitize=sanitize)
            return os.environ | checked_environment(library, sanitize)
        except NotBuilt as error:
            pytest.skip(f"no such sanitizer: {error}")

    return environment_of


@pytest.fixture
def called(compiler, checked):
    """Return a function that calls the library in a process, under some sanitizers."""

    def call(function, *sanitize):
        return subprocess.run(
            [sys.executable, "-c", CALL, function],
            env=checked(*sanitize),
            capture_output=True,
            text=True,
            check=False,
        )

    return call


@pytest.mark.parametrize(
    ("function", "sanitize", "said"),
    [
        ("beyond", ("address", "undefined"), "heap-buffer-overflow"),
        ("overflows", ("address", "undefined"), "signed integer overflow"),
        ("follows_null", ("address", "undefined"), "SEGV on unknown address"),
        ("overflows", ("undefined",), "signed integer overflow"),
        ("races", ("thread",), "data race"),
    ],
)
def test_what_is_wrong_ends_the_process(called, function, sanitize, said):
    done = called(function, *sanitize)
    assert said in done.stderr
    assert done.returncode != 0


@pytest.mark.parametrize("sanitize", [("address", "undefined"), ("thread",)])
def test_exceptions_are_caught_as_ever(called, sanitize):
    done = called("catches", *sanitize)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_the_core_is_clean(strict):
    """Engines, calls of Python, native runs, nonsense: addresses and undefined behaviour."""
    sanitizers = [sys.executable, "-m", "tasksim.core.sanitizers", "address,undefined"]
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    # One policy with ready tasks first stands for all: SimPy's engine takes most of such a test.
    # Methods that pass all on are called the same way as those of a derived class.
    # No policy of the core is asked by schedulers in Python: one stands for all.
    few = (
        "(not of_many_tasks or modular-dmdas) and (not that_pass_all_on or dmdas)"
        " and (not a_derived_class or dmdas)"
    )
    tests += ["-k", few]
    modules = ("test_policies", "test_threads", "test_foreign", "test_interface")
    files = [*(f"core/{name}.py" for name in modules), "native/test_compiled.py"]
    done = subprocess.run(
        [*sanitizers, *tests, *(f"tests/{name}" for name in files)],
        cwd=ROOT,
        # The core has been compiled by this command, and cases that are fewer find the same.
        env=os.environ | {"CXX": shlex.join(strict.command), "TASKSIM_MORE_CASES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if "has no library for" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
