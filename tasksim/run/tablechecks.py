"""Checks of the references in a run's tables after reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.run.recordtables import TransferReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from tasksim.run.record import Run
    from tasksim.run.recordtables import RecordTable

__all__ = ["check_references"]

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
    for table, limits in _limits(run):
        path = paths[table.what]
        for name, dtype in table.dtypes.items():
            if dtype.kind == "f":
                column = getattr(table, name)
                unknown = np.isnan(column) & (name in table.optional)
                time = np.abs(column) <= MAX_TIME_S  # false for NaN
                _refuse(~(time | unknown), column, name, path, "finite times")
        for name, (low, high) in limits.items():
            column = getattr(table, name)
            wrong, legal = column < low, f"{low} or more"
            if high is not None:
                wrong, legal = wrong | (column > high), f"{low} to {high}"
            _refuse(wrong, column, name, path, legal)


def _limits(run: Run) -> Iterator[tuple[RecordTable, dict[str, tuple[int, int | None]]]]:
    """Yield the tables, with the smallest and largest legal number of each column."""
    last_memory, last_task = len(run.memories) - 1, len(run) - 1
    yield (
        run.tasks,
        {
            "kernel": (0, len(run.kernel_names) - 1),
            "worker": (0, len(run.workers) - 1),
            "released_by": (-1, last_task),
            "preemptions": (-1, None),
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


def _refuse(
    wrong: NDArray[np.bool_], column: NDArray[Any], name: str, path: Path, legal: str
) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"{path}: row {row}: {name} is {column[row]}; legal: {legal}")
