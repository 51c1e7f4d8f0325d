"""Weights of decisions: the numbers that options of the dm family give, checked."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from tasksim.base.errors import InputError

__all__ = ["GAMMA", "idle_weight", "number"]

GAMMA: Final = 1000.0
"""Microseconds that a joule costs: StarPU's default of ``STARPU_SCHED_GAMMA``."""
S_PER_US: Final = 1e-6


def number(scheduler: str, option: str, value: Any, least: float = 0.0) -> float:
    """Return *value* as a number, or raise :exc:`InputError` if it is none, or below *least*."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and isfinite(value) and value >= least:
        return float(value)
    raise InputError(
        f"scheduler '{scheduler}': option '{option}' is {value!r}, not a number of at least "
        f"{least:g}"
    )


def idle_weight(scheduler: str, gamma: object, idle_power: object) -> float:
    """Return what a second of idleness of the whole machine costs, in seconds.

    Raises :exc:`InputError` for what are no numbers, and for a *gamma* without an *idle_power*:
    there are no models of the energy of tasks, so gamma would weigh nothing.
    """
    weight = number(scheduler, "gamma", gamma)
    if idle_power is None:
        if weight != GAMMA:
            raise InputError(
                f"scheduler '{scheduler}': option 'gamma' does nothing without 'idle_power': there "
                "are no models of energy; legal: gamma=US_PER_JOULE,idle_power=WATTS"
            )
        return 0.0
    return weight * S_PER_US * number(scheduler, "idle_power", idle_power)
