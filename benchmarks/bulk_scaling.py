"""Bulk-synchronous programs on many ranks, predicted from counters and messages on few.

    python benchmarks/bulk_scaling.py [--to 256]

Conjugate gradients, Jacobi's iteration and SUMMA, strong and weak. The truth is a simulation of a
finer model: a fat tree under SMPI's model, kernels made of counters with known costs that are 2 %
off in each run, pushes that cost 2 us. Known are runs on 1, 2, 4 and 8 ranks of it, with exact
counters, and a network calibrated by ping-pong; asked are 16 ranks and more. Methods: counters and
messages as functions of work and ranks (the paper's), the same counted in the program, tasksim's
simulation, and the paper's two baselines, Worley's and Nan's laws. Real runs are judged by
bulk_scaling_native.py.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tasksim import ConstantLibrary, generate
from tasksim.engine.clock import Clock
from tasksim.engine.cluster.flows import Flows
from tasksim.engine.simulation import Simulation
from tasksim.graph.distribution.owners import nearly_square
from tasksim.models.samples import Samples
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.network.model import Piece
from tasksim.platform.costs import Overheads
from tasksim.platform.description import Platform
from tasksim.reports.bulk.prediction import BulkModel, MessageCosts, parsed_collective
from tasksim.reports.bulk.profile import KernelCounts, profile_of_graph, profile_of_run
from tasksim.reports.bulk.report import MeanModels, simulated_s
from tasksim.reports.bulk.tables import SCALING_METHODS, median_errors, scaling_table
from tasksim.run.samples import RecordedRun

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.network.description import Network

TRUE_NETWORK = (
    "fat-tree:children=[16,16],parents=[1,8],cables=[1,1],bandwidth=5GB/s,latency=1us,model=smpi"
)
PLATFORM = dataclasses.replace(Platform.identical(1), overheads=Overheads(push_s=2e-6))
"""Of the truth, and of tasksim's simulation: it calibrates what its runtime costs."""
FEW, MANY = (1, 2, 4, 8), (16, 64, 256)
SIZES = (8, 32, 1024, 8192, 32768, 65536, 262144, 1048576)
HERTZ, CPI, BF = 2.5e9, 0.6, 0.3
LATENCIES_S = {"l1": 1.6e-9, "memory": 90e-9}
COUNTS_OF_KERNEL = {
    # Instructions, accesses that L1 answers, that memory answers, per point or product.
    "pack": lambda n: (40.0 * n, 8.0 * n, 0.1 * n),
    "stencil": lambda n: (9.0 * n * n, 2.0 * n * n, 0.02 * n * n),
    "relax": lambda n: (8.0 * n * n, 2.0 * n * n, 0.02 * n * n),
    "dot": lambda n: (2.5 * n * n, 0.6 * n * n, 0.01 * n * n),
    "axpy": lambda n: (5.0 * n * n, 1.3 * n * n, 0.03 * n * n),
    "update": lambda n: (3.0 * n * n, 0.8 * n * n, 0.015 * n * n),
    "gemm": lambda n: (0.6 * n**3, 0.15 * n**3, 0.002 * n * n),
}
SMALL_S = {"add": 0.2e-6, "barrier": 0.2e-6}
"""Kernels that nobody counts: the rest."""
SUM_COLLECTIVES = ("pq=reduce:binomial+bcast:linear", "rr=reduce:binomial+bcast:linear")
CASES = {
    "cg": (SUM_COLLECTIVES, lambda blocks: {"block_rows": blocks[0], "block_columns": blocks[1],
                                 "block_size": 192, "iterations": 4}),
    "jacobi": ((), lambda blocks: {"block_rows": blocks[0], "block_columns": blocks[1],
                                   "block_size": 192, "iterations": 6}),
    "summa": ((), lambda blocks: {"tiles": blocks[0], "tile_size": 128}),
}  # fmt: skip
STRONG_SCALING_BLOCKS = {"cg": (16, 32), "jacobi": (16, 32), "summa": (32, 32)}


def blocks_for(name: str, ranks: int) -> tuple[int, int]:
    """Return the blocks of a problem that grows with the ranks: equal work for each."""
    if name == "summa":
        tiles = round(8 * ranks ** (1 / 3))
        return tiles, tiles
    grid = nearly_square(ranks)
    return 3 * grid.rows, 3 * grid.columns


def counts_of(size: int) -> dict[str, KernelCounts]:
    """Return the counters of all kernels on blocks of one size."""
    found = {}
    for name, of in COUNTS_OF_KERNEL.items():
        names = ("m", "n", "k") if name == "gemm" else ("n",)
        instructions, l1, memory = of(size)
        counters = {"instructions": [instructions], "l1_hits": [l1], "memory_accesses": [memory],
                    "frequency_hz": [HERTZ]}  # fmt: skip
        table = np.full((1, len(names)), float(size))
        columns = {key: np.array(value) for key, value in counters.items()}
        found[name] = KernelCounts(Samples(names, table, np.ones(1), np.zeros(1, int), columns))
    return found


