"""Tuning questions for this machine, with their choices, graphs and calibrations.

Kernels are calibrated on other graphs than those of the questions, with tasks of the same size:
smaller factorisations, an FMM with fewer particles, loops with a quarter of the passes. The
duration of a chunk is not linear in its size: chunks that workers take from each other lie in
another core's cache, and take two to five times as long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.calibration.fit_kernels import KNOWN_TERMS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CHUNK_BLOCKS",
    "LoopSize",
    "TuningQuestion",
    "graph_questions",
    "loop_questions",
    "teaching_questions",
]

CHUNK_BLOCKS: Final = (1, 2, 4, 8, 16, 32)
"""Blocks per chunk: from as many tasks as blocks to a task per worker."""
RUN_S: Final = 4e-3
"""Duration of a run of a loop, in seconds, reached by its number of passes: a hundred times the
time to wake threads."""
TEACHING_S: Final = 1e-3
"""Duration of a run of a training loop, in seconds: its noise averages out over the loops."""
MAX_PASSES: Final = 500
"""Maximum number of passes of small loops: some ten thousand tasks."""
CALIBRATED_SHARE: Final = 0.25
"""Share of the requested passes that a calibration runs."""
FLOP_RATES: Final = {
    "vector-add": 4e9, "daxpy": 8e9, "matrix-add": 3e9, "matrix-vector": 8e9,
    "matrix-multiply": 5e10,
}  # fmt: skip
"""Rates in flop/s, to an order of magnitude: they determine only the number of passes of a run."""
VECTOR_SIZES: Final = (12_000, 1_900_000)
MATRIX_SIZES: Final = (72, 860)
"""Smallest and largest size of loops, from one that fits in the nearest cache to one that fits in
none."""


@dataclass(frozen=True)
class LoopSize:
    """Features of a loop in its performance table."""

    operation: str
    threads: int
    n: int
    flop: float
    blocks: int


@dataclass(frozen=True)
class TuningQuestion:
    """Question about the best choice for a graph, with the calibration before it.

    Attributes
    ----------
    what : str
        The chosen quantity: ``tile size``.
    label : str
        The graph without the chosen value.
    choices : mapping of str to mapping
        Choice -> its ``settings`` and ``scheduler`` of a scenario.
    graph : str
        The generator.
    workers : int
    calibrated : sequence of str
        Graphs in which kernels are measured.
    schedulers : tuple of str
        Schedulers of these runs.
    terms : mapping
        Kernel -> terms of its linear model.
    loop : LoopSize or None
        Features of a loop.
    """

    what: str
    label: str
    choices: Mapping[str, Mapping[str, Any]]
    graph: str
    workers: int
    calibrated: Sequence[str]
    schedulers: tuple[str, ...] = ("lws",)
    terms: Mapping[str, str] = field(default_factory=dict)
    loop: LoopSize | None = None


def graph_questions(workers: int, *, quick: bool = False) -> list[TuningQuestion]:
    """Return questions about tile sizes, schedulers, and group sizes of the FMM."""
    sizes = (512,) if quick else (768, 1152, 1536)
    tiles = (64, 128, 256) if quick else (64, 96, 128, 192, 256, 384)
    names = ("cholesky",) if quick else ("cholesky", "lu", "qr")
    particles = (5_000,) if quick else (10_000, 20_000, 40_000)
    found = [_tile_size(name, n, tiles, workers) for name in names for n in sizes]
    found += [_scheduler(name, n, workers) for name in names for n in sizes[:2]]
    found += [_group_size(count, workers, quick=quick) for count in particles]
    return found


def _fewer(tiles: int) -> int:
    """Return a smaller number of tiles for a calibration, at least three for all kernels."""
    fewer = max(3, tiles // 2)
    return fewer if fewer != tiles else tiles + 1


def _tile_size(name: str, n: int, tiles: Sequence[int], workers: int) -> TuningQuestion:
    legal = [tile for tile in tiles if n % tile == 0]
    return TuningQuestion(
        "tile size",
        f"{name} n={n}",
        {str(tile): {"settings": {"tiles": n // tile, "tile_size": tile}} for tile in legal},
        name,
        workers,
        [f"{name} tiles={_fewer(n // tile)} tile_size={tile}" for tile in legal],
    )


def _scheduler(name: str, n: int, workers: int) -> TuningQuestion:
    tile, schedulers = 128, ("eager", "lws", "prio", "ws", "dmdas")
    settings = {"tiles": n // tile, "tile_size": tile}
    return TuningQuestion(
        "scheduler",
        f"{name} n={n} tile_size={tile}",
        {scheduler: {"settings": settings, "scheduler": scheduler} for scheduler in schedulers},
        name,
        workers,
        [f"{name} tiles={_fewer(n // tile)} tile_size={tile}"],
        ("lws", "eager", "prio"),
    )


def _group_size(particles: int, workers: int, *, quick: bool) -> TuningQuestion:
    height = 4  # 512 leaves with dozens of particles each
    sizes = (8, 64, 512) if quick else (8, 16, 32, 64, 128, 256, 512)
    settings = {"particles": particles, "height": height}
    fewer = f"fmm particles={particles // 2} height={height}"
    return TuningQuestion(
        "FMM group size",
        f"fmm particles={particles} height={height}",
        {str(size): {"settings": {**settings, "group_size": size}} for size in sizes},
        "fmm",
        workers,
        [f"{fewer} group_size={size}" for size in sizes],
        terms=KNOWN_TERMS,
    )


def loop_questions(
    workers: int, *, quick: bool = False, seed: int | None = None
) -> list[TuningQuestion]:
    """Return questions about chunk sizes of loops, on one worker up to *workers*.

    Parameters
    ----------
    workers : int
        Largest number of workers.
    quick : bool, default False
        Fewer and smaller loops.
    seed : int, optional
        Seed of other sizes than the usual ones, within the same limits.
    """
    if workers < 1:
        raise InputError(f"workers: got {workers}; legal: a number from 1")
    vectors = (20_000, 200_000) if quick else (15_000, 60_000, 150_000, 500_000, 1_500_000)
    matrices = (96, 256) if quick else (88, 160, 256, 448, 704)
    threads = [workers] if quick else list(range(1, workers + 1))
    rng = np.random.default_rng(seed)
    found = []
    for operation in FLOP_RATES:
        sizes: Sequence[int] = matrices if operation.startswith("matrix") else vectors
        if seed is not None:
            sizes = _drawn(operation, len(sizes), rng)
        found += [_chunk_size(operation, n, count) for n in sizes for count in threads]
    return found


def teaching_questions(
    workers: int, each: int, asked: Sequence[TuningQuestion]
) -> list[TuningQuestion]:
    """Return training loops, with *each* sizes per operation and number of workers.

    Parameters
    ----------
    workers : int
        Largest number of workers.
    each : int
        Number of sizes, whose logarithms are drawn uniformly.
    asked : sequence of TuningQuestion
        Questions whose sizes are left out of the training.
    """
    sizes = {(loop.operation, loop.n) for question in asked if (loop := question.loop) is not None}
    rng = np.random.default_rng(0)
    found = []
    for operation in FLOP_RATES:
        for count in range(1, workers + 1):
            found += [
                _chunk_size(operation, n, count, TEACHING_S)
                for n in _drawn(operation, each, rng)
                if (operation, n) not in sizes
            ]
    return found


def _drawn(operation: str, count: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Return sizes in ascending order, one from each of *count* equal parts of the logarithms."""
    low, high = MATRIX_SIZES if operation.startswith("matrix") else VECTOR_SIZES
    shares = (np.arange(count) + rng.random(count)) / count
    return tuple(round(low * math.exp(share * math.log(high / low))) for share in shares)


def _chunk_size(operation: str, n: int, threads: int, run_s: float = RUN_S) -> TuningQuestion:
    from tasksim.applications.loop import OPERATIONS

    block = 8 if operation.startswith("matrix") else 4096 if n > 100_000 else 1024
    blocks = -(-n // block)
    flop = OPERATIONS[operation].flop(n)
    passes = min(MAX_PASSES, max(1, round(run_s * FLOP_RATES[operation] / flop)))
    settings = {"operation": operation, "n": n, "block": block, "iterations": passes}
    chunks = [chunk for chunk in CHUNK_BLOCKS if chunk <= blocks]
    fewer = max(1, round(CALIBRATED_SHARE * passes))
    calibrated = {**settings, "iterations": fewer if fewer != passes else passes + 1}
    return TuningQuestion(
        "chunk size",
        f"loop {_words(settings)}",
        {str(chunk): {"settings": {**settings, "chunk_size": chunk}} for chunk in chunks},
        "loop",
        threads,
        [f"loop {_words({**calibrated, 'chunk_size': chunk})}" for chunk in chunks],
        loop=LoopSize(operation, threads, n, flop, blocks),
    )


def _words(settings: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in settings.items())
