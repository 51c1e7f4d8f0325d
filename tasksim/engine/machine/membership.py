"""Membership: what a node of a cluster knows that one alone need not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.engine.cluster.sharing import SharedCores
    from tasksim.engine.data.accesses import Hints
    from tasksim.engine.threads.kernel import Kernel
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Membership"]


class Membership(NamedTuple):
    """What a node of a cluster does besides running tasks, and what it shares with the others."""

    visible: TaskGraph
    """The tasks that its workers run: all that its scheduler sees."""
    order: Sequence[int]
    """All tasks, communication among them, as they are submitted."""
    hints: Hints
    """Its hints; they count what was submitted, in that order."""
    first_ready: Sequence[int]
    """The tasks that wait for nothing, not even a message."""
    communicate: Callable[[int], None]
    """Takes a communication task that was released."""
    ended: Callable[[int], None]
    """Hears of each task that has ended, where received data land in pinned memory."""
    idle: Callable[[], bool]
    """Whether nothing happens on any node, nor between them."""
    over: Callable[[], bool]
    """Whether all nodes have done everything."""
    kernel: Kernel
    """Runs the threads of all nodes that have any."""
    cores: SharedCores | None = None
    """What its workers run on beside those of other nodes; None: each on a core of its own."""
