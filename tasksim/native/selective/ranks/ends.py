"""Ends of messages: the sending and the receiving task of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.distribution.messages import MessageTable
    from tasksim.native.selective.ranks.member import Member

__all__ = ["MessageEnds"]


class MessageEnds:
    """The two ends of each message, each a rank and a task number of its part.

    Parameters
    ----------
    messages : MessageTable
    members : sequence of Member
        The ranks.
    """

    def __init__(self, messages: MessageTable, members: Sequence[Member]) -> None:
        self._members = members
        sources = zip(messages.source.tolist(), messages.send.tolist(), strict=True)
        targets = zip(messages.target.tolist(), messages.receive.tolist(), strict=True)
        self._both = list(zip(sources, targets, strict=True))

    def __getitem__(self, message: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the sending and the receiving end."""
        return self._both[message]

    def later(self, message: int) -> tuple[int, int]:
        """Return the end that became ready last: *message* could not start before."""
        source, target = self._both[message]
        ready_s = [self._members[rank].ledger.ready[task] for rank, task in (source, target)]
        return target if ready_s[1] > ready_s[0] else source
