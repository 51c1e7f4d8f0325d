"""Prediction intervals, the bounds on the next measurement.

A measurement at *x* is modelled as m(x)·exp(s(x)·q), with m the model's prediction, s² the sum of
variances of logarithms, and q a random number with known quantiles:

- the *doubt* about m(x) itself (:mod:`tasksim.models.uncertainty.doubt`): from the covariance
  of the coefficients if there are any, otherwise from models fitted to resampled configurations;
- the *noise*, which may grow or shrink with a power of the duration;

and outside the domain, a third one, the *drift* (:class:`Drift`), which grows with the distance.
Kinds that know how thin samples are about a configuration widen both there (:class:`Thinness`).

The quantiles of q are those of ln(y / m)/s over samples that were left out of the fit
(cross-validation): intervals are as wide as these samples required, however wrong the variances or
the model are. This is split conformal prediction with normalised residuals (Lei, G'Sell, Rinaldo,
Tibshirani and Wasserman, "Distribution-free predictive inference for regression", J. Am. Stat.
Assoc. 113, 2018, section 5.2), with residuals of folds as in Vovk, "Cross-conformal predictors",
Ann. Math. Artif. Intell. 74, 2015. The guarantee holds for new measurements *like the samples*.
Nothing is guaranteed beyond their domain, but nine of ten of the samples at either end were in the
intervals of a model fitted to the others.

Noise by duration: a pause that lengthens a task of 20 us by a factor of 400 adds a quarter to one
of 30 ms. A single list of factors for all durations would lengthen long tasks by a factor of 400,
too.

Drift: beyond the domain the law itself may change, which the spread of samples inside cannot show.
The samples do show how well this kind of model extrapolates from one part of them to the rest: it
is fitted to the half with the smaller parameters and predicts those beyond; the half with the
larger ones predicts the smaller. Errors of exponents make ln(measured / predicted) grow with the
logarithm of the distance; the *drift* is the error of the exponent that would have kept nine of ten
of these measurements in their 90 % intervals.

A law may also bend just where the samples end: a cache overflows, an overhead begins to count.
No measurement shows this, so an allowance derived from generated kernels of that sort is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim.base.errors import InputError, TasksimError
from tasksim.models.rows import distinct_rows
from tasksim.models.samples import drawn_configurations
from tasksim.models.uncertainty.doubt import Doubt, read_doubt
from tasksim.models.validation.crossvalidation import predicted_where_possible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.fitted import FittedModel
    from tasksim.models.quantiles import Draw
    from tasksim.models.samples import Samples

    Domain = Mapping[str, tuple[float, float]]
    Side = Callable[[Domain, Floats], Floats]

__all__ = [
    "LEVELS",
    "ByDuration",
    "Drift",
    "NoiseByDuration",
    "Thinness",
    "Uncertainty",
    "mean_of_exp",
    "parts_of",
]

MAX_EXPONENT: Final = 300.0
"""Largest exponent of a bound relative to the prediction: a float holds exp(300) times it."""
MIN_STEP: Final = 1e-9
"""Step between exponents below which the mean over a segment is computed without the quotient,
which would cancel."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The distribution of measurements around the predictions of one fitted model.

    Attributes
    ----------
    noise, doubt
        The two variances.
    quantiles
        float64 [levels], of q at :data:`LEVELS`.
    count
        Number of samples, left out of fits, that the quantiles come from.
    drift
        The growth of errors outside the domain; None if the model does not extrapolate, and in
        files of earlier versions.
    by_duration
        The quantiles of the noise by duration; None in files of earlier versions, and if there
        were too few samples.
    thinness
        The growth of errors where samples are thin; None if the kind of model cannot tell, if they
        do not grow, and in files of earlier versions.
    """

    noise: NoiseByDuration
    doubt: Doubt
    quantiles: Floats
    count: int
    drift: Drift | None = None
    by_duration: ByDuration | None = None
    thinness: Thinness | None = None

    def deviation(self, model: FittedModel, table: Floats, expected_s: Floats) -> Floats:
        """Return s at each row of *table*, for the predictions *expected_s* of *model*."""
        variance = self.doubt.variance(model, table, self.noise(expected_s))
        if self.thinness is not None:
            unknown = model._unknown_share(table)
            assert unknown is not None
            variance = variance * self.thinness(unknown)
        return np.asarray(np.sqrt(variance))

    def interval(self, model: FittedModel, table: Floats, level: float) -> tuple[Floats, Floats]:
        """Return bounds that contain a measurement with probability *level*.

        Measurements above and below them are equally likely.
        """
        if not 0 < level < 1:
            raise InputError(f"level of an interval: got {level!r}; legal: between 0 and 1, as 0.9")
        tail = (1 - level) / 2
        low, high = np.interp((tail, 1 - tail), LEVELS, self.quantiles)
        expected = model.predict(table)
        deviation = self.deviation(model, table, expected)
        if self.drift is not None:
            deviation = np.hypot(deviation, self.drift.deviation(model.domain_, table))
        exponents = np.clip([low * deviation, high * deviation], -MAX_EXPONENT, MAX_EXPONENT)
        return expected * np.exp(exponents[0]), expected * np.exp(exponents[1])

    def sampler(self, model: FittedModel, table: Floats) -> Draw:
        """Return a sampler of a measurement for each row; its mean is exactly the prediction.

        The drift is left out: a law that is wrong in some range makes all tasks there longer or
        shorter, and is not noise of a single task.
        """
        rows, index = distinct_rows(table)
        expected = model.predict(rows)
        deviation = self.deviation(model, rows, expected)
        scale = expected / mean_of_exp(deviation[:, None] * self.quantiles, np.asarray(LEVELS))
        scales, deviations = scale[index], deviation[index]

        def draw(rng: np.random.Generator) -> Floats:
            draws = np.interp(rng.random(len(table)), LEVELS, self.quantiles)
            return np.asarray(scales * np.exp(deviations * draws))

        return draw

    def to_json(self) -> dict[str, Any]:
        """Return the uncertainty as data; NumPy arrays are allowed."""
        parts = ("drift", "by_duration", "thinness")
        known = {name: part for name in parts if (part := getattr(self, name)) is not None}
        return {
            "noise": vars(self.noise),
            "doubt": self.doubt.to_json(),
            "levels": LEVELS,
            "quantiles": self.quantiles,
            "count": self.count,
            **{name: vars(part) for name, part in known.items()},
        }

    @classmethod
    def from_json(cls, node: JsonNode, model: FittedModel) -> Self:
        """Read what :meth:`to_json` wrote for *model*."""
        node["levels"].exactly(list(LEVELS))
        quantiles = node["quantiles"].vector(len(LEVELS))
        if (np.diff(quantiles) < 0).any():
            raise node["quantiles"].expected("numbers in ascending order")
        noise = node["noise"]
        positive = {n: noise[n].positive() for n in ("deviation", "center_s", "low_s", "high_s")}
        return cls(
            NoiseByDuration(slope=noise["slope"].number(), **positive),
            read_doubt(node["doubt"], model),
            quantiles,
            node["count"].integer(),
            Drift.from_json(node["drift"]) if "drift" in node.mapping() else None,
            ByDuration.from_json(node["by_duration"]) if "by_duration" in node.mapping() else None,
            Thinness.from_json(node["thinness"], model) if "thinness" in node.mapping() else None,
        )


def mean_of_exp(exponents: Floats, levels: Floats) -> Floats:
    """Return the means of exp of variables distributed linearly between *exponents* at *levels*."""
    low, step = exponents[:, :-1], np.diff(exponents, axis=1)
    # The mean of exp over a segment, (exp(step) - 1)/step, without cancellation.
    with np.errstate(invalid="ignore"):
        grown = np.where(step > MIN_STEP, np.expm1(step) / np.maximum(step, MIN_STEP), 1 + step / 2)
    return np.asarray((np.exp(low) * grown) @ np.diff(levels))


NORMAL_MEDIAN: Final = 0.6745
"""The median of abs(z) for a standard normal z."""
NORMAL_LOG_DEVIATION: Final = 1.11
"""The standard deviation of ln abs(z) for a standard normal z."""
MIN_SLOPE_STANDARD_ERRORS: Final = 2.0
"""Standard errors below which a slope counts as 0."""
MAX_SLOPE: Final = 1.0
"""Largest absolute slope: noise of a fixed time, such as interrupts, falls with the duration; no
noise is known to be steeper."""
MIN_DEVIATION: Final = 1e-9
"""Smallest relative deviation: clocks have nine digits, and residuals of exactly 0 have no
logarithm."""


@dataclass(frozen=True)
class NoiseByDuration:
    """The standard deviation of the logarithm of a measurement, by its expected duration.

    deviation·(duration/center)^slope, with the duration clipped to the range of the samples,
    *low_s* to *high_s*.
    """

    deviation: float
    slope: float
    center_s: float
    low_s: float
    high_s: float

    def __call__(self, expected_s: Floats) -> Floats:
        """Return the deviation at each expected duration."""
        held = np.clip(expected_s, self.low_s, self.high_s)
        return np.asarray(self.deviation * (held / self.center_s) ** self.slope)

    @classmethod
    def of(cls, residual: Floats, expected_s: Floats) -> Self:
        """Estimate the noise from residuals ln(measured / expected).

        A line is fitted to ln abs(residual), which is robust to outliers; it is flat unless
        the slope is at least two standard errors from 0.
        """
        size = np.abs(residual)
        log_size = np.log(np.maximum(size, max(1e-3 * float(np.median(size)), MIN_DEVIATION)))
        logs = np.log(expected_s)
        centered = logs - logs.mean()
        squares = float(centered @ centered)
        slope = float(centered @ log_size) / squares if squares > MIN_DEVIATION else 0.0
        if abs(slope) * squares**0.5 < MIN_SLOPE_STANDARD_ERRORS * NORMAL_LOG_DEVIATION:
            slope = 0.0
        slope = float(np.clip(slope, -MAX_SLOPE, MAX_SLOPE))
        scaled = size * np.exp(-slope * centered)
        deviation = max(float(np.median(scaled)) / NORMAL_MEDIAN, MIN_DEVIATION)
        bounds = float(expected_s.min()), float(expected_s.max())
        return cls(deviation, slope, float(np.exp(logs.mean())), *bounds)


LEVELS: Final = (
    0.0, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
    0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 1.0,
)  # fmt: skip
"""Levels of the stored quantiles; 0 and 1 are the extremes."""

MIN_PART_SAMPLES: Final = 100
"""Minimum number of samples per part: with fewer, a stall of one task in a hundred is mostly
missed."""
MAX_PARTS: Final = 8
"""Maximum number of parts: durations over two decades are then split into factors of two."""
MERGED_LOG_DISTANCE: Final = 0.1
"""Difference of mean log durations below which two parts are merged."""


def parts_of(expected_s: Floats, least: int, most: int) -> list[Indices]:
    """Return indices of tasks grouped by similar durations, the shortest first.

    Parameters
    ----------
    expected_s : ndarray
        Expected duration of each task, in seconds.
    least, most : int
        Minimum number of tasks per part, and maximum number of parts.
    """
    count = max(min(len(expected_s) // least, most), 1)
    found: list[Indices] = []
    center = -np.inf
    for part in np.array_split(np.argsort(expected_s, kind="stable"), count):
        mine = float(np.log(expected_s[part]).mean())
        if mine - center < MERGED_LOG_DISTANCE:
            found[-1] = np.concatenate([found[-1], part])
        else:
            found.append(part)
            center = mine
    return found


@dataclass(frozen=True, eq=False)
class ByDuration:
    """Quantiles of the logarithms of noise, interpolated between durations.

    Attributes
    ----------
    centers_s
        The mean predicted duration of the tasks of each part, in seconds, ascending.
    quantiles
        float64 [parts, levels].
    """

    centers_s: Floats
    quantiles: Floats

    @classmethod
    def of(cls, residual: Floats, expected_s: Floats) -> Self | None:
        """Estimate from residuals ln(measured / expected); None if too few for two parts."""
        parts = min(len(residual) // MIN_PART_SAMPLES, MAX_PARTS)
        if parts < 2:
            return None
        found = parts_of(expected_s, MIN_PART_SAMPLES, MAX_PARTS)
        logs = np.log(expected_s)
        return cls(
            np.exp([logs[part].mean() for part in found]),
            np.array([np.quantile(residual[part], LEVELS, method="weibull") for part in found]),
        )

    def __call__(self, expected_s: Floats) -> Floats:
        """Return the quantiles at each expected duration, shape (rows, levels)."""
        at, centers = np.log(expected_s), np.log(self.centers_s)
        columns = [np.interp(at, centers, column) for column in self.quantiles.T]
        return np.column_stack(columns)

    @classmethod
    def from_json(cls, node: JsonNode) -> Self:
        """Read what an uncertainty wrote."""
        quantiles = node["quantiles"].matrix(len(LEVELS))
        centers = node["centers_s"].vector(len(quantiles))
        if not len(quantiles) or centers.min() <= 0 or (np.diff(centers) <= 0).any():
            raise node["centers_s"].expected("positive numbers in ascending order")
        if (np.diff(quantiles, axis=1) < 0).any():
            raise node["quantiles"].expected("rows of numbers in ascending order")
        return cls(centers, quantiles)


GROWTHS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Growths to choose from: up to one at which the noise hardly counts."""
FREEDOM: Final = 5.0
"""Degrees of freedom of the Student's t that scaled residuals are taken to have: with a stall among
a hundred, a normal distribution would follow the stall."""
SCALE_STEPS: Final = 10
"""Number of iterations for the scale of that distribution, which then has three digits."""
MIN_LOG_GAIN: Final = 1.0
"""Gain of log likelihood from which errors are taken to grow where samples are thin."""


