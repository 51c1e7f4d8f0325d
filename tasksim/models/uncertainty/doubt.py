"""Doubt about a prediction itself, however often it were measured: the variance of its logarithm.

Three kinds: by the covariance of coefficients, by counts of samples, by models that were fitted
to resampled configurations. Which one a kind of model has, it says itself (``doubt_kind``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np

from tasksim.base.errors import OutOfDomainError, TasksimError
from tasksim.models.rows import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.models.document import Node
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["Anchors", "Counts", "Covariance", "Doubt", "doubt_kind", "read_doubt"]

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


class Shifter(NamedTuple):
    """What draws how far the logarithms of predictions may be off, at rows that are settled.

    Parameters
    ----------
    normal : callable
        Draws as if the variance were known.
    freedom : ndarray, shape (rows,)
        From how many degrees of freedom it is.
    """

    normal: Callable[[np.random.Generator], NDArray[np.float64]]
    freedom: NDArray[np.float64]


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

    def shifter(self, model: KernelModel, table: NDArray[np.float64]) -> Shifter:
        """Return what draws how far off *model* is at the rows of *table*, all together."""

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

    def shifter(self, model: KernelModel, table: NDArray[np.float64]) -> Shifter:
        """Return what draws coefficients, multivariate t, and says what they change.

        As many degrees of freedom as configurations beyond the coefficients, which is what the
        covariance was estimated from.
        """
        values, vectors = np.linalg.eigh(self.matrix)
        moved = model._elasticities(table) @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        configurations = model.report()["configurations"]
        freedom = max(float(configurations - len(values)), 1.0)
        return Shifter(
            lambda rng: np.asarray(moved @ rng.standard_normal(len(values))),
            np.full(len(table), freedom),
        )

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
        from tasksim.models.uncertainty.spread import PRIOR

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

    def shifter(self, model: KernelModel, table: NDArray[np.float64]) -> Shifter:
        """Return what draws the means: Student's, those of different configurations apart."""
        from tasksim.models.uncertainty.spread import relative_spread

        rows, index = distinct_rows(table)
        count, spread, freedom = relative_spread(model, rows)
        deviation = spread / np.sqrt(count)
        return Shifter(
            lambda rng: np.asarray((deviation * rng.standard_normal(len(rows)))[index]),
            freedom[index],
        )

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
    *shifts*, shape (fits, n), is how far each of the models that were fitted to resampled
    configurations was off their mean; files of earlier versions have none.
    """

    kind: ClassVar[str] = "anchors"

    points: NDArray[np.float64]
    scale: NDArray[np.float64]
    variances: NDArray[np.float64]
    shifts: NDArray[np.float64] | None = None

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
        shrunk = drawn_rows / len(rows)
        variances = variances * shrunk
        shifts = None if few else (found - np.mean(found, axis=0)) * shrunk**0.5
        logs = np.log1p(points)
        span = np.ptp(np.log1p(rows), axis=0)
        scale = np.where(span > 0, span, 1.0)
        return cls(logs / scale, scale, variances, shifts)

    def variance(
        self, model: KernelModel, table: NDArray[np.float64], noise: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return noise² + the variance interpolated at each row."""
        del model
        return np.asarray(noise**2 + self._weights(table) @ self.variances)

    def shifter(self, model: KernelModel, table: NDArray[np.float64]) -> Shifter:
        """Return what draws a model as far off as those that were fitted to resampled samples.

        A random sum of their differences, which has their covariance: near parameters are off
        alike. Where these are not known, all parameters are off alike, which is wider.
        """
        del model
        weights = self._weights(table)
        if self.shifts is None:
            parts, freedom = np.sqrt(weights @ self.variances)[:, None], float(FEWEST_FITS)
        else:
            freedom = float(len(self.shifts) - 1)
            parts = weights @ self.shifts.T / freedom**0.5
        return Shifter(
            lambda rng: np.asarray(parts @ rng.standard_normal(parts.shape[1])),
            np.full(len(table), freedom),
        )

    def _weights(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much each point counts at each row; their sum is 1."""
        at = np.log1p(table) / self.scale
        # |a - b|² = a² - 2ab + b²: no array of rows × points × parameters.
        squares = (at**2).sum(axis=1)[:, None] + (self.points**2).sum(axis=1)
        distance = np.maximum(squares - 2 * at @ self.points.T, 0.0)
        weight = 1 / (distance + NEAR)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {
            "kind": self.kind,
            "points": self.points,
            "scale": self.scale,
            "variances": self.variances,
            **({} if self.shifts is None else {"shifts": self.shifts}),
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
            _shifts(node["shifts"], len(points)) if "shifts" in node.mapping() else None,
        )


def doubt_kind(model: KernelModel) -> type[Doubt]:
    """Return the kind of doubt of a *model*: what it says, by name or itself, or anchors."""
    said = model.doubt_kind
    if isinstance(said, str):
        return next(kind for kind in (Anchors, Counts, Covariance) if kind.kind == said)
    return said or Anchors


def read_doubt(node: Node, model: KernelModel) -> Doubt:
    """Return what ``to_json`` wrote of *model*: its own kind of doubt, or anchors."""
    kind = node["kind"]
    for known in (doubt_kind(model), Anchors):
        if kind.value == known.kind:
            return known.from_json(node, model)
    raise kind.expected(f"the kind of doubt of {model.kind} models")


def _shifts(node: Node, points: int) -> NDArray[np.float64]:
    found = [row.vector(points) for row in node]
    if len(found) < FEWEST_FITS:
        raise node.expected(f"{FEWEST_FITS} rows or more")
    return np.array(found)


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
