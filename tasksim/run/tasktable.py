"""Task table of a graph: the columns that the core leaves, beside those that the graph knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.run.record import TaskTable
from tasksim.run.recordtables import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["task_table"]


def task_table(graph: TaskGraph, columns: Mapping[str, NDArray[Any]]) -> TaskTable:
    """Return what became of the tasks of *graph*, as the table of a run; states are left out."""
    return TaskTable(
        task=frozen(np.arange(len(graph), dtype=np.int32)),
        kernel=frozen(graph.kernel.astype(np.int16)),
        priority=frozen(graph.priority.astype(np.int32)),
        **{name: values for name, values in columns.items() if name != "state"},
    )
