"""Ticks of the clock in whole nanoseconds, and the runtime's overheads in ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.platform.costs import Overheads

__all__ = ["END_ROUNDING_TICKS", "TICKS_PER_S", "TICK_S", "OverheadTicks", "ticks"]

TICK_S: Final = 1e-9
"""Length of a tick, in seconds."""

TICKS_PER_S: Final = 1e9
"""Ticks per second. Dividing ticks by it rounds correctly, unlike multiplying by :data:`TICK_S`."""
END_ROUNDING_TICKS: Final = 1e-6
"""Rounding error of computed ends, in ticks: without it, an end on a tick would be one later."""

MAX_TIME_S: Final = 1e200
"""Longest time of a part of a simulation, in seconds: floats hold the ticks of their sums."""


def ticks(seconds: float) -> int:
    """Return *seconds* in whole ticks, rounded to the nearest.

    Raises :exc:`InputError` for more than :data:`MAX_TIME_S`.
    """
    if seconds > MAX_TIME_S:
        raise InputError(f"a time of {seconds:g} s is too long; legal: at most {MAX_TIME_S:g} s")
    return round(seconds * TICKS_PER_S)


class OverheadTicks(NamedTuple):
    """The costs of :class:`~tasksim.platform.costs.Overheads`, in ticks."""

    submission: int
    task: int
    wakeup: int
    start: int
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
            start=ticks(overheads.start_s),
            push=ticks(overheads.push_s),
            fetch=ticks(overheads.fetch_s),
            progress=ticks(overheads.progress_s),
            kernel=ticks(overheads.kernel_s),
        )
