"""Drift: how fast predictions go wrong outside of what was measured, found by leaving the ends out.

Beyond the domain the law itself may change, which no spread of samples inside says. What can be
known is how well this kind of model goes on from a part of the samples to the rest: it is fitted
to the half with the smaller parameters, and asked for those beyond, and to the half with the
larger ones. There its exponents turn out to be off by something, so that ln(measured / predicted)
grows with the logarithm of the distance; the *drift* is the error of the exponent that would have
kept nine of ten of these measurements in their 90 % intervals.

A law may also bend just where the samples end: a cache overflows, an overhead begins to count.
Nothing measured tells, so what generated kernels of that sort need comes on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.models.validation.crossvalidation import predicted_where_possible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tasksim.models.document import Node
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

    Table = NDArray[np.float64]
    Domain = Mapping[str, tuple[float, float]]
    Side = Callable[[Domain, Table], Table]

__all__ = ["Drift"]

ASSUMED: Final = 0.5
"""The drift where it cannot be measured: exponents of terms that are searched for are half apart
(:class:`~tasksim.models.terms.candidates.Lattice`), so a wrong one is off by so much."""
UNSEEN: Final = 0.2
"""The drift that comes on top, by the root of the sum of squares: bends that begin where the
samples end. Of nine kinds of models of generated kernels (linear, power, tensor; a cache of a third
more just beyond, an overhead that begins to count), 90 % intervals two and four times outside
covered 79 to 100 % with it, but for two whose law was wrong inside already; without it 0 to 99 %,
with 0.1 21 to 100 %. It costs laws that do hold an interval of a factor 1.3 instead of 1.2
where one parameter is twice as large, 2.2 where three are."""
COVERED: Final = 0.9
"""The share of the measurements beyond that the drift brings into their intervals of that level,
the one that is printed."""
MOST: Final = 512
"""So many configurations are looked at: two fits more must not take longer than the first."""
FEWEST: Final = 5
"""Measurements beyond, without which nine of ten of them mean nothing."""
NEAREST: Final = 1e-3
"""Values count as at least this share of the least that was measured: 0 is infinitely far."""


@dataclass(frozen=True)
class Drift:
    """Errors of the exponent outside the domain: per unit of the logarithm of the distance.

    Parameters
    ----------
    below, above : float
        Where parameters are smaller, and larger, than all that were measured.
    """

    below: float
    above: float

    def deviation(self, domain: Domain, table: Table) -> Table:
        """Return the standard deviation of the logarithm of the duration per row; 0 inside."""
        below, above = distance_below(domain, table), distance_above(domain, table)
        return self.below * below + self.above * above

    @classmethod
    def of(
        cls,
        model: KernelModel,
        samples: Samples,
        covered: Callable[[Table, Table, Table], Table],
        seed: int,
    ) -> Self:
        """Return the drift of *model*, which was fitted to *samples*.

        Parameters
        ----------
        covered
            Given measured and predicted durations and rows: the deviation, in logarithms, with
            which each measurement would be just inside its interval, without that of the model
            inside its domain; 0 where it is inside anyway.
        """
        few = _thinned(samples, seed)
        return cls(
            _slope(model, few, covered, distance_below, -1),
            _slope(model, few, covered, distance_above, 1),
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {"below": self.below, "above": self.above}

    @classmethod
    def from_json(cls, node: Node) -> Self:
        """Return what :meth:`to_json` wrote."""
        below, above = node["below"].number(), node["above"].number()
        for name, value in (("below", below), ("above", above)):
            if value < 0:
                raise node[name].expected("a number, not negative")
        return cls(below, above)


def distance_above(domain: Domain, table: Table) -> Table:
    """Return the sum over the parameters of ln(value / highest), of those above the *domain*.

    >>> distance_above({"m": (1.0, 2.0)}, np.array([[1.5], [2.0 * np.e]])).tolist()
    [0.0, 1.0]
    """
    total = np.zeros(len(table))
    for column, (_, high) in zip(table.T, domain.values(), strict=True):
        if high > 0:
            total += np.log(np.maximum(column, high) / high)
    return total


def distance_below(domain: Domain, table: Table) -> Table:
    """Return the sum over the parameters of ln(lowest / value), of those below the *domain*."""
    total = np.zeros(len(table))
    for column, (low, _) in zip(table.T, domain.values(), strict=True):
        if low > 0:
            total += np.log(low / np.clip(column, NEAREST * low, low))
    return total


def _thinned(samples: Samples, seed: int) -> Samples:
    rows, group = samples.configurations()
    if len(rows) <= MOST:
        return samples
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[np.random.default_rng(seed).permutation(len(rows))[:MOST]] = True
    return samples.select(chosen[group])


def _slope(
    model: KernelModel,
    samples: Samples,
    covered: Callable[[Table, Table, Table], Table],
    distance: Side,
    sign: int,
) -> float:
    """Return the drift on one side: that of larger values for a *sign* of 1."""
    kept = _inner(samples, sign)
    try:
        inner = model.refitted(samples.select(kept))
        beyond = samples.select(~kept)
        predicted = predicted_where_possible(inner, beyond.parameters)
    except TasksimError:
        return ASSUMED
    far = distance(inner.domain_, beyond.parameters)
    some = np.isfinite(predicted) & (far > 0)
    if some.any():
        # Near the end noise alone would need large exponents.
        some &= far >= np.median(far[some])
    if some.sum() < FEWEST:
        return ASSUMED
    needed = covered(beyond.durations_s[some], predicted[some], beyond.parameters[some]) / far[some]
    return float(np.hypot(np.quantile(needed, COVERED, method="weibull"), UNSEEN))


def _inner(samples: Samples, sign: int) -> NDArray[np.bool_]:
    """Return which samples are in the lower half of the box (the upper one for a *sign* of -1).

    Of p parameters each is cut so that about half of the configurations are left.
    """
    rows, _ = samples.configurations()
    varying = [c for c in range(rows.shape[1]) if np.ptp(rows[:, c]) > 0]
    kept = np.ones(len(samples), dtype=bool)
    for column in varying:
        values = sign * rows[:, column]
        end = np.quantile(values, 0.5 ** (1 / len(varying)), method="lower")
        kept &= sign * samples.parameters[:, column] <= end
    return kept
