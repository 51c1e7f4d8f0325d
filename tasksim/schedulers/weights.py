"""Weights of decisions by end, transfer and energy, from checked options."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.arguments import number_from
from tasksim.base.errors import InputError
from tasksim.schedulers.base import Scheduler, option_of

if TYPE_CHECKING:
    import random

    from tasksim.graph.csr import Int64
    from tasksim.schedulers.base import View

__all__ = ["DEFAULT_GAMMA_US_PER_J", "EnergyWeights", "Weighing"]

DEFAULT_GAMMA_US_PER_J: Final = 1000.0
"""Default cost of a joule in microseconds: StarPU's default of ``STARPU_SCHED_GAMMA``."""
S_PER_US: Final = 1e-6


class EnergyWeights(NamedTuple):
    """The cost of energy in a decision, in seconds per second."""

    idle: float
    """Cost of a second in which the whole machine is idle."""
    rates: list[list[float]] | None
    """Cost of a second of a task above idle, ``[class][kernel]``; None if it costs nothing."""


class Weighing(Scheduler):
    """A policy that weighs the end, the transfer and the energy of a task on each worker."""

    def weigh(self, alpha: float, beta: float, gamma: float, idle_power: float | None) -> None:
        """Set the weights; raise :exc:`InputError` for one that is no number from 0."""
        self.alpha = number_from(alpha, option_of(self, "alpha"), 0)
        self.beta = number_from(beta, option_of(self, "beta"), 0)
        self.gamma = number_from(gamma, option_of(self, "gamma"), 0)
        if idle_power is not None:
            idle_power = number_from(idle_power, option_of(self, "idle_power"), 0)
        self.idle_power = idle_power

    def core_options(self) -> dict[str, float]:
        """Return the weights of decisions, besides other options."""
        return {**super().core_options(), "alpha": self.alpha, "beta": self.beta}

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return the cost of energy in decisions, bit by bit: that of idling, and the rates."""
        weights = self.energy_weights(view)
        rates = chain.from_iterable(weights.rates or ())
        return {"energy": np.array([weights.idle, *rates], dtype=np.float64).view(np.int64)}

    def energy_weights(self, view: View) -> EnergyWeights:
        """Return the cost of energy at *gamma* microseconds per joule.

        The energy of a task is the energy above idle, as in StarPU's energy models: the power that
        the platform gives, times the estimated duration. The whole machine draws *idle_power* watts
        when it is idle, by default the value of the platform.

        Raises
        ------
        InputError
            If *gamma* has no effect: the platform gives no power, and *idle_power* is None.
        """
        weight, power, idle_power = self.gamma * S_PER_US, view.power, self.idle_power
        if power is None and idle_power is None:
            if self.gamma != DEFAULT_GAMMA_US_PER_J:
                raise InputError(
                    f"{option_of(self, 'gamma')} does nothing without 'idle_power' or a "
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
        return EnergyWeights(weight * idle_power, rates)
