"""Law of slowdowns: how others on a machine disturb a run, by how they disturbed a moment before.

A *slowdown* is how many times as long something takes as it would alone. A calibration asks for all
cores for a moment again and again (:mod:`tasksim.native.slowdown_probe`), and each of its runs
tells its own slowdown. A run is predicted by the runs of which the last few probes, as long before
them, had said the same: as busy, and as restless, which is how far apart these probes are. Where
no such run was seen, because a load began after the calibration, a run is slowed as the probe was,
more or less: others stay, as a rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["LAG_S", "RECENT_PROBES", "ExpectedSlowdown", "SlowdownLaw", "SlowdownRow"]

RECENT_PROBES: Final = 4
"""Number of probes that say how restless a machine is."""
LAG_S: Final = 1.0
"""How long before a run starts its latest probe was, in seconds: predicting takes about so long."""
NEAREST_RUNS: Final = 80
"""Number of the nearest runs that a prediction rests on: one in forty is beyond a 95 % interval,
and runs of the same second are one moment."""
ALIKE: Final = 0.1
"""Distance of logarithms of moments that probes do not tell apart: they scatter by a twentieth."""
NEIGHBOURHOOD: Final = 0.35
"""Distance of logarithms beyond which moments say nothing of each other: a third more or less."""
PRIOR_RUNS: Final = 8
"""Weight of what is known of all machines, in runs."""
CALM_SCATTER: Final = 0.02
"""Standard deviation of the logarithm of slowdowns on a machine that nobody else uses."""
BUSY_SCATTER: Final = 0.1
"""Standard deviation of the logarithm of a run's slowdown, by the logarithm of the probe's."""
RESTLESS_SCATTER: Final = 0.5
"""Standard deviation of the logarithm of a run's slowdown, by how far apart the last probes were:
the run may meet the calmest of these moments or the busiest."""
ARRIVAL_SHARE: Final = 0.02
"""Share of runs during which others come, or more of them, who were not there before."""
ARRIVAL_SLOWDOWN: Final = 0.5
"""Mean logarithm of the slowdown that they bring: that of two programs on one core is ln 2 = .7,
for a part of the run."""
SILVERMAN: Final = 0.9
"""Factor of the bandwidth that smooths few runs (Silverman, Density Estimation, 1986, 3.31)."""
NORMAL_IQR: Final = 1.349
"""Interquartile range of a normal distribution, in standard deviations."""


class SlowdownRow(NamedTuple):
    """A run of a calibration.

    Parameters
    ----------
    probe : float
        The slowdown of the latest probe, :data:`LAG_S` before it.
    restless : float
        The largest slowdown of the last few probes over the smallest.
    slowdown : float
        Its own.
    """

    probe: float
    restless: float
    slowdown: float

    @classmethod
    def of(cls, probes: Sequence[float], slowdown: float) -> Self:
        """Return the row of a run after these *probes*, the latest last."""
        recent = probes[-RECENT_PROBES:]
        return cls(recent[-1], max(recent) / min(recent), slowdown)


@dataclass(frozen=True, eq=False)
class SlowdownLaw:
    """How slow runs are on a machine, by what a probe said before.

    Attributes
    ----------
    probes, restless, slowdowns : ndarray
        Logarithms, of each run of the calibrations.
    """

    probes: Array
    restless: Array
    slowdowns: Array

    @classmethod
    def of(cls, rows: Sequence[SlowdownRow]) -> Self:
        """Return the law of *rows*; of none, what is known of all machines."""
        return cls(*np.log(np.array(rows, dtype=np.float64).reshape(-1, 3)).T)

    def at(self, probes: Sequence[float]) -> ExpectedSlowdown:
        """Return how slow a run is after these *probes*, the latest last."""
        logs = np.log(np.asarray(probes[-RECENT_PROBES:], dtype=np.float64))
        latest, restless = float(logs[-1]), float(np.ptp(logs))
        apart = np.abs(self.probes - latest)
        if len(logs) > 1:  # one probe does not tell how restless the machine is
            apart = np.hypot(apart, self.restless - restless)
        nearest = np.sort(apart)[:NEAREST_RUNS]
        near = apart <= np.clip(nearest[-1] if len(nearest) else 0.0, ALIKE, NEIGHBOURHOOD)
        scatter = np.sqrt(
            CALM_SCATTER**2 + (BUSY_SCATTER * latest) ** 2 + (RESTLESS_SCATTER * restless) ** 2
        )
        return ExpectedSlowdown(np.sort(self.slowdowns[near]), latest, float(scatter))

    def at_any(self) -> ExpectedSlowdown:
        """Return how slow a run is in no moment in particular: as any of the calibration was."""
        return ExpectedSlowdown(np.sort(self.slowdowns), 0.0, CALM_SCATTER)


@dataclass(frozen=True, eq=False)
class ExpectedSlowdown:
    """Slowdowns that a run may meet: those of runs like it, and what is known of all machines.

    Attributes
    ----------
    seen : ndarray
        Logarithms of the slowdowns of like runs, ascending.
    usual, scatter : float
        What is expected otherwise: a mean and a standard deviation of the logarithm.
    """

    seen: Array
    usual: float
    scatter: float

    @property
    def expected(self) -> float:
        """The logarithm of the slowdown in the middle."""
        share = self._share_seen
        middle = float(np.median(self.seen)) if len(self.seen) else 0.0
        return share * middle + (1 - share) * max(self.usual, 0.0)

    def drawn(self, rng: np.random.Generator) -> float:
        """Return the logarithm of a slowdown, drawn; at least 0."""
        chosen, place, normal, arrives, size = (
            rng.random(),
            rng.random(),
            rng.standard_normal(),
            rng.random(),
            rng.exponential(ARRIVAL_SLOWDOWN),
        )
        if chosen < self._share_seen:
            level = float(np.quantile(self.seen, place)) + self._bandwidth * normal
            return max(level, 0.0)
        level = self.usual + self.scatter * normal
        return max(level, 0.0) + (size if arrives < ARRIVAL_SHARE else 0.0)

    @property
    def _share_seen(self) -> float:
        return len(self.seen) / (len(self.seen) + PRIOR_RUNS)

    @property
    def _bandwidth(self) -> float:
        low, high = np.quantile(self.seen, (0.25, 0.75))
        scale = float(high - low) / NORMAL_IQR
        return float(SILVERMAN * scale * len(self.seen) ** -0.2)
