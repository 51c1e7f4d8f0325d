"""Hooks of schedulers, looked up once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.schedulers.base import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["chooses_apart", "unless_default"]


def unless_default(scheduler: Scheduler, hook: str) -> Callable[[int, int], None] | None:
    """Return the scheduler's own *hook*, None if it has but the one that does nothing."""
    own = getattr(type(scheduler), hook, None)
    return None if own is getattr(Scheduler, hook) else getattr(scheduler, hook)


def chooses_apart(scheduler: Scheduler) -> bool:
    """Return whether *scheduler* chooses what to do with a task apart from doing it."""
    return getattr(type(scheduler), "choose", Scheduler.choose) is not Scheduler.choose
