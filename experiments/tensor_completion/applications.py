"""Applications whose durations are modelled: their parameters, and how configurations are drawn.

Matrix products and QR are measured here, a broadcast and an FMM are simulated. The paper's AMG and
KRIPKE cannot run here; functions with the same parameters stand in for them. They are made up: they
have what real durations have (caches, iterations that depend on a choice of solver, idle threads),
but no measurement is behind them.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = ["AMG", "KRIPKE", "Application", "Axis", "broadcast", "fmm", "kernel", "mpi"]

DRAWN_ROWS: Final = 4096
"""Number of configurations drawn at once, of which conditions leave some."""
STAND_IN_NOISE: Final = 0.05
"""Standard deviation of the logarithm of a made-up duration, as of one run of an application."""


@dataclass(frozen=True)
class Axis:
    """Values of one parameter.

    Attributes
    ----------
    low, high
        Both included.
    even
        Whether integers are spread evenly, as those of configurations; else their logarithms are.
    values
        The only legal ones, if there are few: numbers, or names of categories.
    role
        "input", "architecture" or "configuration".
    """

    low: float = 0.0
    high: float = 0.0
    even: bool = False
    values: tuple[float, ...] | tuple[str, ...] = ()
    role: str = "input"

    def draw(self, rng: np.random.Generator, count: int, low: float, high: float) -> NDArray:  # type: ignore[type-arg]
        """Return *count* values, those of numbers from *low* to *high*."""
        if self.values:
            legal = [v for v in self.values if isinstance(v, str) or low <= v <= high]
            return np.asarray(legal)[rng.integers(0, len(legal), count)]
        if self.even:
            return rng.integers(int(low), int(high) + 1, count).astype(np.float64)
        drawn = np.floor(np.exp(rng.uniform(np.log(low), np.log(high + 1), count)))
        return np.clip(drawn, low, high)

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest number; of categories none."""
        numbers = [v for v in self.values if not isinstance(v, str)]
        return (min(numbers), max(numbers)) if numbers else (self.low, self.high)

    def text(self) -> str:
        """Return the values as a text: ``32 to 1024``, ``{1, 2, 4}``."""
        if self.values:
            known = (v if isinstance(v, str) else f"{v:.10g}" for v in self.values)
            return f"{{{', '.join(known)}}}"
        return f"{self.low:.10g} to {self.high:.10g}"


