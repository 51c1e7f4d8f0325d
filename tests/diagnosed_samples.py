"""Samples of known truth for the diagnosis of kernel models, and what it says of them."""

from __future__ import annotations

import numpy as np

from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples

SIZES = (64, 96, 128, 192, 256)


def gemm(seed, noise=None, repetitions=12, sizes=SIZES, factor=None, extra=0.0):
    """Durations 2 µs + 60 ps per m·n·k (and *extra* per m·n), times noise, times *factor*."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.01, 0.1) if noise is None else noise
    grid = np.array([(m, n, k) for m in sizes for n in sizes for k in sizes], float)
    table = np.repeat(grid, repetitions, axis=0)
    runs = np.arange(len(table)) % repetitions
    true = 2e-6 + 6e-11 * table.prod(axis=1) + extra * table[:, 0] * table[:, 1]
    if factor is not None:
        true = true * factor(table, runs, rng, noise)
    return Samples(("m", "n", "k"), table, true * rng.lognormal(0, noise, len(table)), runs)


def line(seed, x, duration, repetitions=10, noise=None):
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.01, 0.1) if noise is None else noise
    n = np.repeat(np.asarray(x, float), repetitions)
    return Samples(("n",), n[:, None], duration(n) * rng.lognormal(0, noise, len(n)))


def m2l(seed, noise=None, tasks=300):
    """Multipole-to-local interactions: few facts are free, how many there are decides."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.01, 0.1) if noise is None else noise
    level = rng.integers(5, 9, tasks).astype(float)
    cells = np.round(np.exp(rng.uniform(np.log(200), np.log(2000), tasks)))
    interval = np.round(cells * np.exp(rng.uniform(0, 2.5, tasks)))
    interactions = np.round(cells * rng.uniform(22, 38, tasks))
    true = (-4e3 + 910 * level + 5.34 * cells + 0.859 * interactions) * 1e-6
    table = np.tile(np.column_stack((level, cells, interval, interactions)), (4, 1))
    durations = np.tile(true, 4) * rng.lognormal(0, noise, len(table))
    names = ("level", "cells", "interval", "interactions")
    return Samples(names, table, durations, np.repeat(np.arange(4), tasks))


def without(samples, name):
    keep = [i for i, other in enumerate(samples.names) if other != name]
    names = tuple(samples.names[i] for i in keep)
    return Samples(names, samples.parameters[:, keep], samples.durations_s, samples.runs)


def linear(samples, terms="m*n*k", **options):
    return LinearModel(terms, **options).fit(samples)


DIRECT = (
    "level + cells + interval + level^2 + cells^2 + interval^2 + level*cells + level*interval"
    " + cells*interval + level*cells*interval"
)


def codes(diagnosis):
    return {finding.code for finding in diagnosis.warnings}
