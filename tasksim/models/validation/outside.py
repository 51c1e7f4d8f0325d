"""Errors of extrapolation, by samples at an end of a parameter's range left out of a fit.

A model that is best among the samples need not be best beyond them: trees stay level, products of
parameters run away. What can be judged is how well a kind of model, fitted to the rest, predicts
the quarter of the configurations with the largest (or the smallest) values of a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, log
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, TasksimError, unknown
from tasksim.models.quantiles import group_means
from tasksim.models.rows import plain_number
from tasksim.models.validation.crossvalidation import predicted_where_possible
from tasksim.models.validation.metrics import log_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.base.arrays import Bools, Floats
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["End", "Outside", "checked_domain", "errors_outside", "outside_of", "sizes_in"]

LEFT_OUT_SHARE: Final = 0.25
"""Share of the configurations that is left out at an end: of sizes from 32 to 8192, evenly in
logarithms, those above 2048. Fewer are hardly farther than the rest."""
MIN_KEPT_SHARE: Final = 0.4
"""Smallest share of the configurations that is kept: with more than three ends, fewer are left out
at each."""
MIN_EXCESS_SHARE: Final = 0.05
"""Smallest excess of a domain over the measured range, as a share of that: samples drawn from a
domain do not reach its corners."""
MAX_LEFT_OUT_SHARE: Final = 0.6
"""Largest share that equal values may make of it: of a parameter with two values, one."""


@dataclass(frozen=True)
class End:
    """An end of the measured range of a parameter, beyond which predictions will be asked for."""

    name: str
    column: int
    above: bool

    def out(self, rows: Floats, share: float = LEFT_OUT_SHARE) -> Bools:
        """Return which of the configurations *rows* are left out: none if too many are equal."""
        values = rows[:, self.column] if self.above else -rows[:, self.column]
        least = np.quantile(values, 1 - share, method="lower")
        found = values > least if (values > least).any() else values == values.max()
        return found if found.mean() <= MAX_LEFT_OUT_SHARE else np.zeros(len(rows), dtype=bool)

    def text(self) -> str:
        """Return the end as text: ``the largest m``."""
        return f"the {'largest' if self.above else 'smallest'} {self.name}"


@dataclass(frozen=True)
class Outside:
    """The part of the domain asked for that is outside the samples.

    Attributes
    ----------
    domain
        Parameter -> the lowest and the highest value asked for.
    ends
        The ends beyond which the domain goes.
    share
        The share of the domain that is outside the samples' box, with sizes evenly distributed in
        logarithms.
    """

    domain: Mapping[str, tuple[float, float]]
    ends: tuple[End, ...]
    share: float

    def out(self, rows: Floats) -> Bools:
        """Return which of the configurations *rows* are left out, at any of the ends."""
        share = min(LEFT_OUT_SHARE, 1 - MIN_KEPT_SHARE ** (1 / len(self.ends)))
        return np.asarray(np.any([end.out(rows, share) for end in self.ends], axis=0))


def checked_domain(samples: Samples, domain: object) -> dict[str, tuple[float, float]]:
    """Return *domain*, the ranges that predictions will be asked for, as numbers.

    Raises
    ------
    InputError
        For a name that is not a numerical parameter of *samples*, a parameter that is the same in
        all samples, and a malformed range.
    """
    if not isinstance(domain, Mapping):
        raise InputError(f"domain: got {domain!r}; legal: parameter -> (lowest, highest)")
    found = {}
    for name, bounds in domain.items():
        if name in samples.categories:
            raise InputError(f"domain: {name} has categories, which have no range")
        constants = samples.constants or {}
        if name in constants:
            raise InputError(
                f"domain: {name} is {plain_number(constants[name])} in all samples, so that they "
                "cannot tell what it does: measure others, or leave it out"
            )
        if name not in samples.names:
            raise InputError(f"domain: {unknown('parameter', str(name), samples.names)}")
        try:
            low, high = (float(bound) for bound in bounds)
        except (TypeError, ValueError):
            raise InputError(f"domain: {name}={bounds!r}; legal: (lowest, highest)") from None
        if not (isfinite(low) and isfinite(high) and 0 <= low <= high):
            raise InputError(
                f"domain: {name} from {low:g} to {high:g}; legal: numbers from 0, the lower first"
            )
        found[name] = (low, high)
    return found


def sizes_in(
    graphs: Iterable[TaskGraph], kernel: str, samples: Samples
) -> dict[str, tuple[float, float]]:
    """Return the ranges that *kernel*'s tasks in *graphs* ask a model of *samples* for.

    Parameters that do not differ in the samples, or have categories, have no range.
    """
    found: dict[str, tuple[float, float]] = {}
    for graph in graphs:
        for number, name in enumerate(graph.model_names):
            if name != kernel:
                continue
            rows = graph.parameters[number][np.unique(graph.row[graph.kernel == number])]
            for parameter, values in zip(graph.parameter_names[number], rows.T, strict=True):
                if parameter not in samples.names or parameter in samples.categories:
                    continue
                own = samples.parameters[:, samples.names.index(parameter)]
                if own.min() < own.max() and len(values):
                    low, high = found.get(parameter, (np.inf, -np.inf))
                    found[parameter] = (
                        min(low, float(values.min())), max(high, float(values.max())),
                    )  # fmt: skip
    return found


def outside_of(samples: Samples, domain: Mapping[str, tuple[float, float]]) -> Outside | None:
    """Return the part of *domain* that is outside *samples*; None if there is none."""
    ends, inside = [], 1.0
    for name, (low, high) in domain.items():
        column = samples.names.index(name)
        values = samples.parameters[:, column]
        least, most = float(values.min()), float(values.max())
        if low > 0 and least > 0:  # a size of 0 has no logarithm
            low, high, least, most = log(low), log(high), log(least), log(most)
        slack = MIN_EXCESS_SHARE * (most - least)
        if low < least - slack:
            ends.append(End(name, column, above=False))
        if high > most + slack:
            ends.append(End(name, column, above=True))
        if low == high:
            inside *= float(least <= low <= most)
        else:
            inside *= max(min(high, most) - max(low, least), 0.0) / (high - low)
    return Outside(domain, tuple(ends), 1 - inside) if ends else None


def errors_outside(model: KernelModel, samples: Samples, outside: Outside) -> Floats:
    """Return abs(ln(predicted / measured)) of each configuration left out at the ends.

    Infinite where a model with the options of *model*, fitted to the others, predicts nothing;
    empty if the parameters have too few values to leave some out.
    """
    rows, group = samples.configurations()
    out = outside.out(rows)
    if not out.any():
        return np.empty(0)
    measured_s = group_means(samples.durations_s, group)[out]
    try:
        fitted = model.clone().fit(samples.select(~out[group]))
        predicted_s = predicted_where_possible(fitted, rows[out])
    except TasksimError:
        return np.full(len(measured_s), np.inf)
    return log_errors(predicted_s, measured_s, np.inf)
