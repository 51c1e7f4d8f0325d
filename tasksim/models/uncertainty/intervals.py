"""Prediction intervals: bounds on the next measurement.

A measurement at *x* is modelled as m(x)·exp(s(x)·q), with m the model's prediction, s² the sum of
variances of logarithms, and q a random number with known quantiles:

- the *doubt* about m(x) itself (:mod:`tasksim.models.uncertainty.doubt`): from the covariance
  of the coefficients if there are any, otherwise from models fitted to resampled configurations;
- the *noise*, which may grow or shrink with a power of the duration;

and outside the domain, a third one, the *drift* (:mod:`tasksim.models.uncertainty.drift`), which
grows with the distance.

The quantiles of q are those of ln(y / m)/s over samples that were left out of the fit
(cross-validation): intervals are as wide as these samples required, however wrong the variances or
the model are. This is split conformal prediction with normalised residuals (Lei, G'Sell, Rinaldo,
Tibshirani and Wasserman, "Distribution-free predictive inference for regression", J. Am. Stat.
Assoc. 113, 2018, section 5.2), with residuals of folds as in Vovk, "Cross-conformal predictors",
Ann. Math. Artif. Intell. 74, 2015. The guarantee holds for new measurements *like the samples*.
Nothing is guaranteed beyond their domain, but nine of ten of the samples at either end were in the
intervals of a model fitted to the others.
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

    from tasksim.base.documents.json_document import Node
    from tasksim.models.draws import Draw
    from tasksim.models.fitted import FittedModel

__all__ = ["LEVELS", "Uncertainty"]

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
    """

    noise: Noise
    doubt: Doubt
    quantiles: NDArray[np.float64]
    count: int
    drift: Drift | None = None
    by_duration: ByDuration | None = None

    def deviation(
        self, model: FittedModel, table: NDArray[np.float64], expected_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return s at each row of *table*, for the predictions *expected_s* of *model*."""
        noise = self.noise(expected_s)
        return np.asarray(np.sqrt(self.doubt.variance(model, table, noise)))

    def interval(
        self, model: FittedModel, table: NDArray[np.float64], level: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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

    def sampler(self, model: FittedModel, table: NDArray[np.float64]) -> Draw:
        """Return a sampler of a measurement for each row; its mean is exactly the prediction.

        The drift is left out: a law that is wrong in some range makes all tasks there longer or
        shorter, and is not noise of a single task.
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
        """Return the uncertainty as data; NumPy arrays are allowed."""
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
    def from_json(cls, node: Node, model: FittedModel) -> Self:
        """Read what :meth:`to_json` wrote for *model*."""
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
    """Return the means of exp(deviation·q), for q distributed linearly between *quantiles*."""
    exponents = deviation[:, None] * quantiles
    low, step = exponents[:, :-1], np.diff(exponents, axis=1)
    # The mean of exp over a segment, (exp(step) - 1)/step, without cancellation.
    with np.errstate(invalid="ignore"):
        grown = np.where(step > MIN_STEP, np.expm1(step) / np.maximum(step, MIN_STEP), 1 + step / 2)
    means: NDArray[np.float64] = (np.exp(low) * grown) @ np.diff(LEVELS)
    return means
