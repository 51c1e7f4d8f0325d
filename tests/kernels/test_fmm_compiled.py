"""Compiling: said when it happens, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import types

import tasksim
from tasksim.kernels.fmm import compiled, p2p
from tasksim.kernels.fmm.compiled import TABLE

TWO_LOOPS = """
from tasksim.kernels.fmm.compiled import REAL, loop

@loop(REAL)
def first(x):
    pass

@loop(REAL)
def second(x):
    pass
"""


@pytest.mark.slow
def test_the_first_time_says_once_that_it_compiles_and_the_next_does_not(tmp_path):
    script = tmp_path / "two.py"
    script.write_text(TWO_LOOPS)
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(tasksim.__file__).parents[1]),
    }
    said = [
        subprocess.run(
            [sys.executable, script], env=environment, capture_output=True, text=True, check=True
        ).stderr
        for _ in range(2)
    ]
    assert said == [
        "compiling: 0 %, kernels of fmm; this takes about 20 s, once, and is cached\n",
        "",
    ]


def test_writable_arrays_are_known_to_do_before_the_first_call():
    # Numba learns it at the first call otherwise, and two first calls at once may fail.
    given = types.Array(types.float64, 2, "C")
    assert p2p.add_one_sided.typingctx.tm.check_compatible(given, TABLE) is not None
    assert any(given in known for known in compiled._KEPT_TYPES)
