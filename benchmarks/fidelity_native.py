"""How faithful is a prediction? Native runs on this machine against simulated ones.

    python benchmarks/fidelity_native.py [--repetitions 5] [--json FILE]

{cholesky, lu, qr} x tiles {8, 16} x {eager, lws, prio}, tile 256, float64. The models come from
runs of other sizes (6, 10 and 12 tiles), never from those that are predicted. Two errors:

- ahead: everything is predicted from one calibration, before the first measured run; the error is
  that of the prediction against the median measured;
- beside: in each repetition a few calibration runs stand before every measured run, and the
  repetition is predicted from them; the error is the median over the repetitions. On a shared
  machine, faster in one minute and slower in the next, both sides then see the same machine.

Beside them, the error of each measured run replayed with its own durations: what the simulator gets
wrong with models and moods of the machine taken out.

A run is calm if others took at most 2 % of its workers' time; after a disturbed one the next waits
for as long as that took, all together --patience seconds at most. If measured runs were disturbed,
the last line says how many: the errors are then those of the machine as much as of the prediction.

The peer, StarPU-SimGrid against native StarPU on a 2-core machine: median 3.4 %, worst 8.1 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.calibration.fit_locality import fit_locality, without_far_data
from tasksim.calibration.fit_runs import gaps, measured_overheads
from tasksim.calibration.insitu import Observed
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.kernels.program import bind
from tasksim.models.kinds.history import HistoryModel
from tasksim.native.calm_moments import run_gate
from tasksim.native.execute import execute
from tasksim.native.this_machine import usable_cores
from tasksim.platform.description import Platform
from tasksim.reports.demo import replay_error, replay_line

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.run.record import Run

TARGET_MEDIAN, TARGET_WORST = 0.03, 0.08
APPLICATIONS = ("cholesky", "lu", "qr")
CALIBRATED, PREDICTED = (6, 10, 12), (8, 16)
SCHEDULERS = ("eager", "lws", "prio")
CALIBRATION_SCHEDULERS = ("lws", "eager")
CASES = [(a, t, s) for a in APPLICATIONS for t in PREDICTED for s in SCHEDULERS]

Case = tuple[str, int, str]


class Machine:
    """The machine itself: runs graphs, each bound to its data once and warmed up."""

    def __init__(self, patience_s: float) -> None:
        self.platform = Platform.identical(len(usable_cores()))
        self.patience_s = patience_s
        self.measured = self.disturbed = 0
        self.replay_errors: list[float] = []
        self.graphs: dict[tuple[str, int], TaskGraph] = {}
        self.programs: dict[tuple[str, int], Any] = {}
        for key in ((a, t) for a in APPLICATIONS for t in CALIBRATED + PREDICTED):
            graph = self.graphs[key] = generate(key[0], tiles=key[1])
            self.programs[key] = bind(graph, len(self.platform.workers))
            execute(graph, self.platform, "eager", program=self.programs[key])
        self.gate = run_gate(len(self.platform.workers))

    def run(self, application: str, tiles: int, scheduler: str) -> tuple[Run, bool]:
        """Run natively in a calm moment, as far as patience goes; check the result.

        Return the run, and whether the moment was calm.
        """
        key = application, tiles
        graph, program = self.graphs[key], self.programs[key]
        begun = started = time.monotonic()

        def action() -> Run:
            nonlocal started
            started = time.monotonic()
            return execute(graph, self.platform, scheduler, program=program, check=True)

        run, disturbance = self.gate.during(action, begun + self.patience_s)
        self.patience_s -= started - begun
        return run, self.gate.is_calm(disturbance)

    def measure(self, case: Case) -> float:
        """Return the makespan of a run that counts, in seconds."""
        run, calm = self.run(*case)
        self.measured += 1
        self.disturbed += not calm
        self.replay_errors.append(replay_error(run, self.graphs[case[:2]]))
        return run.makespan_s

    def calmness(self) -> str:
        """Return a line about how calm the machine was."""
        if not self.disturbed:
            return f"calm: all {self.measured} measured runs had the cores to themselves"
        return (
            f"NOT CALM: {self.disturbed} of {self.measured} measured runs were made while others"
            " used the cores; the errors are those of the machine as much as of the prediction"
        )


class Calibration:
    """Results of runs of the calibrated sizes: models, locality, costs of the runtime."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.collected, self.observed = KernelSamples(), Observed()
        self.turns = {a: count() for a in APPLICATIONS}

    def go_on(self, application: str) -> None:
        """Do one more run of *application*: the next size, the other scheduler."""
        turn = next(self.turns[application])
        tiles = CALIBRATED[turn % len(CALIBRATED)]
        scheduler = CALIBRATION_SCHEDULERS[turn // len(CALIBRATED) % len(CALIBRATION_SCHEDULERS)]
        graph = self.machine.graphs[application, tiles]
        run, _ = self.machine.run(application, tiles, scheduler)
        self.observed.far.add(self.collected.next_run, run, graph)
        self.collected.add_run(run, graph)
        self.observed.gaps.append(gaps(run))

    def predict(self) -> dict[Case, float]:
        """Return the simulated makespan of every case, in seconds."""
        models = Models(self)
        free = self.machine.platform
        platform = Platform(
            name="here",
            workers=free.workers,
            memories=free.memories,
            overheads=measured_overheads(self.observed.gaps),
        )
        return {
            case: Simulation(self.machine.graphs[case[:2]], platform, models, case[2])
            .run()
            .makespan_s
            for case in CASES
        }


class Models:
    """The history models of a calibration."""

    def __init__(self, calibration: Calibration) -> None:
        collected, observed = calibration.collected, calibration.observed
        self._locality, counted = fit_locality(collected.samples, observed.far)
        self._models = {
            kernel: HistoryModel().fit(without_far_data(samples, self._locality.get(kernel)))
            for kernel, samples in counted.items()
        }

    def model(self, kernel: str, architecture: str) -> KernelModel:  # noqa: ARG002
        """Return the model of *kernel*."""
        return self._models[kernel]

    def locality(self, kernel: str, architecture: str) -> Locality | None:  # noqa: ARG002
        """Return what far data cost *kernel*."""
        return self._locality.get(kernel)


def tell(what: str) -> None:
    """Say on stderr what goes on."""
    print(f"\r{what:60}", end="", file=sys.stderr, flush=True)


def calibrate_ahead(machine: Machine, seconds: float) -> dict[Case, float]:
    """Predict every case from one calibration of some length."""
    calibration = Calibration(machine)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for application in APPLICATIONS:
            tell(f"calibrating ahead, {application}")
            calibration.go_on(application)
    return calibration.predict()


def repetition(machine: Machine, runs_before: int) -> tuple[dict[Case, float], dict[Case, float]]:
    """Measure every case once; return that, and the predictions from the runs in between."""
    calibration = Calibration(machine)
    measured = {}
    for case in CASES:
        tell(f"{case[0]} tiles={case[1]}, {case[2]}")
        for _ in range(runs_before):
            calibration.go_on(case[0])
        measured[case] = machine.measure(case)
    return measured, calibration.predict()


def summary(name: str, errors: list[float]) -> str:
    """Return a line about *errors*."""
    sizes = [abs(error) for error in errors]
    return (
        f"|error|, {name:6}: median {100 * statistics.median(sizes):.2f} %,"
        f" worst {100 * max(sizes):.2f} %, mean signed {100 * statistics.mean(errors):+.2f} %"
    )


def outcome(
    case: Case, ahead_s: float, measured: list[float], beside: list[float]
) -> dict[str, Any]:
    """Return a row of the table."""
    median_s = statistics.median(measured)
    ratios = [b / m for b, m in zip(beside, measured, strict=True)]
    return {
        "graph": f"{case[0]} tiles={case[1]}",
        "scheduler": case[2],
        "measured_s": measured,
        "median_s": median_s,
        "spread": (max(measured) - min(measured)) / median_s,
        "ahead_s": ahead_s,
        "ahead_error": ahead_s / median_s - 1,
        "beside_s": beside,
        "beside_error": statistics.median(ratios) - 1,
    }


def report(rows: list[dict[str, Any]]) -> None:
    """Print the table and what it says."""
    print(
        f"\n\n{'graph':18} {'scheduler':9} {'measured':>10} {'spread':>8}"
        f" {'ahead':>10} {'error':>8} {'beside':>10} {'error':>8}"
    )
    for row in rows:
        beside_ms = 1e3 * statistics.median(row["beside_s"])
        print(
            f"{row['graph']:18} {row['scheduler']:9} {1e3 * row['median_s']:7.1f} ms"
            f" {100 * row['spread']:6.1f} % {1e3 * row['ahead_s']:7.1f} ms"
            f" {100 * row['ahead_error']:+6.2f} % {beside_ms:7.1f} ms"
            f" {100 * row['beside_error']:+6.2f} %"
        )
    print(f"\n{summary('ahead', [row['ahead_error'] for row in rows])}")
    print(summary("beside", [row["beside_error"] for row in rows]))
    spreads = [row["spread"] for row in rows]
    print(
        f"targets: median {100 * TARGET_MEDIAN:.0f} %, worst {100 * TARGET_WORST:.0f} %;"
        f" native spread (max - min) / median: median {100 * statistics.median(spreads):.1f} %,"
        f" worst {100 * max(spreads):.1f} %"
    )


def main() -> None:
    """Calibrate, predict, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--runs-before", type=int, default=2, help="calibration runs before each")
    parser.add_argument("--ahead-time", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("--json", type=Path, help="write all outcomes to this file")
    parser.add_argument(
        "--patience", type=float, default=120.0, metavar="SECONDS",
        help="how long all runs together wait for calm moments, at most",
    )  # fmt: skip
    options = parser.parse_args()
    machine = Machine(options.patience)
    ahead = calibrate_ahead(machine, options.ahead_time)
    repetitions = [repetition(machine, options.runs_before) for _ in range(options.repetitions)]
    rows = [
        outcome(
            case, ahead[case], [m[case] for m, _ in repetitions], [b[case] for _, b in repetitions]
        )
        for case in CASES
    ]
    report(rows)
    print(replay_line(machine.replay_errors))
    print(machine.calmness())
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
