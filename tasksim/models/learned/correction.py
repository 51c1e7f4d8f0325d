"""Corrections learnt from the residuals of a law: a surface, a Gaussian process, a forest of trees.

The surface is the smooth trend. The process adds similar corrections for similar parameters, the
trees add steps and details that many samples show. The process is fitted to the residuals of the
surface, one forest to those of both, another to those of the surface alone. Cross-validation
chooses the weights: *stacking* (D. H. Wolpert, "Stacked generalization", Neural Networks 5, 1992;
L. Breiman, "Stacked regressions", Machine Learning 24, 1996: weights are not negative).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.learned.forest import Forest, Growth
from tasksim.models.learned.process import (
    MAX_SINGLE_ERROR,
    NOISE_FACTORS,
    Process,
    ProcessRegression,
    Scales,
    learn_scales,
)
from tasksim.models.learned.surface import RIDGES, Moments, Surface, pairs_of
from tasksim.models.tensor.bases import fit_base
from tasksim.models.validation.crossvalidation import each_left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.models.tensor.bases import Base
    from tasksim.models.tensor.grid import TensorAxis

__all__ = ["Correction", "Features", "FoldPlan", "fit_as", "learn"]

MAX_ALL_FOLDS: Final = 4096
"""Number of configurations up to which every fold is left out. Of more, two are, and one of more
than eight times as many: errors are then known from 1600 configurations and more."""
ERROR_SLACK: Final = 0.005
"""Share of the least error that fewer trees may add."""
ROUNDING_SHARE: Final = 0.02
"""Largest accepted rounding error of the process, by the mean error of the model: it then adds
nothing to be seen, and single precision takes half the time of double."""
MIN_WEIGHT: Final = 0.1
"""Smallest weight of a part: those with less are left out, and the model is smaller and faster."""


EDGE_SLOPE_SHARE: Final = 0.75
"""Share of the correction's slope at the edge that continues outside the domain. Of 24
extrapolations of seven generated suites to 4 and 8 times the sizes, errors are .20 and .32 with it
(geometric means), .29 and .45 without; 1 is as good, and worse where the law is right."""
SECANT_LENGTH: Final = 0.3
"""Length of the secant at the edge of the domain, in ranges of a parameter: a shorter one follows
noise and steps."""


MAX_FAR: Final = 1.0
"""Distance from the domain, in ranges of a parameter, up to which the slope continues."""


@dataclass(frozen=True, eq=False)
class OutOfRange:
    """Values outside the range of their parameter.

    Attributes
    ----------
    columns, rows
        The column and the row of each.
    far
        Its distance from the range, in ranges: negative below it.
    """

    columns: Indices
    rows: Indices
    far: Floats


@dataclass(frozen=True, eq=False)
class Features:
    """The columns that corrections are functions of.

    A numerical parameter has one, on the scale of its axis, from 0 to 1 over its range; values
    beyond count as those at the end. A categorical one has a column per category, of 0 and √½, so
    that rows with different categories have a distance of 1.
    """

    axes: tuple[TensorAxis, ...]

    def columns(self, table: Floats) -> Floats:
        """Return the columns for the rows of *table*."""
        return self.places(table)[0]

    def places(self, table: Floats) -> tuple[Floats, OutOfRange]:
        """Return the columns for the rows of *table*, and what is outside the ranges."""
        columns = np.zeros((len(table), len(self.parameters)))
        modes, rows, far = [], [], []
        at = 0
        for mode, axis in enumerate(self.axes):
            values = np.ascontiguousarray(table[:, mode])
            if axis.kind == "categorical":
                columns[np.arange(len(table)), at + axis.cell(values)] = np.sqrt(0.5)
                at += len(axis)
                continue
            first, last = axis.edges[[0, -1]]
            low, width = axis.span
            columns[:, at] = (axis.scale(np.clip(values, first, last)) - low) / width
            out = np.flatnonzero((values < first) | (values > last))
            if len(out):
                edge = axis.scale(np.clip(values[out], first, last))
                modes.append(np.full(len(out), at))
                rows.append(out)
                far.append((axis.scale(values[out]) - edge) / width)
            at += 1
        if not far:
            return columns, OutOfRange(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
        return columns, OutOfRange(*map(np.concatenate, (modes, rows, far)))

    @property
    def parameters(self) -> list[int]:
        """The parameter that each column belongs to."""
        widths = [len(axis) if axis.kind == "categorical" else 1 for axis in self.axes]
        return np.repeat(np.arange(len(widths)), widths).tolist()

    @property
    def categorical(self) -> list[bool]:
        """Whether each column stands for a category."""
        return [self.axes[mode].kind == "categorical" for mode in self.parameters]


@dataclass(frozen=True, eq=False)
class Correction:
    """The sum of a surface, a process and a forest; None for those left out.

    Outside the domain it is its value at the edge, plus *reach* times the continuation of its
    secant there.
    """

    features: Features
    surface: Surface
    process: Process | None = None
    forest: Forest | None = None
    reach: float = EDGE_SLOPE_SHARE

    def values(self, table: Floats) -> Floats:
        """Return the correction of the logarithm at each row of parameters."""
        columns, outside = self.features.places(table)
        total = self._inside(columns)
        if self.reach and len(outside.rows):
            self._extend(total, columns, outside)
        return total

    def _extend(self, total: Floats, columns: Floats, outside: OutOfRange) -> None:
        """Add the expected change *outside* to *total*, the values at the edge."""
        rows, far = outside.rows, outside.far
        nearer = columns[rows]
        nearer[np.arange(len(rows)), outside.columns] -= SECANT_LENGTH * np.sign(far)
        slope = (total[rows] - self._inside(nearer)) / SECANT_LENGTH
        change = self.reach * slope * np.minimum(np.abs(far), MAX_FAR)
        total += np.bincount(rows, change, len(total))

    def _inside(self, columns: Floats) -> Floats:
        total = self.surface.predict(columns)
        for part in (self.process, self.forest):
            if part is not None:
                total += part.predict(columns)
        return total


@dataclass(frozen=True)
class FoldPlan:
    """The choices of cross-validation, with which other rows of the same function can be fitted.

    Attributes
    ----------
    law
        The kind of law.
    ridges
        Ridges of the surface's products: before trees, and before the process.
    scales, noise_factor
        Scales of the process, and the factor on its learnt noise.
    trees
        Number of trees after the process, and of those without it.
    weights
        Weights of the surface alone, of surface and process, of these with trees, and of the
        surface with trees.
    rounding
        Largest accepted rounding error of the process.
    """

    law: str
    ridges: tuple[float, float]
    scales: Scales
    noise_factor: float
    trees: tuple[int, int]
    weights: tuple[float, float, float, float]
    rounding: float


def learn(
    axes: tuple[TensorAxis, ...],
    table: Floats,
    logs: Floats,
    law: str,
    folds: int,
    trees: int,
    seed: int,
) -> tuple[FoldPlan, Base, Correction, Floats]:
    """Return plan, law and correction of *logs* at the rows of *table*.

    The last result has the predictions for rows left out, NaN for those that no fold left out.

    Parameters
    ----------
    law : str
        A kind of :data:`~tasksim.models.tensor.bases.BASES`.
    folds : int
        Number of folds of the cross-validation.
    trees : int
        Maximum number of trees of each forest.
    """
    features = Features(axes)
    columns = features.columns(table)
    pairs = pairs_of(features.parameters, features.categorical)
    count = folds
    if len(table) > MAX_ALL_FOLDS:
        count = 2 if len(table) <= 8 * MAX_ALL_FOLDS else 1
    parts = []
    for out in each_left_out(len(table), folds, seed, count):
        values = fit_base(law, axes, table[~out], logs[~out]).values(axes, table)
        left = logs - values
        parts.append(_Part(out, values, left, Moments.of(columns[~out], left[~out], pairs)))
    base = fit_base(law, axes, table, logs)
    rest = logs - base.values(axes, table)
    learning = _Learning(features, columns, rest, Moments.of(columns, rest, pairs), parts, seed)
    # Each step is chosen by its errors on the rows left out, given the steps before.
    ridge = learning.best(RIDGES, [p.moments for p in parts], [p.rest for p in parts])[0]
    # The process often explains better what products of columns would explain.
    ridges = tuple(dict.fromkeys((ridge, np.inf)))
    # Some of the rows are enough to compare two surfaces by.
    some = np.sort(np.random.default_rng(seed).permutation(len(table))[:MAX_ALL_FOLDS])
    scales: dict[float, Scales] = {}
    if len(table) > len(some):
        trials = [learning.smooth(one, some, parts=1) for one in ridges]
        scales = {trial.ridge: trial.scales for trial in trials}
        ridges = (min(trials, key=lambda trial: trial.error).ridge,)
    every = np.arange(len(table))
    trials = [learning.smooth(one, every, scales.get(one)) for one in ridges]
    smooth = min(trials, key=lambda trial: trial.error)
    surfaces = [p.moments.at(ridge).predict(columns) for p in parts]
    rests = [p.rest - s for p, s in zip(parts, surfaces, strict=True)]
    after = [p.rest - s for p, s in zip(parts, smooth.values, strict=True)]
    first, detailed = learning.forests(after, trees)
    second, stepped = learning.forests(rests, trees)
    # The rows that a fold leaves out, of all folds.
    kept = [np.flatnonzero(p.out) for p in parts]
    members = np.concatenate(
        [
            np.column_stack([s, a, a + d, s + t])[k]
            for s, a, d, t, k in zip(surfaces, smooth.values, detailed, stepped, kept, strict=True)
        ]
    )
    weights = _weights(
        members, np.concatenate([p.rest[k] for p, k in zip(parts, kept, strict=True)])
    )
    left_out = np.full(len(logs), np.nan)
    lawful = np.concatenate([p.law[k] for p, k in zip(parts, kept, strict=True)])
    left_out[np.concatenate(kept)] = lawful + members @ weights
    error = float(np.abs(lawful + members @ weights - logs[np.concatenate(kept)]).mean())
    plan = FoldPlan(
        law, (ridge, smooth.ridge), smooth.scales, smooth.factor, (first, second),
        tuple(weights.tolist()), max(ROUNDING_SHARE * error, MAX_SINGLE_ERROR),
    )  # fmt: skip
    return plan, base, fit_as(plan, axes, table, rest, seed), left_out


def fit_as(
    plan: FoldPlan, axes: tuple[TensorAxis, ...], table: Floats, rest: Floats, seed: int
) -> Correction:
    """Return the correction of *rest*, the residuals of a law, as *plan* says."""
    features = Features(axes)
    columns = features.columns(table)
    pairs = pairs_of(features.parameters, features.categorical)
    moments = Moments.of(columns, rest, pairs)
    rough, smooth = map(moments.at, plan.ridges)
    plain, alone, both, steps = plan.weights
    process, forests = None, []
    if alone + both:
        left = rest - smooth.predict(columns)
        found = ProcessRegression.of(columns, left, plan.scales, seed).at(plan.noise_factor)
        process = replace(found.scaled(alone + both), rounding=plan.rounding)
        if both and plan.trees[0]:
            forest = Growth(columns, left - found.predict(columns), seed).grow(plan.trees[0])
            forests.append(forest.forest().scaled(both))
    if steps and plan.trees[1]:
        forest = Growth(columns, rest - rough.predict(columns), seed).grow(plan.trees[1])
        forests.append(forest.forest().scaled(steps))
    surface = rough.scaled(plain + steps).plus(smooth.scaled(alone + both))
    return Correction(features, surface, process, _together(forests))


@dataclass(frozen=True, eq=False)
class _Part:
    """A fold: the rows left out, the law's values and residuals at all rows, and their moments."""

    out: Bools
    law: Floats
    rest: Floats
    moments: Moments


