"""Kernel times from counters, sizes left out: models of counters beside mlr, cp and hybrid.

python benchmarks/counters.py --folder counted --count    # counts: minutes, whatever else runs
python benchmarks/counters.py --folder counted            # times, judges: wants a machine at rest

The goal is a mean error of at most 15 %, that of N. Ding et al. Each kernel's error is that of
five-fold cross-validation over configurations (``left out``), and on the half of configurations
with most instructions, of models fitted to the other half (``beyond``). Counts are the same
whatever else runs. Times are taken anew, without Valgrind: each configuration in several runs at
different times; an error is that of the median, and is a factor (``exp(MLogQ) - 1``).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from math import expm1
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.calibration.application_campaign import parse_settings_domain
from tasksim.calibration.counters.campaign import CounterOptions, timed, timed_application
from tasksim.calibration.domain_campaign import MeasureOptions
from tasksim.formats.samples import read_samples
from tasksim.models.quantiles import group_means
from tasksim.models.samples import Samples
from tasksim.models.selection import select
from tasksim.models.validation.crossvalidation import predicted_where_possible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
DENSE_SIZES = {
    "gemm": "m=32..320:log",
    "syrk": "n=32..320:log",
    "trsm": "m=32..320:log",
    "potrf": "n=32..448:log",
    "lacpy": "m=64..1024:log",
}
SAMPLES = 32
APPLICATIONS = {
    "stencil": (str(ROOT / "examples/stencil.py"), ["n=128..1024:log", "steps=2", "language=c"]),
    "fmm": ("fmm", ["particles=500..2000:log", "height=4", "group_size=48..128:log"]),
}
APPLICATION_SIZES = {"stencil": 12, "fmm": 6}
"""Of applications. Groups of the FMM are few and large: Valgrind takes .2 s for each task."""
KERNELS = ("gemm", "syrk", "trsm", "potrf", "lacpy", "sweep", "P2P_in", "P2P_out", "M2L_in")
"""Kernels that are judged, if they were counted."""
KINDS = {
    "counters": ("counters", {}),
    "as the paper": ("counters", {"by": "r2", "costs": "two"}),
    "mlr": ("mlr", {}),
    "cp": ("cp", {}),
    "hybrid": ("hybrid", {}),
}
TIMES_PER_SIZE = 31
"""Number of times that each size is timed, at different moments."""
MAX_CONFIGURATIONS = 150
"""Configurations of a kernel that are judged: more take long to fit."""
BUDGET_S = 3.0
"""For each kind, kernel and table."""


def count(folder: Path) -> None:
    """Count and time what *folder* does not have."""
    for kernel, sizes in DENSE_SIZES.items():
        path = folder / f"{kernel}-counters.csv"
        if not path.exists():
            _called([kernel, sizes, "--samples", str(SAMPLES), "--runs", "1", "-o", str(path)])
    for name, (application, words) in APPLICATIONS.items():
        if not (folder / name).exists():
            size = ["--samples", str(APPLICATION_SIZES[name]), "--runs", "1"]
            _called([application, *words, *size, "-o", str(folder / name)])


def _called(words: list[str]) -> None:
    begun = time.monotonic()
    command = [sys.executable, "-m", "tasksim", "counters", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = "" if done.returncode == 0 else f": {done.stderr.strip().splitlines()[-1]}"
    if "what Python does" in done.stdout + done.stderr:
        said += " through Python: is the core of these sources? (tasksim doctor)"
    print(f"  counted {words[0]} in {time.monotonic() - begun:.0f} s{said}", flush=True)


def timed_anew(folder: Path) -> Iterator[tuple[str, Samples]]:
    """Yield each judged kernel with its counts and times of now."""
    for kernel in DENSE_SIZES:
        path = folder / f"{kernel}-counters.csv"
        if path.exists():
            yield kernel, _separable(_dense(kernel, read_samples(path)))
    for name in APPLICATIONS:
        times = _application_times(name) if (folder / name).exists() else {}
        for kernel in sorted(times):
            path = folder / name / f"{kernel}-counters.csv"
            if kernel.startswith(KERNELS) and path.exists():
                yield kernel, _fewer(_separable(_joined(read_samples(path), times[kernel])))


def left_out(samples: Samples, kind: str, options: dict[str, Any]) -> str:
    """Return the error of a *kind* on configurations left out."""
    row = select(samples, [kind], options={kind: options}, budget_s=BUDGET_S).table[0]
    return f"{100 * expm1(row.judged):.1f} %"


def beyond(samples: Samples, kind: str, options: dict[str, Any]) -> str:
    """Return the error of a *kind* on the half with most instructions, fitted to the other."""
    rows, group = samples.configurations()
    work = group_means((samples.counters or {})["instructions"], group)
    small = (work <= np.median(work))[group]
    row = select(samples.select(small), [kind], options={kind: options}, budget_s=BUDGET_S).table[0]
    if row.model is None:
        raise TasksimError(row.reason)
    large = rows[work > np.median(work)]
    measured = [np.median(samples.durations_s[group == i]) for i in np.unique(group[~small])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these are outside is what is asked
        predicted = predicted_where_possible(row.model, large)
    if np.isnan(predicted).any():
        return "refused"
    return f"{100 * expm1(np.abs(np.log(predicted / measured)).mean()):.1f} %"


def judged(samples: Samples, error: Callable[[Samples, str, dict[str, Any]], str]) -> list[str]:
    """Return the *error* of each kind, in words."""
    found = []
    for kind, options in KINDS.values():
        try:
            found.append(error(samples, kind, options))
        except TasksimError as refusal:
            found.append(str(refusal).splitlines()[0][:13])
    return found


def _dense(kernel: str, samples: Samples) -> Samples:
    """Return the counters of *samples* with times of now."""
    rows, group = samples.configurations()
    sizes = [dict(zip(samples.names, map(int, row), strict=True)) for row in rows.tolist()]
    options = CounterOptions(runs=TIMES_PER_SIZE)
    seconds = np.array(timed(kernel, sizes, options)).ravel()
    first = np.repeat(np.unique(group, return_index=True)[1], TIMES_PER_SIZE)
    counters = {name: column[first] for name, column in (samples.counters or {}).items()}
    runs = np.tile(np.arange(TIMES_PER_SIZE), len(rows))
    return Samples(samples.names, samples.parameters[first], seconds, runs, counters)


Times = dict[tuple[float, ...], list[tuple[int, float]]]
"""Parameters -> runs, and the median duration of all executions in that run."""


def _application_times(name: str) -> dict[str, Times]:
    """Return the times of all kernels of an application, by configuration."""
    application, words = APPLICATIONS[name]
    measured = MeasureOptions(APPLICATION_SIZES[name])
    settings = parse_settings_domain(application, words).settings(measured)
    options = CounterOptions(samples=APPLICATION_SIZES[name], runs=TIMES_PER_SIZE)
    found: dict[str, dict[tuple[float, ...], dict[int, list[float]]]] = {}
    for visit in timed_application(application, settings, options):
        graph = visit.graph
        for task, seconds in enumerate(visit.durations_s.tolist()):
            times = found.setdefault(graph.model_names[graph.kernel[task]], {})
            at = times.setdefault(tuple(graph.parameters_of(task).values()), {})
            at.setdefault(visit.run, []).append(seconds)
    return {
        kernel: {
            row: [(run, float(np.median(seconds))) for run, seconds in runs.items()]
            for row, runs in times.items()
        }
        for kernel, times in found.items()
    }


def _joined(samples: Samples, times: Times) -> Samples:
    """Return the counts of *samples*, means of each configuration, with *times* of it."""
    rows, group = samples.configurations()
    counters = {name: group_means(c, group) for name, c in (samples.counters or {}).items()}
    missing = [row for row in map(tuple, rows.tolist()) if row not in times]
    if missing:
        raise SystemExit(f"{len(missing)} configurations were counted with other settings")
    chosen = [(index, *time) for index, row in enumerate(rows) for time in times[tuple(row)]]
    index, runs, seconds = (np.array(column) for column in zip(*chosen, strict=True))
    found = {name: column[index] for name, column in counters.items()}
    return Samples(samples.names, rows[index], seconds, runs, found)


def _separable(samples: Samples) -> Samples:
    """Return the samples without parameters that never change or follow from others."""
    kept: list[int] = []
    for index in range(len(samples.names)):
        columns = np.column_stack([samples.parameters[:, [*kept, index]], np.ones(len(samples))])
        if np.linalg.matrix_rank(columns / columns.max(axis=0).clip(1e-9)) == len(kept) + 2:
            kept.append(index)
    names = tuple(samples.names[index] for index in kept)
    table = samples.parameters[:, kept]
    return Samples(names, table, samples.durations_s, samples.runs, samples.counters)


def _fewer(samples: Samples) -> Samples:
    """Return the samples of at most so many configurations, drawn with equal chance each."""
    rows, group = samples.configurations()
    drawn = np.random.default_rng(0).permutation(len(rows))[:MAX_CONFIGURATIONS]
    return samples.select(np.isin(group, drawn))


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
        print(f"load {os.getloadavg()[0]:.1f}")
        print(f"{'kernel':11}{'sizes':>6}  {'':9}" + "".join(f"{name:>14}" for name in KINDS))
        for kernel, samples in timed_anew(place):
            sizes = len(samples.configurations()[0])
            for name, error in (("left out", left_out), ("beyond", beyond)):
                found = "".join(f"{text:>14}" for text in judged(samples, error))
                print(f"{kernel:11}{sizes:6}  {name:9}{found}", flush=True)


if __name__ == "__main__":
    main()
