"""Made-up kernels of known duration, to judge kernel models with: sixteen suites.

    python benchmarks/model_suites.py              # a table of the suites
    python benchmarks/model_suites.py fmm 100      # 100 samples of one of them, as CSV

Seven are made in the manner of published data sets of applications (matrix products, QR, MPI's
broadcast, a fast multipole method, an algebraic multigrid solver, neutron transport, a blocked
matrix product with its tunables), nine are others; they have 2 to 12 parameters. Their durations
have what real ones have: caches, protocols that switch, sizes rounded up to blocks, rounds of
threads, load imbalance, iterations, categories, conditions between parameters. No measured data
are behind them, so that nothing judged on measured data has been tuned to these.

A sample takes the true duration times log-normal noise whose median is 1, so that the true
duration is the median of what would be measured, which is what MLogQ asks of a prediction.

For extrapolation, a sample below has a parameter up to an eighth of its range, and a test beyond
has values in one octave: those up to 4 or 8 times the largest of the samples below.

In Python::

    from benchmarks.model_suites import suites

    suite = suites()["transport"]
    samples = suite.samples(2048, seed=0)
    parameters, durations_s = suite.test(seed=0)
    lower = suite.below(2048, "groups", seed=0)
    parameters, durations_s = suite.beyond("groups", 4, seed=0)
"""

from __future__ import annotations

import argparse
import inspect
import sys
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = ["EXTRAPOLATION_FACTORS", "Axis", "Suite", "suites"]

TEST_CONFIGURATIONS: Final = 2000
"""Number of configurations of a test set: the error of a mean error is then some 2 % of it."""
EXTRAPOLATION_FACTORS: Final = (4, 8)
"""Factors of extrapolation; the largest divides the range of a parameter into below and beyond."""
CHUNK_ROWS: Final = 1024
"""Number of configurations drawn at once. It is fixed, so that the first of many samples are those
of fewer samples with the same seed."""
MAX_CHUNKS: Final = 100_000
"""Number of chunks after which conditions that hardly ever hold are an error."""
THIN_FACTOR: Final = 10
"""Ratio of the density of samples outside of the thinned region to that inside."""
STALL_FACTOR: Final = 3.0
"""Mean factor of the duration of a sample that was disturbed."""


@dataclass(frozen=True)
class Axis:
    """Values of one parameter.

    Parameters
    ----------
    low, high : float
        The range.
    whole : bool, default=True
        Whether values are integers.
    even : bool, default=False
        Whether values are spread evenly; if not, their logarithms are.
    values : tuple of float, default=()
        The only legal values, if there are few.
    categories : tuple of str, default=()
        Names of categories; values are their numbers.
    open : bool, default=False
        Whether the parameter is extrapolated.
    """

    low: float
    high: float
    whole: bool = True
    even: bool = False
    values: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    open: bool = False

    @property
    def top_below(self) -> float:
        """The largest value of samples from below."""
        return self.high / max(EXTRAPOLATION_FACTORS)

    def draw(self, rng: np.random.Generator, count: int, low: float, high: float) -> Floats:
        """Return *count* values from *low* to *high*, both included."""
        if self.values:
            legal = [value for value in self.values if low <= value <= high]
            return rng.choice(legal, count)
        if self.whole:
            low, high = np.ceil(low), np.floor(high) + 1
        if self.even:
            drawn = rng.uniform(low, high, count)
        else:
            drawn = np.exp(rng.uniform(np.log(low), np.log(high), count))
        # exp(log(high)) may round up to high itself, which is one too many.
        return np.minimum(np.floor(drawn), high - 1) if self.whole else np.clip(drawn, low, high)


def sizes(low: int, high: int) -> Axis:
    """Return an axis of integers with evenly spread logarithms, which is extrapolated."""
    return Axis(low, high, open=True)


def counts(low: int, high: int) -> Axis:
    """Return an axis of integers with evenly spread logarithms."""
    return Axis(low, high)


def integers(low: int, high: int) -> Axis:
    """Return an axis of evenly spread integers."""
    return Axis(low, high, even=True)


def reals(low: float, high: float, *, even: bool = True) -> Axis:
    """Return an axis of real numbers."""
    return Axis(low, high, whole=False, even=even)


def powers(low: int, high: int) -> Axis:
    """Return an axis of the powers of two from *low* to *high*."""
    values = [2.0**i for i in range(low.bit_length() - 1, high.bit_length())]
    return Axis(low, high, values=tuple(values))


def category(*names: str) -> Axis:
    """Return an axis of categories; a value is the number of a category."""
    numbers = tuple(map(float, range(len(names))))
    return Axis(0, len(names) - 1, values=numbers, categories=names)


