"""Platform of this machine, with its name and one worker per usable core."""

from __future__ import annotations

import platform
import re
from dataclasses import replace

from tasksim.base.errors import InputError
from tasksim.native.cores import usable_cores
from tasksim.platform.description import Platform

__all__ = ["machine_name", "named_machine", "this_machine"]


def machine_name() -> str:
    """Return this machine's name for files: its host name in lower case, cleaned."""
    return re.sub(r"[^a-z0-9-]+", "-", platform.node().lower()).strip("-") or "machine"


def named_machine(name: str | None) -> str:
    """Return *name*, or this machine's name if it is empty.

    Raise :exc:`InputError` if it cannot be a file name.
    """
    if name and (name.startswith(".") or any(c in name for c in "/\\\0\n")):
        raise InputError(f"machine '{name}': a name with '/', or that begins with '.', is no file")
    return name or machine_name()


def this_machine(workers: int | None = None) -> Platform:
    """Return this machine without overheads; *workers* defaults to the number of usable cores."""
    count = workers if workers is not None else len(usable_cores())
    return replace(Platform.identical(count), name=machine_name())
