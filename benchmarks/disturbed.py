"""Do other programs on the machine spoil models, predictions and intervals?

    python benchmarks/disturbed.py models        # models fitted beside loads, and in calm
    python benchmarks/disturbed.py predictions   # calibrated in calm or beside a load, and judged
    python benchmarks/disturbed.py coverage      # runs inside their intervals, in four regimes
    python benchmarks/disturbed.py commands      # as a user: calibrate, simulate, run, in rounds
    python benchmarks/disturbed.py cost          # what the processor time of tasks costs

Loads are processes that compute without end, one or two per core; or that compute and rest in turn,
for one to four seconds each. They are loops that use no caches, or with ``--others programs`` in
turn such a loop, products of matrices and sums over 48 MB. *models* calibrates in rounds, in which
no load, one and two processes per core take turns. *predictions* takes 12 cases, four applications
under three schedulers, of sizes between a smaller and a larger one that were calibrated: calibrated
and judged in calm, calibrated beside a load and judged in calm, and the reverse. Predictions are
compared with the makespans that runs would have had alone; the wall times of the same runs stand
beside them. *coverage* predicts each run just before it, as ``tasksim simulate --uncertainty both``
does, and counts the runs inside: calm; beside a steady load; beside others that come and go; and
beside a load that began after a calm calibration. Runs share the errors of their calibration, so
each regime has three, in turn with the others. Widths are beside the spread of the runs of one
case.
*commands* starts no load: in each round it calls ``tasksim calibrate`` for one of the four
applications, and for sizes drawn anew, under each scheduler, ``tasksim simulate --uncertainty
both`` and ``tasksim run``, each a process of its own. It prints errors against the makespan alone,
and the runs inside their intervals.
*cost* runs empty tasks with and without processor times, in turn, and short runs of the four
applications likewise, whose makespans should not differ. It compares the means of the faster half:
in the slower half, others decide.

Nothing else should compute meanwhile, except with *commands*: what this starts is the load.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tasksim
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.graph.apps.registry import generate
from tasksim.kernels.program import bind
from tasksim.models.files.store import read_samples
from tasksim.native.cache_state import cache_state
from tasksim.native.detour import detour_s
from tasksim.native.execute import execute
from tasksim.native.slowdown_probe import SlowdownProbe
from tasksim.native.this_machine import usable_cores
from tasksim.platform.description import Platform
from tasksim.scenario.alone import alone_makespan_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.kernels.program import Program
    from tasksim.run.record import Run

ENDS_WITH_PARENT = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
"""
"""Start of a load: its input ends with whoever started it, also if that is killed."""
ENDLESS_LOOP = "while True: pass"
MATRIX_PRODUCTS = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
matrix = np.random.default_rng(0).random((700, 700))
while True: matrix @ matrix
"""
LARGE_SUMS = """
import numpy as np
numbers = np.zeros(6_000_000)
while True: numbers += 1
"""
RESTLESS = """
import random, time
rng = random.Random(SEED)
while True:
    until = time.monotonic() + rng.uniform(1, 4)
    while time.monotonic() < until: pass
    time.sleep(rng.uniform(1, 4))
