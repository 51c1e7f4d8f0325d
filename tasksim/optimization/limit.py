"""The end of a search."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

__all__ = ["Limit"]


class Limit(NamedTuple):
    """The end of a search, by a number of candidates, by a duration in seconds, or by both."""

    steps: int | None
    time_s: float | None
    begun_s: float

    def share(self, steps: int) -> float:
        """Return the share of the search that is over after *steps* candidates."""
        shares = [0.0]
        if self.steps is not None:
            shares.append(steps / self.steps if self.steps else 1.0)
        if self.time_s is not None:
            shares.append(self.spent_s / self.time_s if self.time_s else 1.0)
        return max(shares)

    @property
    def spent_s(self) -> float:
        """The time since the search began, in seconds."""
        return time.perf_counter() - self.begun_s

    @property
    def left_s(self) -> float:
        """The time that is left, in seconds; infinite if steps alone count."""
        return math.inf if self.time_s is None else self.time_s - self.spent_s

    def part(self, number: int, count: int) -> Limit:
        """Return the limit of one of *count* searches that share the candidates."""
        if self.steps is None:
            return self
        return self._replace(steps=self.steps // count + (number < self.steps % count))
