"""View of a selective run: a clock that is set, and workers that ask again when they are woken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.native.workers_view import WorkersView

if TYPE_CHECKING:
    from tasksim.runtime.facts import Facts

__all__ = ["AccountView"]


class AccountView(WorkersView):
    """What the scheduler of *facts* sees of a run whose clock is an account.

    Attributes
    ----------
    awake : list of int
        The workers that are to ask for a task.
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts, asleep=True)
        self._now = 0.0
        self.awake: list[int] = []

    @property
    def now(self) -> float:
        """The time on the account, in seconds."""
        return self._now

    def go_on(self, now: float) -> None:
        """Set the account to *now*, unless it is later already."""
        self._now = max(self._now, now)

    def rouse(self, worker: int) -> None:
        """Note that *worker*, which has been woken, is to ask for a task."""
        self.awake.append(worker)