@dataclass(frozen=True)
class Suite:
    """A kernel whose durations are known, and the ways to draw samples of it.

    Parameters
    ----------
    name : str
        A short name.
    about : str
        What the kernel resembles.
    axes : mapping
        Parameter -> its values.
    law : callable
        Takes a column per parameter, by name, and returns true durations in seconds.
    noise : float
        Standard deviation of the logarithm of a sample's duration.
    stalls : float, default=0
        Share of samples that are disturbed, and three times as long on average.
    legal : callable or None, default=None
        Takes columns by name and returns whether each configuration exists.
    affordable : callable or None, default=None
        The same for configurations inside the domain only: what is too long to be measured, or
        does not fit into memory. Extrapolation leaves these bounds.
    """

    name: str
    about: str
    axes: Mapping[str, Axis]
    law: Callable[..., Floats]
    noise: float
    stalls: float = 0.0
    legal: Callable[..., Bools] | None = None
    affordable: Callable[..., Bools] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in the order of columns."""
        return tuple(self.axes)

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of the categories of each categorical parameter."""
        return {name: axis.categories for name, axis in self.axes.items() if axis.categories}

    @property
    def categorical(self) -> tuple[str, ...]:
        """The names of the categorical parameters."""
        return tuple(self.categories)

    @property
    def positive(self) -> tuple[str, ...]:
        """The names of the parameters that have logarithms: categories and zeros have none."""
        return tuple(
            name for name, axis in self.axes.items() if axis.low > 0 and not axis.categories
        )

    @property
    def extrapolable(self) -> tuple[str, ...]:
        """The names of the parameters that can be extrapolated."""
        return tuple(name for name, axis in self.axes.items() if axis.open)

    @property
    def extrapolations(self) -> tuple[str | None, ...]:
        """The parameters that :meth:`below` takes; the last is None, all at once."""
        return (*self.extrapolable, None)

    def seconds(self, parameters: Floats) -> Floats:
        """Return the true duration of each row of *parameters*."""
        return self.law(**self._columns(parameters))

    def samples(self, count: int, seed: int = 0) -> Samples:
        """Return *count* samples; those of a smaller count are the first of those of a larger."""
        return self._measured(self._drawn({}, count, "samples", seed, inside=True), seed)

    def test(
        self, seed: int = 0, count: int = TEST_CONFIGURATIONS, *, noisy: bool = False
    ) -> tuple[Floats, Floats]:
        """Return other configurations of the domain and their durations: true or as measured."""
        return self._judged(self._drawn({}, count, "test", seed, inside=True), seed, noisy=noisy)

    def below(self, count: int, parameter: str | None, seed: int = 0) -> Samples:
        """Return samples with values of *parameter* up to an eighth; of all of them, if None."""
        ranges = {
            name: (self.axes[name].low, self.axes[name].top_below) for name in self._open(parameter)
        }
        return self._measured(self._drawn(ranges, count, "below", seed, inside=True), seed)

    def thinned(self, count: int, seed: int = 0) -> Samples:
        """Return samples of which few are in the upper half of a parameter, a tenth of the others.

        It is the first that can be extrapolated; :meth:`upper` says which rows are in that half.
        """
        rows = self._drawn({}, THIN_FACTOR * count, "samples", seed, inside=True)
        kept = ~self.upper(rows)
        kept[::THIN_FACTOR] = True
        return self._measured(rows[kept][:count], seed)

    def upper(self, rows: Floats) -> Bools:
        """Return which *rows* are in the upper half, in logarithms, of the parameter thinned."""
        name = self.extrapolable[0]
        middle = (self.axes[name].low * self.axes[name].high) ** 0.5
        return rows[:, self.names.index(name)] >= middle

    def beyond(
        self,
        parameter: str | None,
        factor: float,
        seed: int = 0,
        count: int = TEST_CONFIGURATIONS,
        *,
        noisy: bool = False,
    ) -> tuple[Floats, Floats]:
        """Return configurations up to *factor* times above those of :meth:`below`, in one octave.

        Durations are true ones or, if *noisy*, as measured.
        """
        ranges = {}
        for name in self._open(parameter):
            top = factor * self.axes[name].top_below
            ranges[name] = (top / 2 + (1 if self.axes[name].whole else 0), top)
        rows = self._drawn(ranges, count, f"beyond {factor:g}", seed, inside=False)
        return self._judged(rows, seed, noisy=noisy)

    def _open(self, parameter: str | None) -> tuple[str, ...]:
        if parameter is None:
            return self.extrapolable
        if parameter not in self.extrapolable:
            raise unknown("extrapolable parameter", parameter, self.extrapolable, self.name)
        return (parameter,)

    def _columns(self, parameters: Floats) -> dict[str, Floats]:
        return dict(zip(self.names, np.asarray(parameters, dtype=np.float64).T, strict=True))

    def _rng(self, *what: object, seed: int) -> np.random.Generator:
        key = " ".join(map(str, (self.name, *what)))
        return np.random.default_rng([zlib.crc32(key.encode()), seed])

    def _drawn(
        self,
        ranges: Mapping[str, tuple[float, float]],
        count: int,
        purpose: str,
        seed: int,
        *,
        inside: bool,
    ) -> Floats:
        """Return *count* legal configurations; *ranges* replace those of the axes."""
        rng = self._rng(purpose, *sorted(ranges), seed=seed)
        found: list[Floats] = [np.empty((0, len(self.axes)))]
        have = 0
        for _ in range(MAX_CHUNKS):
            if have >= count:
                return np.concatenate(found)[:count]
            columns = {
                name: axis.draw(rng, CHUNK_ROWS, *ranges.get(name, (axis.low, axis.high)))
                for name, axis in self.axes.items()
            }
            kept = np.ones(CHUNK_ROWS, dtype=bool)
            for condition in (self.legal, self.affordable if inside else None):
                if condition is not None:
                    used = inspect.signature(condition).parameters
                    kept &= condition(**{name: columns[name] for name in used})
            found.append(np.column_stack(list(columns.values()))[kept])
            have += int(kept.sum())
        raise InputError(f"{self.name}: conditions hold for {have} of {count} configurations only")

    def _noisy(self, rows: Floats, what: str, seed: int) -> Floats:
        """Return durations of *rows* as measured."""
        rng = self._rng("noise", what, seed=seed)
        # A row of three numbers per sample: the first samples do not depend on how many follow.
        drawn = rng.random((len(rows), 3))
        angle, radius = 2 * np.pi * drawn[:, 0], np.sqrt(-2 * np.log1p(-drawn[:, 1]))
        noise = np.exp(self.noise * radius * np.cos(angle))
        if self.stalls:
            share = drawn[:, 2] / self.stalls
            longer = 1 - (STALL_FACTOR - 1) * np.log1p(-np.minimum(share, 0.999))
            noise = noise * np.where(share < 1, longer, 1.0)
        return self.seconds(rows) * noise

    def _measured(self, rows: Floats, seed: int) -> Samples:
        durations_s = self._noisy(rows, "samples", seed)
        return Samples(self.names, rows, durations_s, categories=self.categories)

    def _judged(self, rows: Floats, seed: int, *, noisy: bool) -> tuple[Floats, Floats]:
        return rows, self._noisy(rows, "test", seed) if noisy else self.seconds(rows)


