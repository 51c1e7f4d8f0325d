"""Predictions for a machine with a GPU against what StarPU's runs took there.

    python benchmarks/starpu_gpu.py                                     # every case
    python benchmarks/starpu_gpu.py --set platform.arch.cpu.speed=1.18  # with faster cores

The machine is platforms/h100-15c.yaml, which `tasksim import starpu` made of StarPU's own files of
it; makespans measured there are in traces/h100-15c.csv. Nothing is fitted to them. Each case was
run three times in one process. The first run of a process loads cuBLAS's kernels and allocates the
GPU's memory, which takes .1 s and more; the error is that of the prediction against the mean of the
other two.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import tasksim
from tasksim.models.files.store import ModelLibrary

if TYPE_CHECKING:
    from collections.abc import Iterable

PROJECT_FOLDER = Path(__file__).parents[1]
MACHINE_NAME = "h100-15c"
STARPU_PROGRAMS = {
    "cholesky": ("float32", "chol_model_{kernel}"),
    "lu": ("float64", "starpu_dlu_lu_model_{kernel}_openblas"),
}
"""Generator of the graph -> element type, and names of StarPU's models of the kernels."""


class Case(NamedTuple):
    """A program on some of the machine's workers."""

    graph: str
    cores: int
    gpus: int
    scheduler: str
    tiles: int
    tile_size: int

    @property
    def workers(self) -> str:
        """The kinds of its workers, in words."""
        return " and ".join(["cores"] * (self.cores > 0) + ["GPU"] * (self.gpus > 0))


def measured() -> dict[Case, list[float]]:
    """Return the makespans of each case, in seconds, in the order of its runs."""
    runs = defaultdict(list)
    with (PROJECT_FOLDER / "traces" / f"{MACHINE_NAME}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            numbers = (int(row[name]) for name in ("tiles", "tile_size"))
            case = Case(
                row["graph"], int(row["cores"]), int(row["gpus"]), row["scheduler"], *numbers
            )
            runs[case].append(float(row["makespan_s"]))
    return dict(runs)


def predicted_s(case: Case, settings: Iterable[str] = ()) -> float:
    """Return the simulated makespan of a *case*, in seconds, on the machine with *settings*."""
    dtype, names = STARPU_PROGRAMS[case.graph]
    graph = tasksim.generate(case.graph, tiles=case.tiles, tile_size=case.tile_size, dtype=dtype)
    counts = {"cpu": case.cores, "cuda": case.gpus}
    workers = [f"platform.workers.{name}.count={count}" for name, count in counts.items()]
    platform = tasksim.load_platform(MACHINE_NAME, settings=[*workers, *settings])
    models = ModelLibrary(PROJECT_FOLDER / "models" / MACHINE_NAME)
    run = tasksim.simulate(graph, platform, models, case.scheduler, model_names=names)
    return run.makespan_s


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="of the platform")
    given = parser.parse_args()
    print("| graph | workers | scheduler | tiles | first run | others | spread | tasksim | error |")
    print("|---|---|---|---|---|---|---|---|---|")
    errors = defaultdict(list)
    for case, (first, *others) in measured().items():
        mean, predicted = statistics.fmean(others), predicted_s(case, given.set)
        spread = (max(others) - min(others)) / mean
        errors[case.workers].append(predicted / mean - 1)
        print(
            f"| {case.graph} | {case.workers} | {case.scheduler} | {case.tiles} of {case.tile_size}"
            f" | {1e3 * first:.0f} ms | {1e3 * mean:.1f} ms | {100 * spread:.0f} %"
            f" | {1e3 * predicted:.1f} ms | {100 * errors[case.workers][-1]:+.1f} % |"
        )
    print("\n| workers | cases | median error | worst | mean, with its sign |")
    print("|---|---|---|---|---|")
    for workers, values in {**errors, "all": list(chain(*errors.values()))}.items():
        sizes = [100 * abs(value) for value in values]
        print(
            f"| {workers} | {len(values)} | {statistics.median(sizes):.1f} % | {max(sizes):.1f} %"
            f" | {100 * statistics.fmean(values):+.1f} % |"
        )


if __name__ == "__main__":
    main()
