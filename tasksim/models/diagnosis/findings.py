"""Findings of a diagnosis with evidence and advice, and the residuals that they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.models.fitted import columns
from tasksim.models.quantiles import group_means, inliers
from tasksim.models.rows import describe_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tasksim.base.arrays import Floats, Indices
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = [
    "MIN_CORRELATION",
    "Finding",
    "Residuals",
    "Severity",
    "correlation",
    "normal_points",
    "residuals",
    "sorted_findings",
    "spread_by_fitted",
]

Severity = Literal["warning", "note"]


@dataclass(frozen=True)
class Finding:
    """An observation about a model or its samples.

    Parameters
    ----------
    code : str
        A stable name: ``"missing-parameter"``.
    severity : {"warning", "note"}
        ``warning``: predictions may be wrong. ``note``: good to know.
    message : str
        The observation, as text.
    evidence : mapping of str to float, default={}
        The numbers behind it, by name; shares are between 0 and 1.
    advice : str, default=""
        A recommended next step.
    names : tuple of str, default=()
        The parameters or terms concerned, most important first.

    See Also
    --------
    tasksim.diagnose : Find them.

    Examples
    --------
    >>> Finding("few-values", "note", "n has 3 values").text()
    'note: n has 3 values.'
    """

    code: str
    severity: Severity
    message: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    advice: str = ""
    names: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the finding as a paragraph.

        >>> Finding("few-values", "note", "n has 3 values", advice="measure 5").text()
        'note: n has 3 values. Advice: measure 5.'
        """
        advice = f" Advice: {self.advice}." if self.advice else ""
        return f"{self.severity}: {self.message}.{advice}"


def sorted_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with warnings first, otherwise in the given order."""
    return tuple(sorted(findings, key=lambda finding: finding.severity != "warning"))


MIN_CORRELATION: Final = 0.99
"""Correlation of logarithms above which two parameters vary together: at 0.99, a seventh of the
spread of one is independent of the other, too little to separate them in any noise."""

MAD_TO_SD: Final = 1.4826
"""Ratio of standard deviation to median absolute deviation for a normal distribution."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """The residuals of a model on its samples without outliers.

    Attributes
    ----------
    samples
        The samples without outliers, with all columns, including those the model ignores.
    dropped
        Number of outliers.
    predicted_s
        float64 [samples].
    absolute
        Whether errors are relative to the mean duration, as for a model fitted to
        absolute errors; otherwise they are relative to predictions.
    rows, group
        The distinct configurations over all columns, and the index of each sample's configuration.
    """

    samples: Samples
    dropped: int
    predicted_s: Floats
    absolute: bool
    rows: Floats
    group: Indices

    def quantities(self, name: str) -> Floats:
        """Return parameter *name* per configuration as one column, categories as one each.

        The first category has none: the others say whether it is there.
        """
        column = self.rows[:, self.samples.names.index(name)]
        if name not in self.samples.categories:
            return column[:, None]
        return np.asarray(column[:, None] == np.unique(column)[1:], dtype=np.float64)

    def columns(self, names: Sequence[str]) -> Floats:
        """Return the parameters *names* of each configuration as columns."""
        return self.rows[:, [self.samples.names.index(name) for name in names]]

    def row_text(self, row: int) -> str:
        """Return the configuration *row* as text."""
        return describe_row(self.samples.names, self.rows[row], self.samples.categories)

    @cached_property
    def scale_s(self) -> Floats:
        """The duration that the error of each sample is relative to, in seconds."""
        if self.absolute:
            return np.full(len(self.samples), self.samples.durations_s.mean())
        return self.predicted_s

    @cached_property
    def relative(self) -> Floats:
        """The error of each sample, (measured - predicted) / scale."""
        return np.asarray((self.samples.durations_s - self.predicted_s) / self.scale_s)

    @cached_property
    def shape(self) -> Floats:
        """The errors for tests of distributions: ln(measured / predicted), or relative errors."""
        if self.absolute:
            return self.relative
        return np.asarray(np.log(self.samples.durations_s / self.predicted_s))

    @property
    def repeated(self) -> bool:
        """Whether at least half of the samples are of configurations measured repeatedly."""
        count = np.bincount(self.group)[self.group]
        return bool((count > 1).sum() >= len(count) / 2)

    @cached_property
    def noise(self) -> Floats:
        """The errors of the shape within configurations that were measured repeatedly.

        They are scaled to compensate for subtracting the mean. If too few configurations are
        repeated, they are the errors of all samples, noise plus model error (:attr:`repeated`).
        """
        if not self.repeated:
            return self.shape
        count = np.bincount(self.group)[self.group]
        centred = self.shape - group_means(self.shape, self.group)[self.group]
        return np.where(count > 1, centred * np.sqrt(count / np.maximum(count - 1, 1)), np.nan)


def residuals(model: KernelModel, samples: Samples) -> Residuals:
    """Return the residuals of *model* on *samples*, which may have additional columns.

    Outliers are dropped as in the model's own fit.

    Raises
    ------
    NotFittedError, InputError, OutOfDomainError
        As :func:`~tasksim.models.fitted.columns` and ``predict``.
    """
    kept = inliers(samples, samples.configurations()[1], model.fence)
    used = samples.select(kept)
    rows, group = used.configurations()
    table = columns(model, used.names, rows, categories=used.categories)
    predicted = model.predict(table)[group]
    dropped = len(samples) - len(used)
    return Residuals(used, dropped, predicted, model.absolute_errors, rows, group)


def normal_points(values: Floats) -> tuple[Floats, Floats]:
    """Return the normal quantiles and the standardised, ordered *values* of a Q-Q plot.

    Values are standardised by mean and standard deviation; the quantiles are at
    (i - 3/8) / (n + 1/4) (Blom, Statistical Estimates and Transformed Beta-Variables, 1958).

    >>> [a.round(2).tolist() for a in normal_points(np.array([3.0, 1.0, 2.0]))]
    [[-0.87, 0.0, 0.87], [-1.22, 0.0, 1.22]]
    """
    from scipy.special import ndtri

    ordered = np.sort(values)
    places = (np.arange(1, len(values) + 1) - 0.375) / (len(values) + 0.25)
    spread = float(ordered.std()) or 1.0
    return ndtri(places), (ordered - ordered.mean()) / spread


def spread_by_fitted(res: Residuals, parts: int) -> tuple[Floats, Floats, Indices]:
    """Return mean prediction, noise and number of samples for parts sorted by prediction.

    The noise is the standard deviation within configurations. The parts have about equal numbers
    of samples; samples of equal prediction are in one part.
    """
    known = np.isfinite(res.noise)
    predicted, noise = res.predicted_s[known], res.noise[known]
    edges = np.quantile(predicted, np.linspace(0, 1, parts + 1)[1:-1])
    _, part = np.unique(np.searchsorted(edges, predicted, side="right"), return_inverse=True)
    variance = group_means(noise**2, part) - group_means(noise, part) ** 2
    spread = np.sqrt(np.maximum(variance, 0.0))
    return group_means(predicted, part), spread, np.bincount(part)


def correlation(a: Floats, b: Floats) -> float:
    """Return the correlation of the logarithms, 0 if one is constant."""
    x, y = np.log1p(a), np.log1p(b)
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / size if size > 1e-12 else 0.0