@dataclass(frozen=True)
class Application:
    """An application: its parameters, and where its durations come from.

    Attributes
    ----------
    name
        Short: of its files, and of panels of figures.
    title
        What it is.
    source
        Where durations come from: "measured here", "simulated", "made up".
    axes
        Parameter -> its values.
    legal
        Takes columns by name, and returns which configurations exist.
    law
        Of a made-up one: takes columns by name, and returns seconds.
    """

    name: str
    title: str
    source: str
    axes: Mapping[str, Axis]
    legal: Callable[[pd.DataFrame], Any] | None = None
    law: Callable[[pd.DataFrame], Floats] | None = None

    def draw(
        self, count: int, seed: int, limits: Mapping[str, tuple[float, float]] | None = None
    ) -> pd.DataFrame:
        """Return *count* distinct configurations at most; *limits* narrow the range of some."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), seed])
        limits = limits or {}
        found = pd.DataFrame(columns=list(self.axes))
        # A domain of few values is exhausted after some rounds, with fewer configurations.
        for _ in range(20):
            drawn = pd.DataFrame(
                {
                    name: axis.draw(rng, DRAWN_ROWS, *limits.get(name, axis.ends))
                    for name, axis in self.axes.items()
                }
            )
            if self.legal is not None:
                drawn = drawn[np.asarray(self.legal(drawn))]
            found = drawn if found.empty else pd.concat([found, drawn])
            found = found.drop_duplicates(ignore_index=True)
            if len(found) >= count:
                break
        return found.head(count)

    def made_up(self, count: int, seed: int) -> pd.DataFrame:
        """Return configurations of a made-up application, with noisy durations."""
        assert self.law is not None
        drawn = self.draw(count, seed)
        rng = np.random.default_rng([1, seed])
        noise = np.exp(STAND_IN_NOISE * rng.standard_normal(len(drawn)))
        return drawn.assign(duration_s=self.law(drawn) * noise)


def kernel(name: str, parameters: tuple[str, ...], largest: int) -> Application:
    """Return a kernel that is measured here, with sizes up to *largest*; QR of tall matrices."""
    axes = {p: Axis(32, largest) for p in parameters}
    if "ib" in axes:
        axes["ib"] = Axis(8, 32, role="configuration")
    if parameters == ("m", "n") and name.startswith(("geqrf", "geqrt")):
        # Tall: eight times as many rows, as many elements as the largest square has.
        axes = {"m": Axis(32, 8 * largest), "n": Axis(32, largest)}
        return Application(
            name, "QR factorisation of m x n, one core", "measured here", axes,
            legal=lambda t: (t["m"] >= t["n"]) & (t["m"] * t["n"] <= largest**2),
        )  # fmt: skip
    title = "Matrix product, one core" if name.startswith("gemm") else f"Kernel {name}, one core"
    return Application(name, title, "measured here", axes)


def broadcast(most_ranks: int) -> Application:
    """Return a broadcast over nodes and their ranks, of at most *most_ranks* in all."""
    powers = tuple(float(2**i) for i in range(8))
    nodes = tuple(p for p in powers if p <= most_ranks)
    per_node = tuple(p for p in powers if p <= min(64, most_ranks))
    return Application(
        "broadcast", "MPI broadcast", "simulated",
        {
            "nodes": Axis(values=nodes, role="architecture"),
            "ppn": Axis(values=per_node, role="architecture"),
            "size_bytes": Axis(2**16, 2**26),
        },
        legal=lambda t: (t["nodes"] * t["ppn"] >= 2) & (t["nodes"] * t["ppn"] <= most_ranks),
    )  # fmt: skip


def mpi(most_bytes: float) -> Application:
    """Return the broadcast of the MPI library that is installed here, among 2 and 4 ranks."""
    return Application(
        "mpi", "MPI broadcast, ranks of this machine", "measured here",
        {
            "ranks": Axis(values=(2.0, 4.0), role="architecture"),
            "size_bytes": Axis(2**12, most_bytes),
        },
    )  # fmt: skip


def fmm(most_particles: int) -> Application:
    """Return a fast multipole method of up to *most_particles*, with six parameters."""
    return Application(
        "fmm", "Fast multipole method", "simulated with kernels measured here",
        {
            "particles": Axis(512, most_particles),
            "order": Axis(2, 8, even=True, role="configuration"),
            "group_size": Axis(16, 256, role="configuration"),
            "height": Axis(3, 5, values=(3.0, 4.0, 5.0), role="configuration"),
            "workers": Axis(1, 64, role="architecture"),
            "distribution": Axis(values=("cube", "ellipsoid")),
        },
    )  # fmt: skip


# --- stand-ins -----------------------------------------------------------------------------------

PROCESS_COUNTS: Final = tuple(float(2**i) for i in range(7))
"""Processes and threads of a node, 1 to 64."""


def _fits_node(table: pd.DataFrame) -> Bools:
    """Return where processes and threads fill the 64 to 128 hardware threads of a node."""
    threads = np.asarray(table["ppn"] * table["tpp"])
    return np.asarray((threads >= 64) & (threads <= 128))


def _factors(names: tuple[str, ...], low: float, high: float, seed: int) -> dict[str, float]:
    """Return a made-up factor for each name."""
    drawn = np.random.default_rng(seed).uniform(low, high, len(names))
    return dict(zip(names, drawn.tolist(), strict=True))


def _of(factors: Mapping[str, float], column: pd.Series) -> Floats:
    return np.asarray(column.map(factors), dtype=np.float64)


def _numbers(text: str) -> tuple[str, ...]:
    """Return the numbers of algorithms of the library, which are names: "a0", "a3"."""
    return tuple(f"a{number}" for number in text.split())


COARSENINGS: Final = _numbers("0 3 6 8 10 21 22")
RELAXATIONS: Final = _numbers("0 3 4 6 8 13 14 16 17 18")
INTERPOLATIONS: Final = _numbers("0 2 3 4 5 6 8 9 12 13 14 16 17 18")
COARSENING_DENSITY: Final = _factors(COARSENINGS, 0.2, 0.9, 1)
INTERPOLATION_REACH: Final = _factors(INTERPOLATIONS, 0.6, 1.5, 2)
RELAXATION_COST: Final = _factors(RELAXATIONS, 1.0, 2.6, 3)
RELAXATION_RATE: Final = _factors(RELAXATIONS, 0.15, 0.75, 4)


def _multigrid(t: pd.DataFrame) -> Floats:
    """Return seconds of setup and cycles of a multigrid solver; nx, ny, nz are per process."""
    local = (t["nx"] * t["ny"] * t["nz"]).to_numpy()
    points = local * t["ppn"].to_numpy()
    density, reach = _of(COARSENING_DENSITY, t["ct"]), _of(INTERPOLATION_REACH, t["it"])
    sides = t[["nx", "ny", "nz"]].to_numpy()
    aspect = np.log2(sides.max(axis=1) / sides.min(axis=1))
    complexity = 1 + density * reach
    rate = np.clip(_of(RELAXATION_RATE, t["rt"]) * (1 + 0.08 * aspect) / reach**0.5, 0.05, 0.93)
    cycles = np.ceil(np.log(1e-8) / np.log(rate))
    stored = 96 * points * complexity
    bandwidth = np.where(stored < 3e7, 2.5e11, 8e10)
    threads = 1 + 0.05 * np.log2(t["tpp"].to_numpy()) ** 2
    cycle = stored * _of(RELAXATION_COST, t["rt"]) / bandwidth * threads
    levels = np.maximum(np.log2(local) / 3, 1.0)
    messages = levels * (4e-6 * np.log2(2 * t["ppn"].to_numpy()) + 1e-6 * t["tpp"].to_numpy())
    setup = points * complexity**2 * 4e-9 * threads
    return np.asarray(setup + cycles * (cycle + messages))


LAYOUTS: Final = ("dgz", "dzg", "gdz", "gzd", "zdg", "zgd")
ZONE_COUNT: Final = 16384.0
"""Zones of the made-up transport problem, cut over processes."""


def _transport(t: pd.DataFrame) -> Floats:
    """Return seconds of an iteration of neutron transport: scattering, sweep, messages."""
    groups, quad = t["groups"].to_numpy(), t["quad"].to_numpy()
    gset, dset = t["gset"].to_numpy(), t["dset"].to_numpy()
    ppn, tpp = t["ppn"].to_numpy(), t["tpp"].to_numpy()
    moments = (t["legendre"].to_numpy() + 1) ** 2
    inner, outer = t["layout"].str[-1].to_numpy(), t["layout"].str[0].to_numpy()
    zones = ZONE_COUNT / ppn
    runs = np.where(inner == "z", zones, np.where(inner == "g", groups / gset, quad / dset))
    lanes = np.ceil(np.maximum(runs, 1) / 8) * 8 / np.maximum(runs, 1)
    tasks = np.where(outer == "d", 8 * dset, np.where(outer == "g", 8 * gset, zones / 8))
    parallel = np.ceil(tasks / tpp) / tasks * (1 + 0.01 * tpp)
    # What is in the middle sets the stride from one inner run to the next.
    stride = t["layout"].str[1].map({"d": 1.0, "g": 1.05, "z": 1.12}).to_numpy()
    unknowns = zones * groups * quad
    block = 8 * unknowns / (gset * dset)
    per_byte = np.where(block < 5e5, 2e-11, np.where(block < 3e7, 6e-11, 1.6e-10))
    scattering = zones * groups**2 * moments * 2e-10 * np.where(inner == "g", 0.8, 1.1)
    streaming = 24 * unknowns * per_byte * lanes * stride + unknowns * 6e-10
    blocks, stages = gset * dset, 3 * np.cbrt(ppn) - 2
    message = np.where(ppn > 1, 2e-6 + 8 * zones ** (2 / 3) * groups * quad / blocks / 2e10, 0.0)
    sweep = streaming * (blocks + stages - 1) / blocks + (blocks + stages - 1) * message
    jacobi = 0.8 * (streaming + blocks * message) * (1.9 + 0.12 * np.log2(ppn))
    solved = np.where(t["solver"] == "sweep", sweep, jacobi)
    return np.asarray(parallel * scattering + parallel * solved + 1e-5)


_NODE: Final = {
    "tpp": Axis(values=PROCESS_COUNTS, role="architecture"),
    "ppn": Axis(values=PROCESS_COUNTS, role="architecture"),
}

AMG: Final = Application(
    "amg", "Algebraic multigrid", "made up",
    {
        "nx": Axis(8, 128), "ny": Axis(8, 128), "nz": Axis(8, 128),
        "ct": Axis(values=COARSENINGS, role="configuration"),
        "rt": Axis(values=RELAXATIONS, role="configuration"),
        "it": Axis(values=INTERPOLATIONS, role="configuration"),
        **_NODE,
    },
    legal=_fits_node, law=_multigrid,
)  # fmt: skip
KRIPKE: Final = Application(
    "kripke", "Neutron transport", "made up",
    {
        "groups": Axis(8, 128), "legendre": Axis(0, 5, even=True), "quad": Axis(8, 128),
        "dset": Axis(values=(8.0, 16.0, 32.0, 64.0), role="configuration"),
        "gset": Axis(values=PROCESS_COUNTS[:6], role="configuration"),
        "layout": Axis(values=LAYOUTS, role="configuration"),
        "solver": Axis(values=("sweep", "bj"), role="configuration"),
        **_NODE,
    },
    legal=lambda t: (
        _fits_node(t) & np.asarray(t["gset"] <= t["groups"]) & np.asarray(t["dset"] <= t["quad"])
    ),
    law=_transport,
)  # fmt: skip
