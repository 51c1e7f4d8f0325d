"""Archives of OTF2 as a format, whose reader is imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.files import is_file, is_folder
from tasksim.formats.registry import Format
from tasksim.formats.traces.textlines import head_text

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["OTF2"]

ANCHOR_FILE: Final = "traces.otf2"
"""Anchor file of the archives of Score-P and of others that follow it."""
_MAGIC: Final = b"OTF2"
_MAGIC_WITHIN: Final = 16
_PRINTED: Final = "=== OTF2-PRINT ==="


def _read(path: Path, skip_bad: bool) -> RecordedTrace:
    from tasksim.formats.traces.otf2.reader import read_otf2

    return read_otf2(path / ANCHOR_FILE if is_folder(path) else path, skip_bad)


def _is_otf2(path: Path, head: bytes) -> bool:
    if not head and is_folder(path):
        return is_file(path / ANCHOR_FILE)
    return _MAGIC in head[:_MAGIC_WITHIN] or (
        bool(head) and head_text(head).lstrip().startswith(_PRINTED)
    )


OTF2: Final = Format(
    summary="An archive of OTF2, its folder or anchor file, or what 'otf2-print -A' prints of it.",
    suffixes=(".otf2",),
    recognises=_is_otf2,
    reads_trace=_read,
)
