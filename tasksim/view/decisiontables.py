"""Text tables of a scheduler's decisions, and of its queues at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.units import duration_text
from tasksim.run.decisions import DecisionStep
from tasksim.view.texttables import table

if TYPE_CHECKING:
    from tasksim.run.decisions import Decision, DecisionTable
    from tasksim.run.record import Run

__all__ = ["decision_text", "queue_name", "queues_text"]

ESTIMATE_HEADERS = (
    "", "worker", "free at", "transfer", "duration", "energy", "ends at", "cost",
)  # fmt: skip
EMPTY_TERMS = ("-", "0 s")
"""Terms of a column that is left out if it has no others."""
MAX_SHOWN_TASKS = 12
"""Maximum number of tasks of a queue that are named."""


def decision_text(run: Run, decisions: DecisionTable, task: int) -> str:
    """Return the text of the decisions about *task*, with the estimates for all candidates."""
    tasks = run.tasks
    start_s, end_s, worker = tasks.start_s[task], tasks.end_s[task], tasks.worker[task]
    by = int(tasks.released_by[task])
    why = "its submission" if by < 0 else run.label(by)
    lines = [
        f"{run.label(task)}, priority {tasks.priority[task]}, scheduler {run.scheduler}",
        f"{_time(tasks.ready_s[task])}  ready by {why}",
    ]
    estimates: list[Decision] = []
    for row in decisions.of_task(task):
        if row.step <= DecisionStep.CHOSEN:
            estimates.append(row)
            continue
        lines += _estimates(run, estimates)
        estimates = []
        lines.append(f"{_time(row.time_s)}  {_move(run, row)}")
    lines += _estimates(run, estimates)
    lines.append(f"{_time(start_s)}  starts on {run.workers[worker].name}")
    lines.append(f"{_time(end_s)}  ends")
    return "\n".join(lines)


def queues_text(run: Run, decisions: DecisionTable, time_s: float) -> str:
    """Return the text of the running tasks and of all queues at *time_s*."""
    tasks = run.tasks
    runs = np.flatnonzero((tasks.start_s <= time_s) & (time_s < tasks.end_s))
    running = {int(tasks.worker[task]): run.label(int(task)) for task in runs}
    rows = [[worker.name, running.get(k, "-")] for k, worker in enumerate(run.workers)]
    lines = [table(["worker", "runs"], rows, left=2), ""]
    queues = decisions.queues_at(time_s)
    for queue, waiting in queues.items():
        shown = ", ".join(run.label(task) for task in waiting[:MAX_SHOWN_TASKS])
        rest = len(waiting) - MAX_SHOWN_TASKS
        lines.append(f"{queue_name(run, queue)}: {shown}{f' and {rest} more' if rest > 0 else ''}")
    return "\n".join(lines if queues else [*lines, "all queues are empty"])


def queue_name(run: Run, queue: int) -> str:
    """Return the name of a queue in the decisions of *run*."""
    workers = len(run.workers)
    if queue < workers:
        return f"queue of {run.workers[queue].name}"
    decisions = run.decisions
    several = decisions is not None and int(decisions.queue.max(initial=queue)) > workers
    return f"shared queue {queue - workers + 1}" if several else "shared queue"


def _estimates(run: Run, rows: list[Decision]) -> list[str]:
    """Return the decision that *rows* make, with a table if they have terms."""
    chosen = next((row for row in rows if row.step == DecisionStep.CHOSEN), None)
    if chosen is None:
        return []
    name = run.workers[chosen.worker].name
    head = f"{_time(chosen.time_s)}  goes to {name}"
    if np.isnan(chosen.end_s):
        return [head]
    criterion = "ends earliest" if np.isnan(chosen.cost_s) else "costs least"
    cells = [
        [
            "*" if row is chosen else "",
            run.workers[row.worker].name,
            *map(_term, (row.free_s, row.transfer_s, row.duration_s)),
            *map(_term, (row.energy_s, row.end_s, row.cost_s)),
        ]
        for row in rows
    ]
    columns = [
        k for k in range(len(ESTIMATE_HEADERS)) if any(row[k] not in EMPTY_TERMS for row in cells)
    ]
    found = table(
        [ESTIMATE_HEADERS[k] for k in columns], [[row[k] for k in columns] for row in cells], left=2
    )
    what = f"{head}, where it {criterion} of {len(rows)} workers:"
    return [what, *(f"    {line}" for line in found.split("\n"))]


def _move(run: Run, row: Decision) -> str:
    """Return a move of a task in the queues, in words."""
    place = f"{queue_name(run, row.queue)}, position {row.position + 1}"
    if row.step == DecisionStep.QUEUED:
        return f"enters the {place}"
    if row.step == DecisionStep.LEFT:
        return f"leaves the {place}"
    name = run.workers[row.worker].name
    if row.position < 0:
        return f"{name} takes it"
    stolen = row.queue < len(run.workers) and row.queue != row.worker
    return f"{name} takes it from the {place}{' (stolen)' if stolen else ''}"


def _time(seconds: float) -> str:
    return duration_text(float(seconds)).rjust(9)


def _term(seconds: float) -> str:
    return "-" if np.isnan(seconds) else duration_text(seconds)
