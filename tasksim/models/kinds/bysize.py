"""Histories by size, with power laws between and beyond the measured sizes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim.base.arguments import all_of
from tasksim.base.documents.json_document import INTEGER_LIMIT
from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.kernelmodel import KernelModel, fit_report
from tasksim.models.quantiles import FENCE_WIDTH
from tasksim.models.rows import SIZE_PARAMETER, plain_number
from tasksim.models.samples import Samples
from tasksim.models.terms.leastsquares import log_normal, logarithms, repeated_median

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.base.arrays import Bools, Floats, Indices, Ints
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.forms import MeansForm
    from tasksim.models.quantiles import Draw

__all__ = ["SizeEntry", "SizeHistory"]

MIN_TRUSTED_COUNT: Final = 10
"""Minimum number of samples for StarPU to trust a mean (STARPU_CALIBRATE_MINIMUM)."""

DEFAULT_EXPONENT: Final = 1.0
"""Exponent for a single measured size: time in proportion to the data."""

MAX_LISTED_SIZES: Final = 6
"""Maximum number of sizes listed in a text: one line of a terminal."""


@dataclass(frozen=True)
class SizeEntry:
    """Measurements of one size; *footprint* and *flops* are StarPU's, None if unknown."""

    size: float
    mean_s: float
    deviation_s: float
    count: int
    footprint: int | None = None
    flops: float | None = None


