"""Columns of what others took from the tasks of a native run, for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.run.disturbance import blocking_kernels, has_processor_times, lost_s
from tasksim.run.others import others_between_s, others_s

if TYPE_CHECKING:
    from tasksim.run.record import Run
    from tasksim.view.page.columns import Columns, Ticks

__all__ = ["add_others"]


def add_others(columns: Columns, run: Run, ticks: Ticks) -> dict[str, Any] | None:
    """Add how long tasks had no core, and why; return the rest, or None if nobody knows.

    The column ``lost`` is a tick more; 0: not known of the task. Undisturbed tasks have small
    numbers in all columns, which take no room.
    """
    if not has_processor_times(run):
        return None
    known = np.isfinite(run.tasks.cpu_s)
    columns.whole("lost", np.where(known, ticks.of(lost_s(run)) + 1, 0))
    columns.whole("others", ticks.of(others_s(run)))
    columns.whole("preemptions", run.tasks.preemptions)
    told = run.disturbance
    return {
        "blocking": blocking_kernels(run),
        "between_s": others_between_s(run).tolist(),
        "waited_s": None if told is None else told.waited_s,
        "preemptions": None if told is None else told.preemptions,
    }
