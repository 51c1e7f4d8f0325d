"""Tasks outside: those of a native run that no worker executes, such as messages.

When such a task is released, the runtime hands it out, instead of pushing it to the scheduler; a
thread outside, which no worker is, begins it, and tells the runtime when it has ended. Then its
successors are released, as at the end of any other task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Ended", "HandsOut", "Outside"]

Ended = tuple[int, float, float]
"""A task that has ended, and when it began and ended: seconds of the run's clock."""


class Outside(Protocol):
    """Which tasks of a graph no worker executes, and what messages call a task.

    Attributes
    ----------
    tasks : int8 array
        Per task 1 if it is one of them, else 0.
    """

    tasks: NDArray[Any]

    def label(self, task: int) -> str:
        """Return *task* as messages show it."""

    def begin(self, runtime: HandsOut) -> None:
        """Start the thread outside: *runtime* has started its clock."""


class HandsOut(Protocol):
    """What the thread outside sees of a runtime."""

    @property
    def origin_s(self) -> float:
        """When the clock was started, on the system's."""

    def handed_out(self, busy_s: float, idle_s: float) -> list[int] | None:
        """Return the tasks of the thread outside that were released, each once; None at the end.

        If there are none, wait for some: for *idle_s* if a worker sleeps, else *busy_s*.
        """

    def completed(self, ended: Sequence[Ended]) -> None:
        """Note that tasks of the thread outside have *ended*."""
