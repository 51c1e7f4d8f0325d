"""Under way on an account over ranks: what has begun, what of it is measured, and known ends."""

from __future__ import annotations

from heapq import heappush
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["UnderWay"]


class UnderWay:
    """What workers and messages do. An *actor* is a rank and its worker, or -1 and a message.

    Attributes
    ----------
    ends : list of (float, int, tuple of int)
        A heap of the ends that are known: when, in which order they began, of whom.
    measuring : dict
        When those began on the account that are really executed or sent.
    """

    def __init__(self) -> None:
        self.ends: list[tuple[float, int, tuple[int, int]]] = []
        self.measuring: dict[tuple[int, int], float] = {}
        self._begun: dict[tuple[int, int], int] = {}
        self._starts = 0

    def begin(self, actor: tuple[int, int]) -> None:
        """Note that *actor* begins something, after all that have begun so far."""
        self._starts += 1
        self._begun[actor] = self._starts

    def will_end(self, actor: tuple[int, int], end_s: float) -> None:
        """Note when what *actor* does ends."""
        heappush(self.ends, (end_s, self._begun[actor], actor))

    def measured(self, actor: tuple[int, int], seconds: float) -> None:
        """Note that what *actor* has really done took so long."""
        self.will_end(actor, self.measuring.pop(actor) + seconds)

    def horizon_s(self, elapsed_s: Callable[[int, int], float]) -> float:
        """Return until when nothing ends of what is measured; of a message, its start."""
        if not self.measuring:
            return inf
        return min(
            start_s + (elapsed_s(*actor) if actor[0] >= 0 else 0.0)
            for actor, start_s in self.measuring.items()
        )
