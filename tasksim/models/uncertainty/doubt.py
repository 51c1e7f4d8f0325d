"""Doubt about a prediction itself, however often it were measured: the variance of its logarithm.

Three kinds: by the covariance of coefficients, by counts of samples, by models that were fitted
to resampled configurations. Which one a kind of model has, it says itself (``doubt_kind``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

import numpy as np

from tasksim.base.errors import OutOfDomainError, TasksimError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.document import Node
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["Anchors", "Counts", "Covariance", "Doubt", "read_doubt"]

PRIOR: Final = 20.0
"""So many samples weighs what is known of all configurations against the spread of one. Of
generated histories with three samples each, 90 % intervals cover 86 % with 2, 90 % with 5, 92 %
with 20 and 93 % with 100: rather too wide."""

ANCHORS: Final = 48
"""Points where variances are taken. 6 and 12 cover as well in one parameter; several need more."""
BEYOND: Final = 16
"""Of these, some far outside; how fast predictions go wrong there, the drift says."""
PUSHED: Final = 4.0
"""Outside the domain, the doubt is taken at so many times the largest parameters: as far as what
was measured is asked for, as a rule."""
MOST_DRAWN: Final = 1024
"""So many configurations are drawn at most: of n, m are fitted m/n times as well, and n/m times
as fast or more (P. J. Bickel, F. Götze and W. R. van Zwet, Statistica Sinica 7, 1997)."""
FEWEST_FITS: Final = 5
"""A variance of fewer is mostly chance."""
NEAR: Final = 1e-9
"""Added to squares of distances, of 1 over the domain: an anchor itself has its own variance."""
SINGULAR: Final = 1e-12
"""Singular values below this share of the largest are rounding errors: two coefficients that
cannot be told apart have no covariance of their own."""


class Doubt(Protocol):
    """The variance of the logarithm of a measurement, the noise being given."""

    kind: ClassVar[str]
    """Its name in files."""

    @classmethod
    def of(cls, model: KernelModel, samples: Samples, *, seed: int, resamples: int) -> Self:
        """Return what is not known of *model*, which was fitted to *samples*.

        *resamples* is how many models may be fitted to find out, at random by the *seed*.
        """

    def variance(
        self, model: KernelModel, table: NDArray[np.float64], noise: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return noise² and what the model does not know, per row of *table*."""

    def to_json(self) -> dict[str, Any]:
        """Return it as data, its kind among them."""

    @classmethod
    def from_json(cls, node: Node, model: KernelModel) -> Self:
        """Return what :meth:`to_json` wrote of *model*."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """Of the logarithms of the coefficients, shape (coefficients, coefficients).

    That of ln m(x) is g·C·g, with g the elasticities d ln m / d ln coefficient: the share of
    each term in the duration.
    """

    kind: ClassVar[str] = "covariance"

    matrix: NDArray[np.float64]

    @classmethod
    def of(cls, model: KernelModel, samples: Samples, *, seed: int, resamples: int) -> Self:  # noqa: ARG003
        """Return the covariance, robust to what clusters share.

        The sandwich estimator with configurations as clusters (Liang and Zeger, "Longitudinal
        data analysis using generalized linear models", Biometrika 73, 1986): repetitions do not
        say more about the formula than the configuration does.
        """
        rows, group = samples.configurations()
        g = model._elasticities(samples.parameters)
        residual = samples.durations_s / model.predict(samples.parameters) - 1
        bread = np.linalg.pinv(g.T @ g, rcond=SINGULAR, hermitian=True)
        scores = np.zeros((len(rows), g.shape[1]))
        np.add.at(scores, group, g * residual[:, None])
        meat = scores.T @ scores * len(rows) / max(len(rows) - g.shape[1], 1)
        return cls(bread @ meat @ bread)

    def variance(
        self, model: KernelModel, table: NDArray[np.float64], noise: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return noise² + g·C·g per row."""
        g = model._elasticities(table)
        return np.asarray(noise**2 + np.maximum(((g @ self.matrix) * g).sum(axis=1), 0.0))

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {"kind": self.kind, "matrix": self.matrix}

    @classmethod
    def from_json(cls, node: Node, model: KernelModel) -> Self:
        """Return what :meth:`to_json` wrote of *model*."""
        size = model._elasticities(np.empty((0, len(model.names_)))).shape[1]
        return cls(np.array([row.vector(size) for row in _rows(node["matrix"], size)]))


@dataclass(frozen=True)
class Counts:
    """Of means per configuration (history): known the better, the more samples there are.

    The spread of a configuration is drawn towards the noise of all, which counts for *prior*
    samples; the mean of n samples adds an nth of the variance.
    """

    kind: ClassVar[str] = "counts"

    prior: float

    @classmethod
    def of(cls, model: KernelModel, samples: Samples, *, seed: int, resamples: int) -> Self:  # noqa: ARG003
        """Return it, whatever the samples: the model knows their counts."""
        return cls(PRIOR)

    def variance(
        self, model: KernelModel, table: NDArray[np.float64], noise: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the variance of a further sample of each row's configuration."""
        count, spread = model._repetitions(table)
        own = spread**2
        freedom = count - 1
        mixed = (self.prior * noise**2 + freedom * own) / (self.prior + freedom)
        return np.asarray(mixed * (1 + 1 / count))

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {"kind": self.kind, "prior": self.prior}

    @classmethod
    def from_json(cls, node: Node, model: KernelModel) -> Self:  # noqa: ARG003
        """Return what :meth:`to_json` wrote."""
        return cls(node["prior"].positive())


@dataclass(frozen=True, eq=False)
class Anchors:
    """Variances at some points; between them, weighted by the inverse square of the distance.

    *points*, shape (n, p), are logarithms of 1 + parameter, each column divided by *scale*.
    """

    kind: ClassVar[str] = "anchors"

    points: NDArray[np.float64]
    scale: NDArray[np.float64]
    variances: NDArray[np.float64]

    @classmethod
    def of(cls, model: KernelModel, samples: Samples, *, seed: int, resamples: int) -> Self:
        """Return the variance of models fitted to configurations drawn with replacement."""
        rng = np.random.default_rng(seed)
        points = _anchor_points(model, samples, rng)
        rows, group = samples.configurations()
        found = []
        drawn_rows = min(len(rows), MOST_DRAWN)
        for _ in range(resamples):
            times = np.bincount(rng.integers(len(rows), size=drawn_rows), minlength=len(rows))
            drawn = samples.select(np.repeat(np.arange(len(samples)), times[group]))
            predicted = _predicted(model, drawn, points)
            if predicted is not None:
                found.append(np.log(predicted))
        few = len(found) < FEWEST_FITS
        variances = np.zeros(len(points)) if few else np.var(found, axis=0, ddof=1)
        variances = variances * (drawn_rows / len(rows))
        logs = np.log1p(points)
        span = np.ptp(np.log1p(rows), axis=0)
        scale = np.where(span > 0, span, 1.0)
        return cls(logs / scale, scale, variances)

    def variance(
        self, model: KernelModel, table: NDArray[np.float64], noise: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return noise² + the variance interpolated at each row."""
        del model
        at = np.log1p(table) / self.scale
        # |a - b|² = a² - 2ab + b²: no array of rows × points × parameters.
        squares = (at**2).sum(axis=1)[:, None] + (self.points**2).sum(axis=1)
        distance = np.maximum(squares - 2 * at @ self.points.T, 0.0)
        weight = 1 / (distance + NEAR)
        return np.asarray(noise**2 + (weight @ self.variances) / weight.sum(axis=1))

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {
            "kind": self.kind,
            "points": self.points,
            "scale": self.scale,
            "variances": self.variances,
        }

    @classmethod
    def from_json(cls, node: Node, model: KernelModel) -> Self:
        """Return what :meth:`to_json` wrote of *model*."""
        parameters = len(model.names_)
        points = np.array([row.vector(parameters) for row in node["points"]])
        return cls(
            points.reshape(-1, parameters),
            np.array([value.positive() for value in _rows(node["scale"], parameters)]),
            node["variances"].vector(len(points)),
        )


def read_doubt(node: Node, model: KernelModel) -> Doubt:
    """Return what ``to_json`` wrote of *model*: its own kind of doubt, or anchors."""
    kind = node["kind"]
    for known in (model.doubt_kind, Anchors):
        if kind.value == known.kind:
            return known.from_json(node, model)
    raise kind.expected(f"the kind of doubt of {model.kind} models")


def _rows(node: Node, count: int) -> list[Node]:
    rows = list(node)
    if len(rows) != count:
        raise node.error(f"expected {count} rows, got {len(rows)}")
    return rows


def _anchor_points(
    model: KernelModel, samples: Samples, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return some configurations of *samples*, and some far outside if the model goes there."""
    rows, _ = samples.configurations()
    chosen = np.sort(rng.permutation(len(rows))[:ANCHORS])
    beyond = rows[chosen[:BEYOND]] * PUSHED
    points = np.vstack([rows[chosen], beyond])
    try:
        model.predict(beyond)
    except OutOfDomainError:
        return rows[chosen]
    return points


def _predicted(
    model: KernelModel, samples: Samples, points: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return what a model fitted to other *samples* says of *points*; None if it cannot."""
    try:
        return model.refitted(samples).predict(points)
    except TasksimError:
        return None
