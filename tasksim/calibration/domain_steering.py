"""Steering over a domain, with the next configuration chosen by the model fitted so far.

The first configurations are those that the domain draws. From then on the model is refitted
whenever there are some more, draws itself over the domain, and the next configuration is the one
that most reduces its variance per second. A model has no
doubts about effects that it does not know, such as steps between sizes; so one configuration in
four is still the next one of the design.

The model's error is estimated at unseen configurations, by cross-validation. Only the first ones of
the design count, up to the first that is not measured: these are spread over the domain as drawn,
and the steered ones are not.

Choice: the model is drawn many times over the domain. The rows of logarithms show how far
predictions may be off, and where they are off together. With K their covariance, a measurement at c
with noise v that takes t_c seconds leaves the variances

    K'_xx = K_xx - K_xc^2 / (K_cc + v)
    next: the largest sum over x of K_xc^2 / ((K_cc + v) t_c)

(D. A. Cohn, Z. Ghahramani and M. I. Jordan, "Active learning with statistical models", J.
Artificial Intelligence Research 4, 1996). For independent means, with v the variance of a sample
and v/n that of a mean, this is the criterion of ``calibrate --until``: v / (n (n + 1) t_c).
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, ModelError, OutOfDomainError
from tasksim.base.units import duration_text
from tasksim.calibration.precision import percent, share_done
from tasksim.models.quantiles import group_means
from tasksim.models.samples import Samples
from tasksim.models.validation.crossvalidation import predicted_where_possible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Ints
    from tasksim.calibration.domain import Domain
    from tasksim.models.selection import Selection
    from tasksim.models.validation.crossvalidation import LeftOut

    Fit = Callable[[Samples], Selection]

__all__ = [
    "DEFAULT_KINDS",
    "DomainSteering",
    "ModelErrors",
    "Reached",
    "errors_of",
    "fits_of",
    "free_parameters",
    "measured_at",
    "off_by",
    "steering_of",
    "worth",
]

DEFAULT_KINDS: Final = ("power", "mlr", "hybrid", "learned")
"""Kinds to try by default, all of which predict unmeasured sizes. A plain tensor, ``cp``, takes
longest to fit, and does better on top of a law (``hybrid``). ``learned`` adds a second to the fits
of up to 256 configurations, and saves several where it is chosen, since its intervals take less."""
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
NOISE_SHARE: Final = 0.5
"""Share of the error due to the noise of means from which noise is reported as the obstacle."""
MIN_POWER: Final = 0.1
"""Smallest power of the number of configurations with which errors shrink usefully: at this power,
twice as many take off 7 %."""
MEAN_OF_NORMAL: Final = (2 / np.pi) ** 0.5
"""Mean absolute value of a normal variable with standard deviation 1."""
MAX_NOISE_SHARE: Final = 0.75
"""Largest share of the squared errors that is subtracted for noise: the noise is an estimate, too,
and a small one does not make a model exact."""


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
            f"legal: auto, {', '.join(DEFAULT_KINDS)}, cp"
        )
    kinds = DEFAULT_KINDS if kind == "auto" else (kind,)
    return lambda samples: select(samples, kinds, budget_s=FIT_BUDGET_S, seed=seed)


def steering_of(domain: Domain, table: Ints, until: float, kind: str, seed: int) -> DomainSteering:
    """Return the steering over *table*, configurations of *domain*, with models of *kind*."""
    columns = free_parameters(domain)
    names = [domain.names[column] for column in columns]
    return DomainSteering(names, table[:, columns], until, fits_of(kind, seed), seed)


class DomainSteering:
    """Choice of the next configuration, until the model is good enough.

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
        self, names: Sequence[str], table: Ints, until: float, fit: Fit, seed: int = 0
    ) -> None:
        self.names, self.table, self.until = tuple(names), table.astype(np.float64), until
        self._fit, self._rng = fit, np.random.default_rng([seed, 1])
        self._durations: dict[int, list[float]] = {}
        self._seconds: dict[int, float] = {}
        self._since, self._look_at = 0, 0
        self._fits_s = [0.0]
        self._apart: Floats | None = None
        self._cost_s = np.ones(len(table))
        self.looks: list[tuple[int, ModelErrors]] = []
        """Number of configurations and errors of the model at each fit."""
        self.model: str | None = None
        """Kind of the model."""
        self.ended = False
        """Whether the measurement ended by itself, and not by an interruption."""

    @property
    def least(self) -> int:
        """Number of configurations before the first model."""
        return min(
            max(MIN_CONFIGURATIONS, MIN_CONFIGURATIONS_PER_PARAMETER * len(self.names)),
            len(self.table),
        )

    @property
    def errors(self) -> ModelErrors | None:
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

    def end(self) -> None:
        """Note that the measurement ended by itself; fit a last model."""
        if not self.known and self.count >= self.least:
            self.look()  # include the last configurations
        self.ended = True

    def reached(self) -> Reached:
        """Return the result."""
        errors = self.errors
        prevented = self._prevented()
        if errors is None or not np.isfinite(errors.mean):
            return Reached(self.until, prevented=prevented)
        luck = errors.luck if np.isfinite(errors.luck) else None
        return Reached(self.until, errors.mean, luck, errors.of_means, self.model, prevented)

    def progress(self) -> str:
        """Return the progress so far as text."""
        errors = self.errors
        text = f"{self.count} configurations"
        return text if errors is None else f"{text}, {self.model} errs by {percent(errors.mean)}"

    def share(self) -> float:
        """Return the share of the measurement that is done."""
        return 0.0 if self.errors is None else share_done(self.until, self.errors.at_most)

    def _prevented(self) -> str | None:
        """Return why the model's error is larger than requested; None if it is not."""
        errors = self.errors
        if self.known:
            return None
        if errors is None or not np.isfinite(errors.at_most):
            why = "the time was over" if self.ended else "interrupted"
            return f"{why} before there were enough configurations for a model"
        if not self.ended:
            return "interrupted"
        why = "the time is over"
        if self.count == len(self.table):
            why = f"all {self.count} configurations are measured"
        # The effect of more measurements, extrapolated from the errors so far.
        power = shrinking([count for count, _ in self.looks], [one.mean for _, one in self.looks])
        if errors.of_means > max(NOISE_SHARE * errors.mean, self.until):
            more = (
                f"noise alone puts means off by {percent(errors.of_means)}: use more "
                "--repetitions, or a calmer machine"
            )
        elif power is None:
            more = "the decrease of errors is unknown yet"
        elif power < MIN_POWER:
            more = f"the errors of {self.model} no longer shrink: another --kind may err less"
        else:
            times = (errors.at_most / self.until) ** (1 / power)
            more = (
                f"about {duration_text((times - 1) * self.seconds)} more of measuring would "
                "suffice if errors go on shrinking as before"
            )
        return f"{why}; {more}"

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

    def _costs(self, predicted_s: Floats) -> Floats:
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