@dataclass(frozen=True)
class Thinness:
    """The growth of the variance where samples are thin.

    The factor of the variance is (1 + growth·u)/(1 + growth), where u is the unknown share of a
    configuration, divided by the *mean* of that of samples left out.
    """

    growth: float
    mean: float

    def __call__(self, unknown: Floats) -> Floats:
        """Return the factor of the variance, for the *unknown* share of each configuration."""
        return np.asarray((1 + self.growth * unknown / self.mean) / (1 + self.growth))

    @classmethod
    def of(cls, scaled: Floats, unknown: Floats) -> Self | None:
        """Return the most probable growth; None if the errors do not grow.

        *scaled* are residuals of samples left out, divided by their deviations without it.
        """
        mean = float(unknown.mean())
        if not mean > 0:
            return None
        best, most = None, _log_likelihood(scaled, np.ones(len(scaled))) + MIN_LOG_GAIN
        for growth in GROWTHS:
            found = cls(growth, mean)
            probable = _log_likelihood(scaled, np.sqrt(found(unknown)))
            if probable > most:
                best, most = found, probable
        return best

    @classmethod
    def from_json(cls, node: JsonNode, model: FittedModel) -> Self:
        """Read what an uncertainty of *model* wrote."""
        found = cls(node["growth"].positive(), node["mean"].positive())
        if model._unknown_share(np.empty((0, len(model.names_)))) is None:
            raise node.error(f"the {model.kind} model does not say where its samples are thin")
        return found


