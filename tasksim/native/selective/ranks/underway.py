"""Work in progress on an account over ranks: its starts, its known ends, and what is measured."""

from __future__ import annotations

from heapq import heappush
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["UnderWay"]


class UnderWay:
    """Activities of workers and messages. An *actor* is (rank, worker), or (-1, message).

    Attributes
    ----------
    ends : list of (float, int, tuple of int)
        Heap of known ends: time, number of the start, actor.
    measuring : dict
        Start on the account of each actor that is really executed or sent.
    """

    def __init__(self) -> None:
        self.ends: list[tuple[float, int, tuple[int, int]]] = []
        self.measuring: dict[tuple[int, int], float] = {}
        self._begun: dict[tuple[int, int], int] = {}
        self._starts = 0

    def begin(self, actor: tuple[int, int]) -> None:
        """Note that *actor* starts an activity, after all others so far."""
        self._starts += 1
        self._begun[actor] = self._starts

    def will_end(self, actor: tuple[int, int], end_s: float) -> None:
        """Note the end of the activity of *actor*."""
        heappush(self.ends, (end_s, self._begun[actor], actor))

    def measured(self, actor: tuple[int, int], seconds: float) -> None:
        """Note that the measured activity of *actor* took *seconds*."""
        self.will_end(actor, self.measuring.pop(actor) + seconds)

    def horizon_s(self, elapsed_s: Callable[[int, int], float]) -> float:
        """Return the time before which no measured activity ends; of a message, its start."""
        if not self.measuring:
            return inf
        return min(
            start_s + (elapsed_s(*actor) if actor[0] >= 0 else 0.0)
            for actor, start_s in self.measuring.items()
        )
