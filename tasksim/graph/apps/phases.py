"""Phases of a bulk-synchronous program, with barriers over all nodes between them.

Each node has a token. Tasks of a phase read their node's token; at the end of the phase the node
writes it, one task of the first node reads all tokens, and then each node writes its own again.
These tasks have the kernel ``barrier`` and a duration of zero of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.graph.apps.dense import TOKEN_BYTES
from tasksim.graph.builder import RW, R, W

if TYPE_CHECKING:
    from tasksim.graph.builder import GraphBuilder

__all__ = ["Phases"]


class Phases:
    """The phases of the program that *g* builds, on *rows* x *columns* nodes."""

    def __init__(self, g: GraphBuilder, rows: int, columns: int) -> None:
        self._g, self._rows, self._columns = g, rows, columns
        self._tokens = g.vector("token", rows * columns, size_bytes=TOKEN_BYTES)
        self._gate = g.vector("gate", 1, size_bytes=TOKEN_BYTES)

    @property
    def barriers(self) -> int:
        """Number of tasks that end a phase."""
        nodes = len(self._tokens)
        return 1 if nodes == 1 else 2 * nodes + 1

    def here(self, row: int, column: int) -> int:
        """Return the access that makes a task on tile (row, column) part of the phase."""
        node = row % self._rows * self._columns + column % self._columns
        return R(self._tokens[node])

    def end(self) -> None:
        """End the phase: no node begins the next one before all have ended this one."""
        if len(self._tokens) == 1:
            self._wait(RW(self._tokens[0]))
            return
        for token in self._tokens:
            self._wait(RW(token))
        self._wait(*map(R, self._tokens), W(self._gate[0]))
        for token in self._tokens:
            self._wait(R(self._gate[0]), RW(token))

    def _wait(self, *accesses: int) -> None:
        self._g.insert("barrier", *accesses, duration_s=0.0)
