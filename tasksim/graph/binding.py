"""How a task, or what continues one, is bound to the thread that runs it."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

__all__ = ["THREAD_START", "Binding"]

THREAD_START: Final = "thread start"
"""Kernel of the tasks that are the start of a thread in a recording, held by that thread."""


class Binding(IntEnum):
    """Binding of a task to a thread, as OpenMP has it.

    Of a task that continues another one, it says what the thread may run until then.
    """

    TIED = 0
    """Any thread may begin it, but one that waits within a task only if it descends from that. Of
    what continues: it follows a creation or a wait for children."""
    FREE = 1
    """Any thread may begin it at any time (an untied task). Of what continues: it follows a
    barrier, in which the thread runs whatever there is."""
    HELD = 2
    """It is of the thread that created it, which begins it at once (an undeferred task); without a
    creator, of one thread each of those that are released together (an implicit task)."""
    GROUP = 3
    """Only of what continues: it follows a wait for all descendants of a group."""
