"""Autotuning: what selective execution saves, and what it costs in errors and in the choice.

Tiled Cholesky (tile size, scheduler) and QR (tile size, inner block, scheduler) are tuned by full
runs, by selective ones under every policy and tolerance, and by simulation alone. Full and
selective runs of a configuration are interleaved; times and predictions are medians over rounds.
What is compared with are full runs in calm moments: a worker that another process keeps waiting
delays a whole full run, but hardly one that skips. Selective runs wait for no calm moments, and
leave out what others took of what they execute. The column *beside* has errors against full runs of
all moments:

    python benchmarks/autotuning.py
    python benchmarks/autotuning.py --rounds 5 --figure autotuning.png --json autotuning.json
    python benchmarks/autotuning.py --quick
    python benchmarks/autotuning.py --ranks 2

With --ranks, ten configurations of the distributed Cholesky are tuned instead, by the ranks of
mpiexec together, at fewer tolerances; there messages are skipped, too.

Ends with code 3 unless some policy at a tolerance of 5 % is three times as fast as full runs, 5 %
off in the mean at most, and chooses what is 3 % slower than the best at most.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from autotuning_report import draw, text_of
from autotuning_rows import Full, Problem, Tuning, row_of_simulation, rows_of_runs

import tasksim
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.kernels.program import bind
from tasksim.native.calm_moments import run_gate
from tasksim.native.execute import execute
from tasksim.native.this_machine import this_machine
from tasksim.scenario.many import simulate_many
from tasksim.scenario.scenario import Scenario
from tasksim.selective.execute import execute_selectively
from tasksim.selective.policies import POLICIES
from tasksim.selective.statistics import Statistics
from tasksim.tuning.over import axes_of, candidates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program
    from tasksim.run.record import Run

TOLERANCES: Final = (0.5, 0.25, 0.125, 0.0625, 0.05, 0.03125, 0.015625, 0.0078125)
RANKS_TOLERANCES: Final = (0.5, 0.125, 0.05, 0.03125, 0.0078125)
ERROR_GOAL: Final = 0.05
FASTER, ERROR, REGRET = 3.0, 0.05, 0.03
WORKERS: Final = 2
CALIBRATION_S: Final = 10.0
PATIENCE_S: Final = 10.0
"""Time to wait for calm moments, for each problem, in seconds."""


PROBLEMS: Final = (
    Problem(
        "Cholesky",
        "cholesky",
        ("n=2304",),
        ("tile_size=144,192,256,288,384", "scheduler=lws,eager,prio"),
    ),
    Problem(
        "QR", "qr", ("n=1728",), ("tile_size=144,192,216,288", "ib=16,32", "scheduler=lws,eager")
    ),
)
QUICK_PROBLEMS: Final = (
    Problem("Cholesky", "cholesky", ("n=768",), ("tile_size=96,128,192", "scheduler=lws,eager")),
    Problem("QR", "qr", ("n=384",), ("tile_size=48,64,96", "ib=16,32")),
)


class Method(NamedTuple):
    """A way of tuning by selective runs."""

    policy: str
    statistics: str

    @property
    def label(self) -> str:
        """Name in the table."""
        usual = "reuse" if POLICIES[self.policy].reuses else "reset"
        return self.policy if self.statistics == usual else f"{self.policy}, {self.statistics}"


METHODS: Final = (
    *(Method(name, "reuse" if p.reuses else "reset") for name, p in POLICIES.items()),
    Method("online", "reuse"),
    Method("online", "model"),
)


def measure(problem: Problem, rounds: int) -> tuple[Full, dict[tuple[Method, float], Tuning]]:
    """Return full and selective tunings of a problem, interleaved."""
    base = Scenario(problem.graph, problem.settings, workers=WORKERS, clock="native")
    found = candidates(base, axes_of(problem.over))
    ways = [(method, tolerance) for method in METHODS for tolerance in TOLERANCES]
    full, selective = Full(PATIENCE_S, run_gate(WORKERS)), {way: Tuning() for way in ways}
    for turn in range(rounds):
        known = {way: Statistics(cells=way[0].statistics == "model") for way in ways}
        bound: tuple[TaskGraph, Program] | None = None
        for place, candidate in enumerate(found):
            scenario = candidate.scenario
            assert scenario is not None, candidate.error
            graph = _graph(problem, scenario.settings)
            if bound is None or bound[0].arguments != graph.arguments:
                bound = graph, bind(graph, WORKERS)
                execute(graph, this_machine(WORKERS), "lws", program=bound[1])
            for number, way in enumerate(ways):
                if number % len(TOLERANCES) == 0:  # before each method
                    _full(full, place, bound[1], str(scenario.scheduler))
                if way[0].statistics == "reset":
                    known[way].reset()
                _selective(
                    selective[way], place, bound[1], str(scenario.scheduler), way, known[way]
                )
        print(f"{problem.name}: round {turn + 1} of {rounds}", file=sys.stderr)
    return full, selective


def _graph(problem: Problem, settings: Any) -> TaskGraph:
    given = dict(text.split("=") for text in settings)
    return tasksim.generate(problem.graph, **{name: int(v) for name, v in given.items()})


def _full(full: Full, place: int, program: Program, scheduler: str) -> None:
    """Make a full run of a configuration, in a calm moment if there is one."""

    def run() -> Run:
        begun, cpu = time.perf_counter(), time.process_time()
        made = execute(program.graph, this_machine(WORKERS), scheduler, program=program)
        wall_s, cpu_s = time.perf_counter() - begun, time.process_time() - cpu
        full.tuning.add(place, made.makespan_s, wall_s, cpu_s)
        return made

    full.during(place, run)


def _selective(
    tuning: Tuning,
    place: int,
    program: Program,
    scheduler: str,
    way: tuple[Method, float],
    known: Statistics,
) -> None:
    cpu = time.process_time()
    done = execute_selectively(
        program,
        this_machine(WORKERS),
        scheduler,
        policy=way[0].policy,
        tolerance=way[1],
        statistics=known,
    )
    tuning.add(place, done.run.makespan_s, done.wall_s, time.process_time() - cpu)
    tuning.executed += done.effort.executed
    tuning.tasks += len(program.graph)


def simulate(problem: Problem) -> tuple[dict[int, float], float, float]:
    """Return predictions of simulation alone, how long they took, and how long calibrating did."""
    axes = axes_of(problem.over)
    kernels = [v for path, v in axes.items() if path != "scheduler"]
    names = [path.removeprefix("graph.") for path in axes if path != "scheduler"]
    graphs = [
        tasksim.generate(problem.graph, tiles=5, **dict(zip(names, values, strict=True)))
        for values in _combinations(kernels)
    ]
    with tempfile.TemporaryDirectory(prefix="tasksim-autotuning-") as folder:
        begun = time.perf_counter()
        report = calibrate(
            graphs,
            Path(folder),
            workers=WORKERS,
            machine="here",
            options=CalibrationOptions(
                max_seconds=CALIBRATION_S, min_runs=3, schedulers=("lws", "eager")
            ),
        )
        calibrated_s = time.perf_counter() - begun
        base = Scenario(
            problem.graph,
            problem.settings,
            platform=str(report.platform_path),
            models=str(report.models_folder),
        )
        asked = [c.scenario for c in candidates(base, axes) if c.scenario is not None]
        begun = time.perf_counter()
        makespans = simulate_many(asked).makespan_s.tolist()
        return dict(enumerate(makespans)), time.perf_counter() - begun, calibrated_s


def _combinations(values: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    from itertools import product

    return product(*values)


def rows_of(problem: Problem, rounds: int) -> list[dict[str, Any]]:
    """Return a row per way of tuning a problem."""
    full, selective = measure(problem, rounds)
    rows, truth, full_wall_s = rows_of_runs(problem, full, selective, rounds)
    predicted, simulated_s, calibrated_s = simulate(problem)
    simulation = row_of_simulation(
        problem.name, predicted, truth, full_wall_s,
        simulated_s=simulated_s, calibrated_s=calibrated_s,
    )  # fmt: skip
    return [*rows, simulation]


def rows_over_ranks(ranks: int, rounds: int, *, quick: bool) -> list[dict[str, Any]]:
    """Return the rows that so many ranks of mpiexec come to."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        raise SystemExit("--ranks needs mpiexec: pip install 'tasksim[mpi]'")
    with tempfile.TemporaryDirectory(prefix="tasksim-autotuning-") as folder:
        rows = Path(folder) / "rows.json"
        program = Path(__file__).with_name("autotuning_over_ranks.py")
        command = [
            mpiexec, "-n", str(ranks), sys.executable, str(program), "--rounds", str(rounds),
            "--rows", str(rows), "--tolerances", *map(str, RANKS_TOLERANCES),
        ]  # fmt: skip
        subprocess.run([*command, *(["--quick"] if quick else [])], check=True)
        found: list[dict[str, Any]] = json.loads(rows.read_text())
    return found


