"""Costs of instructions and of memory, regressed from samples whose counters are known.

``T = (CPI · instructions + call) / f + BF_mem · T_mem``. N. Ding et al. have two costs, ``CPI`` and
``BF_mem``. Kernels of libraries often have another code for small data, which packs nothing, and
all take some time to be called: so there may be two CPI, one up to a number of instructions and one
beyond, and a constant. What errs least on configurations that were left out decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.models.nonnegative import non_negative
from tasksim.models.validation.folds import fold_of_each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasksim.models.document import Node

    Column = NDArray[np.float64]

__all__ = ["Costs", "CostsBy", "Spent", "chosen_costs"]

CostsBy = Literal["cv", "two"]

FEWEST: Final = 8
"""Configurations that may have more than two costs: each code is seen in some of each fold."""
LEAST_PART: Final = 3
"""Configurations on either side of a bound: a cost of fewer is that of their noise."""
MOST_BOUNDS: Final = 32
"""That are tried: between as many parts of the configurations as that."""
BETTER: Final = 1.1
"""By this factor a further cost must lessen the error, or it is left out: errors of configurations
left out differ by about as much between divisions into folds."""
LEAST: Final = 1e-9
"""Errors below are those of arithmetic."""


@dataclass(frozen=True)
class Spent:
    """What samples have spent: where time may have gone.

    Attributes
    ----------
    instructions, frequency_hz, memory_s, local_s
        Of each sample: executed, per second, of hits times latencies, and how long it all took
        but for messages.
    """

    instructions: Column
    frequency_hz: Column
    memory_s: Column
    local_s: Column

    def select(self, rows: NDArray[np.bool_]) -> Spent:
        """Return some of them."""
        return Spent(
            self.instructions[rows], self.frequency_hz[rows], self.memory_s[rows],
            self.local_s[rows],
        )  # fmt: skip


@dataclass(frozen=True)
class Costs:
    """What computing and memory cost.

    Attributes
    ----------
    cpi
        Cycles per instruction; of two codes: up to *bound* instructions, and beyond.
    bf_mem
        The part of memory's time that shows.
    call_cycles
        Of each execution, whatever it does.
    bound
        Instructions up to which the first code is taken; None if there is one alone.
    """

    cpi: tuple[float, ...]
    bf_mem: float
    call_cycles: float = 0.0
    bound: float | None = None

    def computing_s(self, instructions: Column, frequency_hz: Column | float) -> Column:
        """Return the seconds of so many instructions."""
        cpi = np.where(instructions <= (self.bound or 0.0), self.cpi[0], self.cpi[-1])
        seconds: Column = (cpi * instructions + self.call_cycles) / frequency_hz
        return seconds

    def describe(self, digits: int = 4) -> str:
        """Return the cycles of a number of instructions, for people.

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
        """Return it as plain data."""
        return {
            "cpi": list(self.cpi), "bf_mem": self.bf_mem, "call_cycles": self.call_cycles,
            "bound": self.bound,
        }  # fmt: skip

    @classmethod
    def from_json(cls, node: Node) -> Costs:
        """Return what :meth:`to_json` wrote."""
        bound = None if node["bound"].value is None else node["bound"].number()
        cpi = node["cpi"].vector(1 if bound is None else 2)
        return cls(
            tuple(cpi.tolist()), node["bf_mem"].number(), node["call_cycles"].number(), bound
        )


def chosen_costs(spent: Spent, group: NDArray[np.intp], by: CostsBy = "cv") -> Costs:
    """Return the costs of what was *spent*, by samples whose configurations are in *group*.

    *by* ``"two"``: one CPI, and one part of memory's time; ``"cv"``: as many as make the error on
    configurations left out less.
    """
    best = fitted = _fitted(spent, call=False, bound=None)
    count = int(group.max()) + 1
    if by == "two" or count < FEWEST:
        return fitted
    fold = fold_of_each(count)[group]
    error = _left_out(spent, fold, call=False, bound=None)
    for structure in _structures(spent.instructions, group):
        found = min(
            (_left_out(spent, fold, call=call, bound=bound), bound or 0.0, call)
            for call, bound in structure
        )
        if BETTER * max(found[0], LEAST) < error:
            error = found[0]
            best = _fitted(spent, call=found[2], bound=found[1] or None)
    return best


def _structures(
    instructions: Column, group: NDArray[np.intp]
) -> Iterator[list[tuple[bool, float | None]]]:
    """Yield what else there may be, fewest numbers first: a call, a bound, both."""
    yield [(True, None)]
    means = np.sort(np.bincount(group, instructions) / np.bincount(group))
    last = np.arange(LEAST_PART - 1, len(means) - LEAST_PART)
    if len(last) > MOST_BOUNDS:
        last = last[np.linspace(0, len(last) - 1, MOST_BOUNDS).round().astype(np.intp)]
    between = [last for last in last.tolist() if means[last + 1] > means[last]]
    bounds = [float(np.sqrt(means[index] * means[index + 1])) for index in between]
    for call in (False, True):
        if bounds:
            yield [(call, bound) for bound in bounds]


def _left_out(spent: Spent, fold: NDArray[np.intp], *, call: bool, bound: float | None) -> float:
    """Return the mean relative error on configurations that were left out."""
    errors = []
    for index in np.unique(fold):
        out = fold == index
        costs, rest = _fitted(spent.select(~out), call=call, bound=bound), spent.select(out)
        found = costs.computing_s(rest.instructions, rest.frequency_hz)
        errors.append(np.abs((found + costs.bf_mem * rest.memory_s) / rest.local_s - 1))
    return float(np.concatenate(errors).mean())


def _fitted(spent: Spent, *, call: bool, bound: float | None) -> Costs:
    """Return the costs of this structure whose relative errors are least."""
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
