"""Comparison of the messages of two runs, by counts, times, and pairs of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.run.record import Run
    from tasksim.run.recordtables import MessageTable

__all__ = ["MessageComparison", "MessageTotals", "PairComparison", "compare_messages"]


@dataclass(frozen=True, slots=True)
class MessageTotals:
    """Sums over messages."""

    count: int
    bytes: int
    moving_s: float
    """Total time for which their data moved."""
    waiting_s: float
    """Total time from when they could have been sent until their data began to move."""


@dataclass(frozen=True, slots=True)
class PairComparison:
    """The messages from one node to another in two runs."""

    source: int
    target: int
    a: MessageTotals
    b: MessageTotals


@dataclass(frozen=True, slots=True)
class MessageComparison:
    """Messages of run *b* compared with those of run *a*."""

    a: MessageTotals
    b: MessageTotals
    pairs: tuple[PairComparison, ...]
    """Per pair of nodes with messages in either run, by source and target."""
    first_difference: str | None
    """The first message, in posting order, that differs between the runs."""


def compare_messages(a: Run, b: Run) -> MessageComparison | None:
    """Return the comparison of both runs' messages; None unless both recorded them.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> runs = [
    ...     tasksim.simulate("cholesky tiles=4 tile_size=256", workers=1, durations=seconds, grid=g,
    ...                      network="switch:bandwidth=1GB/s,latency=1us")
    ...     for g in ("1x2", "2x1")
    ... ]
    >>> found = compare_messages(*runs)
    >>> found.a.count, found.b.count, len(found.pairs)
    (6, 6, 2)
    >>> found.first_difference
    'message 0: of datum #4 from node 0 to 1; in b of datum #0 from node 0 to 1'
    """
    one, other = a.messages, b.messages
    if one is None or other is None:
        return None
    nodes = 1 + max(worker.node for run in (a, b) for worker in run.workers)
    return MessageComparison(
        _totals(one, np.ones(len(one), np.bool_)),
        _totals(other, np.ones(len(other), np.bool_)),
        tuple(_pairs(one, other, nodes)),
        _first_difference(one, other),
    )


def _totals(table: MessageTable, chosen: NDArray[np.bool_]) -> MessageTotals:
    return MessageTotals(
        count=int(chosen.sum()),
        bytes=int(table.size_bytes[chosen].sum()),
        moving_s=float((table.end_s - table.start_s)[chosen].sum()),
        waiting_s=float(np.maximum(table.start_s - table.ready_s, 0.0)[chosen].sum()),
    )


def _pairs(a: MessageTable, b: MessageTable, nodes: int) -> list[PairComparison]:
    keys = [table.source.astype(np.int64) * nodes + table.target for table in (a, b)]
    return [
        PairComparison(pair // nodes, pair % nodes, *(
            _totals(table, of == pair) for table, of in zip((a, b), keys, strict=True)
        ))
        for pair in np.unique(np.concatenate(keys)).tolist()
    ]  # fmt: skip


def _first_difference(a: MessageTable, b: MessageTable) -> str | None:
    both = min(len(a), len(b))
    unequal = np.zeros(both, np.bool_)
    for name in ("source", "target", "handle", "size_bytes", "task"):
        unequal |= getattr(a, name)[:both] != getattr(b, name)[:both]
    if not unequal.any() and len(a) == len(b):
        return None
    place = int(np.argmax(unequal)) if unequal.any() else both
    return f"message {place}: {_said(a, place)}; in b {_said(b, place)}"


def _said(table: MessageTable, place: int) -> str:
    if place >= len(table):
        return "none"
    handle, source, target = table.handle[place], table.source[place], table.target[place]
    return f"of datum #{handle} from node {source} to {target}"