def reached(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return per problem the ways that reach the goal at its tolerance."""
    return {
        name: [
            row["way"]
            for row in rows
            if row["problem"] == name
            and row["tolerance"] == ERROR_GOAL
            and row["speedup"] >= FASTER
            and row["mean_error"] <= ERROR
            and row["regret"] <= REGRET
        ]
        for name in dict.fromkeys(row["problem"] for row in rows)
    }


def main() -> int:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, help="of all tunings; 3, over ranks 2")
    parser.add_argument("--quick", action="store_true", help="small matrices, few configurations")
    parser.add_argument("--ranks", type=int, help="tune over so many ranks of mpiexec")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    before = os.getloadavg()[0]
    if given.ranks is not None:
        rows = rows_over_ranks(given.ranks, given.rounds or 2, quick=given.quick)
    else:
        problems = QUICK_PROBLEMS if given.quick else PROBLEMS
        rows = [row for p in problems for row in rows_of(p, given.rounds or 3)]
    load = [before, os.getloadavg()[0]]
    print(text_of(rows))
    for row in rows:
        if row["way"] == "simulation":
            print(f"{row['problem']}: models for simulation took {row['calibration_s']:.1f} s more")
        if row["way"] == "full":
            print(f"{row['problem']}: {100 * row['calm']:.0f} % of the full runs in calm moments")
    print(f"load {load[0]:.1f} before, {load[1]:.1f} after (this benchmark alone: about {WORKERS})")
    found = reached(rows)
    for name, ways in found.items():
        print(
            f"{name}: the goal at {100 * ERROR_GOAL:.0f} % is reached by "
            f"{', '.join(ways) or 'none'}"
        )
    if given.json is not None:
        given.json.write_text(json.dumps({"load": load, "rows": rows}, indent=1) + "\n")
    if given.figure is not None:
        draw(rows, given.figure, TOLERANCES)
    return 0 if all(found.values()) else 3


if __name__ == "__main__":
    sys.exit(main())
