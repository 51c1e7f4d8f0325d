"""Streaming process: keeps the memory busy until it is terminated or its parent ends."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from tasksim.calibration.memory.tool import MemoryTool
from tasksim.native.cores import pin_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

CHECK_INTERVAL_S: Final = 0.2
"""Interval in seconds between checks whether the parent is still there."""


def main(arguments: Sequence[str]) -> None:
    """Stream on a core over a number of bytes while a process is the parent (the arguments)."""
    core, size, parent = map(int, arguments)
    pin_thread(core)
    tool = MemoryTool()
    tool.bandwidth(size, 1, CHECK_INTERVAL_S / 10)
    sys.stdout.write("streaming\n")
    sys.stdout.flush()
    while os.getppid() == parent:
        tool.bandwidth(size, 1, CHECK_INTERVAL_S)


if __name__ == "__main__":
    main(sys.argv[1:])
