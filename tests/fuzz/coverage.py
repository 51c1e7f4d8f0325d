"""Coverage of the lines of tasksim that an input reaches first: what guides the search."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tasksim

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

__all__ = ["Coverage"]

_PACKAGE = str(Path(tasksim.__file__).parent)


class Coverage:
    """The lines of the package that have run while it watched.

    A function whose lines have all run is not watched any more, so the search soon runs at
    nearly full speed.
    """

    def __init__(self) -> None:
        self.lines = 0
        """How many have run so far."""
        self._unseen: dict[CodeType, set[int]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count the lines that run in the block."""
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        unseen = self._unseen.get(code)
        if unseen is None:
            ours = code.co_filename.startswith(_PACKAGE)
            unseen = {line for *_, line in code.co_lines() if line} if ours else set()
            self._unseen[code] = unseen
        return self._line if unseen else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        unseen = self._unseen[frame.f_code]
        if frame.f_lineno in unseen:
            unseen.remove(frame.f_lineno)
            self.lines += 1
        return self._line
