"""Fixtures of all tests: BLAS in one thread, and compiled loops before processes start."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from tiers import few

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

HYPOTHESIS_EXAMPLES = 100
"""Number of examples that Hypothesis draws by default."""
OF_TESTS = {}
"""Name -> application that a module of tests registers."""
LONGEST = (
    "tests/benchmarks/test_models.py", "tests/cli/test_counters.py::test_valgrind",
    "tests/core/test_build.py::test_the_core_compiles",
    "tests/core/test_native_stress.py::test_the_thread", "tests/core/test_sanitizers.py",
    "tests/docs/test_capabilities.py::test_small", "tests/docs/test_data.py::test_the_wheel",
    "tests/docs/test_docs.py::test_examples_print_what_the_page_says[docs/cli.md]",
    "tests/docs/test_docs.py::test_slow", "tests/examples/", "tests/experiments/",
)  # fmt: skip
"""Beginnings of the names of tests that take from 15 s to minutes, or of rooms that have some."""

# Set before NumPy is imported. Threads of BLAS that wait for a core, beside another process, make
# small products 10 to 100 times slower; nothing here is large enough to gain by them.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from tasksim.graph.apps.registry import GENERATORS  # noqa: E402 - it imports NumPy

# Who runs the tests in the background of a script has Ctrl-C ignored, and with it what tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# An example that takes long says something of the machine, and nothing of the code. They are the
# same in each run; `pytest --hypothesis-profile=search` draws others. A test that says no number
# tries a part of Hypothesis' own, except in a search.
for profile, same in (("search", False), ("any machine", True)):
    settings.register_profile(
        profile,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=few(HYPOTHESIS_EXAMPLES) if same else HYPOTHESIS_EXAMPLES,
        derandomize=same,
        database=None if same else settings.default.database,
    )
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    """Let only a search draw constants of the modules that are loaded by then.

    With several processes these depend on which tests one of them ran before; and to find them,
    each process parses all modules.
    """
    searched = config.getoption("--hypothesis-profile", default=None) == "search"
    if not searched and hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let Numba fill its cache once: the processes would all compile the same, and write it."""
    code = "import tasksim.kernels.fmm.program"
    # What is wrong with it, the tests say better.
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected: nearly all that is made stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests: the other processes would wait for one of them at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collection_finish() -> None:
    """Forget the applications that test modules registered when they were imported."""
    # What was collected stays: collections of garbage during the tests need not look at it again.
    gc.collect()
    gc.freeze()
    found = GENERATORS._found
    OF_TESTS.update(
        (name, thing) for name, thing in found.items() if name not in GENERATORS.built_in
    )
    for name in OF_TESTS:
        del found[name]


@pytest.fixture(autouse=True, scope="module")
def only_its_own_applications(request) -> Iterator[None]:
    """Let a module know the applications that it registers, and no other the module's."""
    found = GENERATORS._found
    before, module = dict(found), request.module.__name__
    found.update(
        (name, thing) for name, thing in OF_TESTS.items() if thing.function.__module__ == module
    )
    yield
    found.clear()
    found.update(before)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return what installs a package: its name, and {group: {name: "MODULE:ATTRIBUTE"}}."""

    def install(name: str, groups: dict[str, dict[str, str]]) -> None:
        site = tmp_path / f"site-{name}"
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = []
        for group, entries in groups.items():
            lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        monkeypatch.syspath_prepend(str(site))

    return install
