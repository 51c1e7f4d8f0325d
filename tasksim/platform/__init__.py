"""Platforms: what they are, their files, their checks.

The description is here; files are read by :mod:`tasksim.platform.load`, which needs pydantic
and PyYAML and is imported only where a file is read.
"""

from __future__ import annotations

from tasksim.platform.description import Link, Memory, Overheads, Platform, Worker, WorkerClass

__all__ = ["Link", "Memory", "Overheads", "Platform", "Worker", "WorkerClass"]
