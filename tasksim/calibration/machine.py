"""Machine: its name, and the facts that measurements on it depend on."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.kernels.threads import blas_info
from tasksim.native.this_machine import machine_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["fingerprint", "machine_name", "memory_bytes", "processor"]


def processor() -> str:
    """Return the model name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def memory_bytes() -> int | None:
    """Return the size of main memory in bytes, or None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def fingerprint(cores: int) -> dict[str, str | int]:
    """Return the facts that a measurement on *cores* cores of this machine depends on.

    Coefficient files contain them, so that a prediction can be traced to its origin.
    """
    import numpy
    import scipy

    return {
        "processor": processor(),
        "cores": cores,
        "logical_cores": os.cpu_count() or cores,
        "system": f"{platform.system()} {platform.machine()}",
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "blas": "; ".join(sorted({_describe(library) for library in blas_info()})),
    }


def _describe(library: Mapping[str, Any]) -> str:
    """Return a description of a BLAS library: ``openblas 0.3.30 (SkylakeX)``."""
    return f"{library['internal_api']} {library['version']} ({library.get('architecture')})"
