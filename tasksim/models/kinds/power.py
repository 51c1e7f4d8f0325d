"""Power laws of the size, a·size^b, with or without a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim.base.arguments import finite_number
from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.forms import PowerForm
from tasksim.models.kernelmodel import KernelModel, nothing_reported
from tasksim.models.quantiles import group_means
from tasksim.models.rows import SIZE_PARAMETER
from tasksim.models.terms.leastsquares import LEAST_S, fit_power, log_normal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tasksim.base.arrays import Bools, Floats
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.quantiles import Draw
    from tasksim.models.samples import Samples

__all__ = ["PowerLaw"]

MIN_SIZE_FACTOR: Final = 0.9
"""Bounds of the range that StarPU takes as measured, as factors: of the smallest size ..."""
MAX_SIZE_FACTOR: Final = 1.1
"""... and of the largest."""

COEFFICIENT_COUNT: Final = 3
"""Number of coefficients of a law with a constant, and minimum number of sizes to fit it."""
MAX_STEPS: Final = 1000
"""Maximum number of steps of the search; each keeps two thirds of the range, so that 100
suffice."""
MIN_CORRELATION_CHANGE: Final = 1e-10
"""Change of the correlation at which the search ends: the constant then changes imperceptibly."""


class PowerLaw(KernelModel):
    """A duration that grows with a power of the size, a·size^b, or a·size^b + c.

    StarPU's regressions, by the size of a task's data in bytes. Every task implicitly has the
    parameter ``size_bytes``; samples may have any single parameter.

    Parameters
    ----------
    constant : bool, default=False
        Whether there is a constant c, the duration of a task without data.

    Attributes
    ----------
    a_, b_, c_ : float
        Coefficients of the law, in seconds; ``c_`` is 0 without a constant.
    spread_ : float
        The standard deviation of measured / predicted; 0 if unknown.

    Notes
    -----
    Without a constant, a line is fitted between the logarithms of size and duration of all
    samples. With one, c is searched between 0 and the mean a third up the sorted means, such that
    the correlation of ln(size) and ln(mean - c) is largest; means less than twice c do not count,
    and c is 0 if a law without it fits the means better (the search often ends at a c that is too
    large) (C. Augonnet, "Scheduling Tasks over Multicore machines enhanced with Accelerators: a
    Runtime System's Perspective", PhD thesis, Bordeaux 2011, appendix B, and StarPU's
    ``src/core/perfmodel/regression.c``). A fit in logarithms predicts the geometric mean; at
    10 % of noise that is 0.5 % below the mean.

    See Also
    --------
    tasksim.LinearModel : For several parameters.
    tasksim.SizeHistory : Exact at the measured sizes.

    Examples
    --------
    >>> law = PowerLaw.from_coefficients(2e-9, 1.5, low=100, high=400)
    >>> law.predict([[100], [400]]).round(12).tolist()
    [2e-06, 1.6e-05]
    >>> law.inside([[89], [90], [440], [441]]).tolist()
    [False, True, True, False]
    """

    kind = "power"
    parameter_count = 1
    takes_categories = False
    doubt_kind = "covariance"

    a_: float
    b_: float
    c_: float
    spread_: float

    def __init__(self, *, constant: bool = False) -> None:
        self.constant = constant

    @classmethod
    def from_coefficients(
        cls,
        a_s: float,
        b: float,
        c_s: float | None = None,
        *,
        low: float,
        high: float,
        spread: float = 0.0,
        count: int = 0,
        name: str = SIZE_PARAMETER,
    ) -> Self:
        """Return a law a·size^b + c with known coefficients, fitted to *count* samples.

        Parameters
        ----------
        a_s, b, c_s : float
            In seconds; without *c_s* there is no constant.
        low, high : float
            The smallest and the largest measured size.
        spread : float, optional
            The standard deviation of measured / predicted.
        count : int, optional
            Number of samples it was fitted to, if known.
        name : str, optional
            The name of the parameter.

        Raises
        ------
        InputError
            If numbers are not finite, *a_s* is not positive, or sizes or spread are negative.
        """
        given = {"a_s": a_s, "b": b, "c_s": c_s or 0.0, "low": low, "high": high, "spread": spread}
        for name_of, number in given.items():
            finite_number(number, name_of)
        if not (a_s > 0 and 0 <= low <= high and spread >= 0):
            raise InputError(
                f"power law {a_s!r}*size^{b!r} + {c_s!r} for sizes from {low!r} to {high!r}, "
                f"spread {spread!r}: a must be positive, sizes and spread not negative, all finite"
            )
        law = cls(constant=c_s is not None)
        law.a_, law.b_, law.c_, law.spread_ = a_s, b, c_s or 0.0, spread
        law.names_, law.domain_ = (name,), {name: (float(low), float(high))}
        law._report = {**nothing_reported(cls.kind, count), **law._details()}
        return law

    @classmethod
    def trials(cls, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the law without a constant and, unless the option is given, the one with it."""
        yield dict(options)
        if "constant" not in options:
            yield {**options, "constant": True}

    def formula(self, digits: int = 6) -> str:
        """Return the fitted law, in seconds, as text: ``2e-09*size_bytes^1.5 + 1e-06``."""
        self._check_fitted("formula")
        constant = f" + {self.c_:.{digits}g}" if self.constant else ""
        return f"{self.a_:.{digits}g}*{self.names_[0]}^{self.b_:.{digits}g}{constant}"

    def power(self) -> PowerForm:
        """Return the fitted law."""
        self._check_fitted("power")
        return PowerForm(self.a_, self.b_, self.c_, self.constant)

    def coefficient_count(self, rows: Floats) -> int:  # noqa: ARG002
        """Return 3: a, b and c, even if c was found to be 0."""
        return 3

    def _elasticities(self, table: Floats) -> Floats:
        """Return the derivatives of the logarithm by ln a, b and, if c is not 0, ln c."""
        expected = self._law(table[:, 0])[:, None]
        share = (expected - self.c_) / expected
        logs = np.log(np.maximum(table[:, :1], np.finfo(float).tiny))
        constant = [self.c_ / expected] if self.c_ else []
        return np.hstack([share, share * logs, *constant])

    def _fit(self, samples: Samples) -> Bools:
        x, y = samples.parameters[:, 0], samples.durations_s
        if not x.min() < MIN_SIZE_FACTOR * x.max():
            raise self._refusal(
                "a power law needs samples of different sizes, the smallest below "
                f"{MIN_SIZE_FACTOR:g} times the largest; "
                f"got {samples.names[0]} {x.min():.15g} to {x.max():.15g}"
            )
        if x.min() <= 0:
            raise self._refusal(f"a power law needs sizes above 0, got {samples.names[0]}=0")
        self.a_, self.b_ = fit_power(x, y, np.ones(len(x)))
        self.c_ = 0.0
        if self.constant:
            self._fit_constant(samples)
        self.spread_ = float((y / self._law(x)).std())
        return np.ones(len(samples), dtype=bool)

    def _fit_constant(self, samples: Samples) -> None:
        """Fit the law with a constant; keep the one without if it fits the means better."""
        rows, group = samples.configurations()
        if len(rows) < COEFFICIENT_COUNT:
            raise self._refusal(
                f"a power law with a constant has {COEFFICIENT_COUNT} coefficients: it needs "
                f"samples of {COEFFICIENT_COUNT} sizes or more, got {len(rows)}"
            )
        means = group_means(samples.durations_s, group)
        counts = np.bincount(group).astype(np.float64)
        without = self.a_, self.b_, 0.0
        best = _error(self._law(rows[:, 0]), means, counts)
        c = _constant(rows[:, 0], means, counts)
        weights = _weights(means, counts, c)
        some = weights > 0
        self.a_, self.b_ = fit_power(rows[some, 0], means[some] - c, weights[some])
        self.c_ = c
        found = np.isfinite([self.a_, self.b_]).all()  # not if too few means are above c
        if not found or _error(self._law(rows[:, 0]), means, counts) > best:
            self.a_, self.b_, self.c_ = without

    def _law(self, sizes: Floats) -> Floats:
        with np.errstate(over="ignore", divide="ignore"):
            values = self.a_ * sizes**self.b_ + self.c_
        if not np.isfinite(values).all():
            wrong = sizes[~np.isfinite(values)][0]
            raise self._refusal(f"the law is not finite for size {wrong:g}", OutOfDomainError)
        return np.maximum(values, LEAST_S)

    def _predict(self, table: Floats) -> Floats:
        return self._law(table[:, 0])

    def _sampler(self, table: Floats) -> Draw:
        mean = self._law(table[:, 0])
        spread = np.full(len(mean), self.spread_)
        return lambda rng: log_normal(mean, spread, rng)

    def _inside(self, table: Floats) -> Bools:
        low, high = self.domain_[self.names_[0]]
        inside: Bools = (table[:, 0] >= MIN_SIZE_FACTOR * low) & (
            table[:, 0] <= MAX_SIZE_FACTOR * high
        )
        return inside

    def _details(self) -> dict[str, Any]:
        return {"a_s": self.a_, "b": self.b_, "c_s": self.c_, "spread": self.spread_}

    def _to_json(self) -> dict[str, Any]:
        return self._details()

    def _from_json(self, node: JsonNode) -> None:
        if len(node["parameters"].texts()) != 1:
            raise node["parameters"].expected("one parameter")
        self.a_, self.b_ = node["a_s"].positive(), node["b"].number()
        self.c_, self.spread_ = node["c_s"].number(), node["spread"].not_negative()


