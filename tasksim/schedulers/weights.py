"""Weights of decisions: the numbers that options of the dm family give, checked."""

from __future__ import annotations

from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.graph.csr import Int64
    from tasksim.run.power import PowerInfo
    from tasksim.schedulers.base import View

__all__ = ["GAMMA", "EnergyWeights", "check_weights", "energy_weights", "number"]

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


class EnergyWeights(NamedTuple):
    """What energy costs in a decision, in seconds."""

    idle: float
    """A second of idleness of the whole machine."""
    rates: list[list[float]] | None
    """A second of a task beside idleness, ``[class][kernel]``; None: it costs nothing."""

    def as_table(self) -> Int64:
        """Return it for the compiled core: the bits of ``idle``, and of the rates if there are."""
        rates = [] if self.rates is None else list(chain.from_iterable(self.rates))
        return np.array([self.idle, *rates], dtype=np.float64).view(np.int64)


def check_weights(scheduler: str, gamma: object, idle_power: object) -> None:
    """Raise :exc:`InputError` unless both are numbers, the latter or None."""
    number(scheduler, "gamma", gamma)
    if idle_power is not None:
        number(scheduler, "idle_power", idle_power)


def energy_weights(
    scheduler: str, gamma: float, idle_power: float | None, view: View
) -> EnergyWeights:
    """Return what energy costs: *gamma* microseconds per joule.

    Joules of a task are those beside idleness, as StarPU's energy models have them: with the power
    that the platform says, while the estimated duration lasts. The whole machine is idle at
    *idle_power* watts, by default what the platform says.

    Raises
    ------
    InputError
        A *gamma* that has nothing to weigh: no power is known, and no *idle_power* is given.
    """
    weight, power = gamma * S_PER_US, view.power
    if power is None and idle_power is None:
        if gamma != GAMMA:
            raise InputError(
                f"scheduler '{scheduler}': option 'gamma' does nothing without 'idle_power' or a "
                "platform with a section `power:`; legal: gamma=US_PER_JOULE,idle_power=WATTS"
            )
        return EnergyWeights(0.0, None)
    if idle_power is None:
        assert power is not None
        idle_power = power.idle_w
    rates = None if power is None or not weight else _rates(weight, power, view)
    return EnergyWeights(weight * float(idle_power), rates)


def _rates(weight: float, power: PowerInfo, view: View) -> list[list[float]]:
    kinds = [power.kinds[power.kind_of[group.workers[0]]] for group in view.classes]
    names = view.graph.kernels
    return [[weight * (kind.of(name) - kind.idle_w) for name in names] for kind in kinds]
