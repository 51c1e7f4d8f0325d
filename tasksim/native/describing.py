"""Describing of an application, watched: the kernels that it calls, the arrays that it makes."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.applications.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.applications.flow import TaskFlow
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Described", "describing_bytes", "sizes_of_data", "watched_describing"]

PER_TASK_BYTES: Final = 8192
"""Of describing a task with its accesses: what is measured is 1.5 kB, with room for long lists.
Data that are smaller are not told from other arrays by their size."""
SOME_TASKS: Final = 64
"""Room for what does not depend on the number of tasks."""


@dataclass
class Described:
    """What was seen while an application was described.

    Attributes
    ----------
    called : list of str
        The kernels that were called.
    sizes : set of int
        Of the NumPy arrays that were made outside of tasksim, and were there when it was looked.
    peak_bytes : int
        The most memory at any time.
    """

    called: list[str] = field(default_factory=list)
    sizes: set[int] = field(default_factory=set)
    peak_bytes: int = 0

    def look(self) -> None:
        """Note the arrays that are there, and how much memory there was at most."""
        self.peak_bytes = tracemalloc.get_traced_memory()[1]
        own = str(Path(__file__).resolve().parents[1] / "*")
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        elsewhere = tracemalloc.Filter(False, own)
        snapshot = tracemalloc.take_snapshot().filter_traces((arrays, elsewhere))
        self.sizes = {trace.size for trace in snapshot.traces}


def describing_bytes(graph: TaskGraph) -> int:
    """Return how much memory it may take to make *graph*, whatever its data are."""
    return PER_TASK_BYTES * (len(graph) + graph.handles + SOME_TASKS)


def sizes_of_data(graph: TaskGraph, flow: TaskFlow | None) -> set[int]:
    """Return the sizes that arrays of the data have; also of arrays that a *flow* cuts."""
    sizes = set(graph.handle_size.tolist())
    if flow is not None:
        sizes |= {block.whole.nbytes for block in flow.blocks if block.whole is not None}
    return {size for size in sizes if size >= PER_TASK_BYTES}


@contextmanager
def watched_describing() -> Iterator[Described]:
    """Yield what is seen of kernels that are called and of memory, until the end of the block."""
    seen = Described()
    before = Kernel.__call__

    def call(self: Kernel, *operands: Any, **values: Any) -> object:
        seen.called.append(self.name)
        return before(self, *operands, **values)

    Kernel.__call__ = call  # type: ignore[method-assign]
    tracemalloc.start()
    try:
        yield seen
    finally:
        tracemalloc.stop()
        Kernel.__call__ = before  # type: ignore[method-assign]
