"""Schedulers for which the compiled core has the same policy, with its options and tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from tasksim.schedulers.base import Scheduler

if TYPE_CHECKING:
    import random

    from tasksim.graph.csr import Int64
    from tasksim.schedulers.base import View

__all__ = ["Ported", "ported"]

HOOKS: Final = (
    "attach", "push", "choose", "chosen", "commit", "pop", "started", "finished", "core_options",
    "core_tables",
)  # fmt: skip
"""The methods of a scheduler that engines call."""


@dataclass(frozen=True)
class Ported:
    """A scheduler that the core can run.

    Attributes
    ----------
    scheduler : Scheduler
        The Python scheduler.
    name : str
        The name of its policy in the core.
    numbers : dict of str to float
        Its numeric options.
    """

    scheduler: Scheduler
    name: str
    numbers: dict[str, float]

    @property
    def asks(self) -> bool:
        """Whether it has tables, which are made from a view."""
        return type(self.scheduler).core_tables is not Scheduler.core_tables

    def tables(self, view: View | None, rng: random.Random) -> dict[str, Int64]:
        """Return its tables for the run that begins; a static scheduler plans the run now.

        *view* may be None if there are no tables. Errors of the scheduler's ``attach`` pass
        through.
        """
        return {} if view is None else self.scheduler.core_tables(view, rng)


def ported(scheduler: Scheduler) -> Ported | None:
    """Return *scheduler* for the core; None if the core would not behave in the same way.

    The core has policies for the built-in classes, not for classes derived from them, nor for
    objects or classes with a replaced method or class attribute.
    """
    kind = type(scheduler)
    name = getattr(kind, "core", "")
    if not (name and _is_built_in(kind)) or any(hasattr(kind, key) for key in vars(scheduler)):
        return None
    if not all(_is_built_in(getattr(kind, hook)) for hook in HOOKS):
        return None
    numbers = scheduler.core_options()
    if not all(isinstance(number, int | float) and isfinite(number) for number in numbers.values()):
        return None
    return Ported(scheduler, name, {option: float(number) for option, number in numbers.items()})


def _is_built_in(found: Any) -> bool:
    """Return whether a class or a method is that of a built-in scheduler, and no replacement."""
    return getattr(found, "__module__", "").startswith("tasksim.schedulers.")
