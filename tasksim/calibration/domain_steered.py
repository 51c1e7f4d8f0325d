"""Steered campaign over a domain: the model says what is measured next, and when it is enough."""

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

MOSTLY: Final = 0.5
"""Of an error that is for so large a part the noise of means, it is said that noise prevents it."""
FLATTEST: Final = 0.1
"""Errors that shrink by less than this power of the number of configurations shrink no more:
twice as many take off 7 %."""


@dataclass(frozen=True)
class Reached:
    """What steered measuring came to: how far the model errs, and what prevented more.

    Attributes
    ----------
    until
        How far it was to err at most, in the mean over the domain.
    error
        How far it does, at configurations that it has not seen; None if nothing can be said.
    luck
        The standard error of that, which is added before they are compared.
    of_means
        How far measured means are off, for their noise; it is no part of the error.
    kind
        Of the model.
    prevented
        Why it errs more than asked; None if it does not.
    """

    until: float
    error: float | None = None
    luck: float | None = None
    of_means: float | None = None
    kind: str | None = None
    prevented: str | None = "interrupted before anything was known"

    def __str__(self) -> str:
        if self.error is None or self.luck is None:
            return f"not known: {self.prevented}"
        line = f"{self.kind}, errs by {_percent(self.error)} (+- {_percent(self.luck)})"
        if self.prevented is None:
            return line
        return f"{line}; not {_percent(self.until)}: {self.prevented}"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "reached": self.prevented is None}


class SteeredCampaign:
    """Visits configurations of a table in the order that a model asks for.

    Parameters
    ----------
    domain, table, options
        What could be measured, and how long.
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
        """Measure until the model is good enough, all is measured, or the time is *over*."""
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
            steering.look()  # the last ones count, too
        self._ended = True

    def reached(self) -> Reached:
        """Return what it came to."""
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
        """Return why the model errs more than asked; None if it does not."""
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
        """Return what more measuring would do, as errors have shrunk so far."""
        steering, errors = self.steering, self.steering.errors
        assert errors is not None
        if errors.of_means > max(MOSTLY * errors.mean, self.steering.until):
            return (
                f"means are off by {_percent(errors.of_means)} for noise alone: more "
                "--repetitions, or a calmer machine"
            )
        power = shrinking(
            [count for count, _ in steering.looks], [one.mean for _, one in steering.looks]
        )
        if power is None:
            return "nobody knows yet how errors shrink"
        if power < FLATTEST:
            return f"the errors of {steering.model} shrink no more: another --kind might err less"
        times = (errors.at_most / self._until) ** (1 / power)
        return (
            f"about {duration_text((times - 1) * steering.seconds)} more of measuring would do, if "
            "errors go on shrinking as they did"
        )


def shrinking(counts: list[int], errors: list[float]) -> float | None:
    """Return with which power of counts errors shrink; None if that cannot be said.

    >>> round(shrinking([10, 20, 40], [0.4, 0.2, 0.1]), 9)
    1.0
    """
    x, y = np.log(counts), np.log(np.maximum(errors, 1e-12))
    if len(set(counts)) < 3 or not np.isfinite(y).all():
        return None
    return float(-np.polyfit(x, y, 1)[0])


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
