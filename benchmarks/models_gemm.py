"""How accurate are kernel models, from how many samples? On kernels measured on this machine.

    python benchmarks/models_gemm.py SAMPLES                  # GEMM, GEQRF and a copy: an hour
    python benchmarks/models_gemm.py SAMPLES --kernels gemm   # one of them
    python benchmarks/models_gemm.py SAMPLES --ours           # without the peers of scikit-learn

SAMPLES is a folder for what is measured; what is there already is not measured again. Each kernel
is measured at 5096 configurations of 32..2048, one BLAS thread, in several rounds in random order:
on a shared machine the same call takes half as long again in one minute as in the next. Measured
is the shortest of a configuration's durations, with which different rounds agree best (what they
differ by is printed). 1000 configurations are for testing; of the other 4096 subsamples are drawn,
5 of 64 and of 256, 3 of 1024, and all. What is given is the median over the subsamples. The peers
need the extra `bench` (scikit-learn); learners.py says how they are tuned.

- MLogQ: the mean of abs(ln(predicted / measured)) over the test configurations;
- bytes: of the model as compact JSON, without report and intervals; of a peer pickled;
- fit: seconds, with the search for terms, ranks and grids; of a peer without its tuning;
- us: to predict one configuration, of 1000 at once.

A history predicts nothing that was not measured, so it has no error here, only a size. Intervals
are also tested on all durations, by models of all durations.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy loads it

import numpy as np

from tasksim.base.errors import OutOfDomainError
from tasksim.calibration.domain import parse_domain
from tasksim.calibration.domain_campaign import MeasureOptions, measure
from tasksim.formats.samples import read_samples
from tasksim.models.candidate import size_bytes
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples
from tasksim.models.selection import select
from tasksim.models.tensor.hybrid import HybridModel
from tasksim.models.tensor.model import TensorModel
from tasksim.models.validation.metrics import mlogq

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel

    Table = NDArray[np.float64]

KERNELS = {"gemm": ("m", "n", "k"), "geqrf": ("m", "n"), "lacpy": ("m", "n")}
ROUNDS_OF_KERNEL = {"gemm": 7, "geqrf": 5, "lacpy": 9}
REPETITIONS = 2
SIZE_RANGE = "32..2048:log"
TEST, TRAIN = 1000, 4096
SUBSAMPLES = {64: 5, 256: 5, 1024: 3, 4096: 1}
SEED = 1
EXTRAPOLATION_FACTOR = 4
"""Extrapolation: from configurations with m up to 2048 / 4 to those beyond."""
TASKSIM_MODELS: dict[str, Callable[[], KernelModel]] = {
    "history": HistoryModel,
    "MLR, terms found": partial(LinearModel, "auto"),
    "CP": TensorModel,
    "hybrid": HybridModel,
}
JUDGED_MODELS = ("MLR, terms found", "hybrid")
LEVEL, COVERS = 0.9, (0.85, 0.95)
TIMING_TURNS = 3


@dataclass(frozen=True)
class Measured:
    """Samples split into those to learn from and those to test with, by configuration."""

    samples: Samples
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    rows: Table
    group: NDArray[np.intp]
    shortest_s: Table

    @classmethod
    def read(cls, path: Path) -> Measured:
        """Return the samples in *path*, split at random."""
        samples = read_samples(path)
        rows, group = samples.configurations()
        order = np.random.default_rng(SEED).permutation(len(rows))
        shortest_s = shortest(samples.durations_s, group)
        return cls(samples, order[TEST : TEST + TRAIN], order[:TEST], rows, group, shortest_s)

    def of(self, configurations: NDArray[np.intp]) -> Samples:
        """Return the shortest durations of these configurations."""
        return Samples(
            self.samples.names, self.rows[configurations], self.shortest_s[configurations]
        )

    def all_of(self, configurations: NDArray[np.intp]) -> Samples:
        """Return all durations of these configurations."""
        return self.samples.select(np.isin(self.group, configurations))


def shortest(durations_s: Table, group: NDArray[np.intp]) -> Table:
    """Return the shortest duration of each group."""
    result = np.full(group.max() + 1, np.inf)
    np.minimum.at(result, group, durations_s)
    return result


@dataclass(frozen=True)
class Result:
    """Result of one model with one subsample."""

    mlogq: float
    size_bytes: int
    fit_s: float
    predict_us: float


def main() -> None:
    """Measure what is missing, then compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", type=Path, help="a folder for the measured samples")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="gemm,geqrf,lacpy")
    parser.add_argument("--ours", action="store_true", help="without scikit-learn's")
    parser.add_argument("--json", type=Path, help="write all figures there")
    arguments = parser.parse_args()
    results = {
        kernel: compared(kernel, arguments.samples, peers=not arguments.ours)
        for kernel in arguments.kernels.split(",")
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


def compared(kernel: str, folder: Path, *, peers: bool) -> dict[str, Any]:
    """Print and return all tables of one kernel."""
    data = Measured.read(samples_of(kernel, folder))
    spread = noise(data)
    print(f"\n{kernel}: {len(data.rows)} configurations, {len(data.samples)} samples")
    print(f"what is measured differs by {100 * spread:.2g} % between odd and even rounds")
    table = accuracy(data, peers=peers)
    print_table(table)
    far = extrapolation(data, peers=peers) if kernel == "gemm" else {}
    shares = coverage(data) if kernel == "gemm" else {}
    verdict(table, far, shares)
    plain = {name: {n: [vars(r) for r in rs] for n, rs in by.items()} for name, by in table.items()}
    return {"noise": spread, "accuracy": plain, "extrapolation": far, "coverage": shares}


def samples_of(kernel: str, folder: Path) -> Path:
    """Return the file of samples, measured if it is not there or not complete."""
    path = folder / f"{kernel}.csv"
    folder.mkdir(parents=True, exist_ok=True)
    domain = parse_domain(kernel, [f"{name}={SIZE_RANGE}" for name in KERNELS[kernel]])
    options = MeasureOptions(
        samples=TEST + TRAIN,
        design="random",
        seed=SEED,
        rounds=ROUNDS_OF_KERNEL[kernel],
        repetitions=REPETITIONS,
    )
    print(f"measuring {kernel}", file=sys.stderr)
    print(measure(domain, path, options, resume=True), file=sys.stderr)
    return path


def noise(data: Measured) -> float:
    """Return what the shortest durations of odd and even rounds differ by, mean abs(ln)."""
    even = data.samples.runs % 2 == 0
    halves = [shortest(data.samples.durations_s[part], data.group[part]) for part in (even, ~even)]
    return float(np.abs(np.log(halves[0] / halves[1])).mean())


def accuracy(data: Measured, *, peers: bool) -> dict[str, dict[int, list[Result]]]:
    """Return name -> number of samples -> results of the subsamples."""
    tested = partial(result, rows=data.rows[data.test], measured_s=data.shortest_s[data.test])
    table: dict[str, dict[int, list[Result]]] = {}
    others = learners(data.rows.shape[1]) if peers else []
    for count, repeats in SUBSAMPLES.items():
        for turn in range(repeats):
            chosen = data.train[turn * count : (turn + 1) * count]
            samples = data.of(chosen)
            for name, make in TASKSIM_MODELS.items():
                found = tested(*fitted(make, samples))
                table.setdefault(name, {}).setdefault(count, []).append(found)
            for other in others:
                made = other.fit(data.rows[chosen], data.shortest_s[chosen], SEED)
                found = tested(made.predict, made.size_bytes, made.seconds)
                table.setdefault(other.name, {}).setdefault(count, []).append(found)
        print(f"  {count} samples done", file=sys.stderr)
    return table


def learners(parameters: int) -> list[Any]:
    """Return scikit-learn's."""
    try:
        from learners import learners as peers
    except ModuleNotFoundError as error:
        sys.exit(f"{error}: pip install 'tasksim[bench]', or run with --ours")
    return peers(parameters)


def fitted(make: Callable[[], KernelModel], samples: Samples) -> tuple[Any, int, float]:
    """Return how a new model predicts, its bytes, and the seconds of its fit."""
    begun = time.perf_counter()
    model = make().fit(samples)
    return model.predict, size_bytes(model), time.perf_counter() - begun


def result(predict: Any, size: int, fit_s: float, *, rows: Table, measured_s: Table) -> Result:
    """Return how well it predicts the test configurations."""
    try:
        predict(rows[:1])
    except OutOfDomainError:
        return Result(float("nan"), size, fit_s, float("nan"))
    begun = time.perf_counter()
    predicted_s = predict(rows)
    return Result(
        mlogq(predicted_s, measured_s), size, fit_s, (time.perf_counter() - begun) / len(rows) * 1e6
    )


def extrapolation(data: Measured, *, peers: bool) -> dict[str, float]:
    """Print and return name -> MLogQ where m is up to four times what was measured."""
    most = data.rows[:, 0].max() / EXTRAPOLATION_FACTOR
    train = data.train[data.rows[data.train, 0] <= most]
    test = data.test[data.rows[data.test, 0] > most]
    rows, measured_s = data.rows[test], data.shortest_s[test]
    samples, errors = data.of(train), {}
    for name, make in {**TASKSIM_MODELS, "CP, positive": partial(TensorModel, "positive")}.items():
        errors[name] = result(*fitted(make, samples), rows=rows, measured_s=measured_s).mlogq
    for other in learners(data.rows.shape[1]) if peers else ():
        made = other.fit(data.rows[train], data.shortest_s[train], SEED)
        errors[other.name] = mlogq(made.predict(rows), measured_s)
    print(f"\nm from {most:.0f} to {4 * most:.0f} by models of m up to {most:.0f}", end="")
    print(f" ({len(train)} to learn from, {len(test)} to test): MLogQ")
    for name, error in errors.items():
        print(f"  {name:22} {error:7.3f}")
    return errors


def coverage(data: Measured) -> dict[str, dict[int, float]]:
    """Print and return what -> number of samples -> share of measurements in 90 % intervals.

    The mean over three subsamples at most.
    """
    print("\n90 % intervals hold, of what was measured for testing")
    shares: dict[str, dict[int, float]] = {}
    for kind, (what, chosen) in product(("mlr", "cp", "hybrid"), DURATION_CHOICES.items()):
        held = chosen(data, data.test)
        shares[f"{kind}, {what}"] = found = {}
        for count, repeats in SUBSAMPLES.items():
            turns = range(min(repeats, TIMING_TURNS))
            parts = [data.train[turn * count : (turn + 1) * count] for turn in turns]
            found[count] = statistics.fmean(covered(kind, chosen(data, p), held) for p in parts)
        print(f"  {kind}, {what:22}", *(f"{100 * share:6.1f} %" for share in found.values()))
    return shares


def covered(kind: str, samples: Samples, held: Samples) -> float:
    """Return the share of *held* in the intervals of a model of *samples*."""
    model = select(samples, (kind,), budget_s=20.0).model
    low, high = model.interval(held.parameters, LEVEL)
    return float(((low <= held.durations_s) & (held.durations_s <= high)).mean())


DURATION_CHOICES = {"the shortest": Measured.of, "all durations": Measured.all_of}


def print_table(table: dict[str, dict[int, list[Result]]]) -> None:
    """Print the medians over the subsamples; behind MLogQ the worst of them."""
    print(f"\n{'':22}" + "".join(f"{count:>36} samples" for count in SUBSAMPLES))
    head = f"{'MLogQ (worst)':>16}{'bytes':>10}{'fit s':>9}{'us':>9}"
    print(f"{'':22}" + head * len(SUBSAMPLES))
    for name, by_count in table.items():
        cells = []
        for results in by_count.values():
            error = f"{middle(results, 'mlogq'):.4f} ({max(r.mlogq for r in results):.3f})"
            if np.isnan(results[0].mlogq):
                error = "-"
            size, fit_s = middle(results, "size_bytes"), middle(results, "fit_s")
            speed = middle(results, "predict_us")
            cells.append(f"{error:>16}{size:>10.0f}{fit_s:>9.2f}{speed:>9.2f}")
        print(f"{name:22}" + "".join(cells))


def middle(results: list[Result], name: str) -> float:
    """Return the median of one figure."""
    return statistics.median(getattr(r, name) for r in results)


def verdict(
    table: dict[str, dict[int, list[Result]]],
    far: dict[str, float],
    coverages: dict[str, dict[int, float]],
) -> None:
    """Print what holds of what is asked for."""
    print()
    for count in SUBSAMPLES:
        errors = {name: middle(by[count], "mlogq") for name, by in table.items()}
        errors = {name: error for name, error in errors.items() if not np.isnan(error)}
        best = min(errors, key=lambda name: errors[name])
        own = min(JUDGED_MODELS, key=lambda name: errors[name])
        ratio = errors[own] / errors[best]
        line = f"{count} samples: the best is {best}, {errors[best]:.4f}; {own} {errors[own]:.4f}"
        if count < TRAIN:
            told(best in JUDGED_MODELS, line)
            continue
        sizes = {name: middle(by[count], "size_bytes") for name, by in table.items()}
        share = sizes[own] / sizes[best]
        good = best in TASKSIM_MODELS or (ratio <= 1.1 and share <= 0.1)
        told(good, f"{line}, with {share:.2g} of its bytes")
    if far:
        known = {name: error for name, error in far.items() if not np.isnan(error)}
        best = min(known, key=lambda name: known[name])
        ours = {name for name in known if name in TASKSIM_MODELS or name.startswith("CP")}
        own = min(ours, key=lambda name: known[name])
        line = f"extrapolating: the best is {best}, {known[best]:.3f}; {own} {known[own]:.3f}"
        told(best in ours and known[best] <= 0.12, line)
    if coverages:
        shares = [share for by_count in coverages.values() for share in by_count.values()]
        line = f"90 % intervals cover {100 * min(shares):.1f} to {100 * max(shares):.1f} %"
        told(COVERS[0] <= min(shares) and max(shares) <= COVERS[1], line)


def told(good: bool, line: str) -> None:
    """Print whether it holds."""
    print(f"{'holds ' if good else 'MISSED'}  {line}")


if __name__ == "__main__":
    main()
