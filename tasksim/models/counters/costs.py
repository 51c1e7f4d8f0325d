"""Costs of instructions and of memory, estimated by regression from samples with counters.

``T = (CPI · instructions + call) / f + BF_mem · T_mem``. N. Ding et al. have two costs, ``CPI`` and
``BF_mem``. Library kernels often use different code for small data, which packs nothing, and
every call takes some time. Therefore the model may have two CPIs, one up to a number of
instructions and one beyond, and a constant. The cross-validated error decides.

Refinement: cycles per instruction are linear in the time of memory accesses, in cycles per
instruction: ``CPI = CPI_core + BF_mem · T_mem``. The slope is the part of that time that computing
does not hide, the intercept is the rest. (N. Ding et al. print them with their names swapped.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models import CLOCK_PARAMETER
from tasksim.models.quantiles import group_means
from tasksim.models.samples import HITS
from tasksim.models.terms.leastsquares import non_negative
from tasksim.models.validation.crossvalidation import fold_of_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.base.arrays import Bools, Floats, Indices, Ints
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.samples import Samples

__all__ = [
    "Costs",
    "CostsBy",
    "Spent",
    "chosen_costs",
    "conditions",
    "refined",
    "variance_over_runs",
]

CostsBy = Literal["cv", "two"]

MIN_CONFIGURATIONS: Final = 8
"""Minimum number of configurations for more than two costs: both codes must occur in each fold."""
MIN_PART_CONFIGURATIONS: Final = 3
"""Minimum number of configurations on either side of a bound: fewer would only fit their noise."""
MAX_BOUNDS: Final = 32
"""Maximum number of bounds tried, spread evenly over the configurations."""
MIN_ERROR_REDUCTION: Final = 1.1
"""Factor by which a further cost must reduce the error: cross-validated errors differ by about as
much between partitions into folds."""
MIN_ERROR: Final = 1e-9
"""Error below which differences are rounding errors."""


@dataclass(frozen=True)
class Spent:
    """The resources that samples used, per sample.

    Attributes
    ----------
    instructions, frequency_hz, memory_s, local_s
        Executed instructions, clock, hits times latencies, and duration without messages.
    """

    instructions: Floats
    frequency_hz: Floats
    memory_s: Floats
    local_s: Floats

    def select(self, rows: Bools) -> Spent:
        """Return the selected samples."""
        return Spent(*(column[rows] for column in vars(self).values()))


@dataclass(frozen=True)
class Costs:
    """Costs of computing and of memory.

    Attributes
    ----------
    cpi
        Cycles per instruction; with two codes: up to *bound* instructions, and beyond.
    bf_mem
        The part of memory time that computing does not hide.
    call_cycles
        Cycles per execution, independent of its work.
    bound
        Largest number of instructions of the first code; None if there is only one.
    """

    cpi: tuple[float, ...]
    bf_mem: float
    call_cycles: float = 0.0
    bound: float | None = None

    def computing_s(self, instructions: Floats, frequency_hz: Floats | float) -> Floats:
        """Return the time for executing *instructions*, in seconds."""
        cpi = np.where(instructions <= (self.bound or 0.0), self.cpi[0], self.cpi[-1])
        return np.asarray((cpi * instructions + self.call_cycles) / frequency_hz)

    def describe(self, digits: int = 4) -> str:
        """Return the cycles as a function of instructions, as text.

        >>> Costs((0.25,), 0.1, call_cycles=900.0).describe()
        '(900 + 0.25*instructions) cycles'
        """
        text = f"{self.cpi[-1]:.{digits}g}"
        if self.bound is not None:
            text = f"({self.cpi[0]:.{digits}g} up to {self.bound:.{digits}g}, then {text})"
        if not self.call_cycles:
            return f"{text} cycles*instructions"
        return f"({self.call_cycles:.{digits}g} + {text}*instructions) cycles"

    def to_json(self) -> dict[str, Any]:
        """Return the costs as plain data."""
        return {**vars(self), "cpi": list(self.cpi)}

    @classmethod
    def from_json(cls, node: JsonNode) -> Costs:
        """Read what :meth:`to_json` wrote."""
        bound = None if node["bound"].value is None else node["bound"].number()
        cpi = node["cpi"].vector(1 if bound is None else 2)
        return cls(
            tuple(cpi.tolist()), node["bf_mem"].number(), node["call_cycles"].number(), bound
        )


def chosen_costs(spent: Spent, group: Indices, by: CostsBy = "cv") -> Costs:
    """Return the costs of samples whose configurations are in *group*.

    *by* ``"two"``: one CPI, and one part of memory time; ``"cv"``: the number of costs is chosen by
    the cross-validated error.
    """
    best = fitted = _fitted(spent, call=False, bound=None)
    count = int(group.max()) + 1
    if by == "two" or count < MIN_CONFIGURATIONS:
        return fitted
    fold = fold_of_each(count)[group]
    error = _left_out(spent, fold, call=False, bound=None)
    for structure in _structures(spent.instructions, group):
        found = min(
            (_left_out(spent, fold, call=call, bound=bound), bound or 0.0, call)
            for call, bound in structure
        )
        if MIN_ERROR_REDUCTION * max(found[0], MIN_ERROR) < error:
            error = found[0]
            best = _fitted(spent, call=found[2], bound=found[1] or None)
    return best


def _structures(instructions: Floats, group: Indices) -> Iterator[list[tuple[bool, float | None]]]:
    """Yield further structures, fewest numbers first: a call, a bound, both."""
    yield [(True, None)]
    means = np.sort(group_means(instructions, group))
    last = np.arange(MIN_PART_CONFIGURATIONS - 1, len(means) - MIN_PART_CONFIGURATIONS)
    if len(last) > MAX_BOUNDS:
        last = last[np.linspace(0, len(last) - 1, MAX_BOUNDS).round().astype(np.intp)]
    between = [last for last in last.tolist() if means[last + 1] > means[last]]
    bounds = [float(np.sqrt(means[index] * means[index + 1])) for index in between]
    for call in (False, True):
        if bounds:
            yield [(call, bound) for bound in bounds]


def _left_out(spent: Spent, fold: Indices, *, call: bool, bound: float | None) -> float:
    """Return the cross-validated mean relative error."""
    errors = []
    for index in np.unique(fold):
        out = fold == index
        costs, rest = _fitted(spent.select(~out), call=call, bound=bound), spent.select(out)
        found = costs.computing_s(rest.instructions, rest.frequency_hz)
        errors.append(np.abs((found + costs.bf_mem * rest.memory_s) / rest.local_s - 1))
    return float(np.concatenate(errors).mean())


def _fitted(spent: Spent, *, call: bool, bound: float | None) -> Costs:
    """Return the costs of this structure with the smallest relative errors."""
    computing = spent.instructions / spent.frequency_hz
    parts = [computing]
    if bound is not None:
        small = spent.instructions <= bound
        parts = [np.where(small, computing, 0.0), np.where(small, 0.0, computing)]
    columns = [*parts, spent.memory_s, *([1 / spent.frequency_hz] if call else [])]
    design = np.column_stack(columns) / spent.local_s[:, None]
    scale = np.where((largest := design.max(axis=0)) > 0, largest, 1.0)
    found = (non_negative(design / scale, np.ones(len(design))) / scale).tolist()
    cpi, rest = tuple(found[: len(parts)]), found[len(parts) :]
    return Costs(cpi, rest[0], rest[1] if call else 0.0, bound)


def refined(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return BF_mem and CPI_core of the line through *points*, (T_mem, CPI).

    Two points come from two frequencies of the core, or from two loads of the memory. The line
    through two points is exact; more are fitted by least squares.

    Parameters
    ----------
    points : sequence of (float, float)
        Time of memory accesses per instruction, and cycles per instruction, both in cycles.

    Raises
    ------
    InputError
        If there are fewer than two different times of memory.

    Examples
    --------
    >>> bf_mem, cpi_core = refined([(2.0, 0.9), (3.0, 1.1)])
    >>> round(bf_mem, 12), round(cpi_core, 12)
    (0.2, 0.5)
    """
    t_mem, cpi = np.array(points, dtype=np.float64).reshape(-1, 2).T
    if not (np.isfinite(t_mem).all() and np.isfinite(cpi).all()):
        raise InputError(f"points must be finite, got {points!r}")
    if len(np.unique(t_mem)) < 2:
        raise InputError(
            "a refinement needs two different times of memory: measure at a second frequency, or "
            f"beside another load of the memory; got T_mem {', '.join(f'{t:g}' for t in t_mem)}"
        )
    centered = t_mem - t_mem.mean()
    slope = float(centered @ cpi / (centered @ centered))
    return slope, float(cpi.mean() - slope * t_mem.mean())


