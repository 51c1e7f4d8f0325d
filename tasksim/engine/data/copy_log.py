"""Log of copies and of the use of memory during a replay, in columns."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from tasksim.engine.ticks import TICKS_PER_S
from tasksim.run.record import MemoryTable, TransferTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.engine.data.requests import Request
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["CopyLog"]


class CopyLog:
    """Columns of the copies and of the use of memory."""

    def __init__(self) -> None:
        self.handle, self.task = array("q"), array("q")
        self.source, self.target, self.reason = array("q"), array("q"), array("q")
        self.asked, self.start, self.end = array("q"), array("q"), array("q")
        self.time, self.memory, self.used = array("q"), array("q"), array("q")

    def copied(self, request: Request, now: int) -> None:
        """Add the copy of *request*, which has just ended."""
        self.handle.append(request.handle)
        self.task.append(request.task)
        self.source.append(request.source)
        self.target.append(request.target)
        self.reason.append(request.reason)
        self.asked.append(request.asked)
        self.start.append(request.started)
        self.end.append(now)

    def changed(self, memory: int, used: int, now: int) -> None:
        """Add the use of *memory*, in bytes, from now on."""
        self.time.append(now)
        self.memory.append(memory)
        self.used.append(used)

    def transfers(self, graph: TaskGraph) -> TransferTable:
        """Return the copies of the data of *graph* as the table of a run."""
        return TransferTable(
            handle=np.asarray(self.handle),
            source=np.asarray(self.source),
            target=np.asarray(self.target),
            size_bytes=graph.handle_size[np.asarray(self.handle)],
            requested_s=_seconds(self.asked),
            start_s=_seconds(self.start),
            end_s=_seconds(self.end),
            reason=np.asarray(self.reason),
            task=np.asarray(self.task),
        )

    def memory_use(self) -> MemoryTable:
        """Return the use of the memories as the table of a run."""
        return MemoryTable(_seconds(self.time), np.asarray(self.memory), np.asarray(self.used))


def _seconds(times: array[int]) -> NDArray[np.float64]:
    return np.asarray(times) / TICKS_PER_S
