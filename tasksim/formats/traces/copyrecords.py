"""Copies of a trace: data, memories and tasks by their names, as a file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.run.recordtables import TransferReason, TransferTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.formats.traces.records import Records

__all__ = ["REASONS", "CopyRecords"]

REASONS: Final = {reason.name.lower(): reason for reason in TransferReason}
"""Why copies are made, by the words that files have."""


class CopyRecords:
    """The copies of a trace in columns, which become a table once its tasks are numbered."""

    def __init__(self) -> None:
        self._named: list[tuple[str, str, str, str]] = []
        self._size: list[int] = []
        self._times: list[tuple[float, float, float]] = []
        self._reason: list[int] = []

    def __len__(self) -> int:
        return len(self._named)

    def add(
        self,
        handle: str,
        ends: tuple[str, str],
        size: int,
        times: tuple[float, float, float],
        reason: TransferReason = TransferReason.FETCH,
        task: str = "",
    ) -> None:
        """Append a copy of *size* bytes of a datum from one memory to another.

        *times* are those of its request, start and end; *task* is what it was made for, or nothing.
        """
        self._named.append((handle, *ends, task))
        self._size.append(size)
        self._times.append(times)
        self._reason.append(reason)

    def register(self, found: Records) -> None:
        """Tell *found* of the data and memories that are copied, so that they are numbered."""
        names = list(found.memories)
        for (handle, source, target, _), size in zip(self._named, self._size, strict=True):
            found.handle.setdefault(handle, len(found.handle))
            found.copied_size[handle] = max(size, found.copied_size.get(handle, 0))
            names += [source, target]
        found.memories = tuple(dict.fromkeys([*names, *found.memory_of.values()]))

    def table(self, found: Records, number: NDArray[np.int64]) -> TransferTable:
        """Return the table; *number* has per record of *found* its task, -1 for what is none."""
        memory = {name: at for at, name in enumerate(found.memories)}
        rows = [
            (
                found.handle[handle], memory[source], memory[target],
                int(number[found.number[task]]) if task in found.number else -1,
            )
            for handle, source, target, task in self._named
        ]  # fmt: skip
        named = np.array(rows, dtype=np.int64).reshape(-1, 4)
        times = np.array(self._times, dtype=np.float64).reshape(-1, 3)
        return TransferTable(
            handle=named[:, 0].astype(np.int32),
            source=named[:, 1].astype(np.int16),
            target=named[:, 2].astype(np.int16),
            size_bytes=np.array(self._size, dtype=np.int64),
            requested_s=times[:, 0],
            start_s=times[:, 1],
            end_s=times[:, 2],
            reason=np.array(self._reason, dtype=np.int8),
            task=named[:, 3].astype(np.int32),
        )