MIN_RUNS: Final = 3
"""Minimum number of runs to estimate the variance of cycles per instruction."""
MAX_MEMORY_SHARE: Final = 1e-4
"""Maximum share of accesses that reach memory: hits times latencies are a valid time only if misses
of the last level are rare (N. Ding et al.)."""
MIN_MEMORY_VARIATION: Final = 0.05
"""Minimum relative variation of memory time per instruction: with less, samples do not separate the
costs of computing and of memory."""


def conditions(samples: Samples, spent: Spent) -> Iterator[str]:
    """Yield a note for each condition that *samples*, with the times *spent*, violate."""
    counters = samples.counters or {}
    if CLOCK_PARAMETER in samples.names:
        clocks_ghz = np.unique(samples.parameters[:, samples.names.index(CLOCK_PARAMETER)]) / 1e9
        yield (
            f"measured at {', '.join(f'{clock:.3g}' for clock in clocks_ghz)} GHz: predictions are "
            f"for {clocks_ghz[-1]:.3g} GHz, unless {CLOCK_PARAMETER} or a platform names another "
            "clock"
        )
    runs = len(np.unique(samples.runs)) if samples.runs is not None else 1
    if runs < MIN_RUNS:
        yield f"cycles per instruction of {runs} run(s): their variance needs at least three"
    accesses = sum(counters[name] for name in HITS.values() if name in counters)
    share = counters.get("memory_accesses", 0 * spent.memory_s) / np.maximum(accesses, 1.0)
    if (share > MAX_MEMORY_SHARE).any():
        yield (
            f"up to {share.max():.2g} of the accesses reach memory (rare is {MAX_MEMORY_SHARE:g}): "
            "hits times latencies are less reliable"
        )
    ratio = spent.memory_s * spent.frequency_hz / spent.instructions
    if not ratio.std() > MIN_MEMORY_VARIATION * ratio.mean():
        yield (
            "memory takes the same share of all samples: what computing and what memory costs "
            "cannot be told apart; measure at a second frequency or load of the memory"
        )


def variance_over_runs(per_sample: Floats, runs: Ints | None) -> float:
    """Return the variance of the means of runs; NaN for fewer than two."""
    if runs is None:
        return float("nan")
    _, run = np.unique(runs, return_inverse=True)
    means = group_means(per_sample, run)
    return float(means.var(ddof=1)) if len(means) > 1 else float("nan")
