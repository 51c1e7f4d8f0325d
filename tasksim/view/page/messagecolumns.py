"""Columns of messages between nodes for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.run.record import Run
    from tasksim.view.page.columns import Columns, Ticks

__all__ = ["add_messages"]


def add_messages(columns: Columns, run: Run, ticks: Ticks) -> int:
    """Add the messages by start; return how many there are."""
    messages = run.messages
    if messages is None or not len(messages):
        return 0
    order = np.argsort(messages.start_s, kind="stable")
    start = ticks.of(messages.start_s[order])
    columns.whole("message_start", start, differences=True)
    columns.whole("message_duration", ticks.of(messages.end_s[order]) - start)
    columns.whole("message_ready", start - ticks.of(messages.ready_s[order]))
    columns.whole("message_source", messages.source[order])
    columns.whole("message_target", messages.target[order])
    columns.whole("message_bytes", messages.size_bytes[order], differences=True)
    columns.whole("message_handle", messages.handle[order], differences=True)
    columns.whole("message_task", _rows(run, messages.task[order]), differences=True)
    return len(messages)


def _rows(run: Run, tasks: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where the first reader of each message is in the table of tasks; -1: nowhere."""
    known = run.tasks.task
    if not len(known):
        return np.full(len(tasks), -1, np.int64)
    place = np.minimum(np.searchsorted(known, tasks), len(known) - 1)
    return np.where(known[place] == tasks, place, -1).astype(np.int64)
