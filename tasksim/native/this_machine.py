"""Name, usable cores and platform of this machine; threads pinned to cores."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tasksim.base.errors import InputError
from tasksim.platform.description import Platform

__all__ = [
    "cores_for",
    "machine_name",
    "named_machine",
    "pin_thread",
    "processor",
    "this_machine",
    "usable_cores",
]


def machine_name() -> str:
    """Return this machine's name for files: its host name in lower case, cleaned."""
    return re.sub(r"[^a-z0-9-]+", "-", platform.node().lower()).strip("-") or "machine"


def processor() -> str:
    """Return the model name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def is_virtual() -> bool:
    """Return whether this is a virtual machine; False if nothing says so."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    flags = re.search(r"^flags\s*:(.*)$", text, flags=re.MULTILINE)
    return flags is not None and "hypervisor" in flags[1].split()


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


def usable_cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin_thread(core: int | None) -> None:
    """Pin the calling thread to *core* if the system allows it; None: do not pin."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # a container may forbid it; an unpinned run is still valid
            os.sched_setaffinity(0, {core})


def cores_for(workers: int) -> list[int] | None:
    """Return a core for each worker, or None if there are fewer cores than workers."""
    cores = usable_cores()
    return cores if workers <= len(cores) else None
