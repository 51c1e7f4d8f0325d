"""Binding of tasks, and of their continuations, to threads."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

__all__ = ["THREAD_START", "Binding"]

THREAD_START: Final = "thread start"
"""Kernel of the tasks that are the start of a thread in a recording, held by that thread."""


class Binding(IntEnum):
    """Binding of a task to a thread, as in OpenMP.

    For a task that continues another, it restricts the tasks that the thread may run before.
    """

    TIED = 0
    """Any thread may begin it, but a thread that waits within a task only if it is a descendant.
    For a continuation: it follows a creation or a wait for children."""
    FREE = 1
    """Any thread may begin it at any time (an untied task). For a continuation: it follows a
    barrier, in which the thread runs any task."""
    HELD = 2
    """The thread that created it begins it at once (an undeferred task); without a creator, tasks
    released together have one thread each (implicit tasks)."""
    GROUP = 3
    """For a continuation only: it follows a wait for all descendants of a group."""
