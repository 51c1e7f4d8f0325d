"""Autotuning over ranks: what selective execution saves where messages are kernels, too.

``python benchmarks/autotuning.py --ranks 2`` starts it. Ten configurations of the distributed
Cholesky, one worker per rank, a column of ranks each; all ranks make the same runs in the same
order, and rank 0 writes what came out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from autotuning_rows import Full, Problem, Tuning, row_of_simulation, rows_of_runs

import tasksim
from tasksim.calibration.network import calibrate_network
from tasksim.engine.simulation import Simulation
from tasksim.graph.distribution.owners import NodeGrid
from tasksim.graph.distribution.parts import cut_by
from tasksim.native.calm_moments import Probe, ProbedGate
from tasksim.native.cluster.execute import RankExecution, platform_of_rank
from tasksim.native.cluster.ranks import world
from tasksim.native.cluster.records import task_table
from tasksim.network.cluster import Cluster
from tasksim.network.load import network_of_fields
from tasksim.platform.description import Platform
from tasksim.scenario.durations import known_durations
from tasksim.selective.policies import POLICIES
from tasksim.selective.ranks.choosing import MessageRule, statistics_of_ranks
from tasksim.selective.ranks.execute import execute_over_ranks
from tasksim.selective.ranks.mail import Wires
from tasksim.selective.statistics import Statistics

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph

TILES: Final = (192, 216, 288, 384, 432)
QUICK_TILES: Final = (48, 96)
SCHEDULERS: Final = ("lws", "prio")
CALIBRATED_TILES: Final = 5
"""Of the graphs in which kernels are measured for the simulator."""
NETWORK_S: Final = 3.0
"""Time to measure the network, in seconds."""
PATIENCE_S: Final = 10.0


class Method(NamedTuple):
    """A way of tuning by selective runs over ranks."""

    policy: str
    messages: MessageRule

    @property
    def label(self) -> str:
        """Name in the table."""
        return self.policy if self.messages == "all" else f"{self.policy}, any"


METHODS: Final = (*(Method(name, "all") for name in POLICIES), Method("online", "any"))


class Session:
    """The runs of all ranks, as one of them makes them."""

    def __init__(self, n: int) -> None:
        self.ranks = world("this benchmark")
        self.n = n
        self.wires = Wires(self.ranks)
        self.platforms = self.ranks.comm.allgather(platform_of_rank(self.ranks, 1))
        self.grid = NodeGrid(1, self.ranks.size)
        self.full = None
        if not self.ranks.rank:
            cores = self.ranks.cores
            self.full = Full(PATIENCE_S, ProbedGate(Probe(len(cores), cores)))

    def graph(self, tile: int, tiles: int | None = None) -> TaskGraph:
        """Return the matrix in tiles of that size, or so many of these."""
        return tasksim.generate("cholesky", tiles=tiles or self.n // tile, tile_size=tile)

    def execution(self, graph: TaskGraph) -> RankExecution:
        """Return this rank's part of *graph*, bound to data."""
        cut = cut_by(graph, self.grid, "row")
        return RankExecution(self.ranks, graph, cut, self.platforms[self.ranks.rank])

    def cpu_s(self, begun: float) -> float:
        """Return the CPU time that all ranks have used since *begun* of their own."""
        return float(self.ranks.comm.allreduce(time.process_time() - begun))

    def run_full(self, place: int, execution: RankExecution, scheduler: str) -> None:
        """Make a full run, in a calm moment if there is one."""

        def run() -> None:
            self.ranks.wait_for_all()  # while rank 0 waits for a calm moment
            begun, cpu = time.perf_counter(), time.process_time()
            record = execution.run(scheduler)
            wall_s, cpu_s = time.perf_counter() - begun, self.cpu_s(cpu)
            if record is not None and self.full is not None:
                makespan_s = float(task_table(execution.cut, record.ranks).end_s.max())
                self.full.tuning.add(place, makespan_s, wall_s, cpu_s)

        if self.full is None:
            run()
        else:
            self.full.during(place, run)

    def run_selective(
        self,
        tuning: Tuning,
        place: int,
        execution: RankExecution,
        scheduler: str,
        way: tuple[Method, float],
        known: list[Statistics],
    ) -> None:
        """Make a run that skips what is known."""
        cpu = time.process_time()
        done = execute_over_ranks(
            self.ranks,
            self.wires,
            execution,
            self.platforms,
            scheduler,
            policy=way[0].policy,
            tolerance=way[1],
            statistics=known,
            messages=way[0].messages,
        )
        cpu_s = self.cpu_s(cpu)
        if done is not None:
            tuning.add(place, done.run.makespan_s, done.wall_s, cpu_s)
            tuning.executed += done.effort.executed
            tuning.tasks += len(execution.cut.graph)


