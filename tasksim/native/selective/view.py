"""View of a selective run: a clock that is set, and workers that ask again when they are woken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.runtime.view import RunView

if TYPE_CHECKING:
    from tasksim.runtime.facts import Facts

__all__ = ["AccountView"]


class AccountView(RunView):
    """What the scheduler of *facts* sees of a run whose clock is an account.

    Attributes
    ----------
    awake : list of int
        The workers that are to ask for a task.
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self._asleep = [True] * len(facts.platform.workers)
        self._now = 0.0
        self.awake: list[int] = []

    @property
    def now(self) -> float:
        """The time on the account, in seconds."""
        return self._now

    def go_on(self, now: float) -> None:
        """Set the account to *now*, unless it is later already."""
        self._now = max(self._now, now)

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return self._asleep[worker]

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""
        worker = self.known_worker(worker)
        if self._asleep[worker]:
            self._asleep[worker] = False
            self.awake.append(worker)

    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker of lowest number that can run *task*."""
        for worker, asleep in enumerate(self._asleep):
            if asleep and self.can_run(task, worker):
                self.wake(worker)
                return

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        for worker, asleep in enumerate(self._asleep):
            if asleep and self.can_run(task, worker):
                self.wake(worker)

    def fall_asleep(self, worker: int) -> None:
        """Note that *worker* sleeps: its pop gave nothing."""
        self._asleep[worker] = True

    def all_asleep(self) -> bool:
        """Return whether all workers sleep."""
        return all(self._asleep)
