"""Cost of simulating a cluster, from four nodes to a thousand: CPU time and memory.

    python benchmarks/cluster_costs.py                      # both tables
    python benchmarks/cluster_costs.py --nodes 4 64 --tiles 100 --iterations 20

*strong*: one Cholesky factorisation on ever more nodes of 48 cores. The more nodes, the more
messages a task has: what is stated per step counts a task as one and a message as three, its
sending, its receiving, its way. *weak*: conjugate gradients, a block per node, so that tasks and
messages per node stay what they are. Each row is a process of its own, as its peak of memory is
told.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from typing import TYPE_CHECKING, Any

from tasksim import ConstantLibrary, generate
from tasksim.engine.compiled import cluster as compiled
from tasksim.engine.simulation import Simulation
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.platform.description import Platform

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.taskgraph import TaskGraph

NODES = (4, 16, 64, 256, 1024)
NETWORK = "switch:bandwidth=4GB/s,latency=1us,model=smpi"
DURATIONS_S = {
    "potrf": 0.03, "trsm": 0.05, "syrk": 0.05, "gemm": 0.088,
    "pack": 1e-5, "stencil": 1e-3, "dot": 1e-4, "add": 1e-6, "axpy": 1e-4, "update": 1e-4,
}  # fmt: skip
TABLE_HEAD = (
    "nodes    tasks  messages  per task |    whole  us per task  per step |     core  us per task"
    "  per step |  peak"
)


def row(graph: TaskGraph, nodes: int, workers: int) -> str:
    """Return what it costs to simulate *graph*, as a row of the table."""
    cluster = Cluster.alike(Platform.identical(workers), nodes, read_network(NETWORK))
    in_core = [0.0]
    go_on: Callable[..., int] = compiled.ended

    def ended(*arguments: Any) -> int:
        begun = time.process_time()
        status = go_on(*arguments)
        in_core[0] += time.process_time() - begun
        return status

    compiled.ended = ended
    begun = time.process_time()
    run = Simulation(graph, cluster, ConstantLibrary(DURATIONS_S), "prio").run(engine="compiled")
    whole, core = time.process_time() - begun, in_core[0]
    tasks, messages = len(graph), 0 if run.messages is None else len(run.messages)
    steps = tasks + 3 * messages
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{nodes:5d} {tasks:8,d} {messages:9,d} {messages / tasks:9.2f} |"
        f" {whole:6.2f} s {whole / tasks * 1e6:12.2f} {whole / steps * 1e6:9.2f} |"
        f" {core:6.2f} s {core / tasks * 1e6:12.2f} {core / steps * 1e6:9.2f} | {peak:4.2f} GiB"
    )


def strong(nodes: int, tiles: int) -> str:
    """Return the row of a factorisation of *tiles* tiles."""
    return row(generate("cholesky", tiles=tiles, tile_size=960), nodes, 48)


def weak(nodes: int, iterations: int) -> str:
    """Return the row of *iterations* of conjugate gradients, a block per node."""
    rows = 1 << (nodes.bit_length() - 1) // 2
    graph = generate("cg", block_rows=rows, block_columns=nodes // rows, iterations=iterations)
    return row(graph, nodes, 4)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES, help="powers of two")
    parser.add_argument("--tiles", type=int, default=181)
    parser.add_argument("--iterations", type=int, default=100)
    given = parser.parse_args()
    tables = [
        (f"strong: cholesky of {given.tiles} tiles", strong, given.tiles),
        (f"weak: cg, {given.iterations} iterations, a block per node", weak, given.iterations),
    ]
    for title, make, size in tables:
        print(f"{title}\n{TABLE_HEAD}")
        for nodes in given.nodes:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(make, (nodes, size)), flush=True)


if __name__ == "__main__":
    main()
