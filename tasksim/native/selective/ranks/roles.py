"""Roles beside an account over ranks: who chooses what is executed, and who has it executed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tasksim.runtime.pathrecords import PathRecord

__all__ = ["ChoosesOverRanks", "Orders"]


class ChoosesOverRanks(Protocol):
    """Who chooses between executing and charging, for tasks and messages of all ranks."""

    def kind(self, rank: int, task: int) -> int:
        """Return what a task of a rank's part is counted as."""

    def charge_s(
        self, rank: int, task: int, worker: int, before: PathRecord, now_s: float
    ) -> float | None:
        """Return what a task is charged; None: it has to be executed."""

    def charge_message_s(self, message: int, before: PathRecord, now_s: float) -> float | None:
        """Return what a message is charged; None: it has to be sent."""

    def measured(self, rank: int, task: int, seconds: float) -> None:
        """Note what a task has taken."""

    def measured_message(self, message: int, source_s: float, target_s: float) -> None:
        """Note what a message has taken, as its sender and its receiver have it."""


class Orders(Protocol):
    """Who has tasks executed and messages sent, and says how far they are."""

    def task(self, rank: int, worker: int, task: int, rehearsed: int, *, safe: bool) -> None:
        """Let *worker* of *rank* execute a task of its part, after one rehearsed; -1: none."""

    def message(self, message: int) -> None:
        """Let a message be sent and received."""

    def elapsed_s(self, rank: int, worker: int) -> float:
        """Return how long the task of *worker* has taken so far, at least."""
