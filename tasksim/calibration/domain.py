"""Domains of a kernel, with ranges and lists of its parameters, and random configurations.

============================  ============================================================
``m=64``                      this size
``m=64,128,256``              one of these sizes
``m=32..2048``                a size from 32 to 2048, uniformly distributed
``m=32..2048:log``            a size from 32 to 2048, its logarithm uniformly distributed
``n=m``                       the value of *m*
``layout=row,col``            one of these names, of a setting of an application
============================  ============================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import and_
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.base.numerals import whole_number
from tasksim.calibration.conditions import parse_condition
from tasksim.kernels.dense import dense_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.calibration.conditions import Condition

    Table = Ints

__all__ = [
    "DESIGNS",
    "Design",
    "Domain",
    "DomainAxis",
    "grid_counts",
    "latin_hypercube",
    "parse_axis",
    "parse_domain",
]


def latin_hypercube(count: int, dimensions: int, rng: np.random.Generator) -> Floats:
    """Return *count* points in [0, 1): in each dimension, one point in each of *count* slices.

    M. D. McKay, R. J. Beckman, W. J. Conover, Technometrics 21(2), 1979.

    >>> points = latin_hypercube(4, 2, np.random.default_rng(0))
    >>> np.sort((4 * points).astype(int), axis=0).T.tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    slices = np.tile(np.arange(count), (dimensions, 1))
    points = (rng.permuted(slices, axis=1).T + rng.random((count, dimensions))) / count
    return np.minimum(points, np.nextafter(1.0, 0.0))


def grid_counts(lengths: Sequence[int], fixed: Sequence[bool], limit: int) -> list[int]:
    """Return the number of values per axis of a grid with at most *limit* points, if possible.

    Axes that are *fixed* keep all their values; the others get equal numbers, at least two (one if
    the axis has no more).

    >>> grid_counts([1000, 3, 1000], [False, True, False], 300)
    [10, 3, 10]
    """

    def counts(each: int) -> list[int]:
        return [
            length if held else min(length, each)
            for length, held in zip(lengths, fixed, strict=True)
        ]

    each, largest = 2, max(lengths)
    while each < largest and prod(counts(each + 1)) <= limit:
        each += 1
    return counts(each)


Number = TypeVar("Number", np.int64, np.float64)
Design = Literal["lhs", "random", "grid"]
DESIGNS: Final[tuple[Design, ...]] = get_args(Design)

MAX_SIZE: Final = 2**31 - 1
"""Largest size of a parameter: BLAS and LAPACK take 32-bit integers."""
MAX_ENUMERATED: Final = 200_000
"""Largest number of configurations of a domain that is enumerated and drawn without replacement."""
MIN_DRAWS: Final = 256
"""Smallest number of draws that replace illegal or repeated ones."""
MIN_DRAWS_BY_CONDITIONS: Final = 16_384
"""The same for a domain with conditions, which one configuration in a thousand may fulfil."""
MAX_FRUITLESS_DRAWS: Final = 20
"""Number of consecutive draws without a new configuration after which drawing ends."""

_RANGE: Final = re.compile(r"([1-9][0-9]{0,17}|0)\.\.([1-9][0-9]{0,17}|0)(:log)?")
_LEGAL_SIZES: Final = (
    "a size 64, a list 64,128,256, a range 32..2048, 32..2048:log, another parameter"
)


@dataclass(frozen=True)
class DomainAxis:
    """Sizes of one parameter, either *values* or all integers from *low* to *high*."""

    values: tuple[int, ...] = ()
    low: int = 0
    high: int = 0
    log: bool = False
    names: tuple[str, ...] = ()
    """Names instead of sizes; *values* are then their numbers, from 0."""

    def __len__(self) -> int:
        return len(self.values) or self.high - self.low + 1

    def at(self, share: Floats) -> Table:
        """Return the sizes at quantiles *share*, from 0 to below 1.

        If the logarithm is uniform, size x is as probable as the reals from x to x + 1.
        """
        if self.values:
            index = (share * len(self.values)).astype(np.int64)
            return np.array(self.values, dtype=np.int64)[index]
        end = self.high + 1
        if self.log:
            drawn = np.floor(self.low * (end / self.low) ** share)
        else:
            drawn = np.floor(self.low + share * (end - self.low))
        return np.clip(drawn, self.low, self.high).astype(np.int64)

    def all(self) -> Table:
        """Return every size once."""
        if self.values:
            return np.array(self.values, dtype=np.int64)
        return np.arange(self.low, self.high + 1)

    def weights(self) -> Floats:
        """Return the probability of each size of :meth:`all`."""
        sizes = self.all().astype(np.float64)
        weights = np.log1p(1.0 / sizes) if self.log else np.ones(len(sizes))
        shares: Floats = weights / weights.sum()
        return shares

    def spaced(self, count: int) -> Table:
        """Return *count* evenly spaced sizes with both ends; all sizes of a list."""
        if self.values:
            return np.array(self.values, dtype=np.int64)
        space = np.geomspace if self.log else np.linspace
        return np.unique(np.rint(space(self.low, self.high, count)).astype(np.int64))

    def __str__(self) -> str:
        if self.names:
            return ",".join(self.names)
        if self.values:
            return ",".join(map(str, self.values))
        return f"{self.low}..{self.high}" + (":log" if self.log else "")


