"""Memory: what would need more of it than there is, and the collector of what is no longer used."""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.base.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["no_garbage_collection", "refuse_too_large"]


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


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep the collector from walking a million tasks' lists again and again while a clock runs."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
