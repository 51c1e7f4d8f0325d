"""Memory limits of inputs, and pauses of the garbage collector."""

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
    """Raise :exc:`InputError` if *size_bytes*, the size of *what*, exceeds this machine's memory.

    An allocation would not fail: the system grants memory that it does not have, and kills the
    process when the memory is used.
    """
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # the system does not report its memory
        return
    if size_bytes > there:
        raise InputError(
            f"{what} needs {format_size(size_bytes)} of memory, "
            f"this machine has {format_size(there)}"
        )


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector within the block.

    Otherwise it would walk the lists of a million tasks again and again while a clock runs.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