class SizeHistory(KernelModel):
    """The mean duration of each measured size, with power laws between and beyond.

    StarPU's history-based models: they know the size of a task's data, in bytes, but not its
    parameters. Every task implicitly has the parameter ``size_bytes``; samples may have
    any single parameter.

    Parameters
    ----------
    fence : float or None, default=3.0
        As in :class:`~tasksim.models.kinds.history.HistoryModel`, for fits to samples.

    Attributes
    ----------
    entries_ : tuple of SizeEntry
        Sorted by size. Among entries of the same size (StarPU: other shapes, other
        footprints), the one with most samples is used for predictions.
    exponent_ : float
        Exponent of the law beyond the measured sizes, through the nearest of them: duration
        grows with size^exponent. It is the median slope between logarithms, robust to absurd
        entries (:func:`~tasksim.models.terms.leastsquares.repeated_median`), at least 0; it is 1 if
        only one size was measured.

    Notes
    -----
    Between two measured sizes the power law through both is predicted. Only measured sizes are
    *inside*; StarPU itself predicts nothing for others. Accuracy of the laws, measured by leaving
    out each size in turn of the calibrations that StarPU ships: half of the predictions are within
    11 % between other sizes, 20 % above the largest, 37 % below the smallest (where overhead begins
    to count, and GPUs are not yet busy); nine of ten within 31, 58 and 123 %.

    See Also
    --------
    tasksim.PowerLaw : One law for all sizes.

    Examples
    --------
    >>> model = SizeHistory.from_entries([SizeEntry(100, 1e-3, 0, 50), SizeEntry(400, 8e-3, 0, 50)])
    >>> model.predict([[100], [400], [1600]]).round(9).tolist()
    [0.001, 0.008, 0.064]
    >>> model.inside([[100], [200]]).tolist()
    [True, False]
    """

    kind = "bysize"
    parameter_count = 1
    takes_categories = False
    exact = True
    automatic = False  # meant for StarPU's files; a power law gets more out of samples

    entries_: tuple[SizeEntry, ...]
    exponent_: float
    _size_: Floats
    _mean_: Floats
    _relative_: Floats
    _count_: Ints

    def __init__(self, *, fence: float | None = FENCE_WIDTH) -> None:
        self.fence = fence

    @classmethod
    def from_entries(cls, entries: Iterable[SizeEntry], name: str = SIZE_PARAMETER) -> Self:
        """Return a model of measurements of which only the means are known.

        Parameters
        ----------
        entries : iterable of SizeEntry
            At least one.
        name : str, optional
            The name of the parameter.

        Raises
        ------
        InputError
            If there are no entries, a mean is not positive, or another number is negative.
        """
        model = cls()
        model._set_entries(tuple(map(_checked, all_of(entries, SizeEntry, "entries"))))
        model.exponent_ = model._exponent_of_entries()
        model.names_ = (name,)
        model.domain_ = {name: (float(model._size_[0]), float(model._size_[-1]))}
        # The samples behind the means are unknown, but for their number.
        table = np.array([[e.size] for e in model.entries_])
        means = Samples(model.names_, table, np.array([e.mean_s for e in model.entries_]))
        report = fit_report(model, means, np.ones(len(means), dtype=bool))
        model._report = {**report, "samples": sum(e.count for e in model.entries_)}
        return model

    def measured(self) -> str:
        """Return the measured sizes as text."""
        sizes = [f"{value:.15g}" for value in self._size_.tolist()]
        if len(sizes) > MAX_LISTED_SIZES:
            between = f"... ({len(sizes) - MAX_LISTED_SIZES} more)"
            sizes = [*sizes[: MAX_LISTED_SIZES - 1], between, sizes[-1]]
        return f"{self.names_[0]} {', '.join(sizes)}"

    def means(self) -> MeansForm:
        """Return the entries, with StarPU's footprints if known."""
        from tasksim.models.forms import MeansForm

        self._check_fitted("means")
        return MeansForm(
            np.array([[e.size] for e in self.entries_]),
            np.array([e.mean_s for e in self.entries_]),
            np.array([e.deviation_s for e in self.entries_]),
            np.array([e.count for e in self.entries_]),
            by_size=True,
            footprints=tuple(e.footprint for e in self.entries_),
            flops=tuple(e.flops for e in self.entries_),
        )

    def _fit(self, samples: Samples) -> Bools:
        from tasksim.models.kinds.history import HistoryModel

        history = HistoryModel(fence=self.fence)
        kept = history._fit(samples)
        columns = (history.rows_[:, 0], history.mean_, history.spread_)
        times = zip(*(column.tolist() for column in columns), history.count_.tolist(), strict=True)
        self._set_entries(tuple(SizeEntry(*values) for values in times))
        self.exponent_ = self._exponent_of_entries()
        return kept

    def _set_entries(self, entries: tuple[SizeEntry, ...]) -> None:
        if not entries:
            raise self._refusal("no entries: measure the kernel first")
        self.entries_ = tuple(sorted(entries, key=lambda e: (e.size, -e.count)))
        best = {e.size: e for e in reversed(self.entries_)}
        used = [best[size] for size in sorted(best)]
        self._size_ = np.array([e.size for e in used])
        self._mean_ = np.array([e.mean_s for e in used])
        self._count_ = np.array([e.count for e in used], dtype=np.int64)
        self._relative_ = np.array([e.deviation_s for e in used]) / self._mean_

    def _exponent_of_entries(self) -> float:
        logs, times = self._law()
        return max(0.0, repeated_median(logs, times) if len(logs) > 1 else DEFAULT_EXPONENT)

    def _law(self) -> tuple[Floats, Floats]:
        """Return the logarithms of the sizes, except a size of 0, and of their means."""
        some = self._size_ > 0
        return np.log(self._size_[some]), np.log(self._mean_[some])

    def _predict(self, table: Floats) -> Floats:
        sizes = table[:, 0]
        known, index = self._known(sizes)
        result = np.empty(len(sizes))
        result[known] = self._mean_[index[known]]
        if not known.all():
            result[~known] = self._by_law(sizes[~known])
        return result

    def _by_law(self, sizes: Floats) -> Floats:
        logs, times = self._law()
        if not len(logs):  # only a size of 0 was measured
            return np.full(len(sizes), self._mean_[0])
        wanted = logarithms(sizes, float(np.exp(logs[0])))
        beyond = wanted - np.clip(wanted, logs[0], logs[-1])
        with np.errstate(over="ignore"):
            values = np.exp(np.interp(wanted, logs, times) + self.exponent_ * beyond)
        if not (np.isfinite(values) & (values > 0)).all():
            raise self._refusal(
                f"{self.names_[0]}={sizes[0]:g} is too far from what was measured "
                f"({self.measured()})",
                OutOfDomainError,
            )
        return np.asarray(values)

    def _sampler(self, table: Floats) -> Draw:
        mean, relative = self._predict(table), np.interp(table[:, 0], self._size_, self._relative_)
        return lambda rng: log_normal(mean, relative, rng)

    def _repetitions(self, table: Floats) -> tuple[Ints, Floats]:
        """Return the samples of the next larger size, or of the largest; interpolate the spread."""
        count = self._count_[self._known(table[:, 0])[1]]
        return count, np.interp(table[:, 0], self._size_, self._relative_)

    def _inside(self, table: Floats) -> Bools:
        return self._known(table[:, 0])[0]

    def _known(self, sizes: Floats) -> tuple[Bools, Indices]:
        """Return whether each size was measured, and its index."""
        index = np.minimum(np.searchsorted(self._size_, sizes), len(self._size_) - 1)
        return self._size_[index] == sizes, index

    def _details(self) -> dict[str, Any]:
        sizes = Counter(plain_number(float(e.size)) for e in self.entries_)
        return {
            "exponent": self.exponent_,
            "few": [
                plain_number(float(e.size)) for e in self.entries_ if e.count < MIN_TRUSTED_COUNT
            ],
            "ambiguous": [size for size, entries in sizes.items() if entries > 1],
        }

    def _to_json(self) -> dict[str, Any]:
        return {"exponent": self.exponent_, "entries": [_data(e) for e in self.entries_]}

    def _from_json(self, node: JsonNode) -> None:
        if len(node["parameters"].texts()) != 1:
            raise node["parameters"].expected("one parameter")
        entries = tuple(_entry(e) for e in node["entries"])
        if not entries:
            raise node["entries"].expected("at least one entry")
        self._set_entries(entries)
        self.exponent_ = node["exponent"].number()


