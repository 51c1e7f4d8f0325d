"""Member of an account over ranks, with one rank's part of the graph and its workers."""

from __future__ import annotations

from collections import deque
from math import nan
from typing import TYPE_CHECKING, Final

from tasksim.runtime.ledger import Ledger
from tasksim.runtime.livelock import Patience
from tasksim.runtime.release import Release
from tasksim.runtime.view import Facts
from tasksim.selective.execution import AccountView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.graph.distribution.parts import LocalPart
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Member"]


class Member:
    """One rank on the account.

    Parameters
    ----------
    number : int
        Number of the rank.
    part : LocalPart
        Its tasks and messages, numbered as it submits them.
    platform : Platform
        Platform of its workers.
    scheduler : Scheduler
        Scheduler of the rank; it sees no tasks of other ranks.
    estimates : sequence of sequences of float, optional
        Estimated durations for the scheduler, of the part's tasks, ``[class][task]``.
    idle : callable
        Returns whether nothing is in progress on any rank.

    Attributes
    ----------
    out : list
        Ready sends: a heap of priority, turn and message.
    in_flight : int
        Number of the rank's sends in flight.
    done : deque of int
        Tasks of ended messages that the rank has not processed yet.
    left : int
        Number of tasks and messages that have not ended.
    """

    def __init__(
        self,
        number: int,
        part: LocalPart,
        platform: Platform,
        scheduler: Scheduler,
        estimates: Sequence[Sequence[float]] | None,
        idle: Callable[[], bool],
    ) -> None:
        graph, classes = part.graph, len(platform.classes)
        believed = [[nan] * len(graph)] * classes if estimates is None else estimates
        able = [(1 << classes) - 1] * len(graph)
        self.number: Final = number
        self.platform, self.scheduler = platform, scheduler
        self.facts = Facts(graph, platform, scheduler, believed, able)
        self.view = AccountView(self.facts)
        self.ledger = Ledger(graph, platform, able)
        self.release = Release(graph, submitted=False)
        self.task: list[int] = part.task.tolist()
        self.message: list[int] = part.message.tolist()
        self.patience = Patience(self.facts, self.ledger, idle, over=lambda: False)
        self.left = len(graph)
        self.out: list[tuple[int, int, int]] = []
        self.in_flight = 0
        self.done: deque[int] = deque()
        self.woken = False

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.platform.workers)

    def let_sleep(self, worker: int) -> None:
        """Note that the scheduler has no task for *worker* now."""
        self.view.fall_asleep(worker)
        self.patience.left -= 1
        if not self.patience.left:
            self.patience.look(self.view.now)

    def wake(self, woken: deque[Member]) -> None:
        """Join *woken*, the members that are to communicate, unless this one is among them."""
        if not self.woken:
            self.woken = True
            woken.append(self)