def _log_likelihood(residual: Floats, deviation: Floats) -> float:
    """Return the log likelihood of residuals, up to a common factor and a constant."""
    scaled = residual / deviation
    squares = scaled**2
    scale = max(float(np.median(squares)), np.finfo(np.float64).tiny)
    for _ in range(SCALE_STEPS):
        scale = float(np.mean((FREEDOM + 1) * squares / (FREEDOM + squares / scale)))
        scale = max(scale, np.finfo(np.float64).tiny)
    tails = (FREEDOM + 1) / 2 * np.log1p(squares / (FREEDOM * scale))
    return -float((tails + np.log(deviation)).sum()) - len(scaled) / 2 * float(np.log(scale))


DEFAULT_DRIFT: Final = 0.5
"""Default drift if it cannot be measured: exponents of searched terms are half apart
(:class:`~tasksim.models.terms.candidates.Lattice`), so a wrong one is off by that much."""
UNSEEN_DRIFT: Final = 0.2
"""Drift for bends that begin where the samples end, added as root of the sum of squares. For nine
kinds of models of generated kernels (linear, power, tensor; a cache of a third more just beyond, an
overhead that begins to count), 90 % intervals two and four times outside covered 79 to 100 % with
it, except for two whose law was wrong inside already; without it 0 to 99 %, with 0.1 21 to 100 %.
For laws that do hold, intervals widen from a factor of 1.2 to 1.3 if one parameter is twice as
large, and to 2.2 if three are."""
COVERED_SHARE: Final = 0.9
"""Share of the measurements beyond that the drift brings into their intervals: the level that is
printed."""
MAX_CONFIGURATIONS: Final = 512
"""Maximum number of configurations used: the two additional fits must not take longer than the
first."""
MIN_BEYOND: Final = 5
"""Minimum number of measurements beyond: of fewer, the 90 % quantile is meaningless."""
MIN_VALUE_SHARE: Final = 1e-3
"""Smallest value, as a share of the lowest measured one: 0 would be infinitely far away."""


