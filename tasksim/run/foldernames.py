"""Names of the files in the folder of a run, by which it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.files import is_file, refuse_folder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ALL",
    "GRAPH",
    "MEMORY",
    "MESSAGES",
    "PLATFORM",
    "RUN_JSON",
    "TASKS",
    "TRANSFERS",
    "is_run_folder",
    "refuse_run_folder",
]

RUN_JSON = "run.json"
TASKS = "tasks.parquet"
TRANSFERS = "transfers.parquet"
MEMORY = "memory.parquet"
MESSAGES = "messages.parquet"
GRAPH = "graph.npz"
"""The graph, where it is kept with the run."""
PLATFORM = "platform.yaml"
"""Where it ran, of runs that were imported or recorded with what is known of that."""
ALL = frozenset((RUN_JSON, TASKS, TRANSFERS, MEMORY, MESSAGES, GRAPH, PLATFORM))


def is_run_folder(path: Path) -> bool:
    """Return whether *path* is the folder of a run, or its ``run.json``."""
    return is_file(path / RUN_JSON) or (path.name == RUN_JSON and is_file(path))


def refuse_run_folder(path: Path, *, force: bool) -> None:
    """Raise, before the work is done, what saving a run would raise of an existing *path*."""
    refuse_folder(path, force=force, what="a run folder", mark=RUN_JSON)