def suites() -> dict[str, Suite]:
    """Return all suites by name."""
    return {suite.name: suite for suite in SUITES}


# --- what machines do -----------------------------------------------------------------------------

CACHES: Final = ((32e3, 4e-12), (1e6, 1e-11), (3.2e7, 3e-11), (np.inf, 9e-11))
"""Sizes of L1, L2, L3 and memory in bytes, with the seconds that a byte takes from each."""


def _per_byte(working_set: Floats) -> Floats:
    """Return seconds per byte; from one level to the next within an octave about its size."""
    found = np.full_like(working_set, CACHES[0][1])
    for (size, near), (_, far) in pairwise(CACHES):
        missed = np.clip(np.log2(np.maximum(working_set, 1.0) / size) + 0.5, 0.0, 1.0)
        found += missed * (far - near)
    return found


def _padded(size: Floats, block: Floats | float) -> Floats:
    """Return *size* rounded up to whole blocks."""
    return np.ceil(size / block) * block


def _of(table: Mapping[str, float], which: Floats) -> Floats:
    """Return the value of each category, whose numbers are *which*."""
    return np.array(list(table.values()))[which.astype(int)]


# --- the seven that resemble published data sets -------------------------------------------------


def _matmul(m: Floats, n: Floats, k: Floats) -> Floats:
    """Return seconds of a product by blocks of registers, with packing and edges."""
    depth = np.minimum(k, 256.0)
    panels = np.ceil(k / 256)
    flop = 2 * _padded(m, 6) * _padded(n, 16) * k
    rate = 55e9 * depth / (depth + 24) * m / (m + 14)
    packing = 8 * (m * k * np.ceil(n / 3072) + k * n) * _per_byte(8 * (m * k + k * n))
    updates = 16 * m * n * panels * _per_byte(8 * (m * depth + m * n))
    # Leading dimensions of whole pages make rows fall into the same sets of the cache.
    conflicts = np.where((n % 512 == 0) & (n > 0), 1.12, 1.0)
    return conflicts * flop / rate + packing + updates + 2e-6


def _qr(m: Floats, n: Floats) -> Floats:
    """Return seconds of a factorisation by panels of 32 columns."""
    width = np.minimum(n, 32.0)
    panels = np.ceil(n / 32)
    rows = m - n / 2
    panel = 2 * rows * width**2 * (1e-10 + 8 * _per_byte(8 * rows * width) / 4) + width * 1.2e-6
    left = np.maximum(n - 32, 0.0) / 2
    flop = 4 * rows * width * left
    update = flop / (30e9 * left / (left + 48) + 1e8) + 8 * rows * left * _per_byte(8 * rows * left)
    return panels * (panel + update) + 3e-6


def _broadcast(nodes: Floats, per_node: Floats, size: Floats) -> Floats:
    """Return seconds of a broadcast: trees for short messages, a scatter and a ring for long."""
    rounds = np.ceil(np.log2(nodes))
    eager = size <= 8192
    latency = np.where(eager, 1.6e-6, 4.5e-6)
    gap = 1 / 11e9
    tree = rounds * (latency + size * gap * np.where(eager, 1.5, 1.0))
    uneven = np.where(np.log2(nodes) % 1 == 0, 1.0, 1.25)
    scatter = rounds * latency + size * gap * (nodes - 1) / nodes
    ring = (nodes - 1) * (latency + size / nodes * gap)
    long = scatter + np.where(nodes < 8, tree - scatter, ring) * uneven
    between = np.where(nodes > 1, np.where(size < 524288, tree, np.maximum(long, tree / 4)), 0.0)
    local = np.ceil(np.log2(per_node)) * 3e-7
    # Ranks of a node read the same bytes, and share the bandwidth of its memory.
    copies = (per_node - 1) * size * _per_byte(size * per_node) / np.minimum(per_node, 6.0)
    return between + local + copies + 4e-7


