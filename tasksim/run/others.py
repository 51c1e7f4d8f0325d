"""Account of what others took from a native run: in its tasks, between them, and over time.

The system reports how long a thread had no core, but not when: over time, the time is spread evenly
over the task, and a worker's losses between its tasks over the time between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.run.crowding import crowding
from tasksim.run.disturbance import blocking_kernels, has_processor_times, others_share
from tasksim.run.slices import mean_sum
from tasksim.run.undisturbed import undisturbed_s, with_core_s

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats, Indices
    from tasksim.run.record import Run

__all__ = [
    "MIN_SAID_CROWDED_SHARE",
    "MIN_SAID_SHARE",
    "crowded_s",
    "crowded_share",
    "disturbance_account",
    "disturbance_summary",
    "others_between_s",
    "others_curve",
    "others_percent",
    "others_s",
    "others_task_share",
]

MIN_SAID_SHARE: Final = 0.05
"""Share of the tasks' time taken by others that is worth a warning."""
MIN_SAID_CROWDED_SHARE: Final = 0.01
"""Share of the tasks' time taken by others on the same processor that is worth a mention."""
MIN_SAID_DETOUR_S: Final = 50e-9
"""Detour of data that is worth a mention, in seconds: passes within a cache differ by 10 ns."""


def disturbance_account(run: Run) -> dict[str, Any] | None:
    """Return the account of a disturbed *run* as JSON: totals and workers; None: unknown."""
    told = run.disturbance
    if told is None or not has_processor_times(run):
        return None
    names = [worker.name for worker in run.workers]
    return {
        "others_s": told.total_s,
        "others_share": others_share(run),
        "preempted_tasks": int((run.tasks.preemptions > 0).sum()),
        "waited_s": dict(zip(names, told.waited_s, strict=True)),
        "preemptions": dict(zip(names, told.preemptions, strict=True)),
        "steal_s": told.steal_s,
        "throttled_s": told.throttled_s,
        "pressure_s": told.pressure_s,
        "crowded_share": crowded_share(run),
        "detour_s": told.detour_s,
        "blocking_kernels": blocking_kernels(run),
        "alone_s": told.alone_s,
    }


def disturbance_summary(run: Run) -> str | None:
    """Return a sentence on the time that others took from *run*; None: unknown."""
    from tasksim.base.units import duration_text

    told = run.disturbance
    if told is None or not has_processor_times(run):
        return None
    count = int((run.tasks.preemptions > 0).sum())
    workers = "one worker" if len(run.workers) == 1 else f"{len(run.workers)} workers"
    more = ""
    crowded = crowded_share(run) or 0.0
    if crowded >= MIN_SAID_CROWDED_SHARE:
        more += f"; others on the same processor took {100 * crowded:.0f} % of the tasks' time"
    if told.detour_s is not None and told.detour_s >= MIN_SAID_DETOUR_S:
        longer = duration_text(told.detour_s)
        more += f"; the host had moved the cores apart: data took {longer} longer between them"
    if told.throttled_s:
        more += f"; a limit on processor time held it up for {duration_text(told.throttled_s)}"
    return (
        f"had the cores for {duration_text(told.total_s)} "
        f"({100 * others_share(run):.1f} % of {workers}), "
        f"{count} of {len(run)} tasks were preempted{more}"
    )


def others_s(run: Run) -> Floats:
    """Return the time that others took from each task; 0 where it is unknown."""
    return run.tasks.duration_s - undisturbed_s(run)


def others_task_share(run: Run) -> float:
    """Return the share of the tasks' time that others took from *run*; 0 if it is unknown."""
    whole_s = float(run.tasks.duration_s.sum())
    return 1.0 - float(undisturbed_s(run).sum()) / whole_s if whole_s else 0.0


def others_percent(run: Run) -> Floats:
    """Return, per worker, the percentage of the makespan that others took from it; NaN: unknown.

    They had its core while it was ready, in a task or between two, or made its tasks longer on the
    same processor.
    """
    of_workers_s = np.bincount(run.tasks.worker, crowded_s(run), len(run.workers))
    return 100.0 * (_waited_s(run) + of_workers_s) / (run.makespan_s or 1.0)


def others_between_s(run: Run) -> Floats:
    """Return, per worker, the time that others had its core between tasks; 0 where unknown."""
    without_core_s = run.tasks.duration_s - with_core_s(run)
    in_tasks_s = np.bincount(run.tasks.worker, without_core_s, len(run.workers))
    return np.nan_to_num(np.maximum(_waited_s(run) - in_tasks_s, 0.0))


def others_curve(run: Run, edges_s: Floats) -> Floats:
    """Return the share of the workers' time that others took in each slice of time, 0 to 1."""
    tasks, worker, begin_s, end_s = run.tasks, *_gaps(run)
    gap_s = np.bincount(worker, end_s - begin_s, len(run.workers))
    lost = np.minimum(others_between_s(run) / np.where(gap_s > 0, gap_s, np.inf), 1.0)
    of_tasks_s = others_s(run)
    share = of_tasks_s / np.where(of_tasks_s > 0, tasks.duration_s, np.inf)
    cores = mean_sum(
        np.concatenate([tasks.start_s, begin_s]), np.concatenate([tasks.end_s, end_s]),
        edges_s, np.concatenate([share, lost[worker]]),
    )  # fmt: skip
    return np.clip(cores / len(run.workers), 0.0, 1.0)


def crowded_s(run: Run) -> Floats:
    """Return the part of :func:`others_s` that others on the same processor took."""
    own = with_core_s(run)
    return own - own / crowding(run)


def crowded_share(run: Run) -> float | None:
    """Return the share of the tasks' time that others on the processor took; None: unknown."""
    whole_s = run.tasks.duration_s
    if not np.isfinite(run.tasks.pulse).any() or not whole_s.sum():
        return None
    return 1.0 - float((whole_s / crowding(run)).sum() / whole_s.sum())


def _waited_s(run: Run) -> Floats:
    """Return the time that each worker's thread was ready without a core; NaN: unknown."""
    if run.disturbance is None:
        return np.full(len(run.workers), np.nan)
    return np.array(run.disturbance.waited_s, dtype=np.float64)  # None becomes NaN


def _gaps(run: Run) -> tuple[Indices, Floats, Floats]:
    """Return the times in which workers ran no task: worker, beginning and end."""
    tasks, workers = run.tasks, np.arange(len(run.workers))
    # An empty task at the end of the run closes each worker's last gap.
    last_s = np.full(len(workers), run.makespan_s)
    worker = np.concatenate([tasks.worker, workers]).astype(np.intp)
    start_s, end_s = (np.concatenate([at, last_s]) for at in (tasks.start_s, tasks.end_s))
    order = np.lexsort((end_s, start_s, worker))
    worker, start_s, end_s = worker[order], start_s[order], end_s[order]
    free_s = np.zeros(len(order))
    free_s[1:] = np.where(worker[1:] == worker[:-1], end_s[:-1], 0.0)
    return worker, free_s, np.maximum(start_s, free_s)