@dataclass(frozen=True)
class Drift:
    """Errors of the exponent outside the domain, per unit of the logarithm of the distance.

    Parameters
    ----------
    below, above : float
        For parameters smaller, or larger, than all measured ones.
    """

    below: float
    above: float

    def deviation(self, domain: Domain, table: Floats) -> Floats:
        """Return the standard deviation of the logarithm of the duration per row; 0 inside."""
        below, above = distance_below(domain, table), distance_above(domain, table)
        return self.below * below + self.above * above

    @classmethod
    def of(
        cls,
        model: FittedModel,
        samples: Samples,
        covered: Callable[[Floats, Floats, Floats], Floats],
        seed: int,
    ) -> Self:
        """Return the drift of *model*, which was fitted to *samples*.

        Parameters
        ----------
        covered
            A function of measured durations, predicted durations and rows. It returns the log
            deviation that would put each measurement just inside its interval, in excess of the
            model's deviation inside its domain; 0 if it is inside already.
        """
        few = drawn_configurations(samples, MAX_CONFIGURATIONS, seed)
        return cls(
            _slope(model, few, covered, distance_below, -1),
            _slope(model, few, covered, distance_above, 1),
        )

    @classmethod
    def from_json(cls, node: JsonNode) -> Self:
        """Read what an uncertainty wrote."""
        return cls(node["below"].not_negative(), node["above"].not_negative())


