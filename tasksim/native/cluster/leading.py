"""Leading: what all ranks do together, by word of rank 0, which alone decides what comes next.

The others wait politely: they leave the cores to whoever uses them, also to probes of how busy
these are. Nothing that ranks could see differently, such as a clock, decides anything on them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.native.cluster.ranks import Ranks

T = TypeVar("T")

__all__ = ["Leading", "agreed_probe"]

NAP_S: Final = 1e-3
"""How long a rank that waits for a word sleeps between two looks: some thousandths of a core."""


class Leading(Generic[T]):
    """Actions that all ranks do when rank 0 says so; each takes part in what the others do.

    Parameters
    ----------
    ranks : Ranks
    actions : sequence of callables
        The same on all ranks.
    """

    def __init__(self, ranks: Ranks, actions: Sequence[Callable[[], T]]) -> None:
        self._ranks, self._actions = ranks, actions

    def do(self, action: int) -> T:
        """Do an action, by its number, with all ranks; for rank 0."""
        self._say(action + 1)
        return self._actions[action]()

    def end(self) -> None:
        """Let the others go on to what comes after; for rank 0."""
        self._say(0)

    def follow(self) -> None:
        """Do what rank 0 says until it says no more; for the others."""
        word = np.zeros(1, np.int64)
        while True:
            request = self._ranks.comm.Irecv(word, 0)
            while not request.Test():
                time.sleep(NAP_S)
            if not word[0]:
                return
            self._actions[int(word[0]) - 1]()

    def _say(self, word: int) -> None:
        for other in range(1, self._ranks.size):
            self._ranks.comm.Send(np.array([word]), other)


def agreed_probe(ranks: Ranks, probe: Callable[[], float]) -> float:
    """Return what *probe* takes where it takes longest, of one rank per machine; for all ranks."""
    place, _ = ranks.here
    found_s = probe() if place == 0 else 0.0
    ranks.wait_for_all()  # asleep, while others probe
    all_s: Any = ranks.comm.allgather(found_s)
    return float(max(all_s))
