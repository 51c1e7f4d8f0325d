"""Messages of a replay: where each of them is on its way, in flat columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasksim.graph.distribution.messages import MessageTable

__all__ = ["Messages"]


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