def _fmm(
    particles: Floats, order: Floats, leaf: Floats, theta: Floats, ranks: Floats, threads: Floats
) -> Floats:
    """Return seconds of a fast multipole method on an octree, its depth by particles per leaf."""
    depth = np.maximum(np.ceil(np.log(particles / leaf) / np.log(8)), 1.0)
    cells = 8.0**depth
    inside = particles / cells
    near = 27 * (0.5 / theta) ** 1.5
    workers = ranks * threads
    pairs = particles * near * inside * 1.1e-9 / inside * _padded(inside, 8)
    far = cells * 8 / 7 * 189 * (0.5 / theta) ** 3 * (order**4 * 2.2e-10 + 4e-8)
    trees = particles * order**2 * 2.5e-9 + cells * order**3 * 3e-9
    imbalance = np.ceil(cells / workers) * workers / cells
    efficiency = 1 + 0.02 * (threads - 1) + 0.04 * np.log2(ranks)
    surface = (particles / ranks) ** (2 / 3) * 32 + (cells / ranks) ** (2 / 3) * order**2 * 8
    messages = np.where(ranks > 1, np.log2(ranks) * 2e-5 + 26 * 3e-6 + surface / 6e9, 0.0)
    serial = particles * 2e-9 * np.log2(particles) / ranks
    return (pairs + far + trees) / workers * imbalance * efficiency + messages + serial


COARSENING: Final = {
    "falgout": 1.0, "cljp": 1.25, "ruge": 1.1, "pmis": 0.72, "hmis": 0.66, "cgc": 0.95, "nod": 0.9,
}  # fmt: skip
RELAXATION: Final = {
    "jacobi": 0.3, "gauss": 0.62, "hybrid": 0.58, "symmetric": 0.75, "l1": 0.55, "chebyshev": 0.7,
    "polynomial": 0.66, "kaczmarz": 0.4,
}  # fmt: skip
SWEEP_COST: Final = {
    "jacobi": 1.0, "gauss": 1.3, "hybrid": 1.2, "symmetric": 2.3, "l1": 1.1, "chebyshev": 2.0,
    "polynomial": 1.7, "kaczmarz": 2.6,
}  # fmt: skip
INTERPOLATION: Final = {"classical": 1.0, "direct": 0.8, "multipass": 0.7, "extended": 1.35}


def _multigrid(
    nx: Floats,
    ny: Floats,
    nz: Floats,
    coarsening: Floats,
    relaxation: Floats,
    interpolation: Floats,
    aggressive: Floats,
    sweeps: Floats,
) -> Floats:
    """Return seconds of setup and of as many cycles as the convergence needs, 100 at most."""
    points = nx * ny * nz
    density, reach = _of(COARSENING, coarsening), _of(INTERPOLATION, interpolation)
    levels = np.maximum(np.ceil(np.log(points / 9) / np.log(2 + 4 / density)), 1.0)
    complexity = 1 + 1.6 * density * reach * 0.75 ** np.minimum(aggressive, levels)
    longest, shortest = np.maximum(np.maximum(nx, ny), nz), np.minimum(np.minimum(nx, ny), nz)
    hard = 0.06 * np.log2(longest / shortest) + 0.09 * np.minimum(aggressive, levels) / reach
    smooth = _of(RELAXATION, relaxation)
    rate = 1 - (1 - np.clip(0.06 + hard + 0.1 * (density < 0.8), 0, 0.9)) * (
        1 - (1 - smooth) ** sweeps
    )
    cycles = np.minimum(np.ceil(np.log(1e-8) / np.log(np.clip(rate, 1e-3, 0.99))), 100.0)
    stored = points * complexity * 7 * 12
    sweep = stored * _per_byte(stored) * _of(SWEEP_COST, relaxation)
    cycle = (2 * sweeps * sweep + 3 * stored * _per_byte(stored)) + levels * 9e-6
    setup = points * complexity**2 * (9e-8 * density + 6e-8 * reach) + levels * 4e-5
    return setup + cycles * cycle


LAYOUTS: Final = ("DGZ", "DZG", "GDZ", "GZD", "ZDG", "ZGD")


