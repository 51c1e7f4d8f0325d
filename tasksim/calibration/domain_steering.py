"""Steering over a domain: the model that is fitted so far says which configuration comes next.

The first configurations are as the domain draws them. From then on the model is fitted anew when
there are some more, draws itself over the domain, and what is measured next makes it surest per
second (:mod:`tasksim.calibration.choosing`). A model does not doubt what it knows nothing of,
steps between sizes and the like; so one configuration in four is still the next one of the design.

How far the model errs is asked of configurations that it has not seen, by cross-validation. It is
asked of the first ones of the design only, as many as are measured without a gap: these are spread
over the domain as it was drawn, and those that steering chose are not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, ModelError, OutOfDomainError
from tasksim.calibration.choosing import measured_at, off_by, worth
from tasksim.calibration.domain_error import Errors, errors_of
from tasksim.models.samples import Samples
from tasksim.models.validation.crossvalidation import predicted_where_possible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.calibration.domain import Domain
    from tasksim.models.selection import Selection

    Array = NDArray[np.float64]
    Fit = Callable[[Samples], Selection]

__all__ = ["KINDS", "DomainSteering", "fits_of", "free_parameters"]

KINDS: Final = ("power", "mlr", "hybrid")
"""What is tried where nobody asks for a kind: what predicts sizes that were not measured. A plain
tensor, ``cp``, takes longest to fit, and does better on top of a law (``hybrid``)."""
LEAST: Final = 16
"""Configurations as drawn before the model says anything, and more of more parameters, ..."""
LEAST_EACH: Final = 6
"""... so many of each: fewer do not tell linear models and tensors apart."""
EVERY: Final = 4
"""One configuration in so many is as drawn: steps that the model does not see are found by
chance, and errors are judged by these."""
GROWN: Final = 1.15
"""A model is fitted anew when there are so many times as many configurations ..."""
FIT_SHARE: Final = 0.5
"""... and fitting, the next time like the last, takes no more than this part of the time."""
DRAWS: Final = 200
"""Of the model, each time: covariances are known to a tenth."""
FIT_S: Final = 2.0
"""The budget of a fit, in which kinds refine themselves; one that is begun is finished."""


def free_parameters(domain: Domain) -> list[int]:
    """Return the columns of the parameters that vary, each by itself: what models are made of.

    Raises
    ------
    InputError
        If there is nothing to choose from.
    """
    free = [i for i, name in enumerate(domain.names) if len(domain.axes.get(name, ())) > 1]
    if not free:
        raise InputError(
            f"kernel {domain.kernel}: no parameter has more than one size, so that no model can "
            "say which configuration comes next; legal: a range or a list"
        )
    return free


def fits_of(kind: str, seed: int) -> Fit:
    """Return what fits models of a *kind*, of the best of several where it is ``auto``."""
    from tasksim.models.registry import model_class
    from tasksim.models.selection import select

    if kind != "auto" and model_class(kind).exact:
        raise InputError(
            f"kind {kind}: knows nothing of sizes that were not measured, and cannot say which "
            f"comes next; legal: auto, {', '.join(KINDS)}, cp"
        )
    kinds = KINDS if kind == "auto" else (kind,)
    return lambda samples: select(samples, kinds, budget_s=FIT_S, seed=seed)


class DomainSteering:
    """Which configuration is measured next, and whether the model is good enough.

    Parameters
    ----------
    names : sequence of str
        The parameters that vary.
    table : ndarray, shape (configurations, parameters)
        What could be measured, as the domain draws it.
    until : float
        How far the model may err, in the mean over the domain.
    fit : callable
        Fits a model, and judges it.
    seed : int, default 0
        Of the draws of models.
    """

    def __init__(
        self, names: Sequence[str], table: NDArray[np.int64], until: float, fit: Fit, seed: int = 0
    ) -> None:
        self.names, self.table, self.until = tuple(names), table.astype(np.float64), until
        self._fit, self._rng = fit, np.random.default_rng([seed, 1])
        self._durations: dict[int, list[float]] = {}
        self._seconds: dict[int, float] = {}
        self._since, self._look_at = 0, 0
        self._fits_s = [0.0]
        self._apart: Array | None = None
        self._cost_s = np.ones(len(table))
        self.looks: list[tuple[int, Errors]] = []
        """How many configurations there were each time it was asked how far the model errs."""
        self.model: str | None = None
        """The kind of the model."""

    @property
    def least(self) -> int:
        """How many configurations are measured before the model says anything."""
        return min(max(LEAST, LEAST_EACH * len(self.names)), len(self.table))

    @property
    def errors(self) -> Errors | None:
        """How far the model errs; None if nothing can be said yet."""
        return self.looks[-1][1] if self.looks else None

    @property
    def known(self) -> bool:
        """Whether the model errs no more than asked, luck allowed for."""
        return self.errors is not None and self.errors.at_most <= self.until

    @property
    def seconds(self) -> float:
        """How long all measuring took."""
        return sum(self._seconds.values())

    @property
    def count(self) -> int:
        """How many configurations were measured."""
        return len(self._durations)

    def add(self, place: int, durations_s: Sequence[float], seconds: float) -> None:
        """Note what was measured at a *place* of the table, and how long that took."""
        self._durations[place] = list(durations_s)
        self._seconds[place] = seconds
        self._since += 1
        if self._apart is not None and self.errors is not None:
            self._apart = measured_at(self._apart, place, self.errors.noise)

    def next(self) -> int | None:
        """Return the place of what is measured next; None if all is known, or measured."""
        if self.count < self.least:
            return self._as_drawn()
        if self._apart is None or self._time_to_look():
            self.look()
        if self.known or self.count == len(self.table):
            return None
        if self._since % EVERY == 0 or self._apart is None or self.errors is None:
            return self._as_drawn()
        values = worth(self._apart, self.errors.noise, self._cost_s)
        values[list(self._durations)] = -1.0
        return int(values.argmax()) if values.max() > 0 else self._as_drawn()

    def look(self) -> None:
        """Fit the model to what is known, ask how far it errs, and draw it over the domain."""
        begun = time.monotonic()
        self._look_at = int(GROWN * self.count) + 1
        samples = self.samples()
        found = self._fit(samples)
        self.model = found.model.kind
        if found.out is not None:
            prefix = self.table[: self.prefix]
            self.looks.append((self.count, errors_of(samples, found.out, prefix)))
        self._cost_s = self._costs(predicted_where_possible(found.model, self.table))
        try:
            self._apart = off_by(np.log(found.model.draw(self.table, self._rng, DRAWS)))
        except (ModelError, OutOfDomainError):
            self._apart = None  # too few to say, or places it has no word for: as drawn
        self._fits_s.append(time.monotonic() - begun)

    @property
    def prefix(self) -> int:
        """How many configurations of the design are measured without a gap."""
        return self._as_drawn(len(self.table))

    def samples(self) -> Samples:
        """Return what was measured."""
        places = np.array(list(self._durations), dtype=np.intp)
        counts = [len(durations) for durations in self._durations.values()]
        durations = [one for durations in self._durations.values() for one in durations]
        table = self.table[np.repeat(places, counts)]
        return Samples(self.names, table, np.array(durations))

    def _as_drawn(self, end: int = 0) -> int:
        places = range(len(self.table))
        return next((place for place in places if place not in self._durations), end)

    def _time_to_look(self) -> bool:
        fits_s = sum(self._fits_s) + self._fits_s[-1]
        small = fits_s <= FIT_SHARE * (fits_s + self.seconds)
        return self.count == len(self.table) or (self.count >= self._look_at and small)

    def _costs(self, predicted_s: Array) -> Array:
        """Return what measuring each takes: as many times its duration as others, and some time."""
        measured = list(self._durations)
        seconds = np.array([self._seconds[place] for place in measured])
        predicted = predicted_s[measured]
        timed = (seconds > 0) & np.isfinite(predicted)
        if not timed.any():
            return np.nan_to_num(predicted_s, nan=np.nanmax(predicted_s))
        least = float(seconds[timed].min())
        times = float(np.median(np.maximum(seconds[timed] - least, 0.0) / predicted[timed]))
        cost = least + times * predicted_s
        return np.where(np.isfinite(cost), cost, seconds.max())
