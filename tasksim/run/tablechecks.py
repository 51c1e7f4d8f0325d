"""Checks of the numbers in a run's tables: indices exist, sizes and times are legal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.run.recordtables import TransferReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tasksim.run.record import Run
    from tasksim.run.recordtables import RecordTable

__all__ = ["check_references", "first_wrong", "limits_of"]

MAX_TIME_S: Final = 1e100
"""Largest legal time in seconds: squares and sums of smaller ones are finite, as statistics need.
"""


def check_references(run: Run, paths: Mapping[str, Path]) -> None:
    """Raise :exc:`InputError` unless indices exist, and sizes and times are legal.

    *paths* has the file of each table by its name. Only the graph can tell whether handles exist:
    see :func:`tasksim.run.runchecks.check_run`.
    """
    for worker in run.workers:
        if worker.memory >= max(len(run.memories), 1):
            raise InputError(
                f"worker {worker.name} is in memory {worker.memory}, "
                f"the run has {len(run.memories)} memories"
            )
    for table, limits in limits_of(run):
        path = paths[table.what]
        for name, dtype in table.dtypes.items():
            if dtype.kind == "f":
                column = getattr(table, name)
                unknown = np.isnan(column) & (name in table.optional)
                wrong = ~((np.abs(column) <= MAX_TIME_S) | unknown)  # NaN is not less
                if wrong.any():
                    row = int(np.argmax(wrong))
                    raise InputError(
                        f"{path}: row {row}: {name} is {column[row]}; legal: finite times"
                    )
        if (found := first_wrong(table, limits)) is not None:
            raise InputError(f"{path}: row {found[0]}: {found[1]}")


ColumnLimits = dict[str, tuple[int, int | None]]
"""The smallest and the largest legal number of each column; None: no number is too large."""


def first_wrong(table: RecordTable, limits: ColumnLimits) -> tuple[int, str] | None:
    """Return the first row with a number beyond *limits* and what is wrong there; None if legal."""
    for name, (low, high) in limits.items():
        column = getattr(table, name)
        wrong, legal = column < low, f"{low} or more"
        if high is not None:
            wrong, legal = wrong | (column > high), f"{low} to {high}"
        if wrong.any():
            row = int(np.argmax(wrong))
            return row, f"{name} is {column[row]}; legal: {legal}"
    return None


def limits_of(run: Run) -> Iterator[tuple[RecordTable, ColumnLimits]]:
    """Yield the tables, with the smallest and largest legal number of each column."""
    last_memory, last_task = len(run.memories) - 1, len(run) - 1
    yield (
        run.tasks,
        {
            "kernel": (0, len(run.kernel_names) - 1),
            "worker": (0, len(run.workers) - 1),
            "released_by": (-1, last_task),
            "preemptions": (-1, None),
            "pulse": (1, None),
            "beat": (1, None),
        },
    )
    if run.transfers is not None:
        yield (
            run.transfers,
            {
                "handle": (0, None),
                "source": (0, last_memory),
                "target": (0, last_memory),
                "size_bytes": (0, None),
                "reason": (0, max(TransferReason)),
                "task": (-1, last_task),
            },
        )
    if run.messages is not None:
        last_node = max((worker.node for worker in run.workers), default=0)
        yield (
            run.messages,
            {
                "source": (0, last_node),
                "target": (0, last_node),
                "handle": (0, None),
                "size_bytes": (0, None),
                "task": (0, last_task),
            },
        )
    if run.decisions is not None:
        from tasksim.run.decisions import NO_QUEUE, DecisionStep

        yield (
            run.decisions,
            {
                "task": (0, last_task),
                "step": (0, max(DecisionStep)),
                "worker": (-1, len(run.workers) - 1),
                "queue": (NO_QUEUE, None),
                "position": (-1, None),
            },
        )
    if run.memory is not None:
        yield run.memory, {"memory": (0, last_memory), "used_bytes": (0, None)}
