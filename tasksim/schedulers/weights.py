"""Weights of decisions in the dm family, from checked options."""

from __future__ import annotations

from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.graph.csr import Int64
    from tasksim.schedulers.base import View

__all__ = ["DEFAULT_GAMMA_US_PER_J", "EnergyWeights", "check_weights", "energy_weights", "number"]

DEFAULT_GAMMA_US_PER_J: Final = 1000.0
"""Default cost of a joule in microseconds: StarPU's default of ``STARPU_SCHED_GAMMA``."""
S_PER_US: Final = 1e-6


def number(scheduler: str, option: str, value: Any, least: float = 0.0) -> float:
    """Return *value* as a float; raise :exc:`InputError` if it is no number of at least *least*."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and isfinite(value) and value >= least:
        return float(value)
    raise InputError(
        f"scheduler '{scheduler}': option '{option}' is {value!r}, not a number of at least "
        f"{least:g}"
    )


class EnergyWeights(NamedTuple):
    """The cost of energy in a decision, in seconds per second."""

    idle: float
    """Cost of a second in which the whole machine is idle."""
    rates: list[list[float]] | None
    """Cost of a second of a task above idle, ``[class][kernel]``; None if it costs nothing."""

    def as_table(self) -> Int64:
        """Return the bits of ``idle`` and of the rates, if any, for the compiled core."""
        rates = [] if self.rates is None else list(chain.from_iterable(self.rates))
        return np.array([self.idle, *rates], dtype=np.float64).view(np.int64)


def check_weights(scheduler: str, gamma: object, idle_power: object) -> None:
    """Raise :exc:`InputError` unless both are numbers; *idle_power* may be None."""
    number(scheduler, "gamma", gamma)
    if idle_power is not None:
        number(scheduler, "idle_power", idle_power)


def energy_weights(
    scheduler: str, gamma: float, idle_power: float | None, view: View
) -> EnergyWeights:
    """Return the cost of energy at *gamma* microseconds per joule.

    The energy of a task is the energy above idle, as in StarPU's energy models: the power that the
    platform gives, times the estimated duration. The whole machine draws *idle_power* watts when it
    is idle, by default the value of the platform.

    Raises
    ------
    InputError
        If *gamma* has no effect: the platform gives no power, and *idle_power* is None.
    """
    weight, power = gamma * S_PER_US, view.power
    if power is None and idle_power is None:
        if gamma != DEFAULT_GAMMA_US_PER_J:
            raise InputError(
                f"scheduler '{scheduler}': option 'gamma' does nothing without 'idle_power' or a "
                "platform with a section `power:`; legal: gamma=US_PER_JOULE,idle_power=WATTS"
            )
        return EnergyWeights(0.0, None)
    if idle_power is None:
        assert power is not None
        idle_power = power.idle_w
    rates = None
    if power is not None and weight:
        kinds = [power.kinds[power.kind_of[group.workers[0]]] for group in view.classes]
        names = view.graph.kernels
        rates = [[weight * (kind.of(name) - kind.idle_w) for name in names] for kind in kinds]
    return EnergyWeights(weight * float(idle_power), rates)
