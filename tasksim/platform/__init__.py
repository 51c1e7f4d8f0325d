"""Platforms, their files and their checks.

The description is here. :mod:`tasksim.platform.load` reads files; it needs PyYAML and is imported
only if a file is read.
"""

from __future__ import annotations

from tasksim.platform.costs import Allocation, Copying, Overheads
from tasksim.platform.description import (
    Device,
    Link,
    Memory,
    MemoryDomain,
    Platform,
    Route,
    Worker,
    WorkerClass,
)

__all__ = [
    "Allocation",
    "Copying",
    "Device",
    "Link",
    "Memory",
    "MemoryDomain",
    "Overheads",
    "Platform",
    "Route",
    "Worker",
    "WorkerClass",
]