def _transport(
    groups: Floats,
    quadrature: Floats,
    legendre: Floats,
    group_sets: Floats,
    direction_sets: Floats,
    layout: Floats,
    solver: Floats,
    ranks: Floats,
    threads: Floats,
) -> Floats:
    """Return seconds of an iteration of neutron transport: moments, scattering, sweep."""
    zones = np.ceil(65536 / ranks)
    moments = (legendre + 1) ** 2
    last = np.array([name[-1] for name in LAYOUTS])[layout.astype(int)]
    inner = np.where(
        last == "Z", zones, np.where(last == "G", groups / group_sets, quadrature / direction_sets)
    )
    lanes = _padded(np.maximum(np.floor(inner), 1.0), 8) / np.maximum(np.floor(inner), 1.0)
    first = np.array([name[0] for name in LAYOUTS])[layout.astype(int)]
    tasks = np.where(
        first == "D", direction_sets * 4, np.where(first == "G", group_sets * 4, zones / 16)
    )
    used = np.minimum(threads, 16.0)
    parallel = np.ceil(tasks / used) / np.maximum(tasks, 1.0) * (1 + 0.015 * threads)
    unknowns = zones * groups * quadrature
    values = 8 * unknowns
    scattering = zones * groups**2 * moments * 2.5e-10 * np.where(last == "G", 0.8, 1.15)
    discrete = 2 * unknowns * moments * 1.6e-10 * lanes
    streaming = 3 * values * _per_byte(values / (group_sets * direction_sets)) + unknowns * 8e-10
    stages = np.cbrt(ranks) * 3 - 2
    blocks = group_sets * direction_sets
    face = (zones ** (2 / 3)) * groups * quadrature * 8 / blocks
    message = np.where(ranks > 1, 3e-6 + face / 9e9, 0.0)
    sweep = streaming * lanes * (blocks + stages - 1) / blocks + (blocks + stages - 1) * message
    jacobi = (streaming * lanes + message * blocks) * (1.9 + 0.12 * np.log2(ranks))
    return parallel * (scattering + discrete) + np.where(solver == 0, sweep, jacobi * 0.8)


def _blocked(
    m: Floats, n: Floats, k: Floats,
    rows: Floats, columns: Floats, depth: Floats, unrolled: Floats, threads: Floats,
) -> Floats:  # fmt: skip
    """Return seconds of a product of three loops with blocks, unrolled, over threads."""
    tiles = np.ceil(m / rows) * np.ceil(n / columns)
    rounds = np.ceil(tiles / threads) / tiles * threads
    steps = np.ceil(k / depth)
    working_set = 8 * (rows * depth + depth * columns + rows * columns)
    # Beyond 4 accumulators registers are spilled; below, additions wait for each other.
    wait = _of({"1": 4.0, "2": 2.1, "4": 1.1, "8": 1.6}, np.log2(unrolled))
    flop = 2 * _padded(np.minimum(m, rows), unrolled) * np.minimum(n, columns) * k
    compute = flop * 1.4e-10 * wait * (1 + 6 / np.minimum(depth, k))
    moved = 8 * (rows * k + k * columns + 2 * rows * columns * steps)
    memory = moved * _per_byte(working_set) * 6 + moved / 8 * _per_byte(8 * (m * k + k * n))
    shared = 1 + 0.05 * (threads - 1) * (working_set > 1e6 / 2)
    each = np.maximum(compute, memory) + 0.2 * np.minimum(compute, memory)
    return tiles * rounds / threads * (each * shared + steps * 1.5e-7) + 2e-6 * threads


# --- nine others ---------------------------------------------------------------------------------


def _stencil(nx: Floats, ny: Floats, nz: Floats, radius: Floats, threads: Floats) -> Floats:
    """Return seconds of a sweep whose reuse ends where planes, and then rows, leave a cache."""
    points = nx * ny * nz
    planes = 8 * nx * ny * (2 * radius + 1)
    reloads = 2 + 2 * radius * (planes > 1e6) + 2 * radius * (8 * nx * (2 * radius + 1) > 32e3)
    memory = 8 * points * reloads * _per_byte(16 * points) / np.minimum(threads, 5.0)
    share = np.ceil(nz / threads) / nz
    compute = _padded(nx, 8) * ny * nz * (6 * radius + 1) * 1.2e-10 * share
    return np.maximum(compute, memory) + 1.5e-6 * np.log2(threads + 1) + 1e-6


def _spmv(rows: Floats, per_row: Floats, spread: Floats, layout: Floats, threads: Floats) -> Floats:
    """Return seconds of a sparse matrix times a vector, in one of three layouts."""
    entries = rows * per_row
    padding = np.where(layout == 1, 1 + 0.5 * np.sqrt(8 / per_row), 1.0)
    stored = entries * padding * np.where(layout == 2, 16.0, 12.0)
    gathered = 8 * entries * _per_byte(np.maximum(8 * rows * spread, 64.0)) * 1.8
    per_line = np.where(layout == 0, rows * 2.5e-9, rows * 4e-10)
    atomics = np.where((layout == 2) & (threads > 1), entries * 1.5e-9, 0.0)
    streamed = stored * _per_byte(stored) / np.minimum(threads, 5.0)
    return streamed + (gathered + per_line + atomics) / threads + 1.2e-6 * threads


def _sort(items: Floats, distinct: Floats) -> Floats:
    """Return seconds of a sort: by insertion, by comparison, or by counting few distinct keys."""
    keys = np.minimum(items, distinct)
    compared = items * np.log2(items + 1) * 2.2e-9 * (0.4 + 0.6 * np.log2(keys + 1) / 16)
    merged = 16 * items * np.maximum(np.log2(items / 32), 0.0) * _per_byte(16 * items) / 3
    counted = items * 1.8e-9 + keys * 3e-9 + 16 * items * _per_byte(8 * keys + 64) * 4
    inserted = items**2 * 6e-10 + items * 2e-9
    by_counting = (keys <= 256) & (items > 64)
    return np.where(items <= 32, inserted, np.where(by_counting, counted, compared + merged)) + 5e-8


