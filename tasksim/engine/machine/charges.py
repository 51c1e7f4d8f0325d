"""Charges: what tasks take on each worker, which schedulers do not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.platform.description import class_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.locality import FarCharge
    from tasksim.platform.description import Platform

__all__ = ["Charges"]


class Charges:
    """What tasks take: *costs* per class of workers and task, and what *far* data add to it."""

    def __init__(
        self, platform: Platform, costs: Sequence[Sequence[float]], far: FarCharge | None
    ) -> None:
        self.class_of = class_of(platform)
        self._costs = [costs[group] for group in self.class_of]
        self._far = far

    def ticks(self, task: int, worker: int) -> int:
        """Return how long *task*, which starts now, takes *worker*; to be asked once per task."""
        cost_s = self._costs[worker][task]
        if self._far is not None:
            cost_s += self._far.extra_s(task, self.class_of[worker])
        return round(cost_s * 1e9)
