"""Predictive intervals: between which durations the next measurement will be.

A measurement at *x* is taken for m(x)·exp(s(x)·q), with m the model's prediction, s² the sum of
variances of logarithms, and q a random number whose quantiles are known:

- the *doubt* about m(x) itself (:mod:`tasksim.models.uncertainty.doubt`): from the covariance
  of the coefficients where there are some, else from models fitted to resampled configurations;
- the *noise*, which may grow or shrink with a power of the duration;

and outside the domain of a third, the *drift* (:mod:`tasksim.models.uncertainty.drift`), which
grows with the distance.

The quantiles of q are those of ln(y / m)/s over samples that were left out of the fit
(cross-validation): intervals are as wide as they had to be for these, however wrong the variances
or the model. That is split conformal prediction with normalised residuals (Lei, G'Sell, Rinaldo,
Tibshirani and Wasserman, "Distribution-free predictive inference for regression", J. Am. Stat.
Assoc. 113, 2018, section 5.2), with residuals of folds as in Vovk, "Cross-conformal predictors",
Ann. Math. Artif. Intell. 74, 2015. What it promises holds for new measurements *like the samples*;
beyond their domain nothing is promised, but nine of ten of the samples at either end were in their
intervals when a model fitted to the others was asked for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.rows import distinct_rows
from tasksim.models.uncertainty.byduration import LEVELS, ByDuration
from tasksim.models.uncertainty.doubt import Doubt, read_doubt
from tasksim.models.uncertainty.drift import Drift
from tasksim.models.uncertainty.noise import Noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.document import Node
    from tasksim.models.draws import Draw
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["LEVELS", "Uncertainty"]

LARGEST: Final = 300.0
"""No bound is further than exp(300) from the prediction: a float holds the product."""
FLAT: Final = 1e-9
"""Steps between exponents below this have their mean without the quotient, in which they cancel."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How far measurements are from the predictions of one fitted model.

    Attributes
    ----------
    noise, doubt
        The two variances.
    quantiles
        float64 [levels], of q at :data:`LEVELS`.
    count
        How many samples, left out of fits, they come from.
    drift
        How fast predictions go wrong outside the domain; None where there are none, or where
        it was not looked for (in files of earlier versions).
    by_duration
        The quantiles of the noise of short tasks and of long ones; None in files of earlier
        versions.
    """

    noise: Noise
    doubt: Doubt
    quantiles: NDArray[np.float64]
    count: int
    drift: Drift | None = None
    by_duration: ByDuration | None = None

    def deviation(
        self, model: KernelModel, table: NDArray[np.float64], expected_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return s at each row of *table*, where *model* predicts *expected_s*."""
        noise = self.noise(expected_s)
        return np.asarray(np.sqrt(self.doubt.variance(model, table, noise)))

    def interval(
        self, model: KernelModel, table: NDArray[np.float64], level: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds between which a measurement is with probability *level*.

        It is outside on either side equally often.
        """
        if not 0 < level < 1:
            raise InputError(f"level of an interval: got {level!r}; legal: between 0 and 1, as 0.9")
        tail = (1 - level) / 2
        low, high = np.interp((tail, 1 - tail), LEVELS, self.quantiles)
        expected = model.predict(table)
        deviation = self.deviation(model, table, expected)
        if self.drift is not None:
            deviation = np.hypot(deviation, self.drift.deviation(model.domain_, table))
        exponents = np.clip([low * deviation, high * deviation], -LARGEST, LARGEST)
        return expected * np.exp(exponents[0]), expected * np.exp(exponents[1])

    def sampler(self, model: KernelModel, table: NDArray[np.float64]) -> Draw:
        """Return what draws a measurement for each row; their mean is exactly what is predicted.

        Without the drift: that a law is wrong somewhere makes all tasks there longer or shorter,
        and is no noise of each.
        """
        rows, index = distinct_rows(table)
        expected = model.predict(rows)
        deviation = self.deviation(model, rows, expected)
        scale = expected / _mean_of_exp(deviation, self.quantiles)
        scales, deviations = scale[index], deviation[index]

        def draw(rng: np.random.Generator) -> NDArray[np.float64]:
            draws = np.interp(rng.random(len(table)), LEVELS, self.quantiles)
            return np.asarray(scales * np.exp(deviations * draws))

        return draw

    def to_json(self) -> dict[str, Any]:
        """Return it as data; NumPy's arrays will do."""
        noise = vars(self.noise)
        return {
            "noise": dict(noise),
            "doubt": self.doubt.to_json(),
            "levels": LEVELS,
            "quantiles": self.quantiles,
            "count": self.count,
            **({} if self.drift is None else {"drift": self.drift.to_json()}),
            **({} if self.by_duration is None else {"by_duration": self.by_duration.to_json()}),
        }

    @classmethod
    def from_json(cls, node: Node, model: KernelModel) -> Self:
        """Return what :meth:`to_json` wrote of *model*."""
        node["levels"].exactly(list(LEVELS))
        quantiles = node["quantiles"].vector(len(LEVELS))
        if (np.diff(quantiles) < 0).any():
            raise node["quantiles"].expected("numbers in ascending order")
        noise = node["noise"]
        positive = {n: noise[n].positive() for n in ("deviation", "center_s", "low_s", "high_s")}
        return cls(
            Noise(slope=noise["slope"].number(), **positive),
            read_doubt(node["doubt"], model),
            quantiles,
            node["count"].integer(),
            Drift.from_json(node["drift"]) if "drift" in node.mapping() else None,
            ByDuration.from_json(node["by_duration"]) if "by_duration" in node.mapping() else None,
        )


def _mean_of_exp(
    deviation: NDArray[np.float64], quantiles: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the means of exp(deviation·q), q distributed linearly between its *quantiles*."""
    exponents = deviation[:, None] * quantiles
    low, step = exponents[:, :-1], np.diff(exponents, axis=1)
    # The mean of exp over a segment, (exp(step) - 1)/step, without cancellation.
    with np.errstate(invalid="ignore"):
        grown = np.where(step > FLAT, np.expm1(step) / np.maximum(step, FLAT), 1 + step / 2)
    means: NDArray[np.float64] = (np.exp(low) * grown) @ np.diff(LEVELS)
    return means
