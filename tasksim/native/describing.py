"""Watch on an application's description: the kernels that it calls, the arrays that it creates."""

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

MAX_BYTES_PER_TASK: Final = 8192
"""Memory allowed per described task with its accesses, in bytes: 1.5 kB were measured, the rest is
room for long lists. Smaller data cannot be told from other arrays by their size."""
EXTRA_TASKS: Final = 64
"""Additional tasks of memory for the parts that do not depend on the number of tasks."""


@dataclass
class Described:
    """Observations during an application's description.

    Attributes
    ----------
    called : list of str
        Kernels that were called.
    sizes : set of int
        Sizes of NumPy arrays that were created outside of tasksim and existed at :meth:`look`.
    peak_bytes : int
        Peak of the traced memory in bytes.
    """

    called: list[str] = field(default_factory=list)
    sizes: set[int] = field(default_factory=set)
    peak_bytes: int = 0

    def look(self) -> None:
        """Record the existing arrays and the peak of memory."""
        self.peak_bytes = tracemalloc.get_traced_memory()[1]
        own = str(Path(__file__).resolve().parents[1] / "*")
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        elsewhere = tracemalloc.Filter(False, own)
        snapshot = tracemalloc.take_snapshot().filter_traces((arrays, elsewhere))
        self.sizes = {trace.size for trace in snapshot.traces}


def describing_bytes(graph: TaskGraph) -> int:
    """Return the memory that the construction of *graph* may need, whatever its data."""
    return MAX_BYTES_PER_TASK * (len(graph) + graph.handles + EXTRA_TASKS)


def sizes_of_data(graph: TaskGraph, flow: TaskFlow | None) -> set[int]:
    """Return the sizes of arrays of the data, with arrays that *flow* cuts into blocks."""
    sizes = set(graph.handle_size.tolist())
    if flow is not None:
        sizes |= {block.whole.nbytes for block in flow.blocks if block.whole is not None}
    return {size for size in sizes if size >= MAX_BYTES_PER_TASK}


@contextmanager
def watched_describing() -> Iterator[Described]:
    """Yield a record of kernel calls and memory inside the block."""
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
