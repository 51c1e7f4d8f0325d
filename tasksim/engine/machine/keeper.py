"""Keeper: the routine that looks after the requests of a memory that no device's worker does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasksim.engine.clock import Steps
    from tasksim.engine.data.memories import Memories

__all__ = ["keeper"]


def keeper(memories: Memories, memory: int) -> Steps:
    """Serve the requests of *memory* as they come, for ever."""
    routine, post = memories.requests.keepers[memory], memories.requests.posts[memory]
    while True:
        routine.woken = False
        worked = False
        yield 0  # whoever asks has the rest of this instant to say what for
        if post.waiting or post.arrived:
            worked = yield from memories.handling.serve(memory)
        if not worked and not routine.woken:
            yield None