"""
CALIBRATED = (
    "cholesky tiles=6 tile_size=192",
    "cholesky tiles=14 tile_size=192",
    "lu tiles=6 tile_size=192",
    "lu tiles=9 tile_size=192",
    "qr tiles=5 tile_size=192",
    "qr tiles=8 tile_size=192",
    "fmm particles=15000 height=4 group_size=40",
    "fmm particles=30000 height=4 group_size=60",
)
PREDICTED = (
    "cholesky tiles=12 tile_size=192",
    "lu tiles=8 tile_size=192",
    "qr tiles=7 tile_size=192",
    "fmm particles=22000 height=4 group_size=50",
)
SHORT_CASES = (
    "cholesky tiles=6 tile_size=192",
    "lu tiles=5 tile_size=192",
    "qr tiles=4 tile_size=192",
    "fmm particles=6000 height=4 group_size=50",
)
"""Runs of 5 to 15 ms: both of a pair are of the same moment of the machine."""
SCHEDULERS = ("eager", "lws", "prio")
KERNELS = ("gemm", "trsm", "potrf", "geqrt", "P2P_in", "M2L_in")
CORES = len(usable_cores())
MACHINE = "here"
STEADY_LOADS = {"loops": (ENDLESS_LOOP,), "programs": (ENDLESS_LOOP, MATRIX_PRODUCTS, LARGE_SUMS)}
"""Choice of ``--others`` -> programs that the processes of a steady load run in turn."""


@contextmanager
def load(per_core: int, programs: Sequence[str] = (ENDLESS_LOOP,)) -> Iterator[None]:
    """Let so many processes per core compute, each of *programs* in turn."""
    with ExitStack() as stack:
        for number in range(per_core * CORES):
            code = programs[number % len(programs)].replace("SEED", str(number))
            command = [sys.executable, "-c", ENDS_WITH_PARENT + code]
            child = subprocess.Popen(command, stdin=subprocess.PIPE)
            stack.callback(child.wait)
            stack.callback(child.kill)
        time.sleep(0.5 if per_core else 0.0)  # until they all compute
        yield


def graph_of(text: str) -> tasksim.TaskGraph:
    """Return the graph that a line of :data:`CALIBRATED` or :data:`PREDICTED` names."""
    name, *settings = text.split()
    pairs = (setting.split("=") for setting in settings)
    return generate(name, **{key: int(value) for key, value in pairs})


def calibrated(folder: Path, seconds: float, graphs: Sequence[str] = CALIBRATED) -> Path:
    """Calibrate this machine; return the library."""
    options = CalibrationOptions(max_seconds=seconds, schedulers=SCHEDULERS, tolerance=1e-4)
    calibrate([graph_of(text) for text in graphs], folder, machine=MACHINE, options=options)
    return folder


def scenario(folder: Path, text: str, scheduler: str) -> tasksim.Scenario:
    """Return the question for a case, of the models in *folder*."""
    platform = folder / "platforms" / f"{MACHINE}.yaml"
    return tasksim.Scenario(text, platform=str(platform), scheduler=scheduler)


class Cases:
    """The cases, bound to their data once."""

    def __init__(self, texts: Sequence[str] = PREDICTED) -> None:
        self._graphs = {text: graph_of(text) for text in texts}
        self._programs: dict[str, Program] = {
            text: bind(graph, CORES, 0) for text, graph in self._graphs.items()
        }
        for text in texts:
            self.run(text, "lws")  # touches the memory

    def run(self, text: str, scheduler: str, processor_time: bool = True) -> Run:
        """Return a native run of a case."""
        return execute(
            self._graphs[text],
            Platform.identical(CORES),
            scheduler,
            program=self._programs[text],
            processor_time=processor_time,
        )

    def alone_s(self, run: Run, text: str) -> float:
        """Return what a run would have taken alone."""
        found = alone_makespan_s(run, self._graphs[text])
        assert found is not None, "this system does not tell the processor time of threads"
        return found


def percent(values: Sequence[float]) -> str:
    """Return median and largest size of errors."""
    sizes = [abs(value) for value in values]
    return f"{100 * statistics.median(sizes):.1f} % median, {100 * max(sizes):.1f} % worst"


def models(folder: Path, asked: argparse.Namespace) -> None:
    """Compare models that were calibrated beside loads with those of the same round in calm."""
    means: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for number in range(asked.rounds):
        for per_core in (0, 1, 2):
            with load(per_core, STEADY_LOADS[asked.others]):
                library = calibrated(folder / f"{number}-{per_core}", asked.seconds)
            found = tasksim.ModelLibrary(library / "models" / MACHINE)
            for kernel in KERNELS:
                path = library / "models" / MACHINE / f"{kernel}.samples.csv"
                samples = read_samples(path)["cpu"]
                wall = samples.wall_s
                assert wall is not None, "this system does not tell the processor time of threads"
                rows, group = samples.configurations()
                own = float(found.model(kernel, "cpu").predict(rows).mean())
                by_wall = np.bincount(group, wall) / np.bincount(group)
                means.setdefault((per_core, kernel), []).append((own, float(by_wall.mean())))
        print(f"round {number + 1} of {asked.rounds}", file=sys.stderr, flush=True)
    print(f"{'kernel':8} {'load':>4} {'model / calm':>24} {'by the wall / calm':>24}")
    off: dict[int, list[float]] = {1: [], 2: []}
    for kernel in KERNELS:
        calm = means[0, kernel]
        for per_core in (1, 2):
            pairs = zip(means[per_core, kernel], calm, strict=True)
            ratios = [(own / own0, wall / wall0) for (own, wall), (own0, wall0) in pairs]
            own, wall = (sorted(column) for column in zip(*ratios, strict=True))
            off[per_core].append(statistics.median(own) - 1)
            print(
                f"{kernel:8} {per_core:>4}"
                + "".join(
                    f" {statistics.median(each):8.3f} ({each[0]:.3f} to {each[-1]:.3f})"
                    for each in (own, wall)
                )
            )
    for per_core, errors in off.items():
        print(f"{per_core} per core: medians of the kernels are off by {percent(errors)}")


def predictions(folder: Path, asked: argparse.Namespace) -> None:
    """Calibrate in calm and judge there, beside a load and judge in calm; and the reverse."""
    cases = Cases()
    for number, (there, here) in enumerate(((0, 0), (asked.per_core, 0), (0, asked.per_core))):
        with load(there, STEADY_LOADS[asked.others]):
            states = [_state()]
            library = calibrated(folder / f"predictions-{number}", asked.seconds)
            states.append(_state())
        asked_cases = [(text, scheduler) for text in PREDICTED for scheduler in SCHEDULERS]
        # In turn: runs of a case in one moment of the machine would be alike.
        with load(here, STEADY_LOADS[asked.others]):
            rounds = [[cases.run(*case) for case in asked_cases] for _ in range(asked.repetitions)]
            states.append(_state())
        alone: list[float] = []
        by_wall: list[float] = []
        for (text, scheduler), runs in zip(asked_cases, zip(*rounds, strict=True), strict=True):
            expected = scenario(library, text, scheduler).solve().makespan_s
            own = statistics.median(cases.alone_s(run, text) for run in runs)
            wall = statistics.median(run.makespan_s for run in runs)
            alone.append(expected / own - 1)
            by_wall.append(expected / wall - 1)
            print(
                f"{text}, {scheduler}: predicted {1e3 * expected:.1f} ms, alone "
                f"{1e3 * own:.1f} ms ({100 * alone[-1]:+.1f} %), wall {1e3 * wall:.1f} ms"
            )
        print(
            f"calibrated beside {there} per core, judged beside {here}: {percent(alone)}; "
            f"against wall times {percent(by_wall)}"
        )
        print(f"before and after the calibration, and after the runs: {'; '.join(states)}")


def _state() -> str:
    """Describe what the host and its guests do to caches and memory at this moment."""
    caches, detour = cache_state(), detour_s(CORES)
    ratio, share = caches.read_ratio or np.nan, caches.displaced_share or np.nan
    return (
        f"reads {ratio:.2f} times as long as the least, {100 * share:.0f} % displaced, "
        f"detour {1e9 * (np.nan if detour is None else detour):.0f} ns"
    )


class Judged(NamedTuple):
    """A run, and its place beside its interval."""

    text: str
    scheduler: str
    makespan_s: float
    place: int
    """0: below its interval, 1: inside, 2: above."""
    width: float
    """The interval's, relative to the run."""


