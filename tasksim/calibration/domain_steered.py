"""Steered campaign over a domain: a model chooses the next configuration and when to stop."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.units import duration_text
from tasksim.calibration.domain_steering import DomainSteering, fits_of, free_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.calibration.domain import Domain
    from tasksim.calibration.domain_results import MeasureOptions, VisitedConfiguration

__all__ = ["Reached", "SteeredCampaign"]

NOISE_SHARE: Final = 0.5
"""Share of the error due to the noise of means from which noise is reported as the obstacle."""
MIN_POWER: Final = 0.1
"""Smallest power of the number of configurations with which errors shrink usefully: at this power,
twice as many take off 7 %."""


@dataclass(frozen=True)
class Reached:
    """Result of a steered campaign: the model's error, and the obstacle to a smaller one.

    Attributes
    ----------
    until
        Requested mean error over the domain.
    error
        Mean error at unseen configurations; None if unknown.
    luck
        Standard error of *error*, added before the comparison.
    of_means
        Error of measured means due to noise; it is no part of *error*.
    kind
        Kind of the model.
    prevented
        Why the error is larger than requested; None if it is not.
    """

    until: float
    error: float | None = None
    luck: float | None = None
    of_means: float | None = None
    kind: str | None = None
    prevented: str | None = "interrupted before anything was known"

    def __str__(self) -> str:
        if self.error is None or self.luck is None:
            return f"unknown: {self.prevented}"
        line = f"{self.kind}, errs by {_percent(self.error)} (+- {_percent(self.luck)})"
        if self.prevented is None:
            return line
        return f"{line}; not {_percent(self.until)}: {self.prevented}"

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {**asdict(self), "reached": self.prevented is None}


class SteeredCampaign:
    """Visits configurations of a table in the order that a model chooses.

    Parameters
    ----------
    domain, table, options
        Domain, its configurations, and when to stop.
    """

    def __init__(self, domain: Domain, table: NDArray[np.int64], options: MeasureOptions) -> None:
        assert options.until is not None
        columns = free_parameters(domain)
        self.steering = DomainSteering(
            [domain.names[column] for column in columns],
            table[:, columns],
            options.until,
            fits_of(options.kind, options.seed),
            options.seed,
        )
        self._until, self._ended = options.until, False

    def run(
        self,
        configurations: list[VisitedConfiguration],
        measure: Callable[[VisitedConfiguration], None],
        over: Callable[[], bool],
        tell: Callable[[str, float], None] | None,
    ) -> None:
        """Measure until the model is good enough, everything is measured, or time is *over*."""
        steering = self.steering
        for place, earlier in enumerate(configurations):
            if earlier.durations_s:
                steering.add(place, earlier.durations_s, 0.0)
        while not over():
            chosen = steering.next()
            if chosen is None:
                break
            begun = time.monotonic()
            measure(configurations[chosen])
            durations = configurations[chosen].durations_s
            if durations:
                steering.add(chosen, durations, time.monotonic() - begun)
            if tell is not None:
                tell(self._told(), self._way())
        if not steering.known and steering.count >= steering.least:
            steering.look()  # include the last configurations
        self._ended = True

    def reached(self) -> Reached:
        """Return the result."""
        steering, errors = self.steering, self.steering.errors
        prevented = self._prevented()
        if errors is None or not np.isfinite(errors.mean):
            return Reached(self._until, prevented=prevented)
        luck = errors.luck if np.isfinite(errors.luck) else None
        return Reached(self._until, errors.mean, luck, errors.of_means, steering.model, prevented)

    def _told(self) -> str:
        steering, errors = self.steering, self.steering.errors
        text = f"{steering.count} configurations"
        return (
            text if errors is None else f"{text}, {steering.model} errs by {_percent(errors.mean)}"
        )

    def _way(self) -> float:
        errors = self.steering.errors
        if errors is None or not np.isfinite(errors.at_most) or not errors.at_most:
            return 0.0
        return min((self._until / errors.at_most) ** 2, 1.0)

    def _prevented(self) -> str | None:
        """Return why the model's error is larger than requested; None if it is not."""
        steering, errors = self.steering, self.steering.errors
        if steering.known:
            return None
        if errors is None or not np.isfinite(errors.at_most):
            why = "the time was over" if self._ended else "interrupted"
            return f"{why} before there were enough configurations for a model"
        if not self._ended:
            return "interrupted"
        why = "the time is over"
        if steering.count == len(steering.table):
            why = f"all {steering.count} configurations are measured"
        return f"{why}; {self._hope()}"

    def _hope(self) -> str:
        """Return the effect of more measurements, extrapolated from the errors so far."""
        steering, errors = self.steering, self.steering.errors
        assert errors is not None
        if errors.of_means > max(NOISE_SHARE * errors.mean, self.steering.until):
            return (
                f"noise alone puts means off by {_percent(errors.of_means)}: use more "
                "--repetitions, or a calmer machine"
            )
        power = shrinking(
            [count for count, _ in steering.looks], [one.mean for _, one in steering.looks]
        )
        if power is None:
            return "how errors shrink is not known yet"
        if power < MIN_POWER:
            return f"the errors of {steering.model} no longer shrink: another --kind may err less"
        times = (errors.at_most / self._until) ** (1 / power)
        return (
            f"about {duration_text((times - 1) * steering.seconds)} more of measuring would "
            "suffice if errors go on shrinking as before"
        )


def shrinking(counts: list[int], errors: list[float]) -> float | None:
    """Return the power of counts with which errors shrink; None if it is unknown.

    >>> round(shrinking([10, 20, 40], [0.4, 0.2, 0.1]), 9)
    1.0
    """
    x, y = np.log(counts), np.log(np.maximum(errors, 1e-12))
    if len(set(counts)) < 3 or not np.isfinite(y).all():
        return None
    return float(-np.polyfit(x, y, 1)[0])


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
