"""Ticks that the runtime's own work takes: the platform's overheads in the clock's unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tasksim.engine.ticks import ticks

if TYPE_CHECKING:
    from tasksim.platform.costs import Overheads

__all__ = ["OverheadTicks"]


class OverheadTicks(NamedTuple):
    """What :class:`~tasksim.platform.costs.Overheads` says, in ticks."""

    submission: int
    task: int
    wakeup: int
    push: int
    fetch: int
    progress: int
    kernel: int

    @classmethod
    def of(cls, overheads: Overheads) -> OverheadTicks:
        """Return *overheads* in ticks."""
        return cls(
            submission=ticks(overheads.submission_s),
            task=ticks(overheads.task_s),
            wakeup=ticks(overheads.wakeup_s),
            push=ticks(overheads.push_s),
            fetch=ticks(overheads.fetch_s),
            progress=ticks(overheads.progress_s),
            kernel=ticks(overheads.kernel_s),
        )
