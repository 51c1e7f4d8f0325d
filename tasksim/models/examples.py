"""Generated samples of a matrix product, to which conformance tests fit models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.models.samples import Samples

if TYPE_CHECKING:
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["example_samples", "example_sizes", "examples_for"]

BLOCK_SIZES = (64.0, 96.0, 128.0, 192.0)
"""Block sizes typical of applications, not all of them powers of 2."""


def example_samples(repetitions: int = 12, seed: int = 0) -> Samples:
    """Return durations of a matrix product with 5 % of noise, measured at 64 sizes."""
    rng = np.random.default_rng(seed)
    grid = np.array([(m, n, k) for m in BLOCK_SIZES for n in BLOCK_SIZES for k in BLOCK_SIZES])
    table = np.repeat(grid, repetitions, axis=0)
    durations_s = (2e-6 + 6e-11 * table.prod(axis=1)) * rng.lognormal(0.0, 0.05, len(table))
    return Samples(("m", "n", "k"), table, durations_s, np.arange(len(table)) % repetitions)


def example_sizes(repetitions: int = 12, seed: int = 0) -> Samples:
    """Return durations of products of square matrices of 64 sizes, by their bytes."""
    rng = np.random.default_rng(seed)
    orders = np.repeat(np.arange(64.0, 128.0), repetitions)
    durations_s = (2e-6 + 6e-11 * orders**3) * rng.lognormal(0.0, 0.05, len(orders))
    sizes = 3 * 8 * orders[:, None] ** 2
    return Samples(("size_bytes",), sizes, durations_s, np.arange(len(orders)) % repetitions)


def examples_for(model: KernelModel, repetitions: int = 12, seed: int = 0) -> Samples:
    """Return samples that *model* can be fitted to, with the parameters and counters it needs."""
    make = example_sizes if model.parameter_count == 1 else example_samples
    samples = make(repetitions, seed)
    return _counted(samples) if model.needs_counters else samples


def _counted(samples: Samples) -> Samples:
    """Return *samples* of a product with plausible counters."""
    table = samples.parameters
    product, sides = table.prod(axis=1), table.sum(axis=1)
    counters = {
        "instructions": 1000 + 0.5 * product,
        "l1_hits": 0.15 * product + 10 * sides,
        "l2_hits": 0.01 * product,
        "memory_accesses": sides,
        "frequency_hz": np.full(len(samples), 3e9),
    }
    return Samples(samples.names, table, samples.durations_s, samples.runs, counters)