SMOOTH_LENGTHS: Final = tuple(
    sorted(
        float(2**a * 3**b * 5**c)
        for a in range(4, 21)
        for b in range(4)
        for c in range(3)
        if 64 <= 2**a * 3**b * 5**c <= 2**20
    )
)
"""Lengths of transforms: products of 2, 3 and 5."""


def _fft(length: Floats, batch: Floats, real: Floats) -> Floats:
    """Return seconds of transforms, whose factors of 3 and 5 cost more than those of 2."""
    passes, left = np.zeros_like(length), length.copy()
    for factor, cost in ((5, 1.35), (3, 1.2)):
        for _ in range(4):
            divides = left % factor == 0
            passes += np.where(divides, cost * np.log2(factor), 0.0)
            left = np.where(divides, left / factor, left)
    passes += np.ceil(np.log2(left) / 3) * 3
    stored = 16 * length * np.where(real == 1, 0.5, 1.0)
    compute = 1.7e-10 * 5 * length * passes * np.where(real == 1, 0.58, 1.0)
    moved = stored * np.ceil(np.log2(stored / 1e6).clip(0) / 9 + 1) * 2
    apart = np.where(stored > 4e6, 1.3, 1.0)
    return batch * (compute + moved * _per_byte(stored * np.minimum(batch, 4.0))) * apart + 8e-7


def _allreduce(nodes: Floats, per_node: Floats, size: Floats, algorithm: Floats) -> Floats:
    """Return seconds of a reduction over all ranks by one of four algorithms."""
    rounds, halves = np.ceil(np.log2(nodes)), np.floor(np.log2(nodes))
    uneven = np.where(rounds == halves, 0.0, 2.0)
    latency = np.where(size <= 16384, 1.8e-6, 5e-6)
    gap, add = 1 / 10e9, 8e-11
    part = size * (nodes - 1) / nodes
    choices = [
        2 * (nodes - 1) * latency + part * (2 * gap + add),
        (halves + uneven) * (latency + size * (gap + add)),
        (2 * halves + uneven) * latency + part * (2 * gap + add) + uneven * size * gap,
        2 * rounds * (latency + size * gap) + rounds * size * add,
    ]
    between = np.choose(algorithm.astype(int), choices)
    congestion = 1 + 0.25 * np.clip(np.log2(nodes / 16), 0, None) * (size > 1e6)
    within = np.ceil(np.log2(per_node)) * 4e-7 + size * (per_node - 1) * _per_byte(size * per_node)
    return between * congestion + within + 1e-6


GPU_TILES: Final = {"64x64": (64, 64, 0.62), "128x64": (128, 64, 0.8), "128x128": (128, 128, 1.0)}
PRECISIONS: Final = {"half": (2, 8.0), "single": (4, 1.0), "double": (8, 0.5)}


def _gpu(m: Floats, n: Floats, k: Floats, batch: Floats, tile: Floats, precision: Floats) -> Floats:
    """Return seconds of batched products on a GPU: waves of tiles over its 108 processors."""
    height, width, share = np.array(list(GPU_TILES.values()))[tile.astype(int)].T
    size, speed = np.array(list(PRECISIONS.values()))[precision.astype(int)].T
    tiles = np.ceil(m / height) * np.ceil(n / width) * batch
    waves = np.ceil(tiles / (108 * np.where(share < 0.9, 2, 1)))
    flop = 2 * height * width * _padded(k, 32) * np.where(share < 0.9, 2, 1)
    compute = waves * (flop / (1.6e11 * speed * share) + 1.5e-6)
    moved = size * batch * (m * k * np.ceil(n / width / 16) + k * n + 2 * m * n)
    memory = moved / np.where(moved < 4e7, 4e12, 1.4e12)
    return np.maximum(compute, memory) + 5e-6


def _checkpoint(size: Floats, ranks: Floats, stripes: Floats, system: Floats) -> Floats:
    """Return seconds to write *size* bytes per rank: servers, a cache of writes, locks."""
    total = size * ranks
    servers = np.where(system == 0, np.minimum(stripes, 24.0), 8.0)
    per_node = np.ceil(ranks / 32)
    bandwidth = np.minimum(servers * 0.9e9, per_node * 2.2e9)
    cached = np.minimum(size * np.minimum(ranks, 32.0), 4e9)
    early = cached / 8e9
    late = np.maximum(total - cached * per_node, 0.0) / bandwidth
    locks = ranks * stripes * 2e-5 * (size < 1048576) * (system == 0)
    opened = np.where(system == 0, 4e-4 * stripes + 6e-5 * ranks, 2e-3 + 1.2e-4 * ranks)
    return early + late + locks + opened


PHYSICS: Final = {"simple": 0.6, "warm": 1.0, "ice": 1.9, "double": 3.1}
TURBULENCE: Final = {"diagnostic": 0.3, "prognostic": 0.55, "large-eddy": 1.0}


