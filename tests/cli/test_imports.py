"""What commands import: nothing that they do not need, however fast the machine is.

Start-up is most of a short command's time, and nearly all of that is imports. Counted, not timed:
heavy packages by name, tasksim's own modules, and all modules with room for other versions of
Python and NumPy.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tasksim.core.library import status

HEAVY = (
    "asyncio", "importlib.metadata", "matplotlib", "networkx", "numba", "numpy", "numpy.ma",
    "pandas", "pyarrow", "pydantic", "rich", "scipy", "simpy", "statsmodels", "yaml",
)  # fmt: skip
BY_OTHERS = {"importlib.metadata"}
"""What simpy and pyarrow import themselves."""
SIMPY_ENGINE = 41
"""Modules of the engine that replays where there is no core, rounded up; SimPy has as many."""

CODE = """
import json, pathlib, sys
from tasksim.cli.main import cli
try:
    cli.main(sys.argv[2:])
except SystemExit as end:
    pathlib.Path(sys.argv[1]).write_text(json.dumps([end.code, list(sys.modules)]))
"""
"""Its first argument is the file that it writes: on stderr, others may write at the same time."""
GIVEN = "--durations potrf=1,trsm=3,syrk=3,gemm=6"


def modules_of(line, folder):
    """Return what is imported when a command line has ended well."""
    said = folder / "modules.json"
    said.unlink(missing_ok=True)
    command = [sys.executable, "-c", CODE, said, *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    assert said.exists(), done.stderr
    code, modules = json.loads(said.read_text())
    assert code == 0, done.stderr
    return set(modules)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a recorded run in it."""
    folder = tmp_path_factory.mktemp("imports")
    modules_of(f"simulate cholesky tiles=3 --workers 2 {GIVEN} -o run", folder)
    return folder


@pytest.mark.parametrize(
    ("line", "allowed", "own", "most"),
    [
        ("", "", 9, 145),
        ("--help", "", 9, 150),
        ("--version", "", 10, 145),
        ("simulate --help", "", 27, 175),
        ("study --help", "", 10, 150),
        ("study new", "", 31, 175),
        ("list generators", "numpy importlib.metadata", 94, 375),
        ("list schedulers", "numpy importlib.metadata", 78, 370),
        ("list platforms", "yaml", 39, 205),
        ("list models", "", 26, 165),
        (f"simulate cholesky tiles=2 --workers 2 {GIVEN}", "numpy simpy", 126, 400),
        (f"simulate cholesky tiles=3 --workers 2 {GIVEN}", "numpy simpy", 126, 400),
        (f"simulate cholesky tiles=3 --workers 2 {GIVEN} --json", "numpy simpy", 124, 400),
        ("simulate cholesky tiles=3 --platform xeon-2c", "numpy simpy yaml", 161, 450),
        (f"simulate cholesky tiles=3 --platform xeon-2c {GIVEN}", "numpy simpy yaml", 140, 440),
        (f"simulate qr tiles=3 --workers 2 {GIVEN} -o other", "numpy pyarrow simpy", 181, 535),
        ("simulate --from run", "numpy pyarrow simpy", 185, 535),
        ("bounds run", "numpy pyarrow", 128, 470),
        ("compare run run", "numpy numpy.ma pyarrow", 118, 470),
        ("validate run", "numpy pyarrow", 120, 470),
        ("doctor --json", "numpy numpy.ma scipy importlib.metadata", 65, 570),
    ],
)
def test_a_command_imports_what_it_needs(folder, line, allowed, own, most):
    if "qr" in line:
        line = line.replace(GIVEN, "--durations geqrt=1,gemqrt=1,tpqrt=1,tpmqrt=1")
    modules = modules_of(line, folder)
    heavy = {name for name in HEAVY if name in modules}
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
