"""Names of the files in a run's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.files import is_file, refuse_folder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ALL_FILES",
    "DECISIONS_FILE",
    "GRAPH_FILE",
    "MEMORY_FILE",
    "MESSAGES_FILE",
    "PLATFORM_FILE",
    "RUN_JSON",
    "TASKS_FILE",
    "TRANSFERS_FILE",
    "is_run_folder",
    "refuse_run_folder",
]

RUN_JSON = "run.json"
TASKS_FILE = "tasks.parquet"
TRANSFERS_FILE = "transfers.parquet"
MEMORY_FILE = "memory.parquet"
MESSAGES_FILE = "messages.parquet"
DECISIONS_FILE = "decisions.parquet"
GRAPH_FILE = "graph.npz"
"""File of the graph, if it is kept with the run."""
PLATFORM_FILE = "platform.yaml"
"""File of the platform, for runs that were imported or recorded with a description of it."""
ALL_FILES = frozenset(
    (
        RUN_JSON,
        TASKS_FILE,
        TRANSFERS_FILE,
        MEMORY_FILE,
        MESSAGES_FILE,
        DECISIONS_FILE,
        GRAPH_FILE,
        PLATFORM_FILE,
    )
)


def is_run_folder(path: Path) -> bool:
    """Return whether *path* is the folder of a run, or its ``run.json``."""
    return is_file(path / RUN_JSON) or (path.name == RUN_JSON and is_file(path))


def refuse_run_folder(path: Path, *, force: bool) -> None:
    """Raise the error of saving a run to an existing *path*, before the work is done."""
    refuse_folder(path, force=force, what="a run folder", mark=RUN_JSON)
