"""Path records of the compiled core, converted to those of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.runtime.pathrecords import PathRecord

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["record_of"]


def record_of(write: Callable[..., Any], run: int | None, kinds: int) -> PathRecord:
    """Return the path record of *run*, with *kinds* kinds, filled in by *write* of the core."""
    counts, seconds = np.zeros(kinds, np.int64), np.zeros(kinds)
    ends = np.zeros(2)
    write(run, counts.ctypes.data, seconds.ctypes.data, ends.ctypes.data)
    end_s, waited_s = ends.tolist()
    return PathRecord(end_s, tuple(counts.tolist()), tuple(seconds.tolist()), waited_s)
