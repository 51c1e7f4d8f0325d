"""Topology of the machine that the program runs on, if hwloc is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.formats.hwloc.topology import Topology

__all__ = ["topology_here"]

PROGRAMS: Final = ("lstopo-no-graphics", "lstopo")
"""Programs of hwloc that write its XML; Debian's ``lstopo`` opens a window without a format."""
TIMEOUT_S: Final = 20.0
"""Timeout of hwloc in seconds: it takes some tenths, with GPUs a few seconds."""


def topology_here() -> Topology | None:
    """Return this machine as hwloc describes it; None if hwloc is not installed.

    Raises
    ------
    InputError
        If hwloc fails, or its output cannot be read.
    """
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        return None
    command = [program, "--of", "xml"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(f"{' '.join(command)}: {said[-1] if said else 'failed'}")
    from tasksim.formats.hwloc.topology import read_topology

    return read_topology(Path(f"{program}'s XML"), done.stdout.decode(errors="replace"))
