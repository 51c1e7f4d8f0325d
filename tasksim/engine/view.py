"""View of the replay of one memory: the time and the waking, for its scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.clock import Alarm
from tasksim.runtime.sleepers import Sleepers
from tasksim.runtime.view import RunView

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.clock import Clock
    from tasksim.runtime.facts import Facts

__all__ = ["ReplayView"]


class ReplayView(RunView):
    """What the scheduler of *facts* sees.

    Workers that are woken are added to ``awake``, for the clock to serve. Where waking takes time,
    *on_awake* is called with an event when a worker is awake.
    """

    def __init__(self, facts: Facts, clock: Clock, on_awake: Callable[[Alarm], None]) -> None:
        super().__init__(facts)
        self._clock = clock
        self._wakeup_s = facts.platform.overheads.wakeup_s
        self._on_awake = on_awake
        self.awake: list[int] = []
        self.sleepers = Sleepers(self.classes, self.class_of)
        self._asleep = self.sleepers.asleep

    @property
    def now(self) -> float:
        """The simulated time in seconds."""
        return self._clock._now  # the property clock.now costs a call more, on the hottest path

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return self._asleep[worker]

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""
        if worker.__class__ is not int or not 0 <= worker < len(self._asleep):
            worker = self.known_worker(worker)
        if self._asleep[worker]:
            self._asleep[worker] = False
            if self._wakeup_s:
                Alarm(self._clock, self._wakeup_s, worker, self._on_awake)
            else:
                self.awake.append(worker)

    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker of lowest number that can run *task*."""
        worker = self.sleepers.first(self.able[task])
        if worker is not None:
            self.wake(worker)

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        for worker in self.sleepers.all(self.able[task]):
            self.wake(worker)