@dataclass(frozen=True)
class Domain:
    """Parameters of a kernel and their ranges.

    Attributes
    ----------
    kernel : str
        Name of the kernel.
    names : tuple of str
        Its parameters, in order.
    axes : dict
        Free parameter -> its sizes.
    same : dict
        Parameter -> free parameter that it equals.
    at_most : tuple of pairs
        Pairs of parameters of which the first must not exceed the second; other configurations
        are not drawn.
    conditions : tuple of Condition
        Further conditions on configurations.
    """

    kernel: str
    names: tuple[str, ...]
    axes: dict[str, DomainAxis]
    same: dict[str, str]
    at_most: tuple[tuple[str, str], ...] = ()
    conditions: tuple[Condition, ...] = ()

    def where(self, *texts: str) -> Domain:
        """Return the domain with the conditions in *texts*, such as ``64 <= m*n <= 128``.

        >>> parse_domain("syrk", ["n=1..9", "k=1..9"]).where("n*k == 7").draw(9).shape
        (2, 2)
        """
        named = {name: axis.names for name, axis in self.axes.items() if axis.names}
        more = [parse_condition(text, self.names, named) for text in texts]
        return replace(self, conditions=(*self.conditions, *more))

    def values_of(self, row: Sequence[int]) -> dict[str, int | str]:
        """Return a *row* of the drawn table by name, with names instead of their numbers."""
        values: dict[str, int | str] = dict(zip(self.names, row, strict=True))
        for name in self.names:
            axis = self.axes[self.same.get(name, name)]
            if axis.names:
                values[name] = axis.names[int(values[name])]
        return values

    def describe(self) -> dict[str, str]:
        """Return parameter -> its sizes as text, as :func:`parse_domain` reads them."""
        return {name: self.same.get(name) or str(self.axes[name]) for name in self.names}

    def draw(self, samples: int, seed: int = 0, design: Design = "lhs") -> Table:
        """Return up to *samples* different configurations in random order.

        Parameters
        ----------
        samples : int
            Number of configurations; fewer if the domain has no more.
        seed : int, default 0
            Seed: the same seed gives the same configurations in the same order.
        design : {"lhs", "random", "grid"}
            ``lhs``: a Latin hypercube, so that each of *samples* equally probable slices of each
            parameter is hit once (M. D. McKay, R. J. Beckman, W. J. Conover, "A comparison of
            three methods for selecting values of input variables", Technometrics 21(2), 1979);
            illegal or repeated configurations are replaced by a smaller hypercube. ``random``:
            independent draws. ``grid``: evenly spaced sizes of each range, as many as *samples*
            allows.

        Returns
        -------
        ndarray
            int64 [configurations, parameters].

        Raises
        ------
        InputError
            If no configuration is legal, or *samples* is not positive.
        """
        if samples < 1:
            raise InputError(f"samples={samples}; legal: at least 1")
        if design not in DESIGNS:
            raise unknown("design", design, DESIGNS)
        rng = np.random.default_rng(seed)
        none = "no configuration of the domain"
        if design == "grid":
            found = self._grid(samples)
            none = "no configuration of the grid"
        elif prod(map(len, self.axes.values())) <= min(4 * samples, MAX_ENUMERATED):
            found = self._without_replacement(samples, rng)
        else:
            found = self._drawn(samples, rng, design)
            least = MIN_DRAWS_BY_CONDITIONS if self.conditions else MIN_DRAWS
            none = f"none of {MAX_FRUITLESS_DRAWS * least} random configurations"
        if not len(found):
            limits = (f"{small} <= {large}" for small, large in self.at_most)
            rules = " and ".join([*limits, *map(str, self.conditions)])
            raise InputError(f"kernel {self.kernel}: {none} has {rules}")
        return found[rng.permutation(len(found))]

    def _grid(self, samples: int) -> Table:
        axes = list(self.axes.values())
        counts = grid_counts([len(a) for a in axes], [bool(a.values) for a in axes], samples)
        if prod(counts) > samples:
            raise InputError(
                f"kernel {self.kernel}: a grid of all lists, and both ends of all ranges, has "
                f"{prod(counts)} configurations; legal: at least as many samples, got {samples}"
            )
        columns = [axis.spaced(count) for axis, count in zip(axes, counts, strict=True)]
        return self._legal(_product(columns))

    def _without_replacement(self, samples: int, rng: np.random.Generator) -> Table:
        axes = self.axes.values()
        rows = _product([axis.all() for axis in axes])
        weights = _product([axis.weights() for axis in axes]).prod(axis=1)
        table = self._complete(rows)
        kept = self._fulfils(table)
        table, weights = table[kept], weights[kept]
        if len(table) <= samples:
            return table
        return table[rng.choice(len(table), samples, replace=False, p=weights / weights.sum())]

    def _drawn(self, samples: int, rng: np.random.Generator, design: Design) -> Table:
        axes = list(self.axes.values())
        found = np.empty((0, len(self.names)), dtype=np.int64)
        fruitless = 0
        while len(found) < samples and fruitless < MAX_FRUITLESS_DRAWS:
            least = MIN_DRAWS_BY_CONDITIONS if self.conditions else MIN_DRAWS
            # Without conditions, the first hypercube has just the wanted points: one per slice.
            is_empty = not len(found)
            count = max(samples - len(found), 0 if is_empty and not self.conditions else least)
            shape = (count, len(axes))
            shares = latin_hypercube(*shape, rng) if design == "lhs" else rng.random(shape)
            drawn = np.column_stack([axis.at(shares[:, i]) for i, axis in enumerate(axes)])
            before = len(found)
            found = np.concatenate([found, self._legal(drawn)])
            first_rows = np.unique(found, axis=0, return_index=True)[1]  # without repetitions
            found = found[np.sort(first_rows)][:samples]
            fruitless = fruitless + 1 if len(found) == before else 0
        return found

    def _legal(self, rows: Table) -> Table:
        table = self._complete(rows)
        return table[self._fulfils(table)]

    def _complete(self, rows: Table) -> Table:
        """Return *rows* of free parameters extended to all parameters."""
        free = list(self.axes)
        return rows[:, [free.index(self.same.get(name, name)) for name in self.names]]

    def _fulfils(self, table: Table) -> Bools:
        """Return whether each row of *table* fulfils all conditions."""
        columns = {name: table[:, index] for index, name in enumerate(self.names)}
        rules = (columns[small] <= columns[large] for small, large in self.at_most)
        legal = reduce(and_, rules, np.ones(len(table), dtype=np.bool_))
        floats = {name: column.astype(np.float64) for name, column in columns.items()}
        return reduce(and_, (one.holds(floats) for one in self.conditions), legal)


