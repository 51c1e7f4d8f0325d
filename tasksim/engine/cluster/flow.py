"""Flow: a message under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.engine.cluster.shares import AT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.cluster.ways import Way

__all__ = ["Flow"]


class Flow:
    """A message under way; bytes, and shares in bytes per tick.

    ``settled`` and ``stop`` are what :func:`tasksim.engine.cluster.region.settle` says: the share
    it is to have, and the link that holds it back.
    """

    __slots__ = (
        "done", "factor", "number", "remaining", "settled",
        "share", "since", "stop", "value", "way",
    )  # fmt: skip

    def __init__(
        self, way: Way, factor: float, size: float, done: Callable[[Any], None], value: Any
    ) -> None:
        self.way, self.factor, self.remaining = way, factor, size
        self.done, self.value = done, value
        self.number = 0
        self.share = self.settled = 0.0
        self.stop = AT_LIMIT
        self.since = 0
