"""Statistics of a run's copies between memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.run.recordtables import TransferReason

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.run.record import Run

__all__ = [
    "PairStatistics",
    "data_arrival_s",
    "data_waits_known",
    "moved_bytes",
    "pair_statistics",
    "reason_statistics",
    "thrashing",
    "transfer_summary",
]


@dataclass(frozen=True, slots=True)
class PairStatistics:
    """Statistics of the copies from one memory to another."""

    source: str
    target: str
    count: int
    bytes: int
    busy_s: float
    """Time for which at least one of them was in progress."""

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as plain JSON data."""
        return {
            "from": self.source,
            "to": self.target,
            "count": self.count,
            "bytes": self.bytes,
            "busy_s": self.busy_s,
        }


def data_arrival_s(run: Run) -> Floats:
    """Return, per task, the arrival of the last copy made for it in its worker's memory.

    Fetches and prefetches for the task to that memory count; tasks without any have minus infinity.
    """
    arrival_s = np.full(len(run), -np.inf)
    transfers = run.transfers
    if transfers is None or not len(transfers):
        return arrival_s
    memories = np.array([worker.memory for worker in run.workers])
    memory = memories[run.tasks.worker[transfers.task]] if len(run) else transfers.target
    own = transfers.is_fetch & (transfers.task >= 0) & (transfers.target == memory)
    np.maximum.at(arrival_s, transfers.task[own], transfers.end_s[own])
    return arrival_s


def data_waits_known(run: Run) -> bool:
    """Return whether the records tell how long tasks waited for data.

    They do not if all copies are without a task, as in traces of StarPU, or if nothing says when
    workers took their tasks.
    """
    transfers = run.transfers
    if transfers is None or not len(transfers):
        return True
    return bool((transfers.task >= 0).any()) and not np.isnan(run.tasks.popped_s).all()


def moved_bytes(run: Run) -> int:
    """Return the number of bytes copied between memories."""
    return 0 if run.transfers is None else int(run.transfers.size_bytes.sum())


def thrashing(run: Run) -> float:
    """Return the copied bytes divided by the size of the distinct data among them; 0 if none.

    A value of 1 means that every copied datum was copied once; more, that data come and go.
    """
    transfers = run.transfers
    if transfers is None:
        return 0.0
    # The first row of each handle. Handle and row are sorted as one number, which takes a tenth of
    # the time of the argsort of np.unique.
    both = np.sort(transfers.handle.astype(np.int64) << 32 | np.arange(len(transfers)))
    first = both[np.diff(both >> 32, prepend=-(2**32)) != 0] & (2**32 - 1)
    distinct = int(transfers.size_bytes[first].sum())
    return moved_bytes(run) / distinct if distinct else 0.0


def pair_statistics(run: Run) -> list[PairStatistics]:
    """Return the statistics per pair of memories with copies between them.

    They are ordered by source, then by target, in the order of the memories.
    """
    transfers, memories = run.transfers, run.memories
    if transfers is None or not len(transfers):
        return []
    pair = transfers.source.astype(np.int64) * len(memories) + transfers.target
    found = []
    for key in np.unique(pair).tolist():
        source, target = divmod(key, len(memories))
        rows = pair == key
        # Busy is the length of the union of the copies' intervals.
        order = np.argsort(transfers.start_s[rows], kind="stable")
        start_s, end_s = transfers.start_s[rows][order], transfers.end_s[rows][order]
        covered_until = np.maximum.accumulate(np.concatenate(([-np.inf], end_s)))[:-1]
        busy_s = np.maximum(0.0, end_s - np.maximum(start_s, covered_until)).sum()
        found.append(
            PairStatistics(
                source=memories[source].name,
                target=memories[target].name,
                count=int(np.count_nonzero(rows)),
                bytes=int(transfers.size_bytes[rows].sum()),
                busy_s=float(busy_s),
            )
        )
    return found


def reason_statistics(run: Run) -> dict[str, dict[str, int]]:
    """Return count and bytes of the copies per reason, all reasons in order."""
    columns = np.zeros((2, len(TransferReason)), dtype=np.int64)
    if run.transfers is not None:
        np.add.at(columns[0], run.transfers.reason, 1)
        np.add.at(columns[1], run.transfers.reason, run.transfers.size_bytes)
    return {
        reason.name.lower(): {"count": count, "bytes": size}
        for reason, count, size in zip(TransferReason, *columns.tolist(), strict=True)
    }


def transfer_summary(run: Run) -> dict[str, Any]:
    """Return a summary of the copies as plain JSON data."""
    return {
        "count": 0 if run.transfers is None else len(run.transfers),
        "bytes": moved_bytes(run),
        "thrashing": thrashing(run),
        "reasons": reason_statistics(run),
        "links": [pair.to_json() for pair in pair_statistics(run)],
    }