def _constant(sizes: Floats, means: Floats, counts: Floats) -> float:
    """Return the c with the largest correlation of ln(size) and ln(mean - c)."""
    low, high = 0.0, float(np.sort(means)[len(means) // 3])
    error = 1e5
    for _ in range(MAX_STEPS):
        third, two_thirds = low + 0.33 * (high - low), low + 0.67 * (high - low)
        errors = [abs(1 - _correlation(sizes, means, counts, c)) for c in (third, two_thirds)]
        if errors[0] < errors[1]:
            high = two_thirds
        else:
            low = third
        if abs(error - min(errors)) < MIN_CORRELATION_CHANGE:
            break
        error = min(errors)
    return (low + high) / 2


def _error(predicted: Floats, means: Floats, counts: Floats) -> float:
    """Return the mean square of ln(predicted / mean), weighted by the counts."""
    return float(counts @ np.log(predicted / means) ** 2 / counts.sum())


def _correlation(sizes: Floats, means: Floats, counts: Floats, c: float) -> float:
    weights = _weights(means, counts, c)
    some = weights > 0
    if some.sum() < 2:
        return -np.inf
    weights = weights[some] / weights[some].sum()
    x, y = np.log(sizes[some]), np.log(means[some] - c)
    x, y = x - weights @ x, y - weights @ y
    product = (weights @ x**2) * (weights @ y**2)
    return float(weights @ (x * y) / np.sqrt(product)) if product > 0 else -np.inf


def _weights(means: Floats, counts: Floats, c: float) -> Floats:
    """Return the weights of means: their samples, reduced near *c*.

    They are 0 up to 2·c and full from 3·c; the ramp between is StarPU's, with its jump.
    """
    if c <= 0:
        return counts
    x = np.clip((means - c) / c - 1, 0.0, 1.0)
    ramp = np.where(x < 0.5, -2 * x**2 + 4 * x - 1, 2 * x**2)
    return np.where(x < 1, np.where(x > 0, ramp, 0.0), 1.0) * counts
