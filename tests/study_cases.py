"""Studies for tests: few and small cells, and schedulers that misbehave."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from tasksim.study.sweep.store import read_table

SMALL_STUDY = """\
version: 1
name: small
graphs:
  - {graph: cholesky, set: {tiles: [3, 4]}}
  - qr tiles=3
platforms:
  - xeon-2c
  - {platform: xeon-24c, set: {workers.cpu.count: [4, 8]}}
schedulers:
  - lws
  - {scheduler: dmdas, set: {beta: [1, 2]}}
seeds: 2
noise: model
"""
CELLS = 3 * 3 * 3 * 2

MISBEHAVING = '''
import os, signal, time
from pathlib import Path
from tasksim.schedulers.central import Eager

class Hangs(Eager):
    """Never answers."""
    def pop(self, worker):
        while True:
            time.sleep(0.01)

class Raises(Eager):
    """Raises."""
    def pop(self, worker):
        raise ValueError("no such luck")

class Hungry(Eager):
    """Wants more memory than there is leave for."""
    def pop(self, worker):
        self.eaten = bytearray(3 * 2**30)
        return super().pop(worker)

class Dies(Eager):
    """Kills its process."""
    def pop(self, worker):
        os.kill(os.getpid(), signal.SIGKILL)

class DiesOnce(Eager):
    """Kills its process, unless it has done so before."""
    def pop(self, worker):
        died = Path(os.environ["DIED"])
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().pop(worker)
'''


def answers(folder):
    """Return the table of a study but for how long it took."""
    return read_table(folder).drop(columns="seconds")


SLOW_SCHEDULER = '''
import time
from tasksim.schedulers.central import Eager

class Slow(Eager):
    """Takes its time, so that one can be in its way."""
    needs_estimates = False
    def __init__(self):
        time.sleep(0.05)
        super().__init__()
'''


@cache
def mpiexec():
    """Return the command that starts MPI's processes: a package's lies beside Python; or skip."""
    pytest.importorskip("mpi4py")
    found = which("mpiexec", path=Path(sys.executable).parent) or which("mpiexec")
    if found is None:
        pytest.skip("no mpiexec")
    try:
        subprocess.run([found, "-n", "1", "true"], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"mpiexec starts nothing here: {error.stderr.decode(errors='replace')[:200]}")
    return found