def parse_domain(kernel: str, settings: Sequence[str]) -> Domain:
    """Return the domain of *kernel* from texts such as ``m=32..2048:log``.

    Raises
    ------
    InputError
        If the kernel or a parameter is unknown, a parameter is missing or given twice, or a text is
        malformed.

    Examples
    --------
    >>> domain = parse_domain("gemm", ["m=32..2048:log", "n=m", "k=64,128"])
    >>> domain.describe()
    {'m': '32..2048:log', 'n': 'm', 'k': '64,128'}
    >>> domain.draw(1000).shape
    (1000, 3)
    """
    names = dense_kernel(kernel)[0].parameters
    given: dict[str, str] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"kernel {kernel}: got '{setting}'; legal: PARAMETER={_LEGAL_SIZES}")
        if name not in names:
            raise unknown("parameter", name, names, f"kernel {kernel}")
        if name in given:
            raise InputError(f"kernel {kernel}: {name} is given twice")
        given[name] = text.strip()
    missing = [name for name in names if name not in given]
    if missing:
        example = " ".join(f"{name}=32..2048:log" for name in missing)
        raise InputError(f"kernel {kernel}: no sizes of {', '.join(missing)}; give e.g. {example}")
    same = {name: text for name, text in given.items() if text in names}
    for name, other in same.items():
        if other in same:
            raise InputError(f"kernel {kernel}: {name}={other}: {other} is not free itself")
    axes = {
        name: parse_axis(given[name], f"kernel {kernel}: {name}")
        for name in names
        if name not in same
    }
    return Domain(kernel, names, axes, same, dense_kernel(kernel)[0].at_most)


def parse_axis(text: str, where: str) -> DomainAxis:
    """Return the sizes described by *text*; error messages begin with *where*.

    >>> len(parse_axis("32..2048:log", "m")), len(parse_axis("64,128", "m"))
    (2017, 2)
    """
    match = _RANGE.fullmatch(text)
    if match:
        low, high = int(match[1]), int(match[2])
        if not 1 <= low <= high <= MAX_SIZE:
            raise InputError(f"{where}: got '{text}'; legal: from 1 to {MAX_SIZE}, low end first")
        return DomainAxis(low=low, high=high, log=match[3] is not None)
    parts = text.split(",")
    values = [value for part in parts if (value := whole_number(part)) is not None]
    if len(values) < len(parts):
        raise InputError(f"{where}: got '{text}'; legal: {_LEGAL_SIZES}")
    if not all(1 <= value <= MAX_SIZE for value in values):
        raise InputError(f"{where}: got '{text}'; legal: sizes from 1 to {MAX_SIZE}")
    return DomainAxis(tuple(dict.fromkeys(values)))


def _product(columns: Sequence[NDArray[Number]]) -> NDArray[Number]:
    """Return the rows of the Cartesian product of *columns*."""
    return np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, len(columns))
