"""Task graphs of the Standard Task Graph set (STG) and Davidovic (ogra), as tables of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.files import read_text
from tasksim.base.progress import follow_text
from tasksim.formats.registry import Format
from tasksim.formats.workflows.jobs import DURATION_PARAMETER, Jobs

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.registry import GraphInput

__all__ = ["OGRA", "STG", "read_ogra", "read_stg"]

Row = tuple[int, list[int]]
"""A line and its whole numbers."""


def read_stg(path: Path) -> GraphInput:
    """Return the task graph in a file of the Standard Task Graph set, with its units as seconds.

    The first line has the number of tasks, and in the older generation that of processors. A line
    per task follows: its number, its time, the number of predecessors, and these; the variant with
    communication has a line per predecessor, with its communication, counted as bytes. Wrong
    numbers of tasks are noted.

    Parameters
    ----------
    path : Path
        A text file.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    jobs = Jobs(path)
    rows = _rows(jobs)
    line, head = rows[0]
    if len(head) > 2:
        raise jobs.error(f"got {len(head)} numbers; legal: the number of tasks", line)
    if len(head) == 2:
        jobs.notes.append(f"of the older generation, for {head[1]} processors")
    edges: list[tuple[int, int, int, int]] = []
    at = 1
    while at < len(rows):
        at = _task(jobs, rows, at, edges)
    for one, other, size, where in edges:
        jobs.edge(str(one), str(other), where, size)
    return _built(jobs, head[0], dummies=2)  # the entry and the exit need not count


def _task(jobs: Jobs, rows: list[Row], at: int, edges: list[tuple[int, int, int, int]]) -> int:
    """Add the task at a row; return the row after it."""
    line, numbers = rows[at]
    if len(numbers) < 3:
        legal = "task, time, number of predecessors, predecessors"
        raise jobs.error(f"got {len(numbers)} numbers; legal: {legal}", line)
    task, took, count, *before = numbers
    jobs.add(str(task), "task", {DURATION_PARAMETER: float(took)}, line)
    if len(before) == count:
        edges += [(one, task, 0, line) for one in before]
        return at + 1
    if before:
        raise jobs.error(
            f"got {len(before)} predecessors; legal: {count}, the number on the line", line
        )
    for following, pair in rows[at + 1 : at + 1 + count]:
        if len(pair) != 2:
            raise jobs.error(
                f"got {len(pair)} numbers; legal: a predecessor and its communication", following
            )
        edges.append((pair[0], task, pair[1], following))
    if len(rows) < at + 1 + count:
        raise jobs.error(f"the file ends within the {count} predecessors of task {task}", line)
    return at + 1 + count


def read_ogra(path: Path) -> GraphInput:
    """Return one of Davidovic's graphs with known optima, with its units as seconds and bytes.

    The first line has the number of tasks. A line per task follows: its number, its time, the
    number of successors, and for each its number and its communication.

    Parameters
    ----------
    path : Path
        A text file.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    jobs = Jobs(path)
    rows = _rows(jobs)
    edges = []
    for line, numbers in rows[1:]:
        if len(numbers) < 3 or len(numbers) != 3 + 2 * numbers[2]:
            legal = "task, time, number of successors, and two numbers for each"
            raise jobs.error(f"got {len(numbers)} numbers; legal: {legal}", line)
        task, took, _, *pairs = numbers
        jobs.add(str(task), "task", {DURATION_PARAMETER: float(took)}, line)
        sends = zip(pairs[::2], pairs[1::2], strict=True)
        edges += [(str(task), str(other), line, size) for other, size in sends]
    for one, other, line, size in edges:
        jobs.edge(one, other, line, size)
    return _built(jobs, rows[0][1][0], dummies=0)


def _built(jobs: Jobs, announced: int, dummies: int) -> GraphInput:
    """Return the graph of *jobs*, with notes on their number and their units."""
    if announced not in (len(jobs), len(jobs) - dummies):
        jobs.notes.append(f"the first line announces {announced} tasks, but there are {len(jobs)}")
    jobs.notes.append("units of time count as seconds, those of communication as bytes")
    return jobs.build()


def _rows(jobs: Jobs) -> list[Row]:
    """Return the lines with their numbers, without empty ones and comments (``#``)."""
    rows = []
    whole = read_text(jobs.path)
    line, lines = 0, whole.splitlines()
    follow_text(lambda: line / len(lines) * len(whole), len(whole))
    for line, text in enumerate(lines, 1):
        words = text.partition("#")[0].split()
        if not words:
            continue
        for word in words:
            if not (word.isdecimal() and word.isascii() and len(word) < 16):
                raise jobs.error(f"got '{word[:40]}'; legal: whole numbers", line)
        rows.append((line, [int(word) for word in words]))
    if not rows:
        raise jobs.error("is empty; legal: a first line with the number of tasks")
    return rows


STG = Format(
    summary="A task graph of the Standard Task Graph set, of either generation.",
    suffixes=(".stg",),
    reads_graph=read_stg,
)
OGRA = Format(
    summary="One of Davidovic's task graphs with known optima.",
    suffixes=(".td",),
    reads_graph=read_ogra,
)
