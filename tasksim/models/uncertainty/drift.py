"""Drift: the growth of prediction errors outside the measured range, from extrapolated samples.

Beyond the domain the law itself may change, which the spread of samples inside cannot show. The
samples do show how well this kind of model extrapolates from one part of them to the rest: it is
fitted to the half with the smaller parameters and predicts those beyond; the half with the larger
ones predicts the smaller. Errors of exponents make ln(measured / predicted) grow with the logarithm
of the distance; the *drift* is the error of the exponent that would have kept nine of ten of these
measurements in their 90 % intervals.

A law may also bend just where the samples end: a cache overflows, an overhead begins to count.
No measurement shows this, so an allowance derived from generated kernels of that sort is added.
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

    from tasksim.base.documents.json_document import Node
    from tasksim.models.fitted import FittedModel
    from tasksim.models.samples import Samples

    Table = NDArray[np.float64]
    Domain = Mapping[str, tuple[float, float]]
    Side = Callable[[Domain, Table], Table]

__all__ = ["Drift"]

DEFAULT_DRIFT: Final = 0.5
"""Default drift if it cannot be measured: exponents of searched terms are half apart
(:class:`~tasksim.models.terms.candidates.Lattice`), so a wrong one is off by that much."""
UNSEEN_DRIFT: Final = 0.2
"""Drift for bends that begin where the samples end, added as root of the sum of squares. For nine
kinds of models of generated kernels (linear, power, tensor; a cache of a third more just beyond, an
overhead that begins to count), 90 % intervals two and four times outside covered 79 to 100 % with
it, except for two whose law was wrong inside already; without it 0 to 99 %, with 0.1 21 to 100 %.
For laws that do hold, intervals widen from a factor of 1.2 to 1.3 if one parameter is twice as
large, and to 2.2 if three are."""
COVERED_SHARE: Final = 0.9
"""Share of the measurements beyond that the drift brings into their intervals: the level that is
printed."""
MAX_CONFIGURATIONS: Final = 512
"""Maximum number of configurations used: the two additional fits must not take longer than the
first."""
MIN_BEYOND: Final = 5
"""Minimum number of measurements beyond: of fewer, the 90 % quantile is meaningless."""
MIN_VALUE_SHARE: Final = 1e-3
"""Smallest value, as a share of the lowest measured one: 0 would be infinitely far away."""


@dataclass(frozen=True)
class Drift:
    """Errors of the exponent outside the domain, per unit of the logarithm of the distance.

    Parameters
    ----------
    below, above : float
        For parameters smaller, or larger, than all measured ones.
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
        model: FittedModel,
        samples: Samples,
        covered: Callable[[Table, Table, Table], Table],
        seed: int,
    ) -> Self:
        """Return the drift of *model*, which was fitted to *samples*.

        Parameters
        ----------
        covered
            A function of measured durations, predicted durations and rows. It returns the log
            deviation that would put each measurement just inside its interval, in excess of the
            model's deviation inside its domain; 0 if it is inside already.
        """
        few = _thinned(samples, seed)
        return cls(
            _slope(model, few, covered, distance_below, -1),
            _slope(model, few, covered, distance_above, 1),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the drift as data."""
        return {"below": self.below, "above": self.above}

    @classmethod
    def from_json(cls, node: Node) -> Self:
        """Read what :meth:`to_json` wrote."""
        below, above = node["below"].number(), node["above"].number()
        for name, value in (("below", below), ("above", above)):
            if value < 0:
                raise node[name].expected("a number, not negative")
        return cls(below, above)


def distance_above(domain: Domain, table: Table) -> Table:
    """Return the sum of ln(value / highest) over the parameters above the *domain*.

    >>> distance_above({"m": (1.0, 2.0)}, np.array([[1.5], [2.0 * np.e]])).tolist()
    [0.0, 1.0]
    """
    total = np.zeros(len(table))
    for column, (_, high) in zip(table.T, domain.values(), strict=True):
        if high > 0:
            total += np.log(np.maximum(column, high) / high)
    return total


def distance_below(domain: Domain, table: Table) -> Table:
    """Return the sum of ln(lowest / value) over the parameters below the *domain*."""
    total = np.zeros(len(table))
    for column, (low, _) in zip(table.T, domain.values(), strict=True):
        if low > 0:
            total += np.log(low / np.clip(column, MIN_VALUE_SHARE * low, low))
    return total


def _thinned(samples: Samples, seed: int) -> Samples:
    rows, group = samples.configurations()
    if len(rows) <= MAX_CONFIGURATIONS:
        return samples
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[np.random.default_rng(seed).permutation(len(rows))[:MAX_CONFIGURATIONS]] = True
    return samples.select(chosen[group])


def _slope(
    model: FittedModel,
    samples: Samples,
    covered: Callable[[Table, Table, Table], Table],
    distance: Side,
    sign: int,
) -> float:
    """Return the drift on one side: towards larger values for a *sign* of 1."""
    kept = _inner(samples, sign)
    try:
        inner = model.refitted(samples.select(kept))
        beyond = samples.select(~kept)
        predicted = predicted_where_possible(inner, beyond.parameters)
    except TasksimError:
        return DEFAULT_DRIFT
    far = distance(inner.domain_, beyond.parameters)
    some = np.isfinite(predicted) & (far > 0)
    if some.any():
        # Near the border, noise alone would require large exponents.
        some &= far >= np.median(far[some])
    if some.sum() < MIN_BEYOND:
        return DEFAULT_DRIFT
    needed = covered(beyond.durations_s[some], predicted[some], beyond.parameters[some]) / far[some]
    return float(np.hypot(np.quantile(needed, COVERED_SHARE, method="weibull"), UNSEEN_DRIFT))


def _inner(samples: Samples, sign: int) -> NDArray[np.bool_]:
    """Return which samples are in the lower half of the box (the upper one for a *sign* of -1).

    Each of p parameters is cut such that about half of the configurations are left.
    """
    rows, _ = samples.configurations()
    varying = [c for c in range(rows.shape[1]) if np.ptp(rows[:, c]) > 0]
    kept = np.ones(len(samples), dtype=bool)
    for column in varying:
        values = sign * rows[:, column]
        end = np.quantile(values, 0.5 ** (1 / len(varying)), method="lower")
        kept &= sign * samples.parameters[:, column] <= end
    return kept
