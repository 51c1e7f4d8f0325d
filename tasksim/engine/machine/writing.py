"""Writing: which data tasks write at the moment."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tasksim.engine.data.accesses import writers
from tasksim.runtime.ledger import TAKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.data.accesses import Needs
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.runtime.ledger import Ledger

__all__ = ["Writing"]


class Writing:
    """Which data of *graph* are written by tasks that were taken and have not ended.

    *needs* are what the tasks access.
    """

    def __init__(self, graph: TaskGraph, needs: Sequence[Needs], ledger: Ledger) -> None:
        self._graph, self._needs = graph, needs
        self._state, self._taken = ledger.state, ledger.taken

    def is_written(self, handle: int) -> bool:
        """Return whether a task is writing *handle*.

        Looks at the tasks that write it ever, or at those that were taken, whichever are fewer.
        """
        ever, taken = self._writers[handle], self._taken
        if len(ever) <= len(taken):
            return any(self._state[task] == TAKEN for task in ever)
        return any(
            written and datum == handle for task in taken for datum, _, written in self._needs[task]
        )

    @cached_property
    def _writers(self) -> list[list[int]]:
        return writers(self._graph)
