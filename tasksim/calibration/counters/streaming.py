"""Streaming: a process that keeps the memory busy, until it or who has started it is ended."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from tasksim.calibration.memory.tool import MemoryTool
from tasksim.native.cores import pin_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

PIECE_S: Final = 0.2
"""After which it looks whether anybody still wants it."""


def main(arguments: Sequence[str]) -> None:
    """Stream on a core over so many bytes while a process, all three given, is the parent."""
    core, size, parent = map(int, arguments)
    pin_thread(core)
    tool = MemoryTool()
    tool.bandwidth(size, 1, PIECE_S / 10)
    sys.stdout.write("streaming\n")
    sys.stdout.flush()
    while os.getppid() == parent:
        tool.bandwidth(size, 1, PIECE_S)


if __name__ == "__main__":
    main(sys.argv[1:])
