"""Doubt, the variance of the logarithm of a prediction, which repetitions do not reduce.

There are three kinds: by the covariance of coefficients, by counts of samples, and by models
fitted to resampled configurations. A kind of model names its own in ``doubt_kind``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np

from tasksim.base.errors import OutOfDomainError, TasksimError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.base.arrays import Floats
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.fitted import FittedModel
    from tasksim.models.samples import Samples

__all__ = [
    "PRIOR_SAMPLES",
    "Anchors",
    "Counts",
    "Covariance",
    "Doubt",
    "doubt_kind",
    "read_doubt",
    "relative_spread",
    "student_stretch",
]

ANCHOR_COUNT: Final = 48
"""Number of points at which variances are estimated. For one parameter, 6 and 12 cover as well;
several need more."""
OUTER_ANCHOR_COUNT: Final = 16
"""Number of these points far outside the domain; the drift covers the errors of the law there."""
OUTER_ANCHOR_FACTOR: Final = 4.0
"""Factor on the largest parameters at points outside the domain: predictions are rarely requested
further away."""
MAX_RESAMPLE_SIZE: Final = 1024
"""Maximum number of configurations per resample: fits to m of n have n/m times the variance and
take at most m/n of the time (P. J. Bickel, F. Götze and W. R. van Zwet, Statistica Sinica 7,
1997)."""
MIN_FITS: Final = 5
"""Minimum number of fits for a variance: that of fewer is mostly chance."""
MIN_SQUARED_DISTANCE: Final = 1e-9
"""Term added to squared distances (the domain has size 1), so that an anchor has its own
variance."""
SINGULAR_VALUE_SHARE: Final = 1e-12
"""Share of the largest singular value below which others are rounding errors: two indistinguishable
coefficients have no covariance of their own."""


class Shifter(NamedTuple):
    """Random shifts of the logarithms of predictions at fixed rows.

    Parameters
    ----------
    normal : callable
        Draws shifts as if their variance were known.
    freedom : ndarray, shape (rows,)
        Degrees of freedom of that variance.
    """

    normal: Callable[[np.random.Generator], Floats]
    freedom: Floats


class Doubt(Protocol):
    """The variance of the logarithm of a measurement, given its noise."""

    kind: ClassVar[str]
    """The name of this kind in files."""

    @classmethod
    def of(cls, model: FittedModel, samples: Samples, *, seed: int, resamples: int) -> Self:
        """Estimate the doubt about *model*, which was fitted to *samples*.

        At most *resamples* models are fitted to samples drawn with the *seed*.
        """

    def variance(self, model: FittedModel, table: Floats, noise: Floats) -> Floats:
        """Return noise² plus the variance of the prediction, per row of *table*."""

    def shifter(self, model: FittedModel, table: Floats) -> Shifter:
        """Return joint random shifts of *model* at the rows of *table*, which are distinct."""

    def to_json(self) -> dict[str, Any]:
        """Return the doubt as data, including its kind."""

    @classmethod
    def from_json(cls, node: JsonNode, model: FittedModel) -> Self:
        """Read what :meth:`to_json` wrote for *model*."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """Doubt by the covariance of log coefficients, shape (coefficients, coefficients).

    The variance of ln m(x) is g·C·g, where g are the elasticities d ln m / d ln coefficient: the
    share of each term in the duration.
    """

    kind: ClassVar[str] = "covariance"

    matrix: Floats

    @classmethod
    def of(cls, model: FittedModel, samples: Samples, *, seed: int, resamples: int) -> Self:  # noqa: ARG003
        """Return the cluster-robust covariance of the coefficients.

        The sandwich estimator with configurations as clusters (Liang and Zeger, "Longitudinal
        data analysis using generalized linear models", Biometrika 73, 1986): repetitions of a
        configuration add no information about the formula.
        """
        rows, group = samples.configurations()
        g = model._elasticities(samples.parameters)
        residual = samples.durations_s / model.predict(samples.parameters) - 1
        bread = np.linalg.pinv(g.T @ g, rcond=SINGULAR_VALUE_SHARE, hermitian=True)
        scores = np.zeros((len(rows), g.shape[1]))
        np.add.at(scores, group, g * residual[:, None])
        meat = scores.T @ scores * len(rows) / max(len(rows) - g.shape[1], 1)
        return cls(bread @ meat @ bread)

    def variance(self, model: FittedModel, table: Floats, noise: Floats) -> Floats:
        """Return noise² + g·C·g per row."""
        g = model._elasticities(table)
        return np.asarray(noise**2 + np.maximum(((g @ self.matrix) * g).sum(axis=1), 0.0))

    def shifter(self, model: FittedModel, table: Floats) -> Shifter:
        """Return shifts from multivariate t coefficients.

        The degrees of freedom are the configurations minus the coefficients, from which the
        covariance was estimated.
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
        """Return the doubt as data."""
        return {"kind": self.kind, "matrix": self.matrix}

    @classmethod
    def from_json(cls, node: JsonNode, model: FittedModel) -> Self:
        """Read what :meth:`to_json` wrote for *model*."""
        size = model._elasticities(np.empty((0, len(model.names_)))).shape[1]
        return cls(node["matrix"].matrix(size, size))


@dataclass(frozen=True)
class Counts:
    """Doubt about means per configuration (history), which decreases with the number of samples.

    The spread of a configuration is shrunk towards the noise of all, with the weight of *prior*
    samples; the mean of n samples adds 1/n of the variance.
    """

    kind: ClassVar[str] = "counts"

    prior: float

    @classmethod
    def of(cls, model: FittedModel, samples: Samples, *, seed: int, resamples: int) -> Self:  # noqa: ARG003
        """Return the doubt, which does not depend on *samples*: the model has their counts."""
        return cls(PRIOR_SAMPLES)

    def variance(self, model: FittedModel, table: Floats, noise: Floats) -> Floats:
        """Return the variance of another sample of each row's configuration."""
        count, spread = model._repetitions(table)
        own = spread**2
        freedom = count - 1
        mixed = (self.prior * noise**2 + freedom * own) / (self.prior + freedom)
        return np.asarray(mixed * (1 + 1 / count))

    def shifter(self, model: FittedModel, table: Floats) -> Shifter:
        """Return shifts of the means: Student's t, independent between configurations."""
        count, spread, freedom = relative_spread(model, table)
        deviation = spread / np.sqrt(count)
        return Shifter(lambda rng: deviation * rng.standard_normal(len(table)), freedom)

    def to_json(self) -> dict[str, Any]:
        """Return the doubt as data."""
        return {"kind": self.kind, "prior": self.prior}

    @classmethod
    def from_json(cls, node: JsonNode, model: FittedModel) -> Self:  # noqa: ARG003
        """Read what :meth:`to_json` wrote."""
        return cls(node["prior"].positive())


@dataclass(frozen=True, eq=False)
class Anchors:
    """Doubt by variances at anchor points, interpolated with inverse squared distances.

    *points*, shape (n, p), are logarithms of 1 + parameter, each column divided by *scale*.
    *shifts*, shape (fits, n), are the deviations of models fitted to resampled
    configurations from their mean; files of earlier versions have none.
    """

    kind: ClassVar[str] = "anchors"

    points: Floats
    scale: Floats
    variances: Floats
    shifts: Floats | None = None

    @classmethod
    def of(cls, model: FittedModel, samples: Samples, *, seed: int, resamples: int) -> Self:
        """Return the variance of models fitted to configurations drawn with replacement."""
        rng = np.random.default_rng(seed)
        points = _anchor_points(model, samples, rng)
        rows, group = samples.configurations()
        found = []
        drawn_rows = min(len(rows), MAX_RESAMPLE_SIZE)
        for _ in range(resamples):
            times = np.bincount(rng.integers(len(rows), size=drawn_rows), minlength=len(rows))
            drawn = samples.select(np.repeat(np.arange(len(samples)), times[group]))
            try:
                found.append(np.log(model.refitted(drawn).predict(points)))
            except TasksimError:
                continue  # these configurations do not determine the model
        few = len(found) < MIN_FITS
        variances = np.zeros(len(points)) if few else np.var(found, axis=0, ddof=1)
        # Fits to fewer configurations vary more; this rescales to all of them.
        shrunk = drawn_rows / len(rows)
        variances = variances * shrunk
        shifts = None if few else (found - np.mean(found, axis=0)) * shrunk**0.5
        logs = np.log1p(points)
        span = np.ptp(np.log1p(rows), axis=0)
        scale = np.where(span > 0, span, 1.0)
        return cls(logs / scale, scale, variances, shifts)

    def variance(self, model: FittedModel, table: Floats, noise: Floats) -> Floats:
        """Return noise² plus the variance interpolated at each row."""
        del model
        return np.asarray(noise**2 + self._weights(table) @ self.variances)

    def shifter(self, model: FittedModel, table: Floats) -> Shifter:
        """Return shifts distributed like those of models fitted to resampled samples.

        They are random sums of the models' shifts and so have their covariance: predictions for
        similar parameters shift together. Without stored shifts, all rows shift together, which is
        wider.
        """
        del model
        weights = self._weights(table)
        if self.shifts is None:
            parts, freedom = np.sqrt(weights @ self.variances)[:, None], float(MIN_FITS)
        else:
            freedom = float(len(self.shifts) - 1)
            parts = weights @ self.shifts.T / freedom**0.5
        return Shifter(
            lambda rng: np.asarray(parts @ rng.standard_normal(parts.shape[1])),
            np.full(len(table), freedom),
        )

    def _weights(self, table: Floats) -> Floats:
        """Return the weight of each point at each row; they add up to 1."""
        at = np.log1p(table) / self.scale
        # |a - b|² = a² - 2ab + b² avoids an array of rows × points × parameters.
        squares = (at**2).sum(axis=1)[:, None] + (self.points**2).sum(axis=1)
        distance = np.maximum(squares - 2 * at @ self.points.T, 0.0)
        weight = 1 / (distance + MIN_SQUARED_DISTANCE)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def to_json(self) -> dict[str, Any]:
        """Return the doubt as data."""
        return {
            "kind": self.kind,
            "points": self.points,
            "scale": self.scale,
            "variances": self.variances,
            **({} if self.shifts is None else {"shifts": self.shifts}),
        }

    @classmethod
    def from_json(cls, node: JsonNode, model: FittedModel) -> Self:
        """Read what :meth:`to_json` wrote for *model*."""
        parameters = len(model.names_)
        points = node["points"].matrix(parameters)
        scale = np.array([value.positive() for value in node["scale"].list_of(parameters)])
        variances, shifts = node["variances"].vector(len(points)), None
        if "shifts" in node.mapping():
            shifts = node["shifts"].matrix(len(points))
            if len(shifts) < MIN_FITS:
                raise node["shifts"].expected(f"{MIN_FITS} rows or more")
        return cls(points, scale, variances, shifts)


def doubt_kind(model: FittedModel) -> type[Doubt]:
    """Return the class of the doubt of *model*: the one it names, or :class:`Anchors`."""
    said = model.doubt_kind
    if isinstance(said, str):
        return next(kind for kind in (Anchors, Counts, Covariance) if kind.kind == said)
    return said or Anchors


def read_doubt(node: JsonNode, model: FittedModel) -> Doubt:
    """Read what ``to_json`` wrote for *model*: its own kind of doubt, or anchors."""
    kind = node["kind"]
    for known in (doubt_kind(model), Anchors):
        if kind.value == known.kind:
            return known.from_json(node, model)
    raise kind.expected(f"the kind of doubt of {model.kind} models")


def _anchor_points(model: FittedModel, samples: Samples, rng: np.random.Generator) -> Floats:
    """Return some configurations of *samples*, and some far outside if the model extrapolates."""
    rows, _ = samples.configurations()
    chosen = np.sort(rng.permutation(len(rows))[:ANCHOR_COUNT])
    named = [name in samples.categories for name in samples.names]
    beyond = rows[chosen[:OUTER_ANCHOR_COUNT]] * np.where(named, 1.0, OUTER_ANCHOR_FACTOR)
    points = np.vstack([rows[chosen], beyond])
    try:
        model.predict(beyond)
    except OutOfDomainError:
        return rows[chosen]
    return points


PRIOR_SAMPLES: Final = 20.0
"""Weight, in samples, of the pooled spread against that of one configuration. For generated
histories with three samples each, 90 % intervals cover 86 % with 2, 90 % with 5, 92 % with 20 and
93 % with 100: rather too wide than too narrow."""
MIN_SPREAD: Final = 1e-9
"""Smallest relative spread: clocks have nine digits, and less comes from rounding means."""
MIN_CHI_SQUARE: Final = 1e-9
"""Smallest chi-square variate, to avoid a division by 0."""


def student_stretch(freedom: Floats, rng: np.random.Generator) -> Floats:
    """Return the factors that turn normal variates into Student's t, for each of *freedom*."""
    return np.asarray(np.sqrt(freedom / np.maximum(rng.chisquare(freedom), MIN_CHI_SQUARE)))


def relative_spread(model: FittedModel, table: Floats) -> tuple[Floats, Floats, Floats]:
    """Return number of samples, relative deviation and degrees of freedom per row, for means.

    The variance of a configuration is shrunk towards that of all, which has a weight of up to 20
    samples, as in :class:`~tasksim.models.uncertainty.doubt.Counts`.
    """
    form = model.means()
    assert form is not None
    count, own = model._repetitions(table)
    freedom = np.maximum(form.count - 1, 0).astype(np.float64)
    # Deviations of a form are about the mean with divisor n, not n - 1.
    squares = (form.deviation_s / form.mean_s) ** 2 * np.maximum(form.count, 1)
    pooled = squares[freedom > 0].sum() / max(freedom.sum(), 1.0)
    mine = np.maximum(count - 1, 0)
    weight = np.minimum(PRIOR_SAMPLES, np.maximum(freedom.sum() - mine, 0.0))
    known = mine + weight
    variance = (weight * pooled + mine * own**2) / np.maximum(known, 1.0)
    spread = np.sqrt(variance)
    spread[spread < MIN_SPREAD] = 0.0
    return count.astype(np.float64), spread, known
