"""The learned model: a law times a correction learnt from its residuals."""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from tasksim.base.arguments import one_of, whole_number
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.learned.correction import Correction, Features, fit_as, learn
from tasksim.models.learned.forest import DEPTH, Forest
from tasksim.models.learned.process import Process
from tasksim.models.learned.surface import Surface
from tasksim.models.quantiles import (
    FENCE_WIDTH,
    group_means,
    inliers,
    quantiles_of,
    read_residuals,
    residuals_to_json,
    scattered,
)
from tasksim.models.tensor.bases import (
    BASES,
    Trend,
    base_to_json,
    choose_base,
    fit_base,
    read_base,
)
from tasksim.models.tensor.grid import make_axis, read_axis
from tasksim.models.tensor.model import MAX_LOG, smear
from tasksim.models.terms.leastsquares import LEAST_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.arrays import Bools, Floats
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.learned.correction import FoldPlan
    from tasksim.models.quantiles import Draw
    from tasksim.models.samples import Samples
    from tasksim.models.tensor.bases import Base
    from tasksim.models.tensor.grid import TensorAxis

__all__ = ["LearnedModel"]

AUTOMATIC: Final = "automatic"
MIN_CONFIGURATIONS: Final = 32
"""Number of configurations from which a correction is learnt: fewer say little about a law's
errors."""

MIN_PLANNED: Final = 128
"""Number of configurations up to which a fit to a part of them chooses again: the result still
depends on the part."""


MAX_ROWS_ALONE: Final = 32_768
"""Number of rows up to which one thread predicts: a tenth of a second."""
ROWS_AT_ONCE: Final = 4096
"""Number of rows predicted at once: their columns stay in the cache of the core."""


