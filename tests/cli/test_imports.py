"""Imports of commands: nothing that they do not need, however fast the machine is.

Start-up is most of a short command's time, and nearly all of that is imports; where Python may not
keep their bytecode, each is compiled again. Counted, not timed: heavy packages by name, tasksim's
own modules, and all modules with room for other versions of Python and NumPy. Of a plain simulation
it is also said what it leaves out.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tasksim.core.library import status

HEAVY_MODULES = (
    "asyncio", "importlib.metadata", "matplotlib", "networkx", "numba", "numpy", "numpy.ma",
    "pandas", "pyarrow", "pydantic", "rich", "scipy", "simpy", "statsmodels", "yaml",
)  # fmt: skip
BY_OTHERS = {"importlib.metadata"}
"""Modules that simpy and pyarrow import themselves."""
SIMPY_ENGINE = 50
"""Modules of the engine that replays where there is no core, rounded up; SimPy has as many."""

CODE = """
import pathlib, sys
from tasksim.cli.main import cli
try:
    cli.main(sys.argv[2:])
except SystemExit as end:
    pathlib.Path(sys.argv[1]).write_text(repr([end.code, list(sys.modules)]))
"""
"""Its first argument is the file that it writes: on stderr, others may write at the same time."""
GIVEN_DURATIONS = "--durations potrf=1,trsm=3,syrk=3,gemm=6"


def modules_of(line, folder):
    """Return what is imported when a command line has ended well."""
    said = folder / "modules.txt"
    said.unlink(missing_ok=True)
    command = [sys.executable, "-c", CODE, said, *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    assert said.exists(), done.stderr
    code, modules = ast.literal_eval(said.read_text())
    assert code == 0, done.stderr
    return set(modules)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a recorded run in it."""
    folder = tmp_path_factory.mktemp("imports")
    modules_of(f"simulate cholesky tiles=3 --workers 2 {GIVEN_DURATIONS} -o run", folder)
    return folder


@pytest.mark.parametrize(
    ("line", "allowed", "own", "most"),
    [
        ("", "", 7, 145),
        ("--help", "", 7, 150),
        ("--version", "", 8, 145),
        ("simulate --help", "", 18, 170),
        ("study --help", "", 8, 150),
        ("study new", "", 25, 175),
        ("list generators", "numpy importlib.metadata", 91, 388),
        ("list schedulers", "numpy importlib.metadata", 75, 383),
        ("list platforms", "yaml", 33, 205),
        ("list models", "", 20, 165),
        (f"simulate cholesky tiles=2 --workers 2 {GIVEN_DURATIONS}", "numpy simpy", 81, 330),
        (f"simulate cholesky tiles=3 --workers 2 {GIVEN_DURATIONS}", "numpy simpy", 80, 330),
        (f"simulate cholesky tiles=3 --workers 2 {GIVEN_DURATIONS} --json", "numpy simpy", 78, 330),
        ("simulate cholesky tiles=3 --platform xeon-2c", "numpy simpy yaml", 110, 390),
        (
            f"simulate cholesky tiles=3 --platform xeon-2c {GIVEN_DURATIONS}",
            "numpy simpy yaml",
            98,
            375,
        ),
        (
            f"simulate qr tiles=3 --workers 2 {GIVEN_DURATIONS} -o other",
            "numpy pyarrow simpy",
            147,
            485,
        ),
        ("simulate --from run", "numpy pyarrow simpy", 153, 490),
        ("bounds run", "numpy pyarrow", 121, 473),
        ("compare run run", "numpy numpy.ma pyarrow", 121, 473),
        ("validate run", "numpy pyarrow", 115, 473),
        ("doctor --json", "numpy numpy.ma scipy importlib.metadata", 76, 580),
    ],
)
def test_a_command_imports_what_it_needs(folder, line, allowed, own, most):
    if "qr" in line:
        line = line.replace(GIVEN_DURATIONS, "--durations geqrt=1,gemqrt=1,tpqrt=1,tpmqrt=1")
    modules = modules_of(line, folder)
    heavy = {name for name in HEAVY_MODULES if name in modules}
    legal = set(allowed.split())
    if status().available:  # then SimPy's engine is not used
        legal.discard("simpy")
    if legal & {"simpy", "pyarrow"}:
        legal |= BY_OTHERS
    if "simpy" in legal:
        own, most = own + SIMPY_ENGINE, most + 2 * SIMPY_ENGINE
    assert heavy <= legal
    assert sum(name.partition(".")[0] == "tasksim" for name in modules) <= own
    assert len(modules) <= most


def test_a_page_is_written_without_matplotlib(folder):
    assert "matplotlib" not in modules_of("view run --html page.html", folder)


LEFT_OUT = {
    "applications", "base.folders", "calibration", "engine.cluster", "engine.data",
    "engine.machine", "formats.registry", "formats.runs", "kernels",
    "models.uncertainty", "native", "network", "recording", "reports",
    "run.copystatistics", "run.measured", "runtime.blame", "runtime.ledger",
    "scenario.fingerprints", "scenario.replayed", "schedulers.queues",
    "selective", "study", "tuning",
}  # fmt: skip
"""Modules that a simulation on one node does not need if it keeps nothing and succeeds."""
READS_NO_FILE = {
    "base.files", "base.library", "engine.locality", "engine.room", "formats", "models.files",
    "platform.load", "platform.power", "scenario.advice", "scenario.kernel_models",
}  # fmt: skip
"""Further ones that it does not need with workers and durations, not a platform and models."""
RARELY_NEEDED = {"array", "csv", "heapq", "importlib.metadata", "json", "subprocess", "tempfile"}
"""Of Python's own, which take milliseconds to compile."""


@pytest.mark.skipif(not status().available, reason="no compiled core")
@pytest.mark.parametrize(
    ("line", "left_out", "seldom"),
    [
        (
            f"simulate cholesky tiles=3 --workers 2 {GIVEN_DURATIONS}",
            LEFT_OUT | READS_NO_FILE,
            RARELY_NEEDED,
        ),
        ("simulate cholesky tiles=3 --platform xeon-2c", LEFT_OUT, RARELY_NEEDED - {"json"}),
    ],
)
def test_a_plain_simulation_leaves_out_what_it_does_not_need(folder, line, left_out, seldom):
    modules = modules_of(line, folder)
    own = {name.removeprefix("tasksim.") for name in modules if name.startswith("tasksim.")}
    above = {".".join(name.split(".")[:depth]) for name in own for depth in (1, 2)}
    assert above & left_out == set()
    assert modules & seldom == set()


def test_what_is_left_out_is_there():
    assert [name for name in LEFT_OUT | READS_NO_FILE if find_spec(f"tasksim.{name}") is None] == []
