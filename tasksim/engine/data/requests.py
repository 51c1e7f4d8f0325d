"""Request: a copy of a datum that somebody wants in a memory, and the states it goes through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.data.channels import Channel
    from tasksim.engine.data.store import Store
    from tasksim.engine.data.ways import Hop

__all__ = [
    "CANCELLED",
    "DONE",
    "FETCH",
    "IDLE",
    "NOBODY",
    "NOWHERE",
    "PLACING",
    "PREFETCH",
    "UNDER_WAY",
    "WAITING",
    "WRITE_BACK",
    "Purpose",
    "Request",
]

FETCH: Final = 0
"""A task waits for the datum."""
PREFETCH: Final = 1
"""The datum is brought ahead, for a task that was given to a worker."""
IDLE: Final = 2
"""Nobody waits: data written back because they will not be used any more."""
WRITE_BACK: Final = 3
"""The reason, not a class, of what is written back to make room."""

NOWHERE: Final = -1
"""The source of a request for a place alone: nothing is copied into it."""
NOBODY: Final = -1
"""The task of a request that none asked for."""

WAITING: Final = 0
"""It was asked for and has not begun; it may wait for another that it comes after."""
CANCELLED: Final = 1
"""It is not needed any more; whoever handles it will find that it is."""
PLACING: Final = 2
"""A place is being made for it."""
UNDER_WAY: Final = 3
"""Its copy is being made, or that of another request which it follows."""
DONE: Final = 4
"""The datum is there, or the request was given up."""


Purpose: TypeAlias = tuple[int, int, int]
"""Why something is asked for: the class of the request, for which task, how urgent."""


class Request:
    """A request for a copy of *handle* over one *hop*, or, from nowhere, for a place.

    *write*: the datum will be written there, so all other copies are invalid once it came.
    """

    __slots__ = (
        "asked", "channel", "followers", "handle", "kind", "next_hop", "place", "priority",
        "reason", "root", "source", "started", "state", "target", "task", "waiters", "write",
    )  # fmt: skip

    def __init__(self, handle: int, hop: Hop, purpose: Purpose, *, write: bool = False) -> None:
        self.handle = handle
        self.source, self.target = hop
        self.kind, self.task, self.priority = purpose
        self.write = write
        self.reason = self.kind
        self.state = WAITING
        self.waiters: list[Callable[[], None]] = []
        """Whom to tell when it is done."""
        self.followers: list[Request] = []
        """Requests for the same copy, done when it is."""
        self.next_hop: Request | None = None
        """The request that goes on from its target."""
        self.place: Store | None = None
        """The memory whose place for the datum is kept meanwhile."""
        self.root: Store | None = None
        """The memory whose copy, which it comes from, is kept meanwhile."""
        self.asked = self.started = 0
        self.channel: Channel | None = None

    @property
    def begun(self) -> bool:
        """Whether its copy is being made or was made."""
        return self.state >= UNDER_WAY

    def cancel(self) -> None:
        """Say that it is not needed any more, unless its copy has begun."""
        if self.state < UNDER_WAY:
            self.state = CANCELLED
