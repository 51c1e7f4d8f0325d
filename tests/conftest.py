"""What all tests need: BLAS in one thread, and compiled loops before several processes start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, settings

# Set before NumPy is imported. Threads of BLAS that wait for a core, beside another process, make
# small products 10 to 100 times slower; nothing here is large enough to gain by them.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


# Who runs the tests in the background of a script has Ctrl-C ignored, and with it what tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# An example that takes long says something of the machine, and nothing of the code. They are the
# same in each run; `pytest --hypothesis-profile=search` draws others.
for profile, same in (("search", False), ("any machine", True)):
    settings.register_profile(
        profile,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=same,
        database=None if same else settings.default.database,
    )
settings.load_profile("any machine")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Let Numba fill its cache once: the processes would all compile the same, and write it."""
    code = "import tasksim.kernels.fmm.program"
    # What is wrong with it, the tests say better.
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)


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
