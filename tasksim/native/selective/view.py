"""View of a selective run: a simulated clock, and workers that ask again when they are woken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.native.workers_view import WorkersView

if TYPE_CHECKING:
    from tasksim.runtime.facts import Facts

__all__ = ["AccountView"]


class AccountView(WorkersView):
    """The scheduler's view of a run whose clock is an account.

    Attributes
    ----------
    awake : list of int
        Workers that are about to ask for a task.
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts, asleep=True)
        self._now = 0.0
        self.awake: list[int] = []

    @property
    def now(self) -> float:
        """Time on the account in seconds."""
        return self._now

    def go_on(self, now: float) -> None:
        """Advance the account to *now*, unless it is later already."""
        self._now = max(self._now, now)

    def rouse(self, worker: int) -> None:
        """Note that *worker*, which has been woken, is to ask for a task."""
        self.awake.append(worker)
