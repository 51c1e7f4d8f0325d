"""Progress of a replay, the number of its tasks that are done, reported from time to time."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.base.progress import CountProgress

__all__ = ["Reports"]

PERIOD_S: Final = 0.5
"""Shortest time between two reports, in seconds."""
PAUSES_PER_COUNT: Final = 100
"""Ratio of the time between two reports to that of a count, which goes over all tasks: a tenth of
a second for ten million."""


class Reports:
    """Reports of a replay that runs, at most two per second.

    Parameters
    ----------
    progress : callable
        Called with the number of finished tasks and of all tasks.
    tasks : int
        Number of all tasks.
    finished : callable
        Returns the number of finished tasks.
    """

    def __init__(self, progress: CountProgress, tasks: int, finished: Callable[[], int]) -> None:
        self._progress, self._tasks, self._finished = progress, tasks, finished
        self._next_s = monotonic() + PERIOD_S
        progress(0, tasks)

    def look(self) -> None:
        """Report if it is time."""
        now_s = monotonic()
        if now_s < self._next_s:
            return
        self._progress(self._finished(), self._tasks)
        ended_s = monotonic()
        self._next_s = ended_s + max(PERIOD_S, PAUSES_PER_COUNT * (ended_s - now_s))