def _checked(entry: SizeEntry) -> SizeEntry:
    values = (entry.size, entry.mean_s, entry.deviation_s, entry.count)
    if not (all(0 <= value < math.inf for value in values) and entry.mean_s > 0):
        raise InputError(f"{entry}: the mean must be positive, and nothing negative")
    if entry.count >= INTEGER_LIMIT:
        raise InputError(f"{entry}: the count must be below 2^63")
    if not math.isfinite(entry.deviation_s / entry.mean_s):
        raise InputError(f"{entry}: the deviation is not a finite multiple of the mean")
    return entry


def _data(entry: SizeEntry) -> dict[str, Any]:
    footprint = None if entry.footprint is None else f"{entry.footprint:08x}"
    return {
        "size": plain_number(float(entry.size)),
        "count": entry.count,
        "mean_s": entry.mean_s,
        "deviation_s": entry.deviation_s,
        "footprint": footprint,
        "flops": entry.flops,
    }


def _entry(node: JsonNode) -> SizeEntry:
    size, deviation_s = node["size"].not_negative(), node["deviation_s"].not_negative()
    if not math.isfinite(deviation_s / node["mean_s"].positive()):
        raise node["deviation_s"].expected("a finite multiple of the mean")
    footprint, flops = node["footprint"], node["flops"].optional()
    return SizeEntry(
        size,
        node["mean_s"].positive(),
        deviation_s,
        node["count"].integer(),
        None if footprint.value is None else _hexadecimal(footprint),
        None if math.isnan(flops) else flops,
    )


def _hexadecimal(node: JsonNode) -> int:
    try:
        value = int(node.text(), 16)
    except ValueError:
        value = -1
    if not 0 <= value < 2**32:
        raise node.expected("a footprint: eight hexadecimal digits")
    return value