def seconds_of(size: int) -> dict[str, float]:
    """Return what each kernel takes by its counters."""
    taken = dict(SMALL_S)
    for name, of in COUNTS_OF_KERNEL.items():
        instructions, l1, memory = of(size)
        waited = l1 * LATENCIES_S["l1"] + memory * LATENCIES_S["memory"]
        taken[name] = CPI * instructions / HERTZ + BF * waited
    return taken


def true_run(graph: TaskGraph, ranks: int, network: Network, size: int) -> RecordedRun:
    """Return the run of the finer model."""
    draw = np.random.default_rng([len(graph), ranks])
    seconds = {k: s * draw.normal(1.0, 0.02) for k, s in seconds_of(size).items()}
    cluster = Cluster.alike(PLATFORM, ranks, network)
    found = Simulation(graph, cluster, ConstantLibrary(seconds), "prio").run()
    return RecordedRun(Path(f"{graph.name}-{ranks}"), found, graph)


def ping_s(network: Network, size: int) -> float:
    """Return how long a message between hosts 0 and 17 takes."""
    clock = Clock()
    Flows(clock, network).send(0, 17, size, lambda _: None, None)
    clock.run()
    return clock.now * 1e-9


def calibrated(truth: Network) -> Network:
    """Return a switch whose messages take what ping-pong over SIZES says, in pieces."""
    bandwidth, latency, pieces = 5e9, 2e-6, []
    for small, large in itertools.pairwise(SIZES):
        first, last = ping_s(truth, small), ping_s(truth, large)
        per_byte = (last - first) / (large - small)
        alpha = max(first - per_byte * small, 1e-9)
        above = 0.0 if small == SIZES[0] else small
        pieces.append(Piece(above, alpha / latency, 1.0 / (per_byte * bandwidth)))
    network = read_network("switch:bandwidth=5GB/s,latency=1us")
    model = dataclasses.replace(network.model, pieces=tuple(pieces))
    return dataclasses.replace(network, model=model)


def judged(name: str, weak: bool, many: tuple[int, ...]) -> tuple[BulkModel, pd.DataFrame]:
    """Return the model of one program, and the table of all methods on many ranks."""
    collectives, settings = CASES[name]
    graphs = {
        ranks: generate(
            name, **settings(blocks_for(name, ranks) if weak else STRONG_SCALING_BLOCKS[name])
        )
        for ranks in (*FEW, *many)
    }
    size = int(graphs[1].arguments.get("block_size") or graphs[1].arguments["tile_size"])
    truth, counts = read_network(TRUE_NETWORK), counts_of(size)
    coarse = calibrated(truth)
    runs = {ranks: true_run(graph, ranks, truth, size) for ranks, graph in graphs.items()}
    profiles = {ranks: profile_of_run(found, counts) for ranks, found in runs.items()}
    fitted = [profiles[ranks] for ranks in FEW]
    costs = MessageCosts(coarse, dict(map(parsed_collective, collectives)))
    model = BulkModel(fitted, costs, latencies_s=LATENCIES_S)
    means = MeanModels([runs[ranks] for ranks in FEW])
    told = [
        simulated_s(
            graphs[ranks],
            nearly_square(ranks),
            "row",
            coarse,
            means,
            scheduler="prio",
            platform=PLATFORM,
        )
        for ranks in many
    ]
    # What is known of many ranks is the program, cut; the time alone is of the run.
    asked = [
        dataclasses.replace(
            profile_of_graph(graphs[ranks], nearly_square(ranks), "row", counts),
            seconds=profiles[ranks].seconds,
        )
        for ranks in many
    ]
    return model, scaling_table(model, fitted, asked, told)


def main() -> None:
    """Print a table of times and errors per program, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=int, default=256, help="the most ranks that are asked about")
    many = tuple(ranks for ranks in MANY if ranks <= parser.parse_args().to)
    tables = []
    for weak, name in itertools.product((False, True), CASES):
        model, table = judged(name, weak, many)
        tables.append(table)
        print(f"\n{'weak' if weak else 'strong'}: {name}; BF_comm {model.bf_comm:.2f}")
        print(text_of(table))
    print("\nmedian |error|, worst:")
    every = pd.concat(tables)
    for name, error in median_errors(every).items():
        worst = every[f"{name}_error_percent"].abs().max()
        print(f"  {SCALING_METHODS[name]:52} {error:6.1f} %  {worst:7.1f} %")


def text_of(table: Any) -> str:
    """Return measured times, and the error of each method."""
    few = table[["ranks", "measured_s"]].copy()
    for name in SCALING_METHODS:
        few[name] = table[f"{name}_error_percent"].map(
            lambda error: "-" if error != error else f"{error:+.1f} %"
        )
    few["measured_s"] = (1e3 * few["measured_s"]).map("{:.3f} ms".format)
    return str(few.to_string(index=False))


if __name__ == "__main__":
    main()