def _weather(
    nx: Floats, ny: Floats, levels: Floats, ranks_x: Floats, ranks_y: Floats, threads: Floats,
    physics: Floats, turbulence: Floats, radiation: Floats, order: Floats, tracers: Floats,
    writers: Floats,
) -> Floats:  # fmt: skip
    """Return seconds of a time step of a model of the atmosphere, cut in two directions."""
    width, height = np.ceil(nx / ranks_x), np.ceil(ny / ranks_y)
    local = width * height * levels
    rounds = np.ceil(height / threads) * threads / height / threads
    fields = 12 + tracers
    stored = 8 * local * fields
    advection = local * (8 + tracers) * order * 9e-10 * _padded(width, 8) / width
    column = _of(PHYSICS, physics) * 3.2e-7 + _of(TURBULENCE, turbulence) * 1.1e-7 * np.sqrt(levels)
    physical = local * column * (1 + 0.04 * np.log2(ranks_x * ranks_y))
    radiative = width * height * levels**1.5 * 6e-7 / radiation
    memory = stored * _per_byte(stored) * 2.5 / np.minimum(threads, 4.0)
    compute = (advection + physical + radiative) * rounds
    halo = np.ceil(order / 2)
    edges = 8 * levels * fields * halo * (width * (ranks_y > 1) + height * (ranks_x > 1))
    exchange = 4e-6 * fields * ((ranks_x > 1) * 1.0 + (ranks_y > 1)) + 2 * edges / 7e9
    pressure = 20 * np.log2(ranks_x * ranks_y) * 5e-6
    output = 8 * nx * ny * levels * 4 / 6e9 / np.minimum(writers, 12.0) / 50
    return np.maximum(compute, memory) + exchange + pressure + output + 2e-5


NEIGHBOURS: Final = ("half", "full", "cluster")


def _molecules(
    atoms: Floats, density: Floats, cutoff: Floats, skin: Floats, ranks: Floats, threads: Floats,
    lists: Floats,
) -> Floats:  # fmt: skip
    """Return seconds of a step of molecular dynamics with short-range forces."""
    local = atoms / ranks
    side = np.cbrt(local / density)
    ghosts = density * ((side + 2 * (cutoff + skin)) ** 3 - side**3) * (ranks > 1)
    within = density * 4.19 * cutoff**3
    listed = density * 4.19 * (cutoff + skin) ** 3
    twice = np.where(lists == 0, 0.5, 1.0)
    lanes = np.where(lists == 2, _padded(listed, 16) / listed * 0.45, 1.0)
    conflict = np.where(lists == 0, 1 + 0.12 * (threads - 1), 1.0)
    force = local * (within * 2.6e-9 + listed * 9e-10) * twice * lanes * conflict / threads
    touched = 24 * (local + ghosts) + 4 * local * listed * twice
    gathered = touched * _per_byte(touched) / np.minimum(threads, 5.0)
    every = np.maximum(np.round(skin * 20), 1.0)
    rebuild = (local + ghosts) * listed * 5e-9 / every / threads
    exchange = (ranks > 1) * (6 * 4e-6 + ghosts * 24 / 8e9)
    return force + gathered + rebuild + exchange + 2e-6 * np.log2(ranks * threads + 1) + 3e-6


