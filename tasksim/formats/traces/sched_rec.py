"""sched_tasks.rec: when StarPU's scheduler got each task, and when a worker took it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tasksim.formats.traces.recutils import job_id, nanoseconds, records

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.records import Records

__all__ = ["add_scheduling"]

ACTIONS: Final = ("push", "pop")


def add_scheduling(found: Records, path: Path) -> None:
    """Add to the tasks of *found* what ``sched_tasks.rec`` at *path* says of them.

    When each was pushed (the first time) counts as when it was ready, when it was popped (the last
    time) as when its worker took it, and the priority that it was pushed with as its own.
    """
    pushed, unknown, other, again = set[int](), 0, list[str](), 0
    for line, fields in records(path):
        read = _action(found, fields, line, path)
        if read is None:
            continue
        action, task, time_s, priority = read
        at = found.number.get(task)
        if at is None:
            unknown += 1
        elif action == "pop":
            found.popped_s[at] = time_s
        elif at in pushed:
            again += 1
        else:
            pushed.add(at)
            found.ready_s[at] = time_s
            if found.priority[at] != priority:
                other.append(f"{found.kernel[at]} {task}, {found.priority[at]} -> {priority}")
                found.priority[at] = priority
    _note(found, path, len(pushed), unknown, again, other)


def _note(
    found: Records, path: Path, pushed: int, unknown: int, again: int, other: list[str]
) -> None:
    """Say what was found; an empty file, as a trace without a scheduler has it, is none."""
    if not (pushed or unknown):
        return
    text = f"{path.name}: when {pushed} tasks were pushed and popped"
    if other:
        text += (
            f"; {len(other)} were pushed with another priority (such as {other[0]}), which counts"
        )
    if again:
        text += f"; {again} pushes of tasks that had been pushed before are left out"
    if unknown:
        text += f"; {unknown} actions are about tasks that are not in {found.path.name}"
    found.note(text)


def _action(
    found: Records, fields: dict[str, str], line: int, path: Path
) -> tuple[str, str, float, int] | None:
    """Return what was done, to which task, when, with which priority; None if that is wrong."""
    action, task = fields.get("Type", ""), fields.get("JobId", "")
    if action not in ACTIONS:
        found.bad(f"Type: got '{action[:40]}'; legal: push, pop", line, path)
    elif not task:
        found.bad(f"a {action} without JobId", line, path)
    else:
        try:
            time_ms, priority = float(fields.get("Time", "")), int(fields.get("Priority") or 0)
        except ValueError:
            found.bad(
                "Time or Priority is no number; legal: milliseconds, a whole number", line, path
            )
            return None
        if math.isfinite(time_ms) and time_ms >= 0:
            return action, job_id(task), nanoseconds(time_ms), found.within(priority)
        found.bad(f"Time: got '{fields['Time'][:40]}'; legal: milliseconds from 0", line, path)
    return None
