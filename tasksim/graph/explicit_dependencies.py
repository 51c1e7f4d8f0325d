"""Explicit dependencies: tasks named as coming before another, besides what data imply."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import GraphError
from tasksim.graph.handles import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasksim.graph.csr import Int64

__all__ = ["ExplicitDependencies", "earlier_tasks"]


class ExplicitDependencies:
    """The explicit dependencies of a graph that is being built, as pairs of tasks."""

    def __init__(self) -> None:
        self._before = array("q")
        self._after = array("q")

    def add(self, before: Sequence[int], task: int) -> None:
        """Make *task* depend on the tasks *before*."""
        self._before.extend(before)
        self._after.extend([task] * len(before))

    def cut(self, task: int) -> None:
        """Forget what *task* depends on, and the tasks after it."""
        kept = bisect_left(self._after, task)
        del self._before[kept:], self._after[kept:]

    def edges(self) -> Int64:
        """Return them as edges of :mod:`tasksim.graph.csr`."""
        before, after = (np.array(part, dtype=np.int64) for part in (self._before, self._after))
        return before << 32 | after


def earlier_tasks(given: Iterable[int], task: int) -> list[int]:
    """Return the *given* numbers of tasks, of which *task* is to be the successor.

    Raises :exc:`GraphError` unless they are earlier ones.
    """
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise GraphError(f"task #{task}: after={given!r:.60}; legal: a list of earlier tasks")
    found = []
    for earlier in given:
        number = whole(earlier)
        if number is None or not 0 <= number < task:
            legal = f"tasks 0 to {task - 1}" if task else "none, it is the first task"
            raise GraphError(f"task #{task}: after={earlier!r:.60}; legal: {legal}")
        found.append(number)
    return found
