"""Traces of Paraver as a format, whose reader is imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.formats.registry import Format
from tasksim.formats.traces.textlines import head_text

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["PARAVER"]

MAGIC: Final = "#Paraver ("
"""First characters of each trace."""


def _read(path: Path, skip_bad: bool) -> RecordedTrace:
    from tasksim.formats.traces.paraver.reader import read_paraver

    return read_paraver(path, skip_bad)


def _is_paraver(path: Path, head: bytes) -> bool:  # noqa: ARG001
    return bool(head) and head_text(head).startswith(MAGIC)


PARAVER: Final = Format(
    summary="A trace of Paraver: Extrae, OmpSs, Nanos6, ovni.",
    suffixes=(".prv",),
    recognises=_is_paraver,
    reads_trace=_read,
)
