"""Collector of garbage: it rests while a clock runs."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["no_garbage_collection"]


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep the collector from walking a million tasks' lists again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
