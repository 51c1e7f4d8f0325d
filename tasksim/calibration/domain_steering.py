"""Steering over a domain: the model fitted so far chooses the next configuration.

The first configurations are those that the domain draws. From then on the model is refitted
whenever there are some more, draws itself over the domain, and the next configuration is the one
that most reduces its variance per second (:mod:`tasksim.calibration.choosing`). A model has no
doubts about effects that it does not know, such as steps between sizes; so one configuration in
four is still the next one of the design.

The model's error is estimated at unseen configurations, by cross-validation. Only the first ones of
the design count, up to the first that is not measured: these are spread over the domain as drawn,
and the steered ones are not.
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
"""Kinds to try by default: those that predict unmeasured sizes. A plain tensor, ``cp``, takes
longest to fit, and does better on top of a law (``hybrid``)."""
MIN_CONFIGURATIONS: Final = 16
"""Smallest number of configurations, as drawn, before the first model."""
MIN_CONFIGURATIONS_PER_PARAMETER: Final = 6
"""Smallest number of configurations per parameter before the first model: fewer do not tell linear
models and tensors apart."""
DESIGN_INTERVAL: Final = 4
"""Interval at which configurations are as drawn: they find steps by chance that the model does not
see, and the model's error is judged by them."""
REFIT_GROWTH: Final = 1.15
"""Growth of the number of configurations between two fits."""
MAX_FIT_SHARE: Final = 0.5
"""Largest share of the time that fits may take, if the next one takes as long as the last."""
MODEL_DRAWS: Final = 200
"""Number of draws of the model: they give covariances to a tenth."""
FIT_BUDGET_S: Final = 2.0
"""Budget of a fit in seconds, in which kinds refine themselves; a started one is finished."""


def free_parameters(domain: Domain) -> list[int]:
    """Return the columns of independent parameters that vary: the inputs of models.

    Raises
    ------
    InputError
        If no parameter varies.
    """
    free = [i for i, name in enumerate(domain.names) if len(domain.axes.get(name, ())) > 1]
    if not free:
        raise InputError(
            f"kernel {domain.kernel}: no parameter has more than one size, so a model cannot "
            "choose the next configuration; legal: a range or a list"
        )
    return free


def fits_of(kind: str, seed: int) -> Fit:
    """Return a function that fits models of *kind*, or the best of several kinds for ``auto``."""
    from tasksim.models.registry import model_class
    from tasksim.models.selection import select

    if kind != "auto" and model_class(kind).exact:
        raise InputError(
            f"kind {kind}: predicts no unmeasured sizes, and cannot choose the next one; "
            f"legal: auto, {', '.join(KINDS)}, cp"
        )
    kinds = KINDS if kind == "auto" else (kind,)
    return lambda samples: select(samples, kinds, budget_s=FIT_BUDGET_S, seed=seed)


class DomainSteering:
    """Chooses the next configuration, and decides whether the model is good enough.

    Parameters
    ----------
    names : sequence of str
        Parameters that vary.
    table : ndarray, shape (configurations, parameters)
        Candidate configurations, as drawn from the domain.
    until : float
        Largest mean error of the model over the domain.
    fit : callable
        Fits a model and cross-validates it.
    seed : int, default 0
        Seed of the model's draws.
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
        """Number of configurations and errors of the model at each fit."""
        self.model: str | None = None
        """Kind of the model."""

    @property
    def least(self) -> int:
        """Number of configurations before the first model."""
        return min(
            max(MIN_CONFIGURATIONS, MIN_CONFIGURATIONS_PER_PARAMETER * len(self.names)),
            len(self.table),
        )

    @property
    def errors(self) -> Errors | None:
        """Errors of the model; None if they are not known yet."""
        return self.looks[-1][1] if self.looks else None

    @property
    def known(self) -> bool:
        """Whether the model's error, with its standard error, is small enough."""
        return self.errors is not None and self.errors.at_most <= self.until

    @property
    def seconds(self) -> float:
        """Total measuring time in seconds."""
        return sum(self._seconds.values())

    @property
    def count(self) -> int:
        """Number of measured configurations."""
        return len(self._durations)

    def add(self, place: int, durations_s: Sequence[float], seconds: float) -> None:
        """Record the measurement at *place* in the table, and its time."""
        self._durations[place] = list(durations_s)
        self._seconds[place] = seconds
        self._since += 1
        if self._apart is not None and self.errors is not None:
            self._apart = measured_at(self._apart, place, self.errors.noise)

    def next(self) -> int | None:
        """Return the place to measure next; None if the model is good enough or all is measured."""
        if self.count < self.least:
            return self._as_drawn()
        if self._apart is None or self._time_to_look():
            self.look()
        if self.known or self.count == len(self.table):
            return None
        if self._since % DESIGN_INTERVAL == 0 or self._apart is None or self.errors is None:
            return self._as_drawn()
        values = worth(self._apart, self.errors.noise, self._cost_s)
        values[list(self._durations)] = -1.0
        return int(values.argmax()) if values.max() > 0 else self._as_drawn()

    def look(self) -> None:
        """Fit the model to the samples, estimate its errors, and draw it over the domain."""
        begun = time.monotonic()
        self._look_at = int(REFIT_GROWTH * self.count) + 1
        samples = self.samples()
        found = self._fit(samples)
        self.model = found.model.kind
        if found.out is not None:
            prefix = self.table[: self.prefix]
            self.looks.append((self.count, errors_of(samples, found.out, prefix)))
        self._cost_s = self._costs(predicted_where_possible(found.model, self.table))
        try:
            self._apart = off_by(np.log(found.model.draw(self.table, self._rng, MODEL_DRAWS)))
        except (ModelError, OutOfDomainError):
            # too few samples, or places out of the model's domain: use the design
            self._apart = None
        self._fits_s.append(time.monotonic() - begun)

    @property
    def prefix(self) -> int:
        """Number of first configurations of the design that are measured without a gap."""
        return self._as_drawn(len(self.table))

    def samples(self) -> Samples:
        """Return the samples so far."""
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
        small = fits_s <= MAX_FIT_SHARE * (fits_s + self.seconds)
        return self.count == len(self.table) or (self.count >= self._look_at and small)

    def _costs(self, predicted_s: Array) -> Array:
        """Return the expected measuring times: proportional to durations, plus a constant."""
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
