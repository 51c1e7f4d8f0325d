"""Plans in CSV files with the columns ``task``, ``worker`` and optionally ``order``."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasksim.base.arguments import flag, path_of
from tasksim.base.documents.csv_table import CsvRow, read_csv_table
from tasksim.base.errors import InputError, expect, nearest
from tasksim.base.files import refuse_existing, write_text
from tasksim.base.numerals import whole_number
from tasksim.run.foldernames import is_run_folder
from tasksim.schedulers.static.plan import Plan, schedule_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Schedule", "ScheduleRow", "read_schedule", "write_schedule"]

HEADERS = (("task", "worker"), ("task", "worker", "order"))
MAX_MESSAGE_NAMES = 8
"""Largest number of names in an error message: more do not fit on a line."""


class ScheduleRow(NamedTuple):
    """A line of a schedule, with the names of a task and a worker, and the order of the task."""

    row: CsvRow
    task: str
    worker: str
    order: float


class Schedule(NamedTuple):
    """A schedule from a file, matched with a graph and workers."""

    lists: list[list[int]]
    """Per worker, its tasks in order."""
    rows: list[CsvRow]
    """Per task, its line in the file."""


def read_schedule(path: str | Path) -> list[ScheduleRow]:
    r"""Return the lines of the schedule in the file at *path*.

    Without a column ``order``, the order of the lines counts.

    Parameters
    ----------
    path : str or Path
        A CSV file with the columns ``task``, ``worker`` and optionally ``order``, or the folder of
        a recorded run.

    Returns
    -------
    list of ScheduleRow
        Tasks and workers by their names in the file; the scheduler ``static:file=PATH`` matches
        them with a graph and a platform.

    Raises
    ------
    InputError
        If the file is malformed. The message has the file and line, the value and the legal ones.

    See Also
    --------
    write_schedule : Write such a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "plan.csv")
    ...     _ = path.write_text("task,worker\n0,cpu1\n1,cpu0\n")
    ...     [(row.task, row.worker) for row in read_schedule(path)]
    [('0', 'cpu1'), ('1', 'cpu0')]
    """
    where = path_of(path, "path")
    if is_run_folder(where):
        return _of_run(where)
    rows = read_csv_table(where)
    header = rows.header.fields
    if header not in HEADERS:
        legal = " or ".join(f"'{','.join(names)}'" for names in HEADERS)
        raise rows.header.error(f"header: got '{','.join(header)}'; legal: {legal}")
    entries = []
    for place, row in enumerate(rows.body):
        order = row.number(row.fields[2], "order") if len(header) > 2 else float(place)
        entries.append(ScheduleRow(row, row.fields[0], row.fields[1], order))
    return entries


def _of_run(path: Path) -> list[ScheduleRow]:
    """Return the schedule of a recorded run as rows of a file, one per task."""
    from tasksim.formats.runs import load_run

    run = load_run(path)
    entries = []
    for worker, tasks in zip(run.workers, schedule_of(run).orders(len(run.workers)), strict=True):
        for place, task in enumerate(tasks):
            row = CsvRow(path, task + 1, (str(task), worker.name, str(place)))
            entries.append(ScheduleRow(row, str(task), worker.name, float(place)))
    return entries


def match(
    entries: Sequence[ScheduleRow], path: str | Path, graph: TaskGraph, workers: Sequence[str]
) -> Schedule:
    """Return the schedule for *graph* on *workers*.

    Tasks and workers are given by name or number. The name of a task is the name of its kernel if
    no other task has the same kernel.

    Raises
    ------
    InputError
        If a line has an unknown task or worker, a task is missing or given twice, or two tasks of
        a worker have the same order.
    """
    counts = np.bincount(graph.kernel, minlength=len(graph.kernels))
    alone = np.flatnonzero(counts[graph.kernel] == 1).tolist()
    task_number = {graph.kernel_of(task): task for task in alone}
    worker_number = {name: k for k, name in enumerate(workers)}
    rows: list[CsvRow | None] = [None] * len(graph)
    places: list[dict[float, int]] = [{} for _ in workers]
    for entry in entries:
        task = _number(entry.row, "task", entry.task, task_number, len(graph))
        worker = _number(entry.row, "worker", entry.worker, worker_number, len(workers))
        first = rows[task]
        if first is not None:
            raise entry.row.error(f"task '{entry.task}' is in line {first.line} already")
        rows[task] = entry.row
        other = places[worker].setdefault(entry.order, task)
        if other != task:
            before = rows[other]
            assert before is not None
            raise entry.row.error(
                f"order: got {entry.order:g} for worker '{entry.worker}', the order of task "
                f"'{before.fields[0]}'; legal: a different number for each of its tasks"
            )
    missing = [task for task, row in enumerate(rows) if row is None]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{path}: {graph.label(missing[0])}{more} missing; a schedule has one line for "
            f"each of the {len(graph)} tasks of {graph.name}"
        )
    lists = [[task for _, task in sorted(taken.items())] for taken in places]
    return Schedule(lists, [row for row in rows if row is not None])


def write_schedule(
    path: str | Path,
    plan: Plan,
    workers: Sequence[str],
    tasks: Sequence[str] = (),
    *,
    force: bool = False,
) -> None:
    """Write *plan* to the file *path* for ``--scheduler static:file=PATH``.

    Parameters
    ----------
    path : str or Path
        The path of a ``.csv`` file.
    plan : Plan
        A plan from :func:`~tasksim.schedulers.static.plan` or
        :func:`~tasksim.schedulers.static.schedule_of`.
    workers : sequence of str
        The names of the workers.
    tasks : sequence of str, default ()
        The names of the tasks, if they are distinct; by default the file has their numbers.
    force : bool, default False
        Whether to replace an existing file.

    Raises
    ------
    InputError
        If the file exists and *force* is False.
    OutputError
        If the operating system refuses to write the file.

    See Also
    --------
    read_schedule : Read such a file.

    Examples
    --------
    >>> import tempfile
    >>> made = Plan(np.array([1, 0]), np.array([0.0, 0.0]), np.array([1.0, 1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_schedule(Path(folder, "plan.csv"), made, ["cpu0", "cpu1"])
    ...     Path(folder, "plan.csv").read_text().split()
    ['task,worker,order', '1,cpu0,0', '0,cpu1,0']
    """
    path = path_of(path, "path")
    expect(plan, Plan, "plan")
    refuse_existing(path, force=flag(force, "force"))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADERS[1])
    for worker, listed in zip(workers, plan.orders(len(workers)), strict=True):
        for place, task in enumerate(listed):
            writer.writerow([tasks[task] if tasks else task, worker, place])
    write_text(Path(path), out.getvalue(), force=force)


def _number(row: CsvRow, what: str, text: str, names: Mapping[str, int], count: int) -> int:
    """Return the number of the task or worker *text*, which is a name or a number."""
    if text in names:
        return names[text]
    number = whole_number(text)
    if number is not None and 0 <= number < count:
        return number
    numbers = f"a number from 0 to {count - 1}"
    some = ", ".join([*names][:MAX_MESSAGE_NAMES]) + (
        ", ..." if len(names) > MAX_MESSAGE_NAMES else ""
    )
    legal = f"{numbers}, or one of {some}" if names else numbers
    raise row.error(f"{what}: got '{text}'; legal: {legal}{nearest(text, names)}")
