"""Messages of a replay: where each of them is on its way, in flat columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.cluster.work import Work
    from tasksim.graph.csr import Int32
    from tasksim.graph.distribution.messages import MessageTable

__all__ = ["Messages", "NotedMessages", "ends_of_messages"]


class Messages:
    """The messages of a distributed graph, in columns; times in ticks.

    *send* and *receive* are the numbers that their communication tasks have on their nodes.
    """

    def __init__(self, table: MessageTable, send: list[int], receive: list[int]) -> None:
        count = len(table)
        self.source: list[int] = table.source.tolist()
        self.target: list[int] = table.target.tolist()
        self.size: list[int] = table.size_bytes.tolist()
        self.priority: list[int] = table.priority.tolist()
        self.send, self.receive = send, receive
        self.lands = (~table.back).tolist()
        """Whether it brings a datum to a node that does not own it."""
        self.awaited = bytearray(count)
        """Whether the receive is ready."""
        self.announced = bytearray(count)
        """Whether the receiver knows of it: its envelope has come, or there is none."""
        self.moving = bytearray(count)
        """Whether the data have begun to move."""
        self.arrived = bytearray(count)
        """Whether the data are there."""
        self.started = [-1] * count
        self.ended = [-1] * count
        self.done = 0
        """How many have been received."""
        self.under_way = 0
        """Messages and envelopes that move."""


class NotedMessages:
    """What is left of messages: when they moved, in ticks, and what *send* and *receive* said."""

    def __init__(self, send: Int32, receive: Int32) -> None:
        self.send, self.receive = send, receive
        self.started, self.ended = (np.full(len(send), -1, np.int64) for _ in range(2))


def ends_of_messages(table: MessageTable, works: Sequence[Work]) -> tuple[Int32, Int32]:
    """Return per message the communication task of its source, and that of its target."""
    send, receive = (np.full(len(table), -1, np.int32) for _ in range(2))
    for node, work in enumerate(works):
        task = np.arange(work.own_tasks, len(work.graph), dtype=np.int32)
        out = table.source[work.message] == node
        send[work.message[out]], receive[work.message[~out]] = task[out], task[~out]
    return send, receive