class LearnedModel(KernelModel):
    """A law times what a surface, a Gaussian process and trees learn of its residuals.

    The law is a sum of products of the parameters, or a power law in each, with a factor per
    category. What it leaves over, in logarithms, is the sum of three parts: a quadratic surface, a
    Gaussian process, and boosted trees (:mod:`tasksim.models.learned.correction`), weighted by
    their errors in cross-validation. Outside the measured range the law extrapolates, and
    the correction continues with three quarters of its slope at the edge.

    Parameters
    ----------
    law : {"automatic", "power", "products"}, default="automatic"
        The law. Automatic: the one with the smaller cross-validated error.
    trees : int, default=400
        Maximum number of trees, after the process and without it; 0: no trees.
    folds : int, default=5
        Number of folds of the cross-validation.
    fence : float or None, default=3.0
        Outliers of a configuration with 8 samples or more are dropped, as in
        :class:`~tasksim.models.kinds.history.HistoryModel`. None keeps all samples.
    seed : int, default=0
        The seed of folds, centres and trees.

    Attributes
    ----------
    law_ : str
        The kind of law.
    residual_quantiles_ : ndarray, shape (11,)
        Quantiles of measured / predicted over samples left out of the fit.

    See Also
    --------
    tasksim.HybridModel : A law and a small table.
    tasksim.LinearModel : A readable formula.

    Notes
    -----
    The process has at most 2048 centres, so that a model takes at most a megabyte, and a fit grows
    with the number of samples, not with its cube.

    Examples
    --------
    >>> import numpy as np
    >>> from tasksim.models.samples import Samples
    >>> table = 2.0 ** np.random.default_rng(0).uniform(4, 10, (60, 2))
    >>> model = LearnedModel().fit(Samples(("m", "n"), table, 1e-9 * table.prod(axis=1)))
    >>> model.law_, model.predict([[100, 100], [5000, 100]]).round(7).tolist()
    ('products', [1e-05, 0.0005])
    """

    kind: ClassVar[str] = "learned"
    languages: ClassVar[tuple[str, ...]] = ("c",)

    law_: str
    residual_quantiles_: Floats
    _axes_: tuple[TensorAxis, ...]
    _base_: Base
    _correction_: Correction | None
    """None for few configurations."""
    _plan_: FoldPlan | None
    """The plan that cross-validation chose; not in files."""
    _error_: float | None
    """The cross-validated error, for the report; not in files."""
    _smear_: float
    """Factor on predictions that corrects their mean, since the fit is to the mean of
    logarithms."""
    _configurations_: int
    """Number of configurations; not in files."""

    _taken: FoldPlan | None = None
    """A plan that the next fit follows instead of choosing."""

    def __init__(
        self,
        *,
        law: str = AUTOMATIC,
        trees: int = 400,
        folds: int = 5,
        fence: float | None = FENCE_WIDTH,
        seed: int = 0,
    ) -> None:
        self.law = law
        self.trees = trees
        self.folds = folds
        self.fence = fence
        self.seed = seed

    def refitted(self, samples: Samples) -> Self:
        """Return a model fitted to a part of the samples of this one.

        A plan chosen for more than 128 configurations is reused: a part of so many leads to the
        same choice, except for irrelevant differences.
        """
        model = self.clone()
        if getattr(self, "_configurations_", 0) > MIN_PLANNED:
            model._taken = self._plan_
        return model.fit(samples)

    def _fit(self, samples: Samples) -> Bools:
        import scipy.linalg  # noqa: F401  # its BLAS must be loaded to be limited
        from threadpoolctl import threadpool_limits

        taken, self._taken = self._taken, None
        self._check_options()
        kept = inliers(samples, samples.configurations()[1], self.fence)
        used = samples.select(kept)
        rows, group = used.configurations()
        logs = np.log(group_means(used.durations_s, group))
        self._axes_ = self._axes(samples, rows)
        self._configurations_ = len(rows)
        # Threads of BLAS wait for each other in a busy loop, and how they share the work decides
        # the last bits.
        with threadpool_limits(limits=1, user_api="blas"):
            left_out = self._learn(rows, logs, taken)
        fitted = self._logs(rows)
        self._smear_ = smear(logs - fitted)
        error = logs - np.where(np.isfinite(left_out), left_out, fitted)
        self._error_ = None
        if np.isfinite(left_out).any():
            self._error_ = float(np.abs(error[np.isfinite(left_out)]).mean())
            self._held_out = self._smear_ * np.exp(left_out)
        self.residual_quantiles_ = quantiles_of(used.durations_s / np.exp(logs - error)[group])
        return kept

    def _learn(self, rows: Floats, logs: Floats, taken: FoldPlan | None) -> Floats:
        """Fit law and correction; return the logarithms of predictions for rows left out."""
        nothing = np.full(len(rows), np.nan)
        self._plan_ = self._correction_ = None
        if taken is not None:
            self.law_, self._plan_ = taken.law, taken
            self._base_ = fit_base(self.law_, self._axes_, rows, logs)
            rest = logs - self._base_.values(self._axes_, rows)
            correction = fit_as(taken, self._axes_, rows, rest, self.seed)
            self._correction_ = _rounded(correction)
            return nothing
        self.law_ = "power" if self.law == AUTOMATIC else self.law
        if self.law == AUTOMATIC and self._axes_ and len(rows) >= 2 * self.folds:
            self.law_ = choose_base(self._axes_, rows, logs, self.folds, self.seed)
        if len(rows) < max(MIN_CONFIGURATIONS, 2 * self.folds) or not self._axes_:
            self._base_ = fit_base(self.law_, self._axes_, rows, logs)
            return nothing
        self._plan_, self._base_, correction, left_out = learn(
            self._axes_, rows, logs, self.law_, self.folds, self.trees, self.seed
        )
        self._correction_ = _rounded(correction)
        return left_out

    def _axes(self, samples: Samples, rows: Floats) -> tuple[TensorAxis, ...]:
        axes = []
        for name, values in zip(samples.names, rows.T, strict=True):
            spacing = AUTOMATIC
            if name in samples.categories:
                # A part of the samples has the same columns, even if it lacks a category.
                values, spacing = np.arange(len(samples.categories[name])), "categorical"
            axes.append(make_axis(name, values.astype(np.float64), spacing, 1))
        return tuple(axes)

    def _check_options(self) -> None:
        one_of(self.law, (AUTOMATIC, *BASES), "law")
        for option, least in {"trees": 0, "folds": 2, "seed": 0}.items():
            whole_number(getattr(self, option), option, least)

    def _logs(self, table: Floats) -> Floats:
        parts = np.array_split(table, max(1, -(-len(table) // ROWS_AT_ONCE)))
        if len(table) <= MAX_ROWS_ALONE:
            return np.concatenate([self._logs_of(part) for part in parts])
        from concurrent.futures import ThreadPoolExecutor

        from threadpoolctl import threadpool_limits

        affinity = getattr(os, "sched_getaffinity", None)
        cores = len(affinity(0)) if affinity else os.cpu_count()
        with (
            threadpool_limits(limits=1, user_api="blas"),
            ThreadPoolExecutor(cores) as threads,
        ):
            return np.concatenate(list(threads.map(self._logs_of, parts)))

    def _logs_of(self, table: Floats) -> Floats:
        logs = self._base_.values(self._axes_, table)
        return logs if self._correction_ is None else logs + self._correction_.values(table)

    def _predict(self, table: Floats) -> Floats:
        logs = np.minimum(self._logs(table), MAX_LOG)
        return np.maximum(self._smear_ * np.exp(logs), LEAST_S)

    def _sampler(self, table: Floats) -> Draw:
        return scattered(self._predict(table), self.residual_quantiles_)

    def _unknown_share(self, table: Floats, *, left_out: bool = False) -> Floats | None:
        found = self._correction_
        if found is None or found.process is None or found.process.variance is None:
            return None
        variance, columns = found.process.variance, found.features.columns(table)
        return variance.left_out(columns) if left_out else variance(columns)

    def source(self, language: str, name: str = "duration_s") -> str:
        """Return C source of a function *name* that makes the model's predictions."""
        from tasksim.models.learned.source import c_source

        self._check_fitted("source")
        if language not in self.languages:
            return super().source(language, name)
        return c_source(
            name, self._axes_, self._base_, self._correction_, self._smear_, self.categories_
        )

    def _details(self) -> dict[str, Any]:
        found, plan = self._correction_, self._plan_
        process = None if found is None else found.process
        forest = None if found is None else found.forest
        weights = (1.0, 0.0, 0.0, 0.0) if plan is None else plan.weights
        return {
            "law": self.law_,
            "centres": 0 if process is None else len(process.weights),
            "trees": 0 if forest is None else len(forest),
            "weights": dict(
                zip(("surface", "process", "process and trees", "trees"), weights, strict=True)
            ),
            "cross_validated_mlogq": self._error_,
        }

    def _to_json(self) -> dict[str, Any]:
        found = self._correction_
        return {
            "axes": [axis.to_json() for axis in self._axes_],
            "law": base_to_json(self._base_),
            "correction": None if found is None else _correction_to_json(found),
            "smear": self._smear_,
            **residuals_to_json(self.residual_quantiles_),
        }

    def _from_json(self, node: JsonNode) -> None:
        self._check_options()
        self._axes_ = tuple(read_axis(axis) for axis in node["axes"])
        if tuple(axis.name for axis in self._axes_) != node["parameters"].texts():
            raise node["axes"].error("expected one axis per parameter, in their order")
        self._base_ = read_base(node["law"], self._axes_)
        self.law_ = "power" if isinstance(self._base_, Trend) else "products"
        correction = node["correction"]
        self._correction_ = None
        if correction.value is not None:
            self._correction_ = _read_correction(correction, Features(self._axes_))
        self._plan_, self._error_ = None, None
        self._smear_ = node["smear"].positive()
        self.residual_quantiles_ = read_residuals(node)


def _rounded(correction: Correction) -> Correction:
    """Return *correction* with the precision of files, in which large tables take four bytes."""
    process, forest = correction.process, correction.forest
    if process is not None:
        process = replace(process, centres=_single(process.centres))
    if forest is not None:
        forest = Forest(forest.borders, forest.columns, forest.cells, _single(forest.values))
    return replace(correction, process=process, forest=forest)


def _single(array: Floats) -> Floats:
    return array.astype(np.float32).astype(np.float64)


def _correction_to_json(correction: Correction) -> dict[str, Any]:
    surface, process, forest = correction.surface, correction.process, correction.forest
    return {
        "reach": correction.reach,
        "surface": {
            "level": surface.level,
            "slopes": surface.slopes,
            "pairs": _packed(surface.pairs, "u2"),
            "bends": _packed(surface.bends, "f8"),
        },
        "process": process and {
            "lengths": process.lengths,
            "centres": _packed(process.centres, "f4"),
            "weights": _packed(process.weights, "f8"),
            **({} if process.noise_share is None else {"noise_share": process.noise_share}),
            **({} if process.rounding is None else {"rounding": process.rounding}),
        },
        "forest": forest and {
            "borders": [_packed(borders, "f8") for borders in forest.borders],
            "columns": _packed(forest.columns, "u2"),
            "cells": _packed(forest.cells, "u1"),
            "values": _packed(forest.values, "f4"),
        },
    }  # fmt: skip


def _read_correction(node: JsonNode, features: Features) -> Correction:
    columns = len(features.parameters)
    one = node["surface"]
    bends = _unpacked(one["bends"], "f8")
    pairs = _unpacked(one["pairs"], "u2", (len(bends), 2)).astype(np.intp)
    _refuse_above(one["pairs"], pairs, columns)
    surface = Surface(one["level"].number(), one["slopes"].vector(columns), pairs, bends)
    process, forest = None, None
    if node["process"].value is not None:
        one = node["process"]
        lengths = one["lengths"].vector(columns)
        if (lengths <= 0).any():
            raise one["lengths"].expected("positive numbers")
        weights = _unpacked(one["weights"], "f8")
        share = one["noise_share"].positive() if "noise_share" in one.mapping() else None
        centres = _unpacked(one["centres"], "f4", (len(weights), columns))
        rounding = one["rounding"].positive() if "rounding" in one.mapping() else None
        process = Process(lengths, centres, weights, share, rounding)
    if node["forest"].value is not None:
        one = node["forest"]
        borders = [_unpacked(borders, "f8") for borders in one["borders"]]
        if len(borders) != columns or any((np.diff(found) <= 0).any() for found in borders):
            raise one["borders"].expected(f"{columns} lists of ascending numbers")
        values = _unpacked(one["values"], "f4")
        values = _unpacked(one["values"], "f4", (len(values) // 2**DEPTH, 2**DEPTH))
        shape = (len(values), DEPTH)
        asked = _unpacked(one["columns"], "u2", shape).astype(np.intp)
        _refuse_above(one["columns"], asked, columns)
        cells = _unpacked(one["cells"], "u1", shape).astype(np.intp)
        if (cells >= np.array([len(found) for found in borders], dtype=np.intp)[asked]).any():
            raise one["cells"].expected("numbers of borders of their columns")
        forest = Forest(borders, asked, cells, values)
    reach = node.get("reach", 0.0).not_negative()
    return Correction(features, surface, process, forest, reach)


def _packed(array: NDArray[Any], dtype: str) -> str:
    """Return *array* as text: its numbers of this *dtype*, little-endian, in base 64."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=f"<{dtype}").tobytes()).decode()


def _unpacked(node: JsonNode, dtype: str, shape: tuple[int, ...] = (-1,)) -> Floats:
    """Return the array that :func:`_packed` wrote."""
    try:
        text = node.text() if node.value != "" else ""
        data = np.frombuffer(base64.b64decode(text, validate=True), f"<{dtype}")
        found = data.astype(np.float64).reshape(shape)
    except (binascii.Error, ValueError):
        raise node.expected(f"numbers ({dtype}) in base 64, of shape {shape}") from None
    if not np.isfinite(found).all():
        raise node.expected("finite numbers")
    return found


def _refuse_above(node: JsonNode, places: NDArray[np.intp], columns: int) -> None:
    if places.size and places.max() >= columns:
        raise node.expected(f"numbers of columns, below {columns}")