SUITES: Final = (
    Suite(
        "matmul", "matrix product of m x n x k, one core",
        {"m": sizes(32, 4096), "n": sizes(32, 4096), "k": sizes(32, 4096)}, _matmul, 0.03,
    ),
    Suite(
        "qr", "QR factorisation of m x n, by panels",
        {"m": sizes(64, 32768), "n": sizes(32, 1200)}, _qr, 0.02,
        legal=lambda m, n: m >= n, affordable=lambda m, n: 2 * m * n + n**2 <= 2**23,
    ),
    Suite(
        "broadcast", "MPI broadcast over nodes and their ranks",
        {"nodes": sizes(1, 128), "per_node": counts(1, 64), "size": sizes(256, 2**26)},
        _broadcast, 0.1, stalls=0.01, legal=lambda nodes, per_node: nodes * per_node >= 2,
    ),
    Suite(
        "fmm", "fast multipole method on an octree",
        {
            "particles": sizes(4096, 2**21), "order": integers(3, 14), "leaf": counts(16, 512),
            "theta": reals(0.3, 0.8), "ranks": sizes(1, 64), "threads": integers(1, 16),
        },
        _fmm, 0.05,
    ),
    Suite(
        "multigrid", "algebraic multigrid solver, its algorithms by name",
        {
            "nx": sizes(4, 128), "ny": sizes(4, 128), "nz": sizes(4, 128),
            "coarsening": category(*COARSENING), "relaxation": category(*RELAXATION),
            "interpolation": category(*INTERPOLATION), "aggressive": integers(0, 5),
            "sweeps": integers(1, 4),
        },
        _multigrid, 0.05,
    ),
    Suite(
        "transport", "neutron transport, layout and solver by name",
        {
            "groups": sizes(4, 128), "quadrature": sizes(8, 128), "legendre": integers(0, 5),
            "group_sets": powers(1, 32), "direction_sets": powers(8, 64),
            "layout": category(*LAYOUTS), "solver": category("sweep", "jacobi"),
            "ranks": powers(1, 64), "threads": counts(1, 64),
        },
        _transport, 0.06,
        legal=lambda groups, quadrature, group_sets, direction_sets: (
            (group_sets <= groups) & (direction_sets <= quadrature)
        ),
    ),
    Suite(
        "blocked", "matrix product by blocks, with its tunables",
        {
            "m": sizes(64, 2048), "n": sizes(64, 2048), "k": sizes(64, 2048),
            "rows": powers(8, 512), "columns": powers(8, 512), "depth": powers(8, 512),
            "unrolled": powers(1, 8), "threads": integers(1, 8),
        },
        _blocked, 0.04,
        legal=lambda m, n, k, rows, columns, depth: (rows <= m) & (columns <= n) & (depth <= k),
    ),
    Suite(
        "stencil", "sweep of a stencil over a grid",
        {
            "nx": sizes(16, 512), "ny": sizes(16, 512), "nz": sizes(16, 512),
            "radius": integers(1, 4), "threads": integers(1, 16),
        },
        _stencil, 0.08,
    ),
    Suite(
        "spmv", "sparse matrix times a vector",
        {
            "rows": sizes(1000, 2**22), "per_row": sizes(1, 128),
            "spread": reals(1e-4, 1.0, even=False), "layout": category("csr", "ell", "coo"),
            "threads": integers(1, 16),
        },
        _spmv, 0.1,
    ),
    Suite(
        "sort", "sort of items with few or many distinct keys",
        {"items": sizes(8, 2**24), "distinct": counts(2, 65536)}, _sort, 0.06,
    ),
    Suite(
        "fft", "fast Fourier transforms of composite lengths",
        {
            "length": Axis(64, 2**20, values=SMOOTH_LENGTHS, open=True), "batch": sizes(1, 256),
            "real": category("complex", "real"),
        },
        _fft, 0.04,
    ),
    Suite(
        "allreduce", "MPI reduction to all ranks, by four algorithms",
        {
            "nodes": sizes(2, 256), "per_node": counts(1, 64), "size": sizes(8, 2**26),
            "algorithm": category("ring", "doubling", "halving", "tree"),
        },
        _allreduce, 0.15, stalls=0.02,
    ),
    Suite(
        "gpu", "batched matrix products on a GPU",
        {
            "m": sizes(32, 8192), "n": sizes(32, 8192), "k": sizes(32, 8192),
            "batch": counts(1, 64), "tile": category(*GPU_TILES),
            "precision": category(*PRECISIONS),
        },
        _gpu, 0.01,
    ),
    Suite(
        "checkpoint", "files that all ranks write, on two file systems",
        {
            "size": sizes(65536, 2**30), "ranks": sizes(1, 1024), "stripes": counts(1, 64),
            "system": category("striped", "appliance"),
        },
        _checkpoint, 0.3,
    ),
    Suite(
        "weather", "time step of a model of the atmosphere",
        {
            "nx": sizes(32, 1024), "ny": sizes(32, 1024), "levels": counts(20, 120),
            "ranks_x": counts(1, 32), "ranks_y": counts(1, 32), "threads": integers(1, 16),
            "physics": category(*PHYSICS), "turbulence": category(*TURBULENCE),
            "radiation": integers(1, 30), "order": integers(1, 6), "tracers": integers(0, 12),
            "writers": counts(1, 32),
        },
        _weather, 0.06,
    ),
    Suite(
        "molecules", "step of molecular dynamics with neighbour lists",
        {
            "atoms": sizes(1000, 2**21), "density": reals(0.3, 1.2), "cutoff": reals(2.0, 5.0),
            "skin": reals(0.1, 1.0), "ranks": counts(1, 64), "threads": integers(1, 16),
            "lists": category(*NEIGHBOURS),
        },
        _molecules, 0.03,
    ),
)  # fmt: skip


def _count(text: str) -> int:
    """Return a number of samples from the command line."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of samples, 1 or more")
    return int(text)


def main() -> None:
    """Print the suites, or samples of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", nargs="?", choices=suites(), help="print samples of this one")
    parser.add_argument(
        "count", nargs="?", type=_count, default=100, help="number of samples [100]"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples [0]")
    arguments = parser.parse_args()
    if arguments.suite is None:
        for suite in SUITES:
            rows = suite.samples(1000).durations_s
            print(
                f"{suite.name:11} {len(suite.names):2} parameters, {len(suite.categorical)} "
                f"categorical, {len(suite.extrapolable)} extrapolable; noise "
                f"{100 * suite.noise:2.0f} %; {rows.min():.1e} to {rows.max():.1e} s; {suite.about}"
            )
        return
    suite = suites()[arguments.suite]
    samples = suite.samples(arguments.count, arguments.seed)
    print(*samples.names, "duration_s", sep=",")
    for row, duration_s in zip(samples.parameters, samples.durations_s, strict=True):
        shown = [
            suite.axes[name].categories[int(value)] if name in suite.categories else f"{value:.15g}"
            for name, value in zip(samples.names, row, strict=True)
        ]
        sys.stdout.write(",".join([*shown, repr(float(duration_s))]) + "\n")


if __name__ == "__main__":
    main()