def measure(
    session: Session, tiles: tuple[int, ...], tolerances: tuple[float, ...], rounds: int
) -> dict[tuple[Any, float], Tuning]:
    """Make all runs, full and selective ones interleaved; the full ones are the session's."""
    ways = [(method, tolerance) for method in METHODS for tolerance in tolerances]
    selective = {way: Tuning() for way in ways}
    for turn in range(rounds):
        known = {w: statistics_of_ranks(w[0].policy, Statistics, session.ranks.size) for w in ways}
        for number, tile in enumerate(tiles):
            execution = session.execution(session.graph(tile))
            execution.run(SCHEDULERS[0])
            for other, scheduler in enumerate(SCHEDULERS):
                place = number * len(SCHEDULERS) + other
                for count, way in enumerate(ways):
                    if count % len(tolerances) == 0:  # before each method
                        session.run_full(place, execution, scheduler)
                    if not POLICIES[way[0].policy].reuses:
                        for statistics in known[way]:
                            statistics.reset()
                    session.run_selective(
                        selective[way], place, execution, scheduler, way, known[way]
                    )
        if not session.ranks.rank:
            print(f"Cholesky over ranks: round {turn + 1} of {rounds}", file=sys.stderr)
    return selective


def calibrated(session: Session, tiles: tuple[int, ...]) -> tuple[Any, dict[int, dict[str, float]]]:
    """Return the network between the ranks, and what kernels take by tile size; on rank 0."""
    found = calibrate_network(session.ranks, seconds=NETWORK_S, quick=True)
    seconds = {}
    for tile in tiles:
        graph = session.graph(tile, CALIBRATED_TILES)
        execution = session.execution(graph)
        taken: dict[str, list[float]] = defaultdict(list)
        for _ in range(3):
            record = execution.run(SCHEDULERS[0])
            if record is None:
                continue
            tasks = task_table(execution.cut, record.ranks)
            for kernel, start_s, end_s in zip(
                tasks.kernel.tolist(), tasks.start_s.tolist(), tasks.end_s.tolist(), strict=True
            ):
                taken[graph.kernels[kernel]].append(end_s - start_s)
        seconds[tile] = {name: fmean(values) for name, values in taken.items()}
    return found, seconds


def simulate(
    session: Session, tiles: tuple[int, ...], network: Any, seconds: dict[int, dict[str, float]]
) -> dict[int, float]:
    """Return what the simulator predicts of each configuration."""
    size = session.ranks.size
    here = network_of_fields(network.section(), "here", "calibrated")
    cluster = Cluster.alike(Platform.identical(1), size, here)
    found = {}
    for number, tile in enumerate(tiles):
        graph = session.graph(tile)
        models = known_durations(graph, Platform.identical(1), seconds[tile])
        for other, scheduler in enumerate(SCHEDULERS):
            run = Simulation(graph, cluster, models, scheduler, grid=session.grid).run()
            found[number * len(SCHEDULERS) + other] = run.makespan_s
    return found


def main() -> None:
    """Measure on all ranks; rank 0 writes the rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--tolerances", type=float, nargs="+", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=Path, required=True)
    given = parser.parse_args()
    tiles, n = (QUICK_TILES, 384) if given.quick else (TILES, 3456)
    session = Session(n)
    selective = measure(session, tiles, tuple(given.tolerances), given.rounds)
    begun = time.perf_counter()
    network, seconds = calibrated(session, tiles)
    calibrated_s = time.perf_counter() - begun
    if session.full is None:
        return
    problem = Problem(f"Cholesky, {session.ranks.size} ranks", "cholesky", (f"n={n}",), ())
    rows, truth, full_wall_s = rows_of_runs(problem, session.full, selective, given.rounds)
    begun = time.perf_counter()
    predicted = simulate(session, tiles, network, seconds)
    simulated_s = time.perf_counter() - begun
    simulation = row_of_simulation(
        problem.name, predicted, truth, full_wall_s,
        simulated_s=simulated_s, calibrated_s=calibrated_s,
    )  # fmt: skip
    given.rows.write_text(json.dumps([*rows, simulation]))


if __name__ == "__main__":
    main()
