"""Log of copies and of the use of memory: what a replay notes of them, in columns."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasksim.engine.data.requests import Request

__all__ = ["CopyLog"]


class CopyLog:
    """The copies that were made and the use of memory, in columns."""

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
        """Add what is used of *memory* from now on."""
        self.time.append(now)
        self.memory.append(memory)
        self.used.append(used)
