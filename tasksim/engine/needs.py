"""Needs of a simulation: whether the replay of machines is what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tasksim.platform.description import Platform

__all__ = ["SimultaneousPushes", "needs_machine"]

SimultaneousPushes = Literal["serial", "blind"]
"""Whether a push sees the others of its instant that came before it."""


def needs_machine(platform: Platform) -> bool:
    """Return whether *platform* has what only this replay knows: memories, devices, their costs."""
    return (
        len(platform.memories) > 1
        or any(platform.device(name).pipeline for name in platform.architectures)
        or not platform.overheads.only_basic
    )
