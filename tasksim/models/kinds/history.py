"""History models, with statistics of the samples of each configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import OutOfDomainError
from tasksim.models.fitted import row_text
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.quantiles import (
    FENCE_WIDTH,
    MIN_FENCE_SAMPLES,
    QUANTILE_LEVELS,
    draw,
    fence_of,
    group_means,
    group_quantiles,
    inliers,
    mean_of_quantiles,
    merged_quantiles,
    read_quantiles,
)
from tasksim.models.rows import SIZE_PARAMETER, find_rows, nearest_row, plain_number

if TYPE_CHECKING:
    from tasksim.base.arrays import Bools, Floats, Indices, Ints
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.forms import MeansForm
    from tasksim.models.quantiles import Draw
    from tasksim.models.samples import Samples

__all__ = ["HistoryModel", "typical_mean"]


class HistoryModel(KernelModel):
    """The mean of the durations measured with exactly the same parameters.

    Parameters
    ----------
    fence : float or None, default=3.0
        Width of the fence: samples outside Tukey's fence around the quartiles of their
        configuration are outliers if they are longer than
        in most runs (:func:`~tasksim.models.quantiles.inliers`). Outliers are counted, but excluded
        from spread and quantiles. None keeps all samples.

    Attributes
    ----------
    rows_ : ndarray, shape (configurations, parameters)
        The known configurations, in lexicographic order.
    mean_, spread_ : ndarray, shape (configurations,)
        Mean (:func:`~tasksim.models.kinds.history.typical_mean`: robust, but it includes
        stalls that happen in every run) and sample standard deviation, in seconds; that of one
        sample is 0.
    count_, dropped_ : ndarray of int, shape (configurations,)
        Number of samples used, and of outliers.
    quantiles_ : ndarray, shape (configurations, 11)
        At 0, 1, 5, 10, 25, 50, 75, 90, 95, 99 and 100 %, in seconds. :meth:`sample` draws from
        these, scaled so that the mean is ``mean_``.

    Notes
    -----
    Like StarPU's history-based models, with two exceptions: outliers are determined by the
    quartiles of all samples instead of one by one, by the mean so far; and a configuration that was
    never measured is an error instead of a duration of 0.

    See Also
    --------
    tasksim.SizeHistory : By the size of the data, with power laws between and beyond.
    tasksim.LinearModel : Predicts unmeasured configurations, too.

    Examples
    --------
    >>> from tasksim.models.samples import Samples
    >>> model = HistoryModel().fit(Samples(("n",), [[64], [64], [128]], [1.0, 3.0, 9.0]))
    >>> model.predict([[64], [128]]).tolist()
    [2.0, 9.0]
    >>> model.predict([[96]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tasksim.base.errors.OutOfDomainError: no samples with (n=96): a history model knows only ...
    """

    kind = "history"
    exact = True
    extrapolates = False
    doubt_kind = "counts"

    rows_: Floats
    mean_: Floats
    spread_: Floats
    count_: Ints
    dropped_: Ints
    quantiles_: Floats

    def __init__(self, *, fence: float | None = FENCE_WIDTH) -> None:
        self.fence = fence

    def _fit(self, samples: Samples) -> Bools:
        self.rows_, group = samples.configurations()
        kept = inliers(samples, group, self.fence)
        times, used = samples.durations_s[kept], group[kept]
        self.count_ = np.bincount(used)
        self.dropped_ = np.bincount(group) - self.count_
        if self.fence is None:
            self.mean_ = group_means(samples.durations_s, group)
        else:
            runs = samples.runs
            parts = [np.flatnonzero(group == index) for index in range(len(self.rows_))]
            means = [
                typical_mean(samples.durations_s[p], None if runs is None else runs[p], kept[p])
                for p in parts
            ]
            self.mean_ = np.array(means)
        squares = np.bincount(used, weights=(times - group_means(times, used)[used]) ** 2)
        self.spread_ = np.sqrt(squares / np.maximum(self.count_ - 1, 1))
        self.quantiles_ = group_quantiles(times, used)
        return kept

    def _update(self, samples: Samples) -> Bools:
        kept = self._within_fences(samples)
        np.add.at(self.dropped_, find_rows(self.rows_, samples.parameters[~kept]), 1)
        if kept.any():
            new = HistoryModel(fence=self.fence)
            used = samples.select(kept)
            kept[kept] = new._fit(used)
            self._merge(new)
        return kept

    def _within_fences(self, samples: Samples) -> Bools:
        """Return which samples are within the fences of their known configurations."""
        place = find_rows(self.rows_, samples.parameters)
        low, high = fence_of(self.quantiles_, self.fence)
        durations_s = samples.durations_s
        inside = (durations_s >= low[place]) & (durations_s <= high[place])
        few = (place < 0) | (self.count_[place] < MIN_FENCE_SAMPLES)
        return np.asarray(few | inside)

    def _merge(self, new: HistoryModel) -> None:
        """Add the statistics of *new*, of other samples, to those of this model.

        Means and deviations are as of all samples at once (T. F. Chan, G. H. Golub and
        R. J. LeVeque, "Algorithms for computing the sample variance", Am. Stat. 37, 1983).
        """
        place = find_rows(self.rows_, new.rows_)
        fresh = place < 0
        for at, row in zip(place[~fresh].tolist(), np.flatnonzero(~fresh).tolist(), strict=True):
            count, more = int(self.count_[at]), int(new.count_[row])
            both, apart = count + more, float(new.mean_[row] - self.mean_[at])
            squares = (count - 1) * self.spread_[at] ** 2 + (more - 1) * new.spread_[row] ** 2
            squares += apart**2 * count * more / both
            self.spread_[at] = np.sqrt(squares / max(both - 1, 1))
            self.mean_[at] += apart * more / both
            self.quantiles_[at] = merged_quantiles(
                self.quantiles_[at], count, new.quantiles_[row], more
            )
            self.count_[at] = both
            self.dropped_[at] += new.dropped_[row]
        table = np.concatenate([self.rows_, new.rows_[fresh]])
        order = np.lexsort(table.T[::-1]) if table.shape[1] else np.arange(len(table))
        self.rows_ = table[order]
        for name in ("mean_", "spread_", "count_", "dropped_", "quantiles_"):
            column = np.concatenate([getattr(self, name), getattr(new, name)[fresh]])
            setattr(self, name, column[order])

    def _updated_report(self) -> dict[str, Any]:
        return {"configurations": len(self.rows_), **self._details()}

    def _predict(self, table: Floats) -> Floats:
        return np.asarray(self.mean_[self._found(table)])

    def _sampler(self, table: Floats) -> Draw:
        rows = self._found(table)
        scale = (self.mean_ / mean_of_quantiles(self.quantiles_))[rows]
        return lambda rng: draw(self.quantiles_, rows, rng) * scale

    def _inside(self, table: Floats) -> Bools:
        return np.asarray(find_rows(self.rows_, table) >= 0)

    def means(self) -> MeansForm:
        """Return the measured means, with the standard deviations of the samples (divisor n)."""
        from tasksim.models.forms import MeansForm

        self._check_fitted("means")
        deviation = self.spread_ * np.sqrt((self.count_ - 1) / self.count_)
        by_size = self.names_ == (SIZE_PARAMETER,)
        return MeansForm(self.rows_, self.mean_, deviation, self.count_, by_size)

    def _repetitions(self, table: Floats) -> tuple[Ints, Floats]:
        rows = self._found(table)
        return self.count_[rows], self.spread_[rows] / self.mean_[rows]

    def _measured_quantiles(self, table: Floats) -> Floats:
        return self.quantiles_[self._found(table)]

    def _details(self) -> dict[str, Any]:
        return {"spread": float((self.spread_ / self.mean_).max())}

    def _found(self, table: Floats) -> Indices:
        found = find_rows(self.rows_, table)
        unknown = table[found < 0]
        if len(unknown):
            near = row_text(self, nearest_row(self.rows_, unknown[0]))
            others = len(unknown) - 1
            more = f" (and {others} more row{'s' if others > 1 else ''})" if others else ""
            raise self._refusal(
                f"no samples with ({row_text(self, unknown[0])}){more}: a history model knows only "
                f"measured ones, {len(self.rows_)} configuration(s); the nearest is ({near}). "
                "Calibrate with these parameters, or fit a model that extrapolates (mlr)",
                OutOfDomainError,
            )
        return found

    def _to_json(self) -> dict[str, Any]:
        columns = zip(
            self.rows_.tolist(),
            self.count_.tolist(),
            self.dropped_.tolist(),
            self.mean_.tolist(),
            self.spread_.tolist(),
            self.quantiles_.tolist(),
            strict=True,
        )
        keys = ("count", "dropped", "mean_s", "spread_s", "quantiles_s")
        entries = [
            {"parameters": list(map(plain_number, row)), **dict(zip(keys, values, strict=True))}
            for row, *values in columns
        ]
        return {"quantile_levels": QUANTILE_LEVELS, "configurations": entries}

    def _from_json(self, node: JsonNode) -> None:
        node["quantile_levels"].exactly(list(QUANTILE_LEVELS))
        parameters = len(node["parameters"].texts())
        entries = list(node["configurations"])
        if not entries:
            raise node["configurations"].error("expected at least one configuration")
        table = np.array([e["parameters"].vector(parameters) for e in entries])
        order = np.lexsort(table.T[::-1]) if parameters else np.arange(1)
        self.rows_ = table[order]
        self.mean_ = np.array([e["mean_s"].positive() for e in entries])[order]
        self.spread_ = np.array([e["spread_s"].number() for e in entries])[order]
        self.count_ = np.array([e["count"].integer() for e in entries])[order]
        self.dropped_ = np.array([e["dropped"].integer() for e in entries])[order]
        self.quantiles_ = np.array([read_quantiles(e["quantiles_s"]) for e in entries])[order]


MIN_BLOCK_SAMPLES: Final = 30
"""Minimum number of samples per block. For 30 runs of 10 samples, 5 % of them stalls of twenty
times the duration, means are too short by 0.4 % with blocks of 30 and by 2.4 % with 10, where the
median block has no stall. One stalled run of 30 moves them by 0.2 %."""
MIN_BLOCKS: Final = 5
"""Minimum number of blocks: two blocks can move the median of fewer, and the fence is then a better
criterion."""


def typical_mean(durations_s: Floats, runs: Ints | None, kept: Bools) -> float:
    """Return the mean duration of one configuration in a typical run, in seconds.

    The median of means over blocks of whole runs, with all samples, each block of at least
    30 samples (Nemirovsky and Yudin, Problem Complexity and Method Efficiency in Optimization,
    1983; Lugosi and Mendelson, Foundations of Computational Mathematics 19, 2019, section 2.1).
    A stall that happens once in a hundred runs does not affect it; on a machine where every run
    loses its core now and then, it includes those stalls, as predicted runs will.

    With fewer than 5 such blocks, or unknown runs: the mean of the samples that are
    *kept*, without outliers.
    """
    if runs is not None and (runs >= 0).all():
        means = _block_means(durations_s, runs)
        if len(means) >= MIN_BLOCKS:
            return float(np.median(means))
    return float(durations_s[kept].mean())


def _block_means(durations_s: Floats, runs: Ints) -> Floats:
    _, run = np.unique(runs, return_inverse=True)
    counts = np.bincount(run)
    # A run belongs to the block that contains the sample before its first one.
    before = np.cumsum(counts) - counts
    starts = before // MIN_BLOCK_SAMPLES
    block_of_run = np.cumsum(np.diff(starts, prepend=starts[0]) > 0)
    # A last block that is too small is merged into the one before.
    if counts[block_of_run == block_of_run[-1]].sum() < MIN_BLOCK_SAMPLES and block_of_run[-1] > 0:
        block_of_run[block_of_run == block_of_run[-1]] -= 1
    block = block_of_run[run]
    return np.asarray(np.bincount(block, durations_s) / np.bincount(block))
