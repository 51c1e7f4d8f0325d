"""Kernel times from counters, sizes left out: models of counters beside mlr, cp and hybrid.

python benchmarks/counters.py --folder counted --count    # counts: minutes, whatever else runs
python benchmarks/counters.py --folder counted            # times, judges: wants a machine at rest

The goal is a mean error of at most 15 %, that of N. Ding et al. Each kernel's error is that of
five-fold cross-validation over configurations. Counts are the same whatever else runs; kernels of
applications were timed when they were counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from math import expm1
from pathlib import Path

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.calibration.counters.campaign import CounterOptions, timed
from tasksim.formats.samples import read_samples
from tasksim.models.samples import Samples
from tasksim.models.selection import select

ROOT = Path(__file__).resolve().parents[1]
DENSE = {
    "gemm": "m=32..320:log",
    "syrk": "n=32..320:log",
    "trsm": "m=32..320:log",
    "potrf": "n=32..448:log",
    "lacpy": "m=64..1024:log",
}
SAMPLES = 16
APPLICATIONS = {
    "stencil": [str(ROOT / "examples/stencil.py"), "n=128..1024:log", "steps=2", "language=c"],
    "fmm": ["fmm", "particles=500..2000:log", "height=4", "group_size=8..32:log"],
}
SIZES = {"stencil": "12", "fmm": "4"}
"""Of applications: a size of the FMM takes Valgrind a minute or two."""
KERNELS = ("gemm", "syrk", "trsm", "potrf", "lacpy", "sweep", "P2P_in", "P2P_out", "M2L_in")
"""Those that are judged, as far as they were counted."""
KINDS = {
    "counters": ("counters", {}),
    "as the paper": ("counters", {"by": "r2", "costs": "two"}),
    "mlr": ("mlr", {}),
    "cp": ("cp", {}),
    "hybrid": ("hybrid", {}),
}
RUNS = 5
"""How often each size is timed, at different times."""
FEW = 400
"""Samples of a kernel of an application that are judged: more are alike."""


def count(folder: Path) -> None:
    """Count and time what *folder* does not have."""
    for kernel, sizes in DENSE.items():
        path = folder / f"{kernel}-counters.csv"
        if not path.exists():
            _called([kernel, sizes, "--samples", str(SAMPLES), "--runs", "1", "-o", str(path)])
    for name, words in APPLICATIONS.items():
        if not (folder / name).exists():
            _called([*words, "--samples", SIZES[name], "-o", str(folder / name)])


def _called(words: list[str]) -> None:
    begun = time.monotonic()
    command = [sys.executable, "-m", "tasksim", "counters", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = "" if done.returncode == 0 else f": {done.stderr.strip().splitlines()[-1]}"
    print(f"  counted {words[0]} in {time.monotonic() - begun:.0f} s{said}", flush=True)


def judged(path: Path) -> dict[str, str]:
    """Return the error of each kind on configurations left out, in words."""
    kernel = path.name.removesuffix("-counters.csv")
    samples = read_samples(path)
    samples = _separable(_timed_anew(kernel, samples) if kernel in DENSE else samples)
    found = {}
    for name, (kind, options) in KINDS.items():
        try:
            row = select(samples, [kind], options={kind: options}, budget_s=3.0).table[0]
            found[name] = f"{expm1(row.judged):.1%}"
        except TasksimError as error:
            found[name] = str(error).splitlines()[0][:40]
    return found


def _timed_anew(kernel: str, samples: Samples) -> Samples:
    """Return the counters of *samples* with times of now."""
    rows, group = samples.configurations()
    sizes = [dict(zip(samples.names, map(int, row), strict=True)) for row in rows.tolist()]
    options = CounterOptions(runs=RUNS)
    seconds = np.array(timed(kernel, sizes, options)).ravel()
    first = np.repeat(np.unique(group, return_index=True)[1], RUNS)
    counters = {name: column[first] for name, column in (samples.counters or {}).items()}
    runs = np.tile(np.arange(RUNS), len(rows))
    return Samples(samples.names, samples.parameters[first], seconds, runs, counters)


def _separable(samples: Samples) -> Samples:
    """Return the samples without parameters that never change or follow from others."""
    kept: list[int] = []
    for index in range(len(samples.names)):
        columns = np.column_stack([samples.parameters[:, [*kept, index]], np.ones(len(samples))])
        if np.linalg.matrix_rank(columns / columns.max(axis=0).clip(1e-9)) == len(kept) + 2:
            kept.append(index)
    chosen = np.arange(len(samples))
    if len(chosen) > FEW:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, FEW, replace=False))
    counters = {name: column[chosen] for name, column in (samples.counters or {}).items()}
    names = tuple(samples.names[index] for index in kept)
    table, seconds = samples.parameters[chosen][:, kept], samples.durations_s[chosen]
    runs = None if samples.runs is None else samples.runs[chosen]
    return Samples(names, table, seconds, runs, counters)


def main() -> None:
    """Print a row per kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where counters are kept")
    parser.add_argument("--count", action="store_true", help="count, and do not judge")
    asked = parser.parse_args()
    folder = asked.folder
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        count(place)
        if asked.count:
            return
        print(f"{'kernel':10}" + "".join(f"{name:>15}" for name in KINDS))
        for path in sorted(place.rglob("*-counters.csv")):
            kernel = path.name.removesuffix("-counters.csv")
            if kernel.startswith(KERNELS):
                print(f"{kernel:10}" + "".join(f"{text:>15}" for text in judged(path).values()))


if __name__ == "__main__":
    main()
