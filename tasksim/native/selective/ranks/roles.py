"""Interfaces of an account over ranks: the choice of tasks to execute, and their execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tasksim.runtime.pathrecords import PathRecord

__all__ = ["ChoosesOverRanks", "Orders"]


class ChoosesOverRanks(Protocol):
    """Chooses between execution and charge, for tasks and messages of all ranks."""

    def kind(self, rank: int, task: int) -> int:
        """Return the signature index of a task of a rank's part."""

    def charge_s(
        self, rank: int, task: int, worker: int, before: PathRecord, now_s: float
    ) -> float | None:
        """Return the charge of a task in seconds; None: execute it."""

    def charge_message_s(self, message: int, before: PathRecord, now_s: float) -> float | None:
        """Return the charge of a message in seconds; None: send it."""

    def measured(self, rank: int, task: int, seconds: float) -> None:
        """Note the measured duration of a task."""

    def measured_message(self, message: int, source_s: float, target_s: float) -> None:
        """Note the durations of a message at its source and at its target."""


class Orders(Protocol):
    """Has tasks executed and messages sent, and reports their progress."""

    def task(self, rank: int, worker: int, task: int, rehearsed: int, *, safe: bool) -> None:
        """Have *worker* of *rank* execute *task* of its part, after *rehearsed* unless it is -1."""

    def message(self, message: int) -> None:
        """Have a message sent and received."""

    def elapsed_s(self, rank: int, worker: int) -> float:
        """Return a lower bound on the time that the task of *worker* has run so far."""
