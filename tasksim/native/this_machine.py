"""Platform of this machine: its name, and a worker per usable core."""

from __future__ import annotations

import platform
import re
from dataclasses import replace

from tasksim.base.errors import InputError
from tasksim.native.cores import usable_cores
from tasksim.platform.description import Platform

__all__ = ["machine_name", "named_machine", "this_machine"]


def machine_name() -> str:
    """Return a name for this machine that is fit for files: its host name, tidied."""
    return re.sub(r"[^a-z0-9-]+", "-", platform.node().lower()).strip("-") or "machine"


def named_machine(name: str | None) -> str:
    """Return *name*, or that of this machine if there is none.

    Raises :exc:`InputError` if files cannot be called so.
    """
    if name and (name.startswith(".") or any(c in name for c in "/\\\0\n")):
        raise InputError(f"machine '{name}': a name with '/', or that begins with '.', is no file")
    return name or machine_name()


def this_machine(workers: int | None = None) -> Platform:
    """Return this machine with so many *workers*, by default all usable cores, no overheads."""
    count = workers if workers is not None else len(usable_cores())
    return replace(Platform.identical(count), name=machine_name())
