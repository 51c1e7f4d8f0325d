"""States of a task, and the legal moves between them."""

from __future__ import annotations

from typing import Final

__all__ = ["DONE", "MOVES", "READY", "TAKEN", "WAITING"]

WAITING: Final = 0
"""The task waits for its dependencies or its submission."""
READY: Final = 1
"""The task was pushed to the scheduler."""
TAKEN: Final = 2
"""A worker popped the task and executes it."""
DONE: Final = 3
"""The task is finished."""

MOVES: Final = {
    "release": (WAITING, READY),
    "take": (READY, TAKEN),
    "finish": (TAKEN, DONE),
}
"""The states before and after each move, a method of :class:`~tasksim.runtime.ledger.Ledger`."""
