"""How faithful is a prediction over ranks? Real runs of MPI's ranks here against simulated ones.

    python benchmarks/clusters_native.py [--quick] [--json FILE]

{cholesky, lu, qr} x 2 sizes x {2, 4} ranks, one worker each, lws: 12 cases. A network is
calibrated between the ranks, kernels in runs of other sizes on the same ranks, some before every
measured run. Of each case:

- predicted: from the calibration of other sizes, of the same minute; the error is the median over
  the repetitions;
- replayed: the measured run, each task with its own duration, over the calibrated network: what is
  wrong with models and the machine's moods taken out;
- spread: (max - min) / median of the measured runs themselves.

Runs wait for calm moments, when nobody else uses the cores, for --patience seconds in all. Where
there are more ranks than cores, ranks share them, in the simulation, too; what kernels take is what
they would have taken alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.calibration.network import calibrate_network
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.distribution.owners import nearly_square
from tasksim.native.calm_moments import Probe, ProbedGate
from tasksim.native.cluster.ranks import world
from tasksim.network.cluster import Cluster
from tasksim.network.load import network_of_fields
from tasksim.platform.description import Platform
from tasksim.run.measured import MeasuredDurations
from tasksim.run.sharedcores import own_core_s
from tasksim.scenario.durations import known_durations
from tasksim.scenario.over_ranks import RankedScenario
from tasksim.scenario.scenario import Scenario

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.cluster.ranks import Ranks
    from tasksim.run.record import Run

TARGET_MEDIAN, TARGET_WORST = 0.04, 0.10
APPLICATIONS = ("cholesky", "lu", "qr")
CALIBRATED, PREDICTED = (6, 11), (9, 14)
RANKS = (2, 4)
SCHEDULER = "lws"
ROUND_MARK = "\x1e"
"""Before the line of JSON in which a session says what it has measured."""


class Leader:
    """Steps that all ranks take together, when rank 0 says so; the others wait without a load."""

    def __init__(self, ranks: Ranks, application: str, sizes: tuple[int, ...]) -> None:
        self.ranks = ranks
        self.runs = {
            tiles: RankedScenario(
                Scenario(application, (f"tiles={tiles}",), workers=1, clock="native",
                         scheduler=SCHEDULER),
                ranks, nearly_square(ranks.size), "row",
            )
            for tiles in sizes
        }  # fmt: skip
        for tiles in sizes:  # warm
            self.runs[tiles].run(check=False)

    def run(self, tiles: int) -> Run:
        """Run one size on all ranks; for rank 0."""
        for other in range(1, self.ranks.size):
            self.ranks.comm.Send(np.array([tiles]), other)
        return self._here(tiles)

    def follow(self) -> None:
        """Do what rank 0 says, until it says no more; for the others."""
        word = np.zeros(1, np.int64)
        while True:
            request = self.ranks.comm.Irecv(word, 0)
            while not request.Test():
                time.sleep(1e-3)
            if not word[0]:
                return
            self._here(int(word[0]))

    def _here(self, tiles: int) -> Any:
        checked = self.runs[tiles].run(check=False)
        return None if checked is None else checked.run


class Means:
    """Return the mean duration of each kernel in some runs."""

    def __init__(self) -> None:
        self._taken: dict[str, list[float]] = {}

    def add(self, run: Run) -> None:
        """Add the tasks of a run, what each would have taken with a core of its own."""
        seconds = own_core_s(run)
        for number, name in enumerate(run.kernel_names):
            taken = seconds[run.tasks.kernel == number]
            self._taken.setdefault(name, []).extend(taken.tolist())

    def models(self, graph: TaskGraph) -> Any:
        """Return models of the kernels of *graph*."""
        seconds = {name: statistics.fmean(taken) for name, taken in self._taken.items()}
        return known_durations(graph, Platform.identical(1), seconds)


def session(options: argparse.Namespace) -> None:
    """Calibrate and measure on the ranks of this launch; rank 0 prints what came out."""
    ranks = world("this benchmark")
    cores = len(ranks.cores)
    gate: ProbedGate[Run] | None = ProbedGate(Probe(cores)) if ranks.rank == 0 else None
    ranks.wait_for_all()
    seconds = 2.0 if options.quick else 8.0
    found = calibrate_network(ranks, seconds=seconds, quick=options.quick)
    rows, patience_s = [], options.patience / len(RANKS)
    for application in options.applications:
        leader = Leader(ranks, application, CALIBRATED + PREDICTED)
        if found is None or gate is None:
            leader.follow()
            continue
        network = network_of_fields(found.section(), "here", "calibrated")
        cluster = Cluster.alike(Platform.identical(1), ranks.size, network, cores)
        begun = time.monotonic()
        rows += _measured(leader, application, cluster, gate, patience_s, options.repetitions)
        patience_s -= max(0.0, time.monotonic() - begun - 10 * options.repetitions)
        for other in range(1, ranks.size):
            ranks.comm.Send(np.array([0]), other)
    if found is not None:
        print(ROUND_MARK + json.dumps({"rows": rows, "network": found.to_json(), "cores": cores}))


def _measured(
    leader: Leader,
    application: str,
    cluster: Cluster,
    gate: ProbedGate[Run],
    patience_s: float,
    repetitions: int,
) -> list[dict[str, Any]]:
    """Measure one application; return a row per size that is predicted."""
    graphs = {tiles: generate(application, tiles=tiles) for tiles in CALIBRATED + PREDICTED}
    rows: dict[int, dict[str, Any]] = {
        tiles: {
            "graph": f"{application} tiles={tiles}",
            "ranks": len(cluster.nodes),
            "measured_s": [],
            "predicted_s": [],
            "replayed_s": [],
            "calm": [],
        }
        for tiles in PREDICTED
    }
    until, turn = time.monotonic() + patience_s, count()
    for _ in range(repetitions):
        means = Means()
        measured = {}
        for tiles in PREDICTED:
            for _ in CALIBRATED:
                size = CALIBRATED[next(turn) % len(CALIBRATED)]
                run, _ = gate.during(lambda size=size: leader.run(size), until)
                means.add(run)
            run, disturbance = gate.during(lambda tiles=tiles: leader.run(tiles), until)
            measured[tiles] = run
            rows[tiles]["calm"].append(bool(gate.is_calm(disturbance)))
        for tiles, run in measured.items():
            graph, row = graphs[tiles], rows[tiles]
            row["measured_s"].append(run.makespan_s)
            row["predicted_s"].append(_simulated(graph, cluster, means.models(graph)))
            row["replayed_s"].append(_simulated(graph, cluster, MeasuredDurations(run, graph)))
    return list(rows.values())


def _simulated(graph: TaskGraph, cluster: Cluster, models: Any) -> float:
    return Simulation(graph, cluster, models, SCHEDULER).run().makespan_s


def errors_of(row: dict[str, Any], name: str) -> float:
    """Return the relative error of what is *name*, the median over the repetitions."""
    pairs = zip(row[name], row["measured_s"], strict=True)
    return statistics.median(found / measured - 1 for found, measured in pairs)


def report(sessions: list[dict[str, Any]]) -> None:
    """Print the table and what it says."""
    rows = [row for each in sessions for row in each["rows"]]
    print(f"{'graph':18} ranks   measured   spread  predicted  replayed  calm")
    for row in rows:
        measured = row["measured_s"]
        middle_s = statistics.median(measured)
        spread = (max(measured) - min(measured)) / middle_s
        print(
            f"{row['graph']:18} {row['ranks']:5} {1e3 * middle_s:7.1f} ms {100 * spread:6.1f} %"
            f" {100 * errors_of(row, 'predicted_s'):+8.2f} %"
            f" {100 * errors_of(row, 'replayed_s'):+7.2f} %"
            f"  {sum(row['calm'])}/{len(row['calm'])}"
        )
    for ranks in (*sorted({row["ranks"] for row in rows}), None):
        some = [row for row in rows if ranks in (None, row["ranks"])]
        print(f"\n{'all' if ranks is None else f'{ranks} ranks'}:")
        for name in ("predicted_s", "replayed_s"):
            sizes = [abs(errors_of(row, name)) for row in some]
            print(
                f"|error| {name[:-2]}: median {100 * statistics.median(sizes):.2f} %,"
                f" worst {100 * max(sizes):.2f} %"
            )
    print(f"\ntargets: median {100 * TARGET_MEDIAN:.0f} %, worst {100 * TARGET_WORST:.0f} %")
    for each in sessions:
        network = each["network"]
        print(
            f"{network['ranks']} ranks on {each['cores']} cores: medians of messages are "
            f"{network['median_over_least']:.2f} times the least, fit "
            f"{100 * network['fit_error_median']:.1f} %, receiving "
            f"{1e6 * network['receiving_s']:.0f} us"
        )
    calm = [calm for row in rows for calm in row["calm"]]
    print(f"calm: {sum(calm)} of {len(calm)} measured runs; load {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Start a session for each number of ranks, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one repetition, no patience")
    parser.add_argument("--patience", type=float, default=120.0, metavar="SECONDS")
    parser.add_argument("--applications", nargs="+", default=APPLICATIONS)
    parser.add_argument("--ranks", nargs="+", type=int, default=RANKS)
    parser.add_argument("--json", type=Path, help="write all outcomes to this file")
    parser.add_argument("--session", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.repetitions, options.patience = 1, 0.0
    if options.session:
        session(options)
        return
    found = []
    for ranks in options.ranks:
        mpiexec = which("mpiexec", path=Path(sys.executable).parent) or "mpiexec"
        command = [mpiexec, "-n", str(ranks), sys.executable, __file__, "--session"]
        done = subprocess.run([*command, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
        said = done.stdout.partition(ROUND_MARK)[2]
        if done.returncode or not said:
            sys.exit(f"the session of {ranks} ranks has failed:\n{done.stdout}")
        found.append(json.loads(said))
    report(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