@dataclass(frozen=True)
class Reached:
    """Result of a steered campaign, with the model's error and the obstacle to a smaller one.

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
        line = f"{self.kind}, errs by {percent(self.error)} (+- {percent(self.luck)})"
        if self.prevented is None:
            return line
        return f"{line}; not {percent(self.until)}: {self.prevented}"

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {**asdict(self), "reached": self.prevented is None}


def shrinking(counts: list[int], errors: list[float]) -> float | None:
    """Return the power of counts with which errors shrink; None if it is unknown.

    >>> round(shrinking([10, 20, 40], [0.4, 0.2, 0.1]), 9)
    1.0
    """
    x, y = np.log(counts), np.log(np.maximum(errors, 1e-12))
    if len(set(counts)) < 3 or not np.isfinite(y).all():
        return None
    return float(-np.polyfit(x, y, 1)[0])


class ModelErrors(NamedTuple):
    """Errors of a model, as means of abs(ln(predicted / measured)).

    Parameters
    ----------
    mean : float
        Error at configurations left out of the fit, without the error of their measured means.
    luck : float
        Standard error of *mean*, due to the choice of configurations.
    of_means : float
        Mean error of the measured means.
    noise : float
        Variance of measurements about predictions.
    """

    mean: float
    luck: float
    of_means: float
    noise: float

    @property
    def at_most(self) -> float:
        """The error plus one standard error, as a few configurations may flatter a model."""
        return self.mean + self.luck


def errors_of(samples: Samples, out: LeftOut, places: Floats) -> ModelErrors:
    """Return the errors of left-out predictions *out* at the rows *places*.

    Errors of means and errors of the model add as squares, and are subtracted as such.
    """
    rows, group = samples.configurations()
    asked = np.isin(_keys(rows), _keys(places))
    error = out.errors(samples)
    kept = asked & np.isfinite(error)
    if not kept.any():
        return ModelErrors(float("inf"), float("inf"), 0.0, 1.0)
    # Relative standard error of the mean of each configuration.
    mean = group_means(samples.durations_s, group)
    squares = group_means((samples.durations_s / mean[group] - 1) ** 2, group)
    of_means = np.sqrt(squares / np.maximum(np.bincount(group) - 1, 1))[kept]
    error = error[kept]
    whole = float(error.mean())
    unsure = MEAN_OF_NORMAL * float(of_means.mean())
    own = _without(whole, unsure)
    if len(error) < 2:
        return ModelErrors(own, float("inf"), unsure, max(whole**2, 1e-12))
    # Where noise dominates, a small change of the total is a large one of the rest.
    luck = _without(whole + float(error.std(ddof=1) / np.sqrt(len(error))), unsure) - own
    return ModelErrors(own, luck, unsure, max(float((error**2).mean()), 1e-12))


def _without(whole: float, unsure: float) -> float:
    squares = whole**2 - min(unsure**2, MAX_NOISE_SHARE * whole**2)
    return float(squares**0.5)


def _keys(rows: Floats) -> NDArray[np.bytes_]:
    table = np.ascontiguousarray(rows + 0.0)
    return table.view(f"S{table.itemsize * table.shape[1]}").ravel()


def off_by(logs: Floats) -> Floats:
    """Return *logs*, shape (draws, places), as deviations from the mean, scaled to unit weight.

    >>> of = off_by(np.array([[0.0, 1.0], [2.0, 1.0]]))
    >>> (of.T @ of).tolist()  # the covariance
    [[2.0, 0.0], [0.0, 0.0]]
    """
    apart = logs - logs.mean(axis=0)
    return np.asarray(apart / np.sqrt(max(len(logs) - 1, 1)))


def worth(apart: Floats, noise: float, seconds: Floats) -> Floats:
    """Return the reduction of the total variance per second by a measurement at each place.

    Parameters
    ----------
    apart : ndarray, shape (draws, places)
        Deviations of draws from :func:`off_by`; their square is the covariance.
    noise : float
        Variance of a measurement about the truth, in logarithms.
    seconds : ndarray, shape (places,)
        Duration of a measurement at each place.
    """
    # Sum over x of K_xc^2 via draws x draws, which is smaller than places x places.
    between = apart @ apart.T
    squares = np.einsum("dc,de,ec->c", apart, between, apart, optimize=True)
    variance = np.einsum("dc,dc->c", apart, apart)
    whole = variance + noise
    # Without variance and noise there is nothing to learn.
    return np.asarray(
        np.divide(squares, whole, out=np.zeros_like(whole), where=whole > 0) / seconds
    )


def measured_at(apart: Floats, place: int, noise: float) -> Floats:
    """Return the deviations that remain after a measurement at *place*.

    The draws move together so that their covariance is exactly the remaining one (J. E. Potter's
    update of a square root: R. H. Battin, "Astronautical Guidance", 1964).
    """
    own = apart[:, place]
    whole = float(own @ own) + noise
    if not whole:
        return apart
    share = 1 / (whole + np.sqrt(noise * whole))
    return np.asarray(apart - share * np.outer(own, own @ apart))
