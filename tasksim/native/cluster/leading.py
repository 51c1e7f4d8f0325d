"""Leading: rank 0 alone decides which collective action comes next, and the others follow.

Waiting ranks sleep between polls and leave the cores to others, also to probes of the machine's
load. No decision depends on values that differ between ranks, such as clocks.
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
"""Sleep between two polls of a waiting rank, in seconds: some thousandths of a core."""


class Leading(Generic[T]):
    """Collective actions that start when rank 0 says so.

    Parameters
    ----------
    ranks : Ranks
    actions : sequence of callables
        The same actions on all ranks.
    """

    def __init__(self, ranks: Ranks, actions: Sequence[Callable[[], T]]) -> None:
        self._ranks, self._actions = ranks, actions

    def do(self, action: int) -> T:
        """Run the action with number *action* on all ranks; called on rank 0."""
        self._say(action + 1)
        return self._actions[action]()

    def end(self) -> None:
        """Release the other ranks from :meth:`follow`; called on rank 0."""
        self._say(0)

    def follow(self) -> None:
        """Run the actions that rank 0 chooses until it ends; called on the other ranks."""
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
    """Return the longest *probe*, of one rank per machine; collective."""
    place, _ = ranks.here
    found_s = probe() if place == 0 else 0.0
    ranks.wait_for_all()  # asleep while others probe
    all_s: Any = ranks.comm.allgather(found_s)
    return float(max(all_s))
