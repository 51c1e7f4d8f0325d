"""Memory of this machine, and what would need more of it than there is."""

from __future__ import annotations

import os

from tasksim.base.errors import InputError
from tasksim.base.units import format_size

__all__ = ["refuse_too_large"]


def refuse_too_large(size_bytes: int, what: str) -> None:
    """Raise :exc:`InputError` if *what* needs more bytes than this machine has.

    Asking would not fail: the system hands out memory that it does not have, and ends
    the process when it is used.
    """
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not tell
        return
    if size_bytes > there:
        raise InputError(
            f"{what} needs {format_size(size_bytes)} of memory, "
            f"this machine has {format_size(there)}"
        )
