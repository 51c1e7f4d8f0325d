"""Outside tasks of a native run, which no worker executes, such as messages.

The runtime does not push a released outside task to the scheduler: it hands the task to the outside
thread, which is no worker. This thread starts it and reports its end to the runtime, which then
releases its successors as after any other task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Ended", "HandsOut", "Outside"]

Ended = tuple[int, float, float]
"""An ended task, its start and its end in seconds of the run's clock."""


class Outside(Protocol):
    """The outside tasks of a graph, and their labels in messages.

    Attributes
    ----------
    tasks : int8 array
        1 for each outside task, otherwise 0.
    """

    tasks: NDArray[Any]

    def label(self, task: int) -> str:
        """Return the label of *task* in messages."""

    def begin(self, runtime: HandsOut) -> None:
        """Start the outside thread: the clock of *runtime* runs."""


class HandsOut(Protocol):
    """Interface of a runtime for the outside thread."""

    @property
    def origin_s(self) -> float:
        """Start of the run's clock, as a time of :func:`time.perf_counter`."""

    def handed_out(self, busy_s: float, idle_s: float) -> list[int] | None:
        """Return newly released outside tasks, each once; None at the end of the run.

        If there are none, wait up to *idle_s* if a worker sleeps, otherwise up to *busy_s*.
        """

    def completed(self, ended: Sequence[Ended]) -> None:
        """Note that the outside tasks *ended*."""
