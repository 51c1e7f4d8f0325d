"""Grid of a tensor, with axes, interpolation weights, observed cells and supported parts.

A mode of the tensor is one parameter of the kernel. *Numerical* ones are divided into cells, with
interpolation between their midpoints; *ordinal* ones have a point per measured
value without interpolation; *categorical* ones have no order either.

E. Hutter and E. Solomonik, "Application performance modeling via tensor completion" (SC 2023),
sections 4.1 and 4.2. Unlike there, logarithms of durations are interpolated, so
that power laws are exact on any grid, and nothing becomes negative beyond the outermost points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, OutOfDomainError, nearest, unknown
from tasksim.models.quantiles import group_means
from tasksim.models.rows import distinct_rows, plain_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.base.documents.json_document import JsonNode

__all__ = [
    "SPACINGS",
    "AxisPosition",
    "ObservedCells",
    "Slices",
    "Support",
    "TensorAxis",
    "cell_indices",
    "make_axis",
    "observed",
    "read_axis",
    "read_support",
    "slices",
    "support_of",
]

SPACINGS: Final = ("automatic", "log", "uniform", "own", "ordinal", "categorical")
"""Ways to divide a parameter: see :func:`make_axis`."""

AXIS_KINDS: Final = ("numerical", "ordinal", "categorical")
SAME_VALUE_SHARE: Final = 1e-9
"""Relative difference below which two values count as equal, without a cell between them."""

MIN_VALUE_SHARE: Final = 1e-3
"""Smallest value of a logarithmic parameter, as a share of its lowest one: 0 has no logarithm,
and predictions are never needed below a thousandth."""


@dataclass(frozen=True)
class AxisPosition:
    """Positions of values on an axis, by the points around them and the distance beyond its ends.

    Attributes
    ----------
    index
        The point at or below the value.
    weight
        The position between this point and the next; below 0 or above 1 in the end zones, between
        the outermost points and the ends of the range.
    beyond
        The distance from the range, on the axis' scale: negative below, 0 inside.
    """

    index: Indices
    weight: Floats
    beyond: Floats


@dataclass(frozen=True, eq=False)
class TensorAxis:
    """One mode of a tensor.

    Attributes
    ----------
    name
        The name of the parameter.
    kind
        ``"numerical"``, ``"ordinal"`` or ``"categorical"``.
    logarithmic
        Whether distances are between logarithms.
    edges
        float64 [cells + 1], ascending: the borders of the cells.
    points
        float64 [cells], ascending: the values that represent the cells.
    """

    name: str
    kind: str
    logarithmic: bool
    edges: Floats
    points: Floats

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def positions(self) -> Floats:
        """The points on the axis' scale: logarithms, or the values themselves."""
        return self.scale(self.points)

    @property
    def span(self) -> tuple[float, float]:
        """The lower end of the range on the axis' scale, and its width there; 1 for a point."""
        low, high = self.scale(self.edges[[0, -1]]).tolist()
        return low, high - low if high > low else 1.0

    def scale(self, values: Floats) -> Floats:
        """Return *values* on the axis' scale.

        Above its range every axis is logarithmic, with the scale's slope at the end: a straight
        line there, for the logarithm of a duration, is a power law instead of an exponential.
        """
        high = self.edges[-1]
        if not self.logarithmic:
            if high <= 0 or self.kind == "categorical":
                return values
            return np.where(
                values > high, high + high * np.log(np.maximum(values, high) / high), values
            )
        return np.asarray(np.log(np.maximum(values, MIN_VALUE_SHARE * self.edges[0])))

    def cell(self, values: Floats) -> Indices:
        """Return the cell of each value; the last one includes its upper edge.

        Raises
        ------
        OutOfDomainError
            For a category that was not measured.
        """
        if self.kind != "categorical":
            return np.searchsorted(self.edges[1:-1], values, side="right")
        index = np.minimum(np.searchsorted(self.points, values), len(self) - 1)
        strange = self.points[index] != values
        if strange.any():
            got = f"{plain_number(float(values[strange][0]))}"
            levels = [str(plain_number(level)) for level in self.points.tolist()]
            raise OutOfDomainError(
                f"{self.name}={got}: no such category was measured{nearest(got, levels)} "
                f"(measured: {', '.join(levels)})"
            )
        return index

    def place(self, values: Floats) -> AxisPosition:
        """Return the positions of *values* between the points; raise errors of :meth:`cell`."""
        if self.kind != "numerical":
            nothing = np.zeros(len(values))
            return AxisPosition(self.cell(values), nothing, nothing)
        scaled = self.scale(values)
        low, high = self.scale(self.edges[[0, -1]])
        inside = np.clip(scaled, low, high)
        if len(self) == 1:
            return AxisPosition(np.zeros(len(values), dtype=np.intp), 0 * scaled, scaled - inside)
        index = np.searchsorted(self.positions[1:-1], inside, side="right")
        weight = (inside - self.positions[index]) / np.diff(self.positions)[index]
        return AxisPosition(index, weight, scaled - inside)

    def covers(self, values: Floats) -> Bools:
        """Return which values are in the range; for categorical and ordinal ones: were measured."""
        if self.kind == "numerical":
            return np.asarray((values >= self.edges[0]) & (values <= self.edges[-1]))
        return np.isin(values, self.points)

    def to_json(self) -> dict[str, Any]:
        """Return the axis as plain data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "logarithmic": self.logarithmic,
            "edges": self.edges,
            "points": self.points,
        }


def make_axis(name: str, values: Floats, spacing: Any, cells: int) -> TensorAxis:
    """Return the axis for the measured *values* of a parameter.

    Parameters
    ----------
    spacing
        ``"log"``, ``"uniform"``: cells of equal width on that scale, over the range of the
        values. ``"own"``: a cell per measured value, with interpolation; ``"ordinal"``:
        the same, but the nearest value is taken; ``"categorical"``: numbers that are only
        names. ``"automatic"``: ``"own"`` for at most *cells* different values, otherwise
        ``"log"`` if all are above 0, otherwise ``"uniform"``.
        Or the edges themselves, ascending; they must contain all values.
    cells
        Maximum number of cells.

    Raises
    ------
    InputError
        For an unknown spacing, logarithms of 0, and edges that do not ascend or exclude values.

    Examples
    --------
    >>> make_axis("n", np.array([1.0, 100.0]), "log", 2).edges.round(6).tolist()
    [1.0, 10.0, 100.0]
    """
    if not isinstance(spacing, str):
        return _of_edges(name, values, spacing)
    if spacing not in SPACINGS:
        raise unknown(f"spacing of parameter '{name}'", spacing, SPACINGS)
    distinct = np.unique(values)
    low, high = float(distinct[0]), float(distinct[-1])
    if spacing not in ("ordinal", "categorical") and high - low < SAME_VALUE_SHARE * high:
        return TensorAxis(name, "numerical", low > 0, np.array([low, high]), np.array([low]))
    if spacing == "automatic":
        continuous = "log" if low > 0 else "uniform"
        spacing = "own" if len(distinct) <= cells else continuous
    if spacing in ("own", "ordinal", "categorical") or len(distinct) == 1:
        return _of_values(name, distinct, spacing)
    if spacing == "log" and low <= 0:
        raise InputError(f"parameter '{name}': a logarithmic grid needs values above 0, got {low}")
    space = np.geomspace if spacing == "log" else np.linspace
    return _numerical(name, space(low, high, max(cells, 1) + 1), log=spacing == "log")


def read_axis(node: JsonNode) -> TensorAxis:
    """Read the axis that :meth:`TensorAxis.to_json` wrote."""
    kind, logarithmic = node["kind"].one_of(AXIS_KINDS), node["logarithmic"]
    if not isinstance(logarithmic.value, bool):
        raise logarithmic.expected("true or false")
    points = node["points"].vector(len(list(node["points"])))
    edges = node["edges"].vector(len(points) + 1)
    if len(points) == 0 or (np.diff(points) <= 0).any():
        raise node["points"].expected("numbers in ascending order, all different")
    if (np.diff(edges) < 0).any() or (logarithmic.value and min(edges[0], points[0]) <= 0):
        raise node["edges"].expected("numbers in ascending order, positive if logarithmic")
    return TensorAxis(node["name"].text(), kind, logarithmic.value, edges, points)


def _of_values(name: str, distinct: Floats, spacing: str) -> TensorAxis:
    """Return the axis whose points are the values."""
    kind = spacing if spacing in AXIS_KINDS else "numerical"
    log = kind != "categorical" and bool(distinct[0] > 0)
    if kind == "numerical":
        gaps = np.diff(distinct, prepend=-np.inf)
        distinct = distinct[gaps > SAME_VALUE_SHARE * (distinct if log else distinct[-1])]
    middles = _middles(distinct, log=log)
    return TensorAxis(
        name, kind, log, np.concatenate([distinct[:1], middles, distinct[-1:]]), distinct
    )


def _of_edges(name: str, values: Floats, edges: Sequence[float]) -> TensorAxis:
    try:
        given = np.array(edges, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim != 1 or len(given) < 2 or not (np.diff(given) > 0).all() or given[0] < 0:
        raise InputError(
            f"the grid of parameter '{name}' must be one of {', '.join(SPACINGS)}, or the edges "
            f"of cells: two numbers or more that ascend, none below 0; got {edges!r}"
        )
    if values.min() < given[0] or values.max() > given[-1]:
        raise InputError(
            f"the grid of parameter '{name}' is {given[0]:g} to {given[-1]:g}, "
            f"but samples have {values.min():g} to {values.max():g}"
        )
    return _numerical(name, given, log=bool(given[0] > 0))


def _numerical(name: str, edges: Floats, *, log: bool) -> TensorAxis:
    return TensorAxis(name, "numerical", log, edges, _middles(edges, log=log))


def _middles(values: Floats, *, log: bool) -> Floats:
    """Return the midpoints between neighbours, on the scale."""
    lower, upper = values[:-1], values[1:]
    return np.asarray(np.sqrt(lower) * np.sqrt(upper) if log else (lower + upper) / 2)


@dataclass(frozen=True)
class ObservedCells:
    """The cells that contain measurements.

    The others are unknown, not zero.

    Attributes
    ----------
    index
        intp [observed, modes]: their indices, in lexicographic order.
    values
        float64 [observed]: the mean of the measurements in each.
    owner
        intp [n]: the cell of each measurement.
    shape
        The number of cells of each mode.
    """

    index: Indices
    values: Floats
    owner: Indices
    shape: tuple[int, ...]

    @property
    def density(self) -> float:
        """The share of observed cells."""
        return float(len(self.values) / np.prod(np.array(self.shape, dtype=np.float64)))


@dataclass(frozen=True)
class Slices:
    """Observations sorted by their row of one mode; rows without observations are left out.

    Attributes
    ----------
    order
        The observations, row by row.
    rows
        The rows with observations.
    starts, counts
        Per row, the offset of its observations in *order*, and their number.
    """

    order: Indices
    rows: Indices
    starts: Indices
    counts: Indices


def cell_indices(axes: Sequence[TensorAxis], table: Floats) -> Indices:
    """Return the cell of each row of parameters, intp [n, modes]."""
    if not axes:
        return np.zeros((len(table), 0), dtype=np.intp)
    return np.stack([axis.cell(table[:, mode]) for mode, axis in enumerate(axes)], axis=1)


def observed(axes: Sequence[TensorAxis], indices: Indices, values: Floats) -> ObservedCells:
    """Return the cells that contain the *values* at *indices*, each with the mean of its values."""
    distinct, owner = distinct_rows(indices.astype(np.float64))
    shape = tuple(len(axis) for axis in axes)
    return ObservedCells(distinct.astype(np.intp), group_means(values, owner), owner, shape)


def slices(cells: ObservedCells) -> list[Slices]:
    """Return the observed cells sorted by each mode in turn."""
    result = []
    for mode, length in enumerate(cells.shape):
        counts = np.bincount(cells.index[:, mode], minlength=length)
        rows = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[rows]
        order = np.argsort(cells.index[:, mode], kind="stable")
        result.append(Slices(order, rows, starts, counts[rows]))
    return result


NEIGHBOURHOOD_CELLS: Final = 9
"""Expected number of observed cells in a neighbourhood, if they were spread evenly: that it is
empty by chance has a probability of e^-9, 1 in 8000."""


@dataclass(frozen=True, eq=False)
class Support:
    """The cells with observed cells nearby, for every two parameters.

    A tensor of many modes is sparse, so a single unobserved cell says little. But if no
    observation has a similar pair of values (m below n for a kernel that is always called with m
    at least n), no measurement supports a prediction.

    Attributes
    ----------
    rows
        Per mode, which cells have observations.
    pairs
        Per two modes, in the order of :func:`itertools.combinations`, bool [cells, cells].
    """

    rows: list[Bools]
    pairs: list[Bools]

    def holds(self, index: Indices) -> Bools:
        """Return which of the cells, intp [n, modes], are supported."""
        result = np.ones(len(index), dtype=bool)
        for mode, known in enumerate(self.rows):
            result &= known[index[:, mode]]
        for (a, b), known in zip(combinations(range(len(self.rows)), 2), self.pairs, strict=True):
            result &= known[index[:, a], index[:, b]]
        return result

    def to_json(self) -> dict[str, Any]:
        """Return the support as plain data, a text of 0 and 1 per row."""
        return {
            "rows": [_text(known) for known in self.rows],
            "pairs": [[_text(row) for row in known] for known in self.pairs],
        }


def support_of(axes: Sequence[TensorAxis], cells: ObservedCells) -> Support:
    """Return the support of the observed cells."""
    rows, pairs = [], []
    for mode, length in enumerate(cells.shape):
        rows.append(np.bincount(cells.index[:, mode], minlength=length) > 0)
    for a, b in combinations(range(len(axes)), 2):
        known = np.zeros((cells.shape[a], cells.shape[b]), dtype=bool)
        known[cells.index[:, a], cells.index[:, b]] = True
        side = np.sqrt(NEIGHBOURHOOD_CELLS * known.size / len(cells.values))
        reach = max(1, int(np.ceil((side - 1) / 2)))
        for mode, axis in enumerate((axes[a], axes[b])):
            if axes and axis.kind != "categorical":
                known = _widened(known, mode, reach)
        pairs.append(known)
    return Support(rows, pairs)


def read_support(node: JsonNode, axes: Sequence[TensorAxis]) -> Support:
    """Read what :meth:`Support.to_json` wrote."""
    named = zip(node["rows"].list_of(len(axes)), axes, strict=True)
    rows = [_bits(row, len(axis)) for row, axis in named]
    both = list(combinations(axes, 2))
    pairs = [
        np.array([_bits(line, len(b)) for line in pair.list_of(len(a))])
        for pair, (a, b) in zip(node["pairs"].list_of(len(both)), both, strict=True)
    ]
    return Support(rows, pairs)


def _widened(known: Bools, mode: int, reach: int) -> Bools:
    """Return the cells within *reach* of a known one along *mode*."""
    rows = np.moveaxis(known, mode, 0)
    wide = rows.copy()
    for shift in range(1, min(reach, len(rows) - 1) + 1):
        wide[shift:] |= rows[:-shift]
        wide[:-shift] |= rows[shift:]
    return np.moveaxis(wide, 0, mode)


def _text(bits: Bools) -> str:
    return "".join("1" if bit else "0" for bit in bits.tolist())


def _bits(node: JsonNode, length: int) -> Bools:
    text = node.text()
    if len(text) != length or set(text) - {"0", "1"}:
        raise node.expected(f"{length} digits, 0 or 1")
    return np.array([digit == "1" for digit in text])