def distance_above(domain: Domain, table: Floats) -> Floats:
    """Return the sum of ln(value / highest) over the parameters above the *domain*.

    >>> distance_above({"m": (1.0, 2.0)}, np.array([[1.5], [2.0 * np.e]])).tolist()
    [0.0, 1.0]
    """
    total = np.zeros(len(table))
    for column, (_, high) in zip(table.T, domain.values(), strict=True):
        if high > 0:
            total += np.log(np.maximum(column, high) / high)
    return total


def distance_below(domain: Domain, table: Floats) -> Floats:
    """Return the sum of ln(lowest / value) over the parameters below the *domain*."""
    total = np.zeros(len(table))
    for column, (low, _) in zip(table.T, domain.values(), strict=True):
        if low > 0:
            total += np.log(low / np.clip(column, MIN_VALUE_SHARE * low, low))
    return total


def _slope(
    model: FittedModel,
    samples: Samples,
    covered: Callable[[Floats, Floats, Floats], Floats],
    distance: Side,
    sign: int,
) -> float:
    """Return the drift on one side: towards larger values for a *sign* of 1."""
    kept = _inner(samples, sign)
    try:
        inner = model.refitted(samples.select(kept))
        beyond = samples.select(~kept)
        predicted = predicted_where_possible(inner, beyond.parameters)
    except TasksimError:
        return DEFAULT_DRIFT
    far = distance(inner.domain_, beyond.parameters)
    some = np.isfinite(predicted) & (far > 0)
    if some.any():
        # Near the border, noise alone would require large exponents.
        some &= far >= np.median(far[some])
    if some.sum() < MIN_BEYOND:
        return DEFAULT_DRIFT
    needed = covered(beyond.durations_s[some], predicted[some], beyond.parameters[some]) / far[some]
    return float(np.hypot(np.quantile(needed, COVERED_SHARE, method="weibull"), UNSEEN_DRIFT))


def _inner(samples: Samples, sign: int) -> Bools:
    """Return which samples are in the lower half of the box (the upper one for a *sign* of -1).

    Each of p parameters is cut such that about half of the configurations are left.
    """
    rows, _ = samples.configurations()
    named = [name in samples.categories for name in samples.names]
    varying = [c for c in range(rows.shape[1]) if np.ptp(rows[:, c]) > 0 and not named[c]]
    kept = np.ones(len(samples), dtype=bool)
    for column in varying:
        values = sign * rows[:, column]
        end = np.quantile(values, 0.5 ** (1 / len(varying)), method="lower")
        kept &= sign * samples.parameters[:, column] <= end
    return kept