@dataclass(frozen=True, eq=False)
class _Smooth:
    """Surface and process: their settings, values at all rows per fold, and error."""

    ridge: float
    scales: Scales
    factor: float
    values: list[Floats]
    error: float


@dataclass(frozen=True, eq=False)
class _Learning:
    """The residuals *rest* of a law and their moments, and the folds that are left out in turn."""

    features: Features
    columns: Floats
    rest: Floats
    moments: Moments
    parts: list[_Part]
    seed: int

    def best(
        self,
        settings: Sequence[float],
        fits: Sequence[Moments | ProcessRegression],
        sought: list[Floats],
    ) -> tuple[float, list[Floats], float]:
        """Return the setting with the least error on rows left out, its values, and that error.

        There is one of the *fits* for each fold, or for the first.
        """
        best, least, values = settings[0], np.inf, []
        for setting in settings:
            found = [fit.at(setting).predict(self.columns) for fit in fits]
            pairs = zip(found, sought, self.parts, strict=False)
            error = sum(float(np.abs(f - s)[p.out].sum()) for f, s, p in pairs)
            if error < least:
                best, least, values = setting, error, found
        return best, values, least

    def smooth(
        self, ridge: float, some: Indices, scales: Scales | None = None, parts: int | None = None
    ) -> _Smooth:
        """Return the process after a surface with this *ridge*, fitted to *some* of the rows.

        *scales* are those that an earlier trial of the same ridge learnt; the errors are those of
        the first *parts* folds.
        """
        columns = self.columns
        if scales is None:
            left = self.rest - self.moments.at(ridge).predict(columns)
            scales = learn_scales(columns, left, self.features.parameters, self.seed)
        surfaces, rests, regressions = [], [], []
        for part in self.parts[:parts]:
            surfaces.append(part.moments.at(ridge).predict(columns))
            rests.append(part.rest - surfaces[-1])
            used = some[~part.out[some]]
            regressions.append(
                ProcessRegression.of(columns[used], rests[-1][used], scales, self.seed)
            )
        factor, smooth, error = self.best(NOISE_FACTORS, regressions, rests)
        added = [s + v for s, v in zip(surfaces, smooth, strict=True)]
        return _Smooth(ridge, scales, factor, added, error)

    def forests(self, values: list[Floats], most: int) -> tuple[int, list[Floats]]:
        """Return the best number of trees, and their values at all rows, per fold."""
        growths, curves = [], []
        for part, sought in zip(self.parts, values, strict=True):
            growth = Growth(self.columns[~part.out], sought[~part.out], self.seed)
            curves.append(growth.errors(self.columns[part.out], sought[part.out], most))
            growths.append(growth)
        length = max(map(len, curves))
        # A fold whose trees ended earlier would not have become better.
        total = np.sum([np.pad(c, (0, length - len(c)), mode="edge") for c in curves], axis=0)
        count = int(np.flatnonzero(total <= (1 + ERROR_SLACK) * total.min())[0])
        return count, [growth.forest(count).predict(self.columns) for growth in growths]


def _weights(members: Floats, sought: Floats) -> Floats:
    """Return weights of the columns of *members*, not negative and of sum 1."""
    from scipy.optimize import nnls

    # A heavy last row makes the sum 1.
    heavy = 1e3 * np.sqrt(len(sought)) * max(float(np.abs(sought).max()), np.finfo(float).tiny)
    weights = np.ones(members.shape[1])
    while True:
        used = np.flatnonzero(weights)
        design = np.vstack([members[:, used], np.full((1, len(used)), heavy)])
        weights[used] = nnls(design, np.append(sought, heavy))[0]
        weights /= weights.sum()
        small = (weights > 0) & (weights < MIN_WEIGHT)
        if not small.any():
            return weights
        weights[np.flatnonzero(small)[weights[small].argmin()]] = 0.0


def _together(forests: list[Forest]) -> Forest | None:
    """Return the forests of the same columns as one."""
    if not forests:
        return None
    return Forest(
        forests[0].borders,
        np.concatenate([forest.columns for forest in forests]),
        np.concatenate([forest.cells for forest in forests]),
        np.concatenate([forest.values for forest in forests]),
    )
