"""Coverage: how often intervals of the makespan hold the truth, where the truth is known.

Tiled Cholesky of 10 x 10 tiles on 6 workers under prio; tasks take a kernel's mean times log-normal
noise. Each repetition measures every kernel n times, predicts the makespan from that, and asks
whether the interval of the mean holds the mean of many true runs, and how many true runs that of
one run holds. 95 % of each are asked for:

    python benchmarks/interval_coverage.py
    python benchmarks/interval_coverage.py --repetitions 1000 --json coverage.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tasksim
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

TRUE_MEANS_S = {"potrf": 1e-3, "trsm": 3e-3, "syrk": 3e-3, "gemm": 6e-3}
"""The true means: in proportion to the flop of tiles."""
WORKERS = 6


class Cell(NamedTuple):
    """One kind of truth and of calibration, and what came out."""

    noise: float
    samples: int
    mean_holds: float
    """Share of the intervals that contain the true mean."""
    run_holds: float
    """Share of the true runs inside the intervals of one run."""
    width: float
    """Of the interval of the mean, relative to the mean: the median."""
    bias: float
    """Excess of the mean of true runs over a run of true means."""


class Fitted:
    """Models of kernels that were measured n times each."""

    def __init__(self, samples: Mapping[str, Samples]) -> None:
        self._models = {name: HistoryModel().fit(of) for name, of in samples.items()}

    def model(self, kernel: str, architecture: str) -> HistoryModel:  # noqa: ARG002
        """Return the model of *kernel*."""
        return self._models[kernel]

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: far data cost nothing here."""


def coverage(
    noise: float,
    samples: int,
    *,
    tiles: int = 10,
    repetitions: int = 300,
    replications: int = 400,
    truths: int = 2000,
    seed: int = 0,
    scheduler: str = "prio",
) -> Cell:
    """Return how often intervals hold the truth, for noise of this coefficient of variation."""
    graph = tasksim.generate("cholesky", tiles=tiles)
    runs_s = _true_runs(graph, noise, truths, scheduler, seed)
    rng = np.random.default_rng([seed, samples, round(1e6 * noise)])
    mean_s, means_held, runs_held, widths = runs_s.mean(), 0, 0.0, []
    for repetition in range(repetitions):
        measured = {
            kernel: _measured(graph, kernel, noise, samples, rng) for kernel in TRUE_MEANS_S
        }
        scenario = tasksim.Scenario(
            graph,
            models=Fitted(measured),
            workers=WORKERS,
            scheduler=scheduler,
            seed=_luck(seed, repetition),
        )
        sure = tasksim.how_sure(scenario, replications=replications, threads=1)
        means_held += sure.mean_low_s <= mean_s <= sure.mean_high_s
        runs_held += float(((runs_s >= sure.run_low_s) & (runs_s <= sure.run_high_s)).mean())
        widths.append((sure.mean_high_s - sure.mean_low_s) / sure.mean_s)
    exact_s = tasksim.simulate(graph, models=TRUE_MEANS_S, workers=WORKERS, scheduler=scheduler)
    return Cell(
        noise,
        samples,
        means_held / repetitions,
        runs_held / repetitions,
        float(np.median(widths)),
        float(mean_s / exact_s.makespan_s - 1),
    )


def _luck(seed: int, repetition: int) -> int:
    """Return the seed of a repetition: of seed 0 its number, of others none that 0 has."""
    return seed * 1_000_000 + repetition


def _measured(
    graph: tasksim.TaskGraph, kernel: str, noise: float, count: int, rng: np.random.Generator
) -> Samples:
    """Return *count* samples of *kernel*, with the parameters that its tasks have."""
    index = graph.model_names.index(kernel)
    row = graph.parameters[index][:1]
    durations = TRUE_MEANS_S[kernel] * _factors(noise, count, rng)
    return Samples(graph.parameter_names[index], np.repeat(row, count, axis=0), durations)


def _factors(noise: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return log-normal factors of mean 1."""
    deviation = np.sqrt(np.log1p(noise**2))
    return np.asarray(np.exp(deviation * rng.standard_normal(count) - deviation**2 / 2))


def _true_runs(
    graph: tasksim.TaskGraph, noise: float, count: int, scheduler: str, seed: int
) -> NDArray[np.float64]:
    """Return the makespans of true runs; the scheduler believes the true means."""
    from tasksim.engine.batch import totals
    from tasksim.engine.simulation import Simulation
    from tasksim.models.kinds.given import ConstantLibrary
    from tasksim.platform.description import Platform

    platform, models = Platform.identical(WORKERS), ConstantLibrary(TRUE_MEANS_S)
    kernels = np.array([TRUE_MEANS_S[name] for name in graph.model_names])
    expected = kernels[graph.kernel]

    def drawn(run: int) -> Any:
        rng = np.random.default_rng([seed, 7, run])
        return lambda: (expected * _factors(noise, len(graph), rng))[None, :]

    items = [
        Simulation(graph, platform, models, scheduler, drawn=drawn(run)) for run in range(count)
    ]
    return np.array([found.makespan_s for found in totals(items)])


def main(given: Sequence[str] | None = None) -> None:
    """Print a row per noise and number of samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.02, 0.1, 0.3])
    parser.add_argument("--samples", type=int, nargs="+", default=[5, 20, 100])
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--replications", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0, help="of samples, predictions and truth")
    parser.add_argument("--json", dest="path")
    asked = parser.parse_args(given)
    print("noise  samples  mean held  runs held  width of the mean's  bias", flush=True)
    cells, begun = [], time.monotonic()
    for noise in asked.noise:
        for samples in asked.samples:
            cell = coverage(
                noise,
                samples,
                repetitions=asked.repetitions,
                replications=asked.replications,
                seed=asked.seed,
            )
            cells.append(cell._asdict())
            print(
                f"{100 * noise:3.0f} %  {samples:7d}  {cell.mean_holds:9.3f}  {cell.run_holds:9.3f}"
                f"  {100 * cell.width:17.2f} %  {100 * cell.bias:+.2f} %",
                flush=True,
            )
    print(f"{time.monotonic() - begun:.0f} s")
    if asked.path:
        found = {"repetitions": asked.repetitions, "seed": asked.seed, "cells": cells}
        Path(asked.path).write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
