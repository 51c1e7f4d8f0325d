"""Memory of this machine, and the facts that measurements on it depend on."""

from __future__ import annotations

import os
import platform
import sys

from tasksim.kernels.threads import blas_info
from tasksim.native.this_machine import processor

__all__ = ["machine_facts", "memory_bytes"]


def memory_bytes() -> int | None:
    """Return the size of main memory in bytes, or None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def machine_facts(cores: int) -> dict[str, str | int]:
    """Return the facts that a measurement on *cores* cores of this machine depends on.

    Coefficient files contain them, so that a prediction can be traced to its origin.
    """
    import numpy
    import scipy

    libraries = {  # for instance openblas 0.3.30 (SkylakeX)
        f"{found['internal_api']} {found['version']} ({found.get('architecture')})"
        for found in blas_info()
    }
    return {
        "processor": processor(),
        "cores": cores,
        "logical_cores": os.cpu_count() or cores,
        "system": f"{platform.system()} {platform.machine()}",
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "blas": "; ".join(sorted(libraries)),
    }
