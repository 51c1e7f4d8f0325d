"""Keeper: the routine that looks after the requests of a memory that no device's worker does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.clock import Routine

if TYPE_CHECKING:
    from tasksim.engine.clock import Steps, TickClock
    from tasksim.engine.data.memories import Memories
    from tasksim.platform.description import Platform

__all__ = ["keeper", "keepers_of"]


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


def keepers_of(clock: TickClock, platform: Platform, routines: list[Routine]) -> list[Routine]:
    """Return, per memory, who looks after its requests: the first worker that drives a device.

    Where there is none, a routine of the memory's own.
    """
    keepers: list[Routine | None] = [None] * len(platform.memories)
    for worker, routine in zip(platform.workers, routines, strict=True):
        if platform.device(worker.architecture).pipeline and keepers[worker.memory] is None:
            keepers[worker.memory] = routine
    return [routine or Routine(clock) for routine in keepers]