def coverage(folder: Path, asked: argparse.Namespace) -> None:
    """Count the runs that are inside their intervals."""
    cases = Cases()
    steady, restless = STEADY_LOADS[asked.others], (RESTLESS,)
    regimes = {
        "calm": ((0, steady), (0, steady)),
        "steady load": ((1, steady), (1, steady)),
        "others come and go": ((1, restless), (1, restless)),
        "a load that began later": ((0, steady), (2, steady)),
    }
    judged: dict[str, list[list[Judged]]] = {name: [] for name in regimes}
    for number in range(asked.calibrations):
        for name, (before, after) in regimes.items():
            with load(*before):
                library = calibrated(folder / f"coverage-{name}-{number}", asked.seconds)
            with load(*after):
                found = _judged(cases, library, asked.runs // asked.calibrations)
            judged[name].append(found)
            print(f"{name}, {number + 1}: {_inside(found)}", file=sys.stderr, flush=True)
    for name, parts in judged.items():
        of_each = ", ".join(f"{100 * _share_inside(part):.0f} %" for part in parts)
        print(f"{name}: {_inside([run for part in parts for run in part])}; inside: {of_each}")


def _judged(cases: Cases, library: Path, count: int) -> list[Judged]:
    probe = SlowdownProbe(CORES)
    found = []
    for number in range(count):
        text = PREDICTED[number % len(PREDICTED)]
        scheduler = SCHEDULERS[number // len(PREDICTED) % len(SCHEDULERS)]
        sure = tasksim.how_sure(scenario(library, text, scheduler), probes=probe.recent())
        took_s = cases.run(text, scheduler).makespan_s
        place = (took_s >= sure.run_low_s) + (took_s > sure.run_high_s)
        width = (sure.run_high_s - sure.run_low_s) / took_s
        found.append(Judged(text, scheduler, took_s, place, width))
    return found


def _share_inside(runs: Sequence[Judged]) -> float:
    return sum(run.place == 1 for run in runs) / len(runs)


def _inside(runs: Sequence[Judged]) -> str:
    """Describe how many runs their intervals hold, and how wide these are."""
    makespans: dict[tuple[str, str], list[float]] = {}
    places: dict[str, list[int]] = {}  # of the runs of an application: below, inside, above
    for run in runs:
        places.setdefault(run.text.split()[0], [0, 0, 0])[run.place] += 1
        makespans.setdefault((run.text, run.scheduler), []).append(run.makespan_s)
    spreads = [(max(each) - min(each)) / statistics.median(each) for each in makespans.values()]
    by_application = ", ".join(f"{name} {'/'.join(map(str, n))}" for name, n in places.items())
    return (
        f"{100 * _share_inside(runs):.0f} % of {len(runs)} runs inside; width "
        f"{100 * statistics.median(run.width for run in runs):.0f} % (median), runs of one case "
        f"differ by {100 * statistics.median(spreads):.0f} %; below/inside/above: {by_application}"
    )


def commands(folder: Path, asked: argparse.Namespace) -> None:
    """Calibrate, simulate and run by the command line, with sizes drawn anew in each round."""
    rng = random.Random(asked.seed)
    errors: dict[str, list[float]] = {}
    widths: list[float] = []
    inside = [0, 0, 0]  # below, inside, above
    for number in range(asked.rounds):
        name = ("cholesky", "qr", "lu", "fmm")[number % 4]
        calibrated_sizes, size = _drawn_sizes(name, rng)
        library = folder / f"commands-{number}"
        here = ("--library", str(library))
        _tasksim("calibrate", *calibrated_sizes, *here, "--name", MACHINE)
        for scheduler in SCHEDULERS:
            case = (*size, "--scheduler", scheduler, "--json")
            sure = _tasksim(
                "simulate", *case, *here, "--platform", MACHINE, "--uncertainty", "both"
            )
            run = _tasksim("run", *case)
            errors.setdefault(name, []).append(
                sure["makespan_s"] / run["disturbance"]["alone_s"] - 1
            )
            low_s, high_s = (sure["uncertainty"][f"run_{end}_s"] for end in ("low", "high"))
            inside[(run["makespan_s"] >= low_s) + (run["makespan_s"] > high_s)] += 1
            widths.append((high_s - low_s) / run["makespan_s"])
        print(f"round {number + 1} of {asked.rounds}", file=sys.stderr, flush=True)
    errors["all"] = [error for found in errors.values() for error in found]
    for name, found in errors.items():
        print(f"{name}: {percent(found)}; with sign {100 * statistics.mean(found):+.1f} %")
    print(
        f"below, inside and above their intervals: {inside}; width "
        f"{100 * statistics.median(widths):.0f} % (median)"
    )


def _drawn_sizes(name: str, rng: random.Random) -> tuple[list[str], list[str]]:
    """Return a generator with the sizes to calibrate, and with one between them to predict."""
    if name == "fmm":
        fixed = ["height=4", "group_size=50"]
        particles = rng.randrange(18000, 27000, 1000)
        return (
            [name, "particles=15000,30000", *fixed], [name, f"particles={particles}", *fixed]
        )  # fmt: skip
    small, middle, large = {"cholesky": (6, 10, 14), "lu": (5, 7, 9), "qr": (4, 6, 8)}[name]
    fixed = [f"tile_size={rng.choice((128, 192, 256))}"]
    tiles = middle + rng.randrange(2)
    return [name, f"tiles={small},{large}", *fixed], [name, f"tiles={tiles}", *fixed]


def _tasksim(*arguments: str) -> dict[str, Any]:
    """Run a command; return its JSON, or an empty dictionary without ``--json``."""
    command = [sys.executable, "-m", "tasksim", *arguments]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(told) if "--json" in arguments else {}
    return found


def cost(_folder: Path, asked: argparse.Namespace) -> None:
    """Measure empty tasks with processor times and without, in turn."""
    graph = generate("random-layered", layers=50, width=100, duration=0.0)
    program = bind(graph, CORES, 0)
    for runtime in ("compiled", "python"):
        taken: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(asked.repetitions * 10):
            for kept in taken:
                run = execute(
                    graph, Platform.identical(CORES), "eager",
                    program=program, runtime=runtime, processor_time=kept,
                )  # fmt: skip
                taken[kept].append(run.makespan_s / len(graph))
        with_s, without_s = (statistics.median(taken[kept]) for kept in (True, False))
        best = [min(taken[kept]) for kept in (True, False)]
        print(
            f"{runtime}: {1e6 * with_s:.3f} us per empty task, without {1e6 * without_s:.3f} "
            f"(medians); {1e6 * best[0]:.3f} and {1e6 * best[1]:.3f} (best)"
        )
    cases, rng = Cases(SHORT_CASES), np.random.default_rng(0)
    for text in SHORT_CASES:
        pairs = np.empty((asked.repetitions * 50, 2))
        for number in range(len(pairs)):
            # The second of two runs finds warmer caches: they take turns.
            for kept in (True, False) if number % 2 else (False, True):
                pairs[number, int(kept)] = cases.run(text, "lws", kept).makespan_s
        drawn = rng.integers(len(pairs), size=(200, len(pairs)))
        error = np.std([_longer(pairs[some]) for some in drawn])
        print(
            f"{text}: {100 * _longer(pairs):+.2f} % with processor times (faster half of "
            f"{len(pairs)} pairs; standard error {100 * error:.2f} %)"
        )


def _longer(pairs: np.ndarray) -> float:
    """Return by how much runs with processor times are longer, in the means of the faster half."""
    without_s, with_s = np.sort(pairs, axis=0)[: len(pairs) // 2].mean(axis=0)
    return float(with_s / without_s - 1)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("models", "predictions", "coverage", "commands", "cost"))
    parser.add_argument("--rounds", type=int, default=5, help="of models and of commands")
    parser.add_argument("--seed", type=int, default=0, help="of the sizes of commands")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a calibration")
    parser.add_argument("--others", choices=STEADY_LOADS, default="loops", help="of a load")
    parser.add_argument("--per-core", type=int, default=2, help="processes of the load")
    parser.add_argument("--repetitions", type=int, default=5, help="of a native run")
    parser.add_argument("--runs", type=int, default=150, help="of a regime")
    parser.add_argument("--calibrations", type=int, default=3, help="of a regime")
    asked = parser.parse_args()
    what = {
        "models": models, "predictions": predictions, "coverage": coverage, "commands": commands,
        "cost": cost,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        what[asked.what](Path(folder), asked)


if __name__ == "__main__":
    main()
