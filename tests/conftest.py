"""What all tests need: BLAS in one thread, and compiled loops before several processes start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Set before NumPy is imported. Threads of BLAS that wait for a core, beside another process, make
# small products 10 to 100 times slower; nothing here is large enough to gain by them.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let Numba fill its cache once: the processes would all compile the same, and write it."""
    code = "import tasksim.kernels.fmm.program"
    # What is wrong with it, the tests say better.
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
